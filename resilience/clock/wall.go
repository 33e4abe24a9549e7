package clock

import "time"

// Slew is how far the wall clock may be corrected backwards before a moment
// that lies ahead is taken for the trace of a clock step (ruling 37).
const Slew = time.Second

// Wall drops the monotonic reading and the zone: "until" deadlines are wall
// time in UTC (ruling 37).
func Wall(t time.Time) time.Time { return t.Round(0).UTC() }

// Stepped reports that a deadline lies further ahead than the span it was set
// for, which happens when the clock was set back.
func Stepped(now, until time.Time, span time.Duration) bool {
	return now.Before(Floor(until, span))
}

// Floor is the moment before which a deadline counts as Stepped; comparing with
// it is cheaper where decisions are made.
func Floor(until time.Time, span time.Duration) time.Time { return until.Add(-span).Add(-Slew) }

// Past returns a moment that cannot lie ahead: t, or now when the clock was set
// back behind it.
func Past(now, t time.Time) time.Time {
	if t.After(now.Add(Slew)) {
		return Wall(now)
	}
	return t
}
