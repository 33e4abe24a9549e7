package claude

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// steps are what happens to a clock that is set by hand.
var steps = []time.Duration{-3 * time.Hour, 3 * time.Hour}

// traveller is a request of the model with what it may still do.
type traveller struct {
	*Request
	opened, ready time.Duration // real time
	budget        time.Duration
	lost          time.Duration // time that a step back made unknowable
	stepped       bool
	resets        int
	waiting       *LaneChange   // the lane in which it waits for a slot
	since         time.Duration // real time when that wait began
	barred        bool          // the operator ended the lane meanwhile
}

// world is a set of lanes under arbitrary answers and clock steps. Real time
// only goes forward; the clock is real time and an offset.
type world struct {
	real, offset time.Duration
	lanes        *Lanes
	open         []*traveller
	entered      *LaneChange // the lane that was entered and has not ended
	cooled       time.Duration
	forward      bool // the clock was set forward since then
	cool         bool
	spent        time.Time // until when the budget is used up
	fail         func(string, ...any)
}

func (w *world) now() time.Time { return t0.Add(w.real + w.offset) }

func (w *world) heard(c LaneChange) {
	if c.Entered == (w.entered != nil) {
		w.fail("entered %v twice", c.Entered)
	}
	w.entered = nil
	switch {
	case c.Entered:
		w.entered = &c
		if left := c.Until.Sub(w.now()); left <= 0 || left > 7*24*time.Hour+resetGrace {
			w.fail("a lane for %s", left)
		}
		if w.cool && !w.forward && w.real-w.cooled < coolOff-time.Second {
			w.fail("entered %s into the cool-off", w.real-w.cooled)
		}
		if w.now().Before(w.spent) {
			w.fail("entered before %s on a spent budget", w.spent)
		}
	case c.Reason == NotEnded:
		w.fail("ended without a reason")
	case c.Reason == EndMaxWait:
		w.cool, w.cooled, w.forward = true, w.real, false
	}
}

// drawHeaders draws an answer: the wall, a busy lane, or anything.
func (w *world) drawHeaders(rt *rapid.T) headers {
	switch rapid.IntRange(0, 9).Draw(rt, "kind") {
	case 0, 1, 2:
		return wall("reset", epoch(w.now().Add(5*time.Hour)), "slow-max-wait", "")
	case 3, 4, 5:
		return says("slow-status", "slot_busy", "slow-max-wait", rapid.SampledFrom([]string{"", "60", "1200"}).Draw(rt, "max"))
	}
	h := headers{}
	put := func(name string, values ...string) {
		if v := rapid.SampledFrom(append(values, "")).Draw(rt, name); v != "" {
			h[unifiedPrefix+name] = []string{v}
		}
	}
	near := func(d time.Duration) string { return epoch(w.now().Add(d)) }
	put("status", "rejected", "rejected", "allowed")
	put("slow-offer", "treatment", "treatment", "control")
	put("reset", near(time.Hour), near(5*time.Hour), near(-time.Hour), near(40*24*time.Hour), "x")
	put("5h-reset", near(time.Hour), near(6*time.Hour))
	put("7d-reset", near(24*time.Hour))
	put("slow-status", "active", "not_needed", "slot_busy", "slot_busy", "weekly_limit", "budget_exhausted", "ineligible", "off", "?")
	put("overage-in-use", "true", "false")
	put("representative-claim", "five_hour", "seven_day")
	put("slow-retry-after", "1", "20", "99999", "-3", "1e300")
	put("slow-max-wait", "60", "1200", "1e9")
	put("slow-budget-reset", near(time.Hour), near(60*24*time.Hour))
	return h
}

// attempt lets a request try once, at the end of its wait.
func (w *world) attempt(rt *rapid.T, i int) {
	r := w.open[i]
	w.real = max(w.real, r.ready)
	if r.stepped {
		r.lost, r.stepped = r.lost+w.real-r.ready, false
	}
	_, _, send := r.Header(w.now())
	if send && (w.entered == nil || !w.now().Before(w.entered.Until)) {
		rt.Fatalf("the header goes out without a lane: %+v", w.entered)
	}
	if send && !r.switches.LowPriority {
		rt.Fatal("the header goes out although that is switched off")
	}
	code := rapid.SampledFrom([]int{429, 429, 429, 429, 429, 529, 200, 500, 401}).Draw(rt, "code")
	h := w.drawHeaders(rt)
	lane := w.entered
	d := r.Answer(w.now(), code, h)
	if d.Action == AskReset {
		if r.resets++; r.resets > 1 || !r.switches.AutoReset || code != 429 {
			rt.Fatal("the reset was asked for again")
		}
		d = r.AfterReset(w.now(), rapid.Bool().Draw(rt, "granted"))
	}
	if r.barred && lane == nil && w.entered != nil {
		rt.Fatal("a request from before the operator's end entered the lane")
	}
	if u := readUnified(h); d.Reason == EndBudget && !u.moment(slowReset, weekReset).IsZero() {
		w.spent = w.lanes.Status(w.now(), "c1")[0].BudgetSpentUntil
	}
	w.check(rt, r, code, d)
	w.checkWait(rt, r, d)
	r.ready = w.real + d.Delay
	if d.Action != Retry {
		w.open = append(w.open[:i:i], w.open[i+1:]...)
	}
}

func (w *world) check(rt *rapid.T, r *traveller, code int, d Decision) {
	switch {
	case d.Action == AskReset:
		rt.Fatal("asked for a reset after a reset")
	case d.Intercepted() && code != 429 && code != 529:
		rt.Fatalf("a %d was kept from the client", code)
	case (d.Action == End) != (d.Reason != NotEnded), (d.Action == Retry) != (d.Via != ViaNone):
		rt.Fatalf("half a decision: %+v", d)
	case d.Delay < 0 || d.Delay > maxRetryAfter*13/10:
		rt.Fatalf("a wait of %s", d.Delay)
	case d.Delay > 0 && r.budget > 0 && w.real+d.Delay > r.opened+r.budget-startMargin+r.lost:
		rt.Fatalf("waits until %s, opened %s with %s, lost %s", w.real+d.Delay, r.opened, r.budget, r.lost)
	}
}

// checkWait checks that a wait for a slot is bounded by what the lane says.
func (w *world) checkWait(rt *rapid.T, r *traveller, d Decision) {
	if d.Delay == 0 {
		return
	}
	if r.waiting != w.entered {
		r.waiting, r.since = w.entered, w.real
	}
	limit := w.lanes.Status(w.now(), "c1")[0].MaxWait
	if w.real+d.Delay > r.since+limit+r.lost {
		rt.Fatalf("waits until %s since %s, at most %s", w.real+d.Delay, r.since, limit)
	}
}

// TestLaneProperties: whatever the upstream says and the clock does, the
// header goes out in an accepted lane only, no lane outlives its reset and
// grace, no wait goes past its deadline, and the cool-off is kept.
func TestLaneProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{fail: rt.Fatalf}
		w.lanes = NewLanes(func() float64 { return rapid.Float64Range(0, 0.999).Draw(rt, "dice") }, w.heard)
		rt.Repeat(map[string]func(*rapid.T){
			"": func(rt *rapid.T) {
				for _, st := range w.lanes.Status(w.now(), "c1") {
					left := st.Until.Sub(w.now())
					if st.State == LaneIdle != st.Until.IsZero() || st.State != LaneIdle && (left <= 0 || left > budgetMemory+time.Second) {
						rt.Fatalf("status %+v", st)
					}
					if (st.State == LaneActive) != (w.entered != nil) || st.State == LaneActive && st.Reason != NotEnded {
						rt.Fatalf("status %+v, entered %+v", st, w.entered)
					}
					if st.CoolingOffUntil.Sub(w.now()) > coolOff+time.Second {
						rt.Fatalf("cools off until %s", st.CoolingOffUntil)
					}
				}
			},
			"open": func(rt *rapid.T) {
				budget := rapid.SampledFrom([]time.Duration{0, 4 * time.Second, time.Minute, 10 * time.Minute}).Draw(rt, "budget")
				sw := rapid.SampledFrom([]Switches{lowOn, lowOn, lowOn, lowOn, bothOn, autoOn, bothOff}).Draw(rt, "switches")
				r := w.lanes.Open(keyOfTest, sw, w.now(), budget)
				w.open = append(w.open, &traveller{Request: r, opened: w.real, ready: w.real, budget: budget})
			},
			"attempt": func(rt *rapid.T) {
				for range rapid.IntRange(1, 8).Draw(rt, "times") {
					if len(w.open) == 0 {
						return
					}
					w.attempt(rt, rapid.IntRange(0, len(w.open)-1).Draw(rt, "who"))
				}
			},
			"pass": func(rt *rapid.T) {
				w.real += time.Duration(rapid.SampledFrom([]int{1, 30, 600, 7200}).Draw(rt, "s")) * time.Second
			},
			"step": func(rt *rapid.T) {
				by := rapid.SampledFrom(steps).Draw(rt, "by")
				w.offset += by
				w.forward = w.forward || by > 0
				for _, r := range w.open {
					r.stepped = r.stepped || by < 0
				}
			},
			"operator": func(*rapid.T) {
				w.lanes.End(w.now(), "c1")
				if w.entered != nil {
					w.fail("the lane goes on")
				}
				for _, r := range w.open {
					r.barred = true
				}
			},
		})
	})
}

// TestResetProperties: a reset is claimed at most once a week, every attempt
// ends after three calls at most, and every memory ends by itself.
func TestResetProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := NewResets(nil)
		now := t0
		var week time.Time // no claim before
		date := func(rt *rapid.T) string {
			d := time.Duration(rapid.Int64Range(-100, 2000).Draw(rt, "h")) * time.Hour
			return rapid.SampledFrom([]string{`""`, `null`, `7`, fmt.Sprintf("%q", now.Add(d).Format(time.RFC3339))}).Draw(rt, "date")
		}
		reply := func(rt *rapid.T, do Do) Reply {
			code := rapid.SampledFrom([]int{200, 200, 200, 401, 429, 500}).Draw(rt, "code")
			body := fmt.Sprintf(`{"result":%q}`, rapid.SampledFrom([]string{"reset", "not_limited", "already_used", "cooldown", "x"}).Draw(rt, "result"))
			switch do {
			case AskStatus:
				body = tide(fmt.Sprintf(`"available":%t,"next_available_at":%s`, rapid.Bool().Draw(rt, "available"), date(rt)))
			case AskOrganization:
				body = rapid.SampledFrom([]string{`{"oauth_account":{"organization_uuid":"o"}}`, `{}`}).Draw(rt, "bootstrap")
			case PostClaim:
				if now.Before(week) {
					rt.Fatalf("claimed at %s, not before %s", now, week)
				}
			case Done:
			}
			return Reply{Status: code, Body: []byte(body), Failed: rapid.IntRange(0, 9).Draw(rt, "luck") == 0}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"": func(rt *rapid.T) {
				for _, st := range s.Status(now, "c1") {
					left := st.Next.Sub(now)
					if limit := map[bool]time.Duration{true: 30 * 24 * time.Hour, false: errorMemo}[st.Outcome.weekly()]; !st.Next.IsZero() && (left <= 0 || left > limit+time.Second) {
						rt.Fatalf("%s: next in %s", st.Outcome, left)
					}
				}
			},
			"ask": func(rt *rapid.T) {
				c := s.Begin(keyOfTest, rapid.SampledFrom([]string{"", "o", ".."}).Draw(rt, "org"))
				calls := 0
				step := c.Start(now)
				for ; step.Do != Done; calls++ {
					if calls == 3 {
						rt.Fatalf("a fourth call: %+v", step)
					}
					now = now.Add(time.Second)
					step = c.Feed(now, reply(rt, step.Do))
				}
				if step.Outcome == "" || step.Granted() != step.Outcome.Granted() || !step.Outcome.asked() && calls > 0 {
					rt.Fatalf("after %d calls: %+v", calls, step)
				}
				if o := step.Outcome; o == OutcomeReset || o == OutcomeNotLimited {
					if week = now.Add(weekMemo); !step.Next.Equal(week) {
						rt.Fatalf("%s: next at %s", o, step.Next)
					}
				}
			},
			"pass": func(rt *rapid.T) { now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(rt, "min")) * time.Minute) },
			"step": func(rt *rapid.T) { now = now.Add(rapid.SampledFrom(steps).Draw(rt, "by")) },
		})
	})
}
