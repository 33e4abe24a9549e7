// Package slow remembers which targets kept requests waiting in silence, so that
// they are asked last for a while (ruling 69).
package slow

import (
	"sync"
	"sync/atomic"
	"time"
)

// Figures of ruling 69.
const (
	base = 2 * time.Minute
	most = 16 * time.Minute
	// window is within which a second client that left in silence counts.
	window = 10 * time.Minute
	// capacity bounds the table; the oldest entry goes.
	capacity = 4096
)

// Key names a target.
type Key struct{ Connection, Model string }

// Entry is what is known of a slow target.
type Entry struct {
	Key
	Until time.Time
	// Strikes counts how often in a row the target was found slow.
	Strikes int
}

type entry struct {
	until   time.Time
	strikes int
	lost    time.Time // when a client left in silence, zero: none did
	at      time.Time // of the last event
}

// Table holds the slow targets. None of them is penalised: there is no cooldown,
// no breaker and no exclusion. Its zero value is ready, and safe for
// concurrent use.
type Table struct {
	mu   sync.Mutex
	m    map[Key]*entry
	some atomic.Bool // m may hold something
}

// Overdue records that the target ran into its budget before any output: it is
// asked last for 2 min, doubling to 16.
func (t *Table) Overdue(now time.Time, k Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.strike(now, t.get(now, k))
}

// LostClient records that a client left in silence near its own limit. The
// second within 10 min makes the target slow.
func (t *Table) LostClient(now time.Time, k Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.get(now, k)
	if e.lost.IsZero() || now.Sub(e.lost) > window || now.Before(e.lost) {
		e.lost = now
		return
	}
	e.lost = now
	t.strike(now, e)
}

// Answered lifts the state: the target answered within its budget.
func (t *Table) Answered(k Key) {
	if !t.Any() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.m, k)
	t.some.Store(len(t.m) > 0)
}

// Forget lifts the state of all targets of a connection.
func (t *Table) Forget(connection string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k := range t.m {
		if k.Connection == connection {
			delete(t.m, k)
		}
	}
}

// Any reports, at no cost, whether a target may be slow.
func (t *Table) Any() bool { return t.some.Load() }

// Slow returns what is known of a target that is slow at the moment; ok is false
// for every other one.
func (t *Table) Slow(now time.Time, k Key) (e Entry, ok bool) {
	if !t.Any() {
		return Entry{}, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.m[k]
	if known == nil || !known.slow(now) {
		return Entry{}, false
	}
	return Entry{k, known.until, known.strikes}, true
}

// Snapshot returns the slow targets of a connection.
func (t *Table) Snapshot(now time.Time, connection string) (list []Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, e := range t.m {
		if k.Connection == connection && e.slow(now) {
			list = append(list, Entry{k, e.until, e.strikes})
		}
	}
	return list
}

// slow reports whether the state lasts. A clock that was set back cannot pin it:
// it never lasts longer than its longest span.
func (e *entry) slow(now time.Time) bool {
	return e.until.After(now) && e.until.Sub(now) <= most
}

func (t *Table) strike(now time.Time, e *entry) {
	span := min(base<<min(e.strikes, 3), most)
	e.strikes++
	e.until = now.Add(span).Round(0)
}

// get returns the entry of a target, made where there is none.
func (t *Table) get(now time.Time, k Key) *entry {
	if t.m == nil {
		t.m = map[Key]*entry{}
	}
	e := t.m[k]
	if e == nil {
		if len(t.m) >= capacity {
			t.evict()
		}
		e = &entry{}
		t.m[k] = e
		t.some.Store(true)
	}
	e.at = now
	return e
}

// evict drops the entry that was touched longest ago.
func (t *Table) evict() {
	var oldest Key
	var at time.Time
	for k, e := range t.m {
		if at.IsZero() || e.at.Before(at) {
			oldest, at = k, e.at
		}
	}
	delete(t.m, oldest)
}

// Budget is how long a streamed request waits for the headers of a cloud
// target's answer: first, and a second more for every 20 KB of body over 200 KB,
// 300 s at most (a long prompt is read before the first byte). A client that is
// known to give up earlier is answered 20 s before that; 0 is not known.
func Budget(first time.Duration, body int, givesUp time.Duration) time.Duration {
	const free, step, longest, margin = 200_000, 20_000, 300 * time.Second, 20 * time.Second
	b := first
	if over := body - free; over > 0 {
		b += time.Duration(over/step) * time.Second
	}
	b = max(min(b, longest), min(first, longest))
	if givesUp > margin {
		b = min(b, givesUp-margin)
	}
	return b
}

// NearLimit reports whether a wait ended within a tenth of the client's known
// limit: it was the limit that ended it.
func NearLimit(waited, limit time.Duration) bool {
	return limit > 0 && waited >= limit-limit/10 && waited <= limit+limit/10
}
