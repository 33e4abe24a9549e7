package quota

import (
	"time"

	"breakwater/resilience/hint"
)

// UsedUp returns when the windows that a request for a model draws on have all
// come back, and whether one of them is used up with its reset known. A reset
// lies no further ahead than its kind of window can be long.
func (s *Snapshot) UsedUp(now time.Time, model string) (until time.Time, ok bool) {
	for i := range s.Windows {
		w := &s.Windows[i]
		left, known := w.Remaining(now)
		if !known || left > 0 || w.ResetAt.IsZero() || !w.Applies(model) {
			continue
		}
		ceiling := hint.MaxUnified
		if w.Kind == Monthly {
			ceiling = hint.MaxStated
		}
		reset := w.ResetAt
		if limit := now.Add(ceiling); reset.After(limit) {
			reset = limit
		}
		if reset.After(until) {
			until, ok = reset, true
		}
	}
	return until, ok
}
