package resilience

import (
	"time"

	"breakwater/resilience/admission"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// reasonTransient is the word of the waits for what passes by itself.
const reasonTransient = "transient"

// Waiting is what decides whether a request for a single model waits.
type Waiting struct {
	Now      time.Time
	Resting  []Exclusion
	Failures []Failure
	Spent    admission.Spent
	// Longest is the longest wait for anything; not positive: as the settings
	// say.
	Longest time.Duration
}

// Decide says whether the request waits until the first of its resting
// connections is back (waitForCooldown). An open breaker is reported to the
// client at once (guide §1), and a server that does not run is not waited for.
func (w Waiting) Decide(s settings.WaitForCooldown) admission.Decision {
	var first time.Duration
	for _, e := range w.Resting {
		left := e.Until.Sub(w.Now)
		if !waitable(e.Reason) || left <= 0 || Unreachable(w.Failures, e.Conn.ID()) {
			continue
		}
		if first == 0 || left < first {
			first = left
		}
	}
	if BackAlready(w.Failures, w.Now) {
		first = admission.WaitMargin
	} else if first > 0 {
		first += admission.WaitMargin
	}
	if w.Longest > 0 && first > w.Longest {
		return admission.Decision{For: first, Why: admission.TooLong}
	}
	return admission.DecideDirect(first, w.Spent, s)
}

func waitable(s Skip) bool {
	return s == SkipCooling || s == SkipModelLocked || s == SkipProviderCooldown
}

// ComboWaiting is what decides whether a request for a combo waits.
type ComboWaiting struct {
	Now      time.Time
	Sent     int              // attempts of the last pass
	Holds    []admission.Hold // of the targets that were not tried
	Failures []Failure
	Spent    admission.Spent
}

// Decide says whether the request waits and is dispatched again: before any
// attempt for what held every target back (#16319), afterwards for the first
// target that is back (guide §4). holds looks the targets up as they are now.
func (w ComboWaiting) Decide(s settings.ComboCooldownWait, holds func() []admission.Hold) admission.Decision {
	if w.Sent == 0 {
		return admission.BeforeDispatch(w.Holds, w.Spent, s).Decision
	}
	if BackAlready(w.Failures, w.Now) {
		return admission.Decide(reasonTransient, admission.WaitMargin, w.Spent, s)
	}
	hint, ok := FirstRetry(w.Failures, w.Now)
	if !ok {
		return admission.Decision{Why: admission.NothingToWait}
	}
	return admission.AfterDispatch(holds, hint, w.Spent, s)
}

// BackAlready reports whether a connection that failed in this request may be
// tried again by now.
func BackAlready(failures []Failure, now time.Time) bool {
	for i := range failures {
		if f := &failures[i]; !f.Until.IsZero() && !f.Until.After(now) && !f.Outcome.Network {
			return true
		}
	}
	return false
}

// Unreachable reports whether no answer at all came from the connection in this
// request.
func Unreachable(failures []Failure, connection string) bool {
	for i := range failures {
		if f := &failures[i]; f.Connection == connection && f.Outcome.Network {
			return true
		}
	}
	return false
}

// Cooled reports whether a failure of the connection was followed by a cooldown:
// it is worth a try after the wait.
func Cooled(failures []Failure, connection string) bool {
	for i := range failures {
		if f := &failures[i]; f.Connection == connection && !f.Until.IsZero() {
			return true
		}
	}
	return false
}

// FirstRetry is how long it takes from now until the first of the failed
// targets may be tried again.
func FirstRetry(failures []Failure, now time.Time) (first time.Duration, ok bool) {
	for i := range failures {
		left := failures[i].Until.Sub(now)
		if left > 0 && (!ok || left < first) {
			first, ok = left, true
		}
	}
	return first, ok
}

// FirstExclusion returns the exclusion that ends first by itself, or one that
// does not when none does; nil for no exclusions.
func FirstExclusion(excluded []Exclusion) *Exclusion {
	var first *Exclusion
	for i := range excluded {
		e := &excluded[i]
		if first == nil || first.Until.IsZero() || !e.Until.IsZero() && e.Until.Before(first.Until) {
			first = e
		}
	}
	return first
}

// HoldOf says what keeps a target back in the words that the waits of combos
// know (combos sheet §3). status looks a connection up; it is called only for
// cooldowns and lockouts.
func HoldOf(e Exclusion, now time.Time, status func(*Conn) Status) admission.Hold {
	h := admission.Hold{Reason: string(outcome.ReasonAuth), Left: e.Until.Sub(now)}
	switch e.Reason {
	case SkipBreakerOpen, SkipProbing:
		h.Reason = admission.CircuitOpen
	case SkipProviderCooldown:
		h.Reason = reasonTransient
	case SkipCooling:
		h.Reason = waitReason(status(e.Conn).Reason)
	case SkipModelLocked:
		for _, l := range status(e.Conn).Lockouts {
			if l.Model == e.Model {
				h.Reason = waitReason(outcome.Reason(l.Reason))
			}
		}
	}
	return h
}

// HoldAfterDispatch is HoldOf after an attempt: an open breaker passes by itself
// then, as it does before any attempt.
func HoldAfterDispatch(e Exclusion, now time.Time, status func(*Conn) Status) admission.Hold {
	h := HoldOf(e, now, status)
	if h.Reason == admission.CircuitOpen {
		h.Reason = reasonTransient
	}
	return h
}

// waitReason maps the classifier's reasons to those of the waits: what is busy
// or broken passes, what is used up or forbidden does not.
func waitReason(r outcome.Reason) string {
	switch r {
	case outcome.ReasonConcurrencyLimited:
		return "rate_limited"
	case outcome.ReasonModelCapacity:
		return "overloaded"
	case outcome.ReasonNetwork, outcome.ReasonTruncated, outcome.ReasonServiceNotRunning, outcome.ReasonStreamStall:
		return reasonTransient
	}
	return string(r)
}
