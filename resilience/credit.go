package resilience

import "time"

// creditWaits counts the refusals of a connection that speak of credit and state
// when they end (ruling 57). Those that come before the stated end count as one.
type creditWaits struct {
	refusals int
	until    time.Time
}

// refused records one refusal that is to last for wait.
func (w *creditWaits) refused(now time.Time, wait time.Duration) {
	if w.refusals == 0 || !now.Before(w.until) {
		w.refusals++
	}
	if end := now.Add(wait); end.After(w.until) {
		w.until = end
	}
}

// ranOut returns how many of the stated waits are over.
func (w *creditWaits) ranOut(now time.Time) int {
	if w.refusals > 0 && now.Before(w.until) {
		return w.refusals - 1
	}
	return w.refusals
}
