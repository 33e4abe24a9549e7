package lockout

import (
	"time"

	"breakwater/resilience/clock"
)

// View is the part of a set that decisions read. It does not change, so it
// needs no lock.
type View struct {
	provider string
	locks    []seen
}

// seen is a lock as decisions read it.
type seen struct {
	key   key
	until time.Time
	floor time.Time // earlier moments are the trace of a clock step
	// reason is what the lock was set for.
	reason string
}

// View returns the present locks, or nil when there are none.
func (s *Set) View(now time.Time) *View {
	locks := s.Active(now)
	if len(locks) == 0 {
		return nil
	}
	v := &View{provider: s.provider, locks: make([]seen, len(locks))}
	for i, l := range locks {
		v.locks[i] = seen{key: l.key, until: l.Until, floor: clock.Floor(l.Until, l.span), reason: l.Reason}
	}
	return v
}

// Until returns when the last lock of the model ends, or the zero time, and what
// it was set for. stepped tells that a lock lies further ahead than it ever did: the clock was set
// back, and the view must be taken anew.
func (v *View) Until(now time.Time, model string) (until time.Time, reason string, stepped bool) {
	if v == nil {
		return time.Time{}, "", false
	}
	family := QuotaModel(v.provider, model)
	for i := range v.locks {
		l := &v.locks[i]
		if !l.until.After(now) {
			break // the longest come first
		}
		if l.key.hits(model, family) {
			return l.until, l.reason, now.Before(l.floor)
		}
	}
	return time.Time{}, "", false
}
