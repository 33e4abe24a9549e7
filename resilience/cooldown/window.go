package cooldown

import (
	"time"

	"breakwater/resilience/clock"
	"breakwater/resilience/settings"
)

// Window is the provider's half of the opt-in window gate (guide §1): the
// provider cools only after enough failures within the window. It is memory
// only and not safe for concurrent use.
type Window struct {
	failures []time.Time // newest last, at most threshold
	until    time.Time
	span     time.Duration
}

// WindowRules are the profile's figures of the gate.
type WindowRules struct {
	Threshold int
	Window    time.Duration
	Cooldown  time.Duration
}

// Fail records a failure and returns the end of the cooldown when this one
// tripped the gate. A failure while cooling does not extend it.
func (w *Window) Fail(now time.Time, r WindowRules) (until time.Time, tripped bool) {
	if until := w.Cooling(now); !until.IsZero() {
		return until, false
	}
	w.anchor(now)
	w.failures = append(w.failures, now)
	threshold := max(1, r.Threshold)
	if drop := len(w.failures) - threshold; drop > 0 {
		w.failures = append(w.failures[:0], w.failures[drop:]...)
	}
	if len(w.failures) < threshold || now.Sub(w.failures[0]) > r.Window {
		return time.Time{}, false
	}
	w.failures = w.failures[:0]
	w.span = r.Cooldown
	w.until = clock.Wall(now.Add(r.Cooldown))
	return w.until, true
}

// anchor moves moments that lie ahead, after a clock step, back to now.
func (w *Window) anchor(now time.Time) {
	for i, t := range w.failures {
		if t.After(now) {
			w.failures[i] = now
		}
	}
}

// Cooling returns the end of the cooldown, or the zero time.
func (w *Window) Cooling(now time.Time) time.Time {
	if w.until.IsZero() || !w.until.After(now) {
		return time.Time{}
	}
	if clock.Stepped(now, w.until, w.span) {
		w.until = clock.Wall(now.Add(w.span))
	}
	return w.until
}

// Succeed clears the window.
func (w *Window) Succeed() { *w = Window{failures: w.failures[:0]} }

// Empty reports that a success would change nothing.
func (w *Window) Empty() bool { return len(w.failures) == 0 && w.until.IsZero() }

// Pace is the connection's half of the gate: a ladder from the minimum to the
// maximum retry cooldown, counted from the last failure. It also serves for
// failures of a provider without a connection. Memory only, not safe for
// concurrent use.
type Pace struct {
	n    int
	last time.Time
}

// PaceRules are the ends of the ladder and how many doublings lie between.
type PaceRules struct {
	Min, Max time.Duration
}

// paceSteps is the most doublings the ladder makes (sheet §2).
const paceSteps = 10

// paceRetention is the least time an idle entry is kept (sheet §2).
const paceRetention = 30 * time.Minute

// Fail records a failure.
func (p *Pace) Fail(now time.Time) {
	p.n++
	p.last = clock.Wall(now)
}

// Cooling returns the end of the cooldown, or the zero time.
func (p *Pace) Cooling(now time.Time, r PaceRules) time.Time {
	if p.n == 0 {
		return time.Time{}
	}
	p.last = clock.Past(now, p.last)
	until := p.last.Add(settings.Backoff(r.Min, min(p.n-1, paceSteps), r.Max))
	if !until.After(now) {
		return time.Time{}
	}
	return until
}

// Succeed starts the ladder anew.
func (p *Pace) Succeed() { p.n = 0 }

// Idle reports that the entry is too old to be kept: the ladder starts anew.
func (p *Pace) Idle(now time.Time, r PaceRules) bool {
	return p.last.IsZero() || now.Sub(p.last) > max(paceRetention, r.Max)
}
