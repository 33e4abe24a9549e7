package combo

import (
	"math"
	"time"
)

// staleAfter is the age at which a quota snapshot is no longer trusted.
const staleAfter = 10 * time.Minute

// tiny is what sums of decimal shares may be off by.
const tiny = 1e-9

// Window is one quota window of an account.
type Window struct {
	Known bool
	Used  float64   // share used, 0 to 1
	Reset time.Time // zero: unknown
}

// Quota is the last snapshot of an account's quota. Of a nil one nothing is
// known.
type Quota struct {
	At                       time.Time // when it was read
	Session, Weekly, Monthly Window
	Models                   map[string]Window // weekly windows of single models
	Overall                  *float64          // share left, when there is one figure only
	LimitReached             bool
}

// Remaining returns the share of the window that is left, or missing when nothing is
// known of it. A window whose reset has passed is full again.
func (w Window) Remaining(now time.Time, missing float64) float64 {
	if !w.Known || math.IsNaN(w.Used) || math.IsInf(w.Used, 0) {
		return missing
	}
	if !w.Reset.IsZero() && !w.Reset.After(now) {
		return 1
	}
	return unit(1 - w.Used)
}

// urgency says how near the reset is: 0 a whole window away, 1 due, 0.5 unknown.
func (w Window) urgency(now time.Time, span time.Duration) float64 {
	if !w.Known || w.Reset.IsZero() {
		return 0.5
	}
	return unit(1 - w.Reset.Sub(now).Seconds()/span.Seconds())
}

func (q *Quota) overall() float64 {
	if q.Overall == nil || math.IsNaN(*q.Overall) {
		return 0.5
	}
	return unit(*q.Overall)
}

// Headroom returns the share left in the fuller of the five-hour and the weekly
// window; a missing window counts as empty.
func (q *Quota) Headroom(now time.Time) float64 {
	switch {
	case q == nil:
		return 1
	case q.LimitReached:
		return 0
	}
	return min(q.Session.Remaining(now, 1), q.Weekly.Remaining(now, 1))
}

// Remaining returns the smallest share left of any window, and whether one is
// known.
func (q *Quota) Remaining(now time.Time) (share float64, known bool) {
	if q == nil {
		return 0, false
	}
	if q.LimitReached {
		return 0, true
	}
	share = 2
	for _, w := range []Window{q.Session, q.Weekly, q.Monthly} {
		share = min(share, w.Remaining(now, 2))
	}
	if q.Overall != nil && !math.IsNaN(*q.Overall) {
		share = min(share, unit(*q.Overall))
	}
	return min(share, 1), share <= 1
}

// Stale reports that the snapshot is too old to be trusted.
func (q *Quota) Stale(now time.Time) bool { return q == nil || now.Sub(q.At) > staleAfter }

// untilReset returns the seconds until the first of the named windows resets;
// infinite when none is known to, or the limit has been reached.
func (q *Quota) untilReset(windows []string, now time.Time) float64 {
	first := math.Inf(1)
	if q == nil || q.LimitReached {
		return first
	}
	for _, name := range windows {
		if w := q.window(name); w.Known && w.Reset.After(now) {
			first = min(first, w.Reset.Sub(now).Seconds())
		}
	}
	return first
}

func (q *Quota) window(name string) Window {
	switch name {
	case "session":
		return q.Session
	case "monthly":
		return q.Monthly
	default:
		return q.Weekly
	}
}

// ResetTime reads a reset moment as upstreams write it: RFC 3339 text, seconds
// since 1970 (below 1e10) or milliseconds. The zero time means it is none.
func ResetTime(v any) time.Time {
	if s, ok := v.(string); ok {
		if t, err := time.Parse(time.RFC3339, s); err == nil {
			return t.UTC()
		}
	}
	f, ok := asNumber(v)
	switch {
	case !ok || f <= 0 || f > 1e15:
		return time.Time{}
	case f < 1e10:
		return time.UnixMilli(int64(f * 1000)).UTC()
	default:
		return time.UnixMilli(int64(f)).UTC()
	}
}

// unit brings a figure into 0 to 1; what is no number is 0.
func unit(f float64) float64 { return clampTo(f, 0, 1) }

// clampTo brings a figure into a range; what is no number is lo.
func clampTo(f, lo, hi float64) float64 {
	switch {
	case f > hi:
		return hi
	case f > lo:
		return f
	default:
		return lo
	}
}
