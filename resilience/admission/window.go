package admission

import "time"

// maxExact is how many entries of a window keep their own time; beyond, those
// that came within a thousandth of the window are taken together, and leave
// with the last of them.
const maxExact = 1024

// window counts what happened within the last span. Unlike a figure that is
// refilled on the minute it never lets twice the limit through around the
// refill. The zero value with a span is empty.
type window struct {
	span    time.Duration
	entries []entry // oldest first; those before head have left
	head    int
	sum     int64
}

type entry struct {
	from, at time.Time // of the first and the last counted
	n        int64
}

// drop forgets what has left the window.
func (w *window) drop(now time.Time) {
	for w.head < len(w.entries) && !w.entries[w.head].at.Add(w.span).After(now) {
		w.sum -= w.entries[w.head].n
		w.head++
	}
	if w.head > 0 && 2*w.head >= len(w.entries) {
		w.entries, w.head = w.entries[:copy(w.entries, w.entries[w.head:])], 0
	}
}

// add counts n.
func (w *window) add(now time.Time, n int64) {
	if n <= 0 {
		return
	}
	w.drop(now)
	w.sum += n
	if last := len(w.entries) - 1; last >= w.head {
		e := &w.entries[last]
		if e.at.Equal(now) || last-w.head >= maxExact && now.Sub(e.from) < w.span/1000 {
			e.at, e.n = now, e.n+n
			return
		}
	}
	w.entries = append(w.entries, entry{now, now, n})
}

// free returns when one more fits under the limit: now when there is room, or
// no limit.
func (w *window) free(now time.Time, limit int64) time.Time {
	w.drop(now)
	left := w.sum - limit
	if limit <= 0 || left < 0 {
		return now
	}
	for _, e := range w.entries[w.head:] {
		if left -= e.n; left < 0 {
			return e.at.Add(w.span)
		}
	}
	return now
}
