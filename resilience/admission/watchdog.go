package admission

import (
	"slices"
	"strings"
	"time"
)

// The watchdog's figures (sheet §5.5).
const (
	// SweepEvery is how often Sweep is to be called.
	SweepEvery = 30 * time.Second

	idleAfter   = 10 * time.Minute
	wedgedAfter = 2 * time.Minute
)

// Sweep drops the limiters that nobody uses and takes down those that are
// wedged: calls wait, none runs, nothing keeps them, and none has started for
// two minutes. Their calls are refused at once. It returns the keys of the
// wedged ones.
func (q *Queues) Sweep() (wedged []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	for key, l := range q.limiters {
		switch {
		case l.queue.Len() == 0 && l.running == 0:
			if now.Sub(l.used) >= idleAfter {
				q.keep(l)
				delete(q.limiters, key)
			}
		case l.wedged(now):
			wedged = append(wedged, key)
			delete(q.limiters, key)
			l.refuse(func(*ticket) *Error {
				return &Error{Code: QueueWedged, Message: "Breakwater's own queue for " + key + " stood still and was taken down."}
			})
		}
	}
	slices.Sort(wedged)
	return wedged
}

// keep remembers what an idle limiter has learned.
func (q *Queues) keep(l *limiter) {
	if l.known.Limit > 0 {
		q.restored[l.key] = l.known
	}
}

// wedged reports that the limiter has stood still too long. The first sight
// only starts the clock.
func (l *limiter) wedged(now time.Time) bool {
	if l.queue.Len() == 0 || l.running > 0 {
		l.stuck = time.Time{}
		return false
	}
	if at, _ := l.next(now); at.After(now) { // it waits for a reason
		l.stuck = time.Time{}
		return false
	}
	if l.stuck.IsZero() {
		l.stuck = now
		return false
	}
	return now.Sub(l.stuck) >= wedgedAfter
}

// QueueView shows one limiter.
type QueueView struct {
	Key, Connection string
	Queued, Running int64
	Limit           int64 // learned, 0: none
	Remaining       int64
	Spacing         time.Duration // in force
	Held            time.Duration // how long nothing can start
	// Scoped tells that it stands for a part of the connection's models, Model is
	// the one that it was first used for.
	Scoped bool
	Model  string
	// Pause is how long a refusal keeps everything from starting, Allowance how
	// long a used up allowance does, Learned the spacing that the provider taught.
	Pause, Allowance, Learned time.Duration
}

func (l *limiter) view(now time.Time) QueueView {
	v := QueueView{
		Key: l.key, Connection: l.conn.ID, Queued: int64(l.queue.Len()), Running: l.running, Limit: l.known.Limit,
		Remaining: l.known.Remaining, Spacing: l.spacing(), Held: max(0, l.held(now).Sub(now)), Scoped: l.scoped, Model: l.model, Learned: l.learned,
	}
	if until, paused := l.reserve.pause(now); paused {
		v.Pause = until.Sub(now)
	} else {
		v.Allowance = max(0, until.Sub(now))
	}
	return v
}

// ViewsOf returns the queues of one connection that have something to tell of
// waits: a pause, a used up allowance, a learned limit.
func (q *Queues) ViewsOf(connection string) []QueueView {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.conns[connection]
	if c == nil {
		return nil
	}
	key, isScoped := limiterKey(c.Provider, c.ID, "", "")
	if l := q.limiters[key]; !isScoped {
		if l == nil || !l.taught() {
			return nil
		}
		return []QueueView{l.view(time.Now())}
	}
	var views []QueueView
	for _, l := range q.limiters {
		if l.conn == c && l.taught() {
			views = append(views, l.view(time.Now()))
		}
	}
	slices.SortFunc(views, func(a, b QueueView) int { return strings.Compare(a.Key, b.Key) })
	return views
}

// taught reports whether the provider has taught anything.
func (l *limiter) taught() bool { return l.reserve.on || l.learned > 0 || l.known.Limit > 0 }

// Views returns all limiters, by key.
func (q *Queues) Views() []QueueView {
	q.mu.Lock()
	defer q.mu.Unlock()
	now, views := time.Now(), make([]QueueView, 0, len(q.limiters))
	for _, l := range q.limiters {
		views = append(views, l.view(now))
	}
	slices.SortFunc(views, func(a, b QueueView) int { return strings.Compare(a.Key, b.Key) })
	return views
}

// Protected reports whether a connection has a queue.
func (q *Queues) Protected(connection string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.conns[connection]
	return c != nil && c.protected
}
