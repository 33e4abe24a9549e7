package resilience

import (
	"time"

	"breakwater/resilience/admission"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/settings"
)

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

func waitable(r exclusion.Reason) bool {
	return r == exclusion.Cooling || r == exclusion.ModelLocked || r == exclusion.ProviderCooldown
}

// ComboWaiting is what decides whether a request for a combo waits.
type ComboWaiting struct {
	Now      time.Time
	Sent     int                   // attempts of the last pass
	Excluded []exclusion.Exclusion // of the targets that were not tried
	Failures []Failure
	Spent    admission.Spent
}

// Decide says whether the request waits and is dispatched again: before any
// attempt for what held every target back (#16319), afterwards for the first
// target that is back (guide §4). excluded looks the targets up as they are now.
func (w ComboWaiting) Decide(s settings.ComboCooldownWait, excluded func() []exclusion.Exclusion) admission.Decision {
	if w.Sent == 0 {
		return admission.BeforeDispatch(w.Now, w.Excluded, w.Spent, s).Decision
	}
	if BackAlready(w.Failures, w.Now) {
		return admission.Decide(exclusion.CauseTransient, admission.WaitMargin, w.Spent, s)
	}
	hint, ok := FirstRetry(w.Failures, w.Now)
	if !ok {
		return admission.Decision{Why: admission.NothingToWait}
	}
	return admission.AfterDispatch(w.Now, excluded, hint, w.Spent, s)
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
