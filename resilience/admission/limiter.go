package admission

import (
	"container/list"
	"time"

	"breakwater/resilience/clock"
)

// limiter paces the calls of one key. Queues.mu guards it.
type limiter struct {
	key    string
	scoped bool // stands for a part of the connection's models only
	model  string
	conn   *connState

	running int64
	queue   list.List // of *ticket, oldest first
	minute  window
	last    time.Time     // last start
	learned time.Duration // spacing taught by the provider, 0: none
	reserve reservoir
	timer   *time.Timer
	used    time.Time // last call
	stuck   time.Time // when it was first seen doing nothing with calls waiting
	known   Learned
}

// ticket is a call that stands in a queue. Queues.mu guards it.
type ticket struct {
	place    *list.Element // nil once it is out
	model    string
	deadline time.Time
	gone     func() bool // the client has left
	granted  bool
	err      error
	ready    chan struct{}
}

func (t *ticket) settle(granted bool, err error) {
	t.granted, t.err = granted, err
	close(t.ready)
}

// reservoir is a count of starts that runs out and is filled at a known time:
// what a provider says is left, or nothing at all during a pause.
type reservoir struct {
	on           bool
	left, amount int64
	next         time.Time     // when it is filled to amount, wall time: a sleep counts
	span         time.Duration // how long that was when it was set, the bound after a clock step
	again        bool          // … and then every minute; else it is gone a minute later
	filled       bool
}

// free returns when the next start is possible.
func (r *reservoir) free(now time.Time) time.Time {
	if r.on && clock.Stepped(now, r.next, r.span) {
		r.next = clock.Wall(now.Add(r.span))
	}
	for r.on && !now.Before(r.next) {
		if r.filled && !r.again {
			*r = reservoir{}
			return now
		}
		r.left, r.filled = r.amount, true
		r.next = r.next.Add(time.Minute * (1 + now.Sub(r.next)/time.Minute))
		r.span = time.Minute
	}
	if !r.on || r.left > 0 {
		return now
	}
	return r.next
}

// pause reports whether nothing starts because of a refusal, and until when; a
// used up allowance is no pause.
func (r *reservoir) pause(now time.Time) (until time.Time, paused bool) {
	until = r.free(now)
	return until, r.on && !r.again && until.After(now)
}

// holding is a reservoir that gives n again from a time on.
func holding(now, until time.Time, left, amount int64, again bool) reservoir {
	return reservoir{on: true, left: left, amount: amount, next: clock.Wall(until), span: until.Sub(now), again: again}
}

func (r *reservoir) take() {
	if r.on {
		r.left--
	}
}

// spacing returns the time between two starts in force.
func (l *limiter) spacing() time.Duration { return max(l.conn.rules.Spacing, l.learned) }

// held returns until when nobody at all can start.
func (l *limiter) held(now time.Time) time.Time {
	r, c := &l.conn.rules, l.conn
	at := later(l.reserve.free(now), l.minute.free(now, r.PerMinute))
	at = later(at, c.provider.free(now, r.ProviderPerMinute))
	at = later(at, c.day.free(now, r.PerDay))
	at = later(at, c.tokensMinute.free(now, r.TokensPerMinute))
	at = later(at, c.tokensDay.free(now, r.TokensPerDay))
	if s := l.spacing(); s > 0 && !l.last.IsZero() {
		at = later(at, l.last.Add(s))
	}
	return at
}

// next returns when the oldest may start; false when a running one must end
// first.
func (l *limiter) next(now time.Time) (time.Time, bool) {
	if n := l.conn.rules.Concurrent; n > 0 && l.running >= n {
		return time.Time{}, false
	}
	return l.held(now), true
}

// start counts a call that begins now.
func (l *limiter) start(now time.Time) {
	r, c := &l.conn.rules, l.conn
	l.running++
	l.last, l.used, l.stuck = now, now, time.Time{}
	l.reserve.take()
	count(&l.minute, now, r.PerMinute, time.Minute)
	count(&c.provider, now, r.ProviderPerMinute, time.Minute)
	count(&c.day, now, r.PerDay, day)
}

// count keeps book only where there is a limit.
func count(w *window, now time.Time, limit int64, span time.Duration) {
	if limit > 0 {
		w.span = span
		w.add(now, 1)
	} else if w.sum > 0 {
		*w = window{}
	}
}

// dispatch starts everybody who may start now, in order of arrival, and sets
// the timer for the one after.
func (l *limiter) dispatch(q *Queues, now time.Time) {
	for e := l.queue.Front(); e != nil; e = l.queue.Front() {
		t := e.Value.(*ticket) //nolint:forcetypeassert,nolintlint // the list holds nothing else
		if t.gone() {
			l.remove(t) // its own call takes note
			continue
		}
		if l.conn.protected {
			at, ok := l.next(now)
			if !ok { // the end of a running one calls again
				return
			}
			if at.After(now) {
				l.arm(q, at.Sub(now))
				return
			}
		}
		l.remove(t)
		l.start(now)
		t.settle(true, nil)
	}
}

func (l *limiter) arm(q *Queues, d time.Duration) {
	if l.timer != nil {
		l.timer.Reset(d)
		return
	}
	l.timer = time.AfterFunc(d, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		l.dispatch(q, time.Now())
	})
}

func (l *limiter) remove(t *ticket) {
	if t.place != nil {
		l.queue.Remove(t.place)
		t.place = nil
	}
}

// refuse settles every waiting call for which why gives a refusal.
func (l *limiter) refuse(why func(*ticket) *Error) {
	for e := l.queue.Front(); e != nil; {
		t := e.Value.(*ticket) //nolint:forcetypeassert,nolintlint // the list holds nothing else
		e = e.Next()
		if err := why(t); err != nil {
			l.remove(t)
			t.settle(false, err)
		}
	}
}

// forget returns to what was before the provider taught anything.
func (l *limiter) forget() {
	l.learned, l.reserve, l.known = 0, reservoir{}, Learned{}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
