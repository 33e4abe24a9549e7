package resilience

import (
	"testing"
	"time"

	"breakwater/resilience/admission"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

func after(d time.Duration) func(*Failure) { return func(f *Failure) { f.Until = t0.Add(d) } }

func TestDirectWait(t *testing.T) {
	r := newRig(t)
	one, two := r.conn("one", "p"), r.conn("two", "p")
	set := settings.Defaults().WaitForCooldown
	set.Enabled = true
	rests := func(c *Conn, why exclusion.Reason, d time.Duration) Exclusion {
		e := Exclusion{Candidate: Candidate{Conn: c, Model: "m"}, Exclusion: exclusion.Exclusion{Reason: why}}
		if d != 0 {
			e.Until = t0.Add(d)
		}
		return e
	}
	for _, tt := range []struct {
		name string
		w    Waiting
		want admission.Decision
	}{
		{
			"until the first is back",
			Waiting{Resting: []Exclusion{rests(one, exclusion.Cooling, 3*time.Second), rests(two, exclusion.ModelLocked, 2*time.Second)}},
			admission.Decision{Wait: true, For: 2*time.Second + admission.WaitMargin},
		},
		{"not for an open breaker", Waiting{Resting: []Exclusion{rests(one, exclusion.BreakerOpen, time.Second)}}, admission.Decision{Why: admission.NothingToWait}},
		{"not for a terminal state", Waiting{Resting: []Exclusion{rests(one, exclusion.Expired, time.Second)}}, admission.Decision{Why: admission.NothingToWait}},
		{"not for what no timer ends", Waiting{Resting: []Exclusion{rests(one, exclusion.Cooling, 0)}}, admission.Decision{Why: admission.NothingToWait}},
		{
			"not for a server that does not run",
			Waiting{Resting: []Exclusion{rests(one, exclusion.Cooling, time.Second)}, Failures: []Failure{broken(502, network, after(time.Second))}},
			admission.Decision{Why: admission.NothingToWait},
		},
		{
			"for one that is back already",
			Waiting{Resting: []Exclusion{rests(two, exclusion.Cooling, time.Minute)}, Failures: []Failure{limited(after(0))}},
			admission.Decision{Wait: true, For: admission.WaitMargin},
		},
		{
			"not longer than the longest wait",
			Waiting{Resting: []Exclusion{rests(one, exclusion.Cooling, 3*time.Second)}, Longest: time.Second},
			admission.Decision{For: 3*time.Second + admission.WaitMargin, Why: admission.TooLong},
		},
		{
			"not longer than the client stays",
			Waiting{Resting: []Exclusion{rests(one, exclusion.Cooling, 3*time.Second)}, Spent: admission.Spent{Client: time.Second}},
			admission.Decision{For: 3*time.Second + admission.WaitMargin, Why: admission.ClientLimit},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.w.Now = t0
			if got := tt.w.Decide(set); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
	t.Run("never when it is switched off", func(t *testing.T) {
		set.Enabled = false
		w := Waiting{Now: t0, Resting: []Exclusion{rests(one, exclusion.Cooling, time.Second)}}
		if got := w.Decide(set); got.Wait {
			t.Errorf("got %+v", got)
		}
	})
}

func TestComboWait(t *testing.T) {
	set := settings.Defaults().ComboCooldownWait
	set.Enabled = true
	resting := []exclusion.Exclusion{{Reason: exclusion.ProviderCooldown, Until: t0.Add(time.Second)}}
	for _, tt := range []struct {
		name string
		w    ComboWaiting
		now  []exclusion.Exclusion
		wait bool
		time time.Duration
	}{
		{"before any attempt, for what held the targets back", ComboWaiting{Excluded: resting}, nil, true, time.Second + admission.WaitMargin},
		{"before any attempt, not for a refused key", ComboWaiting{Excluded: []exclusion.Exclusion{{Reason: exclusion.Expired, Until: t0.Add(time.Second)}}}, nil, false, 0},
		{"for a target that is back already", ComboWaiting{Sent: 1, Failures: []Failure{limited(after(0))}}, nil, true, admission.WaitMargin},
		{"not when no target asked for a wait", ComboWaiting{Sent: 1, Failures: []Failure{broken(500)}}, resting, false, 0},
		{"for the first target that is back", ComboWaiting{Sent: 1, Failures: []Failure{limited(after(2 * time.Second))}}, resting, true, 2*time.Second + admission.WaitMargin},
		{"not when nothing that is held passes by itself", ComboWaiting{Sent: 1, Failures: []Failure{limited(after(time.Second))}}, []exclusion.Exclusion{{Reason: exclusion.Cooling, Source: outcome.ReasonQuota, Until: t0.Add(time.Second)}}, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.w.Now = t0
			d := tt.w.Decide(set, func() []exclusion.Exclusion { return tt.now })
			if d.Wait != tt.wait || d.Wait && d.For != tt.time {
				t.Errorf("got %+v", d)
			}
		})
	}
}

func TestWhatFailedBefore(t *testing.T) {
	list := []Failure{
		limited(on("one"), after(3*time.Second)), broken(502, on("two"), network, after(time.Second)), broken(500, on("three")),
	}
	if first, ok := FirstRetry(list, t0); !ok || first != time.Second {
		t.Errorf("first retry: %s, %v", first, ok)
	}
	if _, ok := FirstRetry(list[2:], t0); ok {
		t.Error("a retry without a cooldown")
	}
	for _, tt := range []struct {
		id                  string
		unreachable, cooled bool
	}{{"one", false, true}, {"two", true, true}, {"three", false, false}, {"four", false, false}} {
		if Unreachable(list, tt.id) != tt.unreachable || Cooled(list, tt.id) != tt.cooled {
			t.Errorf("%s: unreachable %v, cooled %v", tt.id, Unreachable(list, tt.id), Cooled(list, tt.id))
		}
	}
	if BackAlready(list, t0) || BackAlready(list, t0.Add(time.Second)) || !BackAlready(list, t0.Add(3*time.Second)) {
		t.Error("only a connection that answered comes back by its cooldown")
	}
}

func TestFirstExclusion(t *testing.T) {
	at := func(d time.Duration) Exclusion {
		return Exclusion{Exclusion: exclusion.Exclusion{Reason: exclusion.Cooling, Until: t0.Add(d)}}
	}
	off := Exclusion{Exclusion: exclusion.Exclusion{Reason: exclusion.Off}}
	for _, tt := range []struct {
		name string
		list []Exclusion
		want int
	}{
		{"none", nil, -1},
		{"the earliest", []Exclusion{at(3), at(1), at(2)}, 1},
		{"one that ends, before one that does not", []Exclusion{off, at(2)}, 1},
		{"one that does not end", []Exclusion{off}, 0},
		{"one that does not end stays behind", []Exclusion{at(2), off}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := FirstExclusion(tt.list)
			if tt.want < 0 {
				if got != nil {
					t.Errorf("got %+v", got)
				}
				return
			}
			if got != &tt.list[tt.want] {
				t.Errorf("got %+v", got)
			}
		})
	}
}
