package claude

import (
	"time"

	"breakwater/resilience/clock"
)

// deadline is a moment until which something holds. It may lie at most span
// ahead when it is read, so that a clock that was set back cannot pin it
// (ruling 37).
type deadline struct {
	until time.Time
	span  time.Duration
}

// stated is a deadline that the upstream named: clamped to its ceiling, never
// discarded (ruling 10).
func stated(now, at time.Time, ceiling time.Duration) deadline {
	if limit := now.Add(ceiling); at.After(limit) {
		at = limit
	}
	return deadline{until: clock.Wall(at), span: ceiling}
}

// lasting is a deadline of our own, a span from now.
func lasting(now time.Time, span time.Duration) deadline {
	return deadline{until: clock.Wall(now.Add(span)), span: span}
}

// holds reports whether the deadline lies ahead.
func (d *deadline) holds(now time.Time) bool {
	if d.until.IsZero() {
		return false
	}
	if clock.Stepped(now, d.until, d.span) {
		d.until = clock.Wall(now.Add(d.span))
	}
	return now.Before(d.until)
}

// ahead returns the deadline, or the zero time when it has passed.
func (d *deadline) ahead(now time.Time) time.Time {
	if !d.holds(now) {
		return time.Time{}
	}
	return d.until
}
