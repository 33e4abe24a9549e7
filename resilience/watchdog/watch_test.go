package watchdog

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"breakwater/resilience/settings"
)

var t0 = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func at(seconds float64) time.Time { return t0.Add(time.Duration(seconds * float64(time.Second))) }

// event is something that happens to a watch.
type event struct {
	at   float64
	what string
}

func (w *Watch) apply(e event) {
	now := at(e.at)
	switch e.what {
	case "bytes":
		w.Bytes(now)
	case "ready":
		w.Bytes(now)
		w.Ready()
	case "progress":
		w.Bytes(now)
		w.Progress(now)
	case "text":
		w.Bytes(now)
		w.Progress(now)
		w.Suspend(now, false)
		w.Useful(now, 10)
	case "think":
		w.Bytes(now)
		w.Progress(now)
		w.Suspend(now, true)
	}
}

// run plays the events, asking whenever it is due, and returns when and why
// the watch gave up, or the second zero if it did not until the end.
func run(w *Watch, events []event, end float64) (float64, Cause) {
	now, i := at(0), 0
	for {
		cause, next := w.Due(now)
		if cause != None {
			return now.Sub(t0).Seconds(), cause
		}
		if next.IsZero() || next.After(at(end)) {
			next = at(end)
		}
		if i < len(events) && !at(events[i].at).After(next) {
			now = at(events[i].at)
			w.apply(events[i])
			i++
			continue
		}
		if now = next; !now.Before(at(end)) {
			cause, _ := w.Due(now)
			if cause != None {
				return end, cause
			}
			return 0, None
		}
	}
}

// every lists an event at each multiple of a step.
func every(step, until float64, what string) []event {
	var list []event
	for s := step; s <= until; s += step {
		list = append(list, event{s, what})
	}
	return list
}

func TestWatch(t *testing.T) {
	full := Budgets{
		Ready: 80 * time.Second, ReadyCap: ceiling, Stall: 95 * time.Second, Idle: 600 * time.Second, Total: 1260 * time.Second,
	}
	slow := Throughput{Enabled: true, WarmUp: 30 * time.Second, Window: 30 * time.Second, BytesPerSecond: 4, MinBytes: 1}
	paced := func(th Throughput) Budgets { return Budgets{Throughput: th} }
	join := func(lists ...[]event) (all []event) {
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	tests := []struct {
		name   string
		b      Budgets
		events []event
		end    float64
		when   float64
		cause  Cause
	}{
		{"case P32 pings only", full, join([]event{{1, "ready"}}, every(10, 400, "bytes")), 400, 95, Stalled},
		{"case P32 reasoning, then pings", full, join([]event{{1, "ready"}, {60, "progress"}, {90, "progress"}}, every(10, 400, "bytes")[9:]), 400, 185, Stalled},
		{"case 171 three reasoning frames count", full, []event{{50, "progress"}, {100, "progress"}, {150, "progress"}}, 400, 245, Stalled},
		{"output, then pings", full, join([]event{{2, "progress"}}, every(10, 400, "bytes")), 400, 97, Stalled},
		{"case 167 nothing at all", full, nil, 400, 80, NotReady},
		{"case 167 bytes extend up to the cap", Budgets{Ready: 80 * time.Second, ReadyCap: ceiling, Stall: 300 * time.Second}, every(10, 400, "bytes"), 400, 180, NotReady},
		{"case 169 ready in time", Budgets{Ready: 80 * time.Second, ReadyCap: ceiling}, []event{{79, "ready"}}, 4000, 0, None},
		{"silence", Budgets{Idle: 600 * time.Second}, []event{{10, "bytes"}}, 4000, 610, Silent},
		{"the whole stream", full, every(5, 2000, "progress"), 2000, 1260, TooLong},
		{"all off", Budgets{}, nil, 100_000, 0, None},

		{"case 190 too slow", paced(slow), every(5, 400, "text"), 400, 60, TooSlow},
		{"case 190 reasoning is open", paced(slow), every(5, 400, "think"), 400, 0, None},
		{"case 190 signs of life count as nothing", paced(slow), every(1, 400, "bytes"), 400, 60, TooSlow},
		{"case 190 quick enough", paced(slow), every(2, 400, "text"), 400, 0, None},
		{"a window begins anew after reasoning", paced(slow), join(every(5, 100, "think"), []event{{100.5, "text"}}), 400, 130.5, TooSlow},
		{"too little to be judged", paced(Throughput{Enabled: true, Window: 30 * time.Second, BytesPerSecond: 4, MinBytes: 100}), every(5, 300, "text"), 300, 0, None},
		{"switched off", paced(Throughput{Window: time.Second, BytesPerSecond: 1000}), nil, 400, 0, None},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := New(Budgets{}, t0)
			w.Accepted(t0, tt.b)
			when, cause := run(&w, tt.events, tt.end)
			if cause != tt.cause || when < tt.when || when > tt.when+1 {
				t.Errorf("%v %q after %v s, want %q after %v s", cause, cause.Code(), when, tt.cause.Code(), tt.when)
			}
		})
	}
}

func TestAnswerBudget(t *testing.T) {
	w := New(Budgets{Answer: 600 * time.Second}, t0)
	if cause, next := w.Due(at(599)); cause != None || !next.Equal(at(600)) {
		t.Errorf("got %v, %v", cause, next)
	}
	if cause, _ := w.Due(at(600)); cause != NoAnswer || cause.Code() != "upstream_start_timeout" {
		t.Errorf("got %v", cause)
	}
	none := New(Budgets{}, t0)
	if cause, next := none.Due(at(1e6)); cause != None || !next.IsZero() {
		t.Errorf("without a budget: %v, %v", cause, next)
	}
}

// Whatever happens, a watch is never given up before the budget that it names
// has passed since the last event that re-arms it, and always soon after.
func TestWatchKeepsItsBudgets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Budgets{
			Ready: 20 * time.Second, ReadyCap: 50 * time.Second, Stall: 30 * time.Second,
			Idle: 40 * time.Second, Total: 200 * time.Second,
		}
		w := New(Budgets{}, t0)
		w.Accepted(t0, b)
		var events []event
		now := 0.0
		for _, gap := range rapid.SliceOfN(rapid.Float64Range(0, 45), 0, 30).Draw(t, "gaps") {
			now += gap
			events = append(events, event{now, rapid.SampledFrom([]string{"bytes", "ready", "progress"}).Draw(t, "what")})
		}
		when, cause := run(&w, events, 1000)
		var bytes, progress, ready float64 = 0, 0, -1
		for _, e := range events {
			if e.at > when {
				break
			}
			bytes = e.at
			if e.what != "bytes" && ready < 0 {
				ready = e.at
			}
			if e.what == "progress" {
				progress = e.at
			}
		}
		want := min(progress+30, bytes+40, 200)
		if ready < 0 {
			want = min(want, bytes+20, 50)
		}
		if cause == None || when < want-1e-6 || when > want+1e-6 {
			t.Fatalf("%v after %v, want %v", cause, when, want)
		}
	})
}

func TestThroughputOf(t *testing.T) {
	got := ThroughputOf(settings.Defaults().StreamRecovery.ThroughputWatchdog)
	want := Throughput{WarmUp: 30 * time.Second, Window: 30 * time.Second, BytesPerSecond: 4, MinBytes: 1}
	if got != want {
		t.Errorf("got %+v", got)
	}
}
