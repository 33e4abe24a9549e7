package admission

import "time"

const (
	overLimitSpacing = 200 * time.Millisecond
	// pacingMargin is what a learned spacing stays below the even one (sheet §5.3).
	pacingMargin = 10 * time.Millisecond
	// afterPause is how many may start in the first minute after a pause (sheet
	// §5.4); after that the usual rules hold again (ruling 39).
	afterPause = 60
	maxLock    = day
)

// Lesson is what an answer has taught, apart from the pace.
type Lesson struct {
	// Lock is set when the model must be locked on this connection instead of
	// pausing the queue (guide §5, lockModelForLongBodyRetry).
	Lock time.Duration
	// Exact are the names to lock: the model, and the name the client asked for
	// when it is another. Neither is to be widened to a family.
	Exact []string
	// Pause is how long the queue starts nothing.
	Pause time.Duration
}

// Learn takes in what an answer says about the provider's limits (sheet §5.3,
// §5.4). Calls that now wait in vain are refused at once (P12).
func (q *Queues) Learn(call Call, a Answer) Lesson {
	said := hear(a)
	if !said.refused && !said.over && said.limit <= 0 {
		return Lesson{} // it says nothing
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	l := q.find(call, now)
	if l == nil {
		return Lesson{}
	}
	var lesson Lesson
	if said.refused {
		lesson = l.refused(q, call, said, now)
	} else {
		l.told(q, said, a.Now, now)
		l.turnAway(l.held(now), now)
	}
	l.dispatch(q, now)
	return lesson
}

// Locks returns for how long an answer asks the model to be locked on its
// connection instead of the queue to be paused (guide §5,
// lockModelForLongBodyRetry), 0 for not at all. It changes nothing: the caller
// locks first and then lets Learn turn the waiting away, who look at the lock.
func (q *Queues) Locks(call Call, a Answer) time.Duration {
	said := hear(a)
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.find(call, time.Now())
	if l == nil || !said.refused || !l.locks(said) {
		return 0
	}
	return min(said.wait, maxLock)
}

// locks reports whether a stated wait is the model's and too long to queue.
func (l *limiter) locks(said heard) bool {
	return said.typed && l.scoped && said.wait > l.conn.rules.MaxWait
}

// refused learns from a 429: everything learned before was wrong.
func (l *limiter) refused(q *Queues, call Call, said heard, now time.Time) (lesson Lesson) {
	paused := l.reserve.free(now)
	l.forget()
	delete(q.restored, l.key)
	q.dirty = true
	wait, budget := said.wait, l.conn.rules.MaxWait
	if l.locks(said) {
		lesson = Lesson{Lock: min(wait, maxLock), Exact: []string{call.Model}}
		if call.Alias != "" && call.Alias != call.Model {
			lesson.Exact = append(lesson.Exact, call.Alias)
		}
		wait = 0
	}
	if spacing := max(l.conn.rules.Spacing, said.cap); said.cap > 0 && spacing <= budget && !l.conn.rules.OwnPace {
		l.learned = spacing
		wait = max(wait, spacing)
	}
	// A second 429 without a word about time does not lift a pause.
	if until := later(now.Add(wait), paused); until.After(now) {
		l.reserve = holding(now, until, 0, afterPause, false)
		lesson.Pause = until.Sub(now)
	}
	// The connection is cooled for what the answer states, whatever the queue
	// does.
	l.turnAway(later(l.held(now), now.Add(said.stated)), now)
	return lesson
}

// told learns from the limits that an answer carries. wall is the time at which
// it came.
func (l *limiter) told(q *Queues, said heard, wall, now time.Time) {
	if said.over && !l.conn.rules.OwnPace {
		l.learned = overLimitSpacing
	}
	if said.limit <= 0 {
		return
	}
	if !l.conn.rules.OwnPace {
		l.learned = max(0, time.Duration(60_000/said.limit)*time.Millisecond-pacingMargin)
	}
	switch {
	case said.remaining < 0:
	case said.remaining*10 < said.limit:
		l.reserve = holding(now, now.Add(said.reset), said.remaining, said.limit, true)
	case said.remaining*2 > said.limit:
		l.learned, l.reserve = 0, reservoir{}
	}
	l.known = Learned{
		Key: l.key, Connection: l.conn.ID, Limit: said.limit, Remaining: said.remaining, SpacingMs: l.spacing().Milliseconds(), At: wall,
	}
	q.dirty = true
}

// TurnAway tells that a connection cannot be used for wait: whoever queues for
// it and cannot wait that long is refused at once (P12). Nothing is paused; the
// caller has put the connection aside by its own means.
func (q *Queues) TurnAway(connection string, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	for _, l := range q.limiters {
		if l.conn.ID == connection {
			l.turnAway(now.Add(wait), now)
		}
	}
}

// turnAway refuses every waiting call that could not start before its deadline.
func (l *limiter) turnAway(until, now time.Time) {
	l.refuse(func(t *ticket) *Error {
		if !until.After(t.deadline) {
			return nil
		}
		return l.heldBack(t.model, until, now)
	})
}
