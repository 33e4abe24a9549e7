package admission

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"breakwater/resilience/settings"
)

const day = 24 * time.Hour

// Queues are the admission queues of all connections (guide §5), one for each
// provider and connection, or part of it. See NewQueues.
type Queues struct {
	mu       sync.Mutex
	conns    map[string]*connState
	limiters map[string]*limiter
	restored map[string]Learned
	dirty    bool
	saved    time.Time
}

// connState is what the queues of one connection share.
type connState struct {
	Conn
	rules        Rules
	protected    bool
	provider     window
	day          window
	tokensMinute window
	tokensDay    window
}

// NewQueues returns queues for no connection; see Configure.
func NewQueues() *Queues {
	return &Queues{conns: map[string]*connState{}, limiters: map[string]*limiter{}, restored: map[string]Learned{}}
}

// Configure sets the connections and the rules; it is called at the start and
// at every change of either. What waits or runs follows the new rules at once
// (P61). A connection that is no longer protected, or gone, lets everybody who
// waits go on. Changed overrides forget what the provider taught.
func (q *Queues) Configure(s *settings.Settings, conns []Conn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now, seen := time.Now(), make(map[string]bool, len(conns))
	for _, c := range conns {
		seen[c.ID] = true
		st := q.conns[c.ID]
		if st == nil {
			st = &connState{}
			q.conns[c.ID] = st
		}
		if st.Provider != c.Provider || !reflect.DeepEqual(st.Overrides, c.Overrides) {
			q.forget(c.ID)
		}
		st.Conn, st.rules = c, RulesFor(s, c.Provider, c.Overrides)
		st.protected = c.Protected(s.RequestQueue.AutoEnableAPIKeyProviders)
		if st.protected {
			if key, isScoped := limiterKey(c.Provider, c.ID, "", ""); !isScoped {
				q.limiter(st, key, false, now)
			}
		}
	}
	for id, st := range q.conns {
		if !seen[id] {
			st.protected = false
			delete(q.conns, id)
		}
	}
	for key, l := range q.limiters {
		l.dispatch(q, now)
		if !l.conn.protected || l.conn != q.conns[l.conn.ID] {
			delete(q.limiters, key)
		}
	}
}

// Forget drops what the provider of a connection taught, pauses included: a
// user's clear, or a new key (ruling 66).
func (q *Queues) Forget(connection string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.forget(connection)
}

func (q *Queues) forget(connection string) {
	for key, k := range q.restored {
		if k.Connection == connection {
			delete(q.restored, key)
			q.dirty = true
		}
	}
	now := time.Now()
	for _, l := range q.limiters {
		if l.conn.ID == connection {
			q.dirty = q.dirty || l.known.Limit > 0
			l.forget()
			l.dispatch(q, now)
		}
	}
}

// Resume lifts the pauses of the queues that match; what was learned of limits
// stays (resilience/reset, ruling 66).
func (q *Queues) Resume(match func(connection string) bool) {
	q.resume(func(l *limiter) bool { return match(l.conn.ID) })
}

// ResumeModel lifts the pause of the queue that stands for a model of a
// connection, or for any of its models when it is empty: the model was unlocked.
// The queue of a whole connection is none.
func (q *Queues) ResumeModel(connection, model string) {
	q.resume(func(l *limiter) bool {
		if !l.scoped || l.conn.ID != connection {
			return false
		}
		key, _ := limiterKey(l.conn.Provider, connection, model, "")
		return model == "" || l.key == key
	})
}

func (q *Queues) resume(match func(*limiter) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	for _, l := range q.limiters {
		if _, paused := l.reserve.pause(now); paused && match(l) {
			l.reserve = reservoir{}
			l.dispatch(q, now)
		}
	}
}

// Call is a request that wants to be sent.
type Call struct {
	Connection string
	Model      string // its name at the upstream
	// Family is the quota family or scope of the model, for the providers that
	// have some.
	Family string
	// Alias is the name the client asked for when it is another.
	Alias string
}

// limiter returns the limiter under key, a fresh one if there is none.
func (q *Queues) limiter(c *connState, key string, isScoped bool, now time.Time) *limiter {
	l := q.limiters[key]
	if l == nil {
		l = &limiter{key: key, scoped: isScoped, conn: c, used: now}
		l.recall(q.restored[key])
		q.limiters[key] = l
	}
	return l
}

// find returns the limiter of a call, nil when the connection is not protected.
func (q *Queues) find(call Call, now time.Time) *limiter {
	c := q.conns[call.Connection]
	if c == nil || !c.protected {
		return nil
	}
	key, isScoped := limiterKey(c.Provider, c.ID, call.Model, call.Family)
	l := q.limiter(c, key, isScoped, now)
	if l.model == "" {
		l.model = call.Model
	}
	return l
}

// Acquire waits for the call's turn, at most maxWaitMs. The depth is checked
// first; a call that cannot start in time is refused at once
// (checkLimiterPause). A refusal is an *Error; when ctx ends, its cause is
// returned and the call is never started. The slot must be released: defer that
// at once. A connection without protection gives a slot that holds nothing.
func (q *Queues) Acquire(ctx context.Context, call Call) (*Slot, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s, err := q.enter(ctx, call)
	if err != nil || s.ticket == nil {
		return s, err
	}
	timer := time.NewTimer(s.wait)
	defer timer.Stop()
	select {
	case <-s.ticket.ready:
	case <-ctx.Done():
	case <-timer.C:
	}
	return q.outcome(ctx, s)
}

// enter starts the call, or queues it: then the slot has a ticket.
func (q *Queues) enter(ctx context.Context, call Call) (*Slot, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	l := q.find(call, now)
	if l == nil {
		return &Slot{}, nil
	}
	r := &l.conn.rules
	s := &Slot{queues: q, limiter: l, execution: r.Execution, wait: r.MaxWait}
	l.used = now
	if !AdmitDepth(int64(l.queue.Len()), r.MaxDepth) {
		return nil, l.refusal(QueueFull, now, call.Model, "%d requests wait already (maxQueueDepth)", l.queue.Len())
	}
	at, ok := l.next(now)
	if ok && l.queue.Len() == 0 && !at.After(now) {
		l.start(now)
		return s, nil
	}
	deadline := now.Add(r.MaxWait)
	if held := l.held(now); held.After(deadline) {
		return nil, l.heldBack(call.Model, held, now)
	}
	t := &ticket{model: call.Model, deadline: deadline, ready: make(chan struct{}), gone: func() bool { return ctx.Err() != nil }}
	t.place = l.queue.PushBack(t)
	s.ticket = t
	l.dispatch(q, now)
	return s, nil
}

// outcome ends a wait: with the slot, a refusal, or the cause of ctx.
func (q *Queues) outcome(ctx context.Context, s *Slot) (*Slot, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t, l, now := s.ticket, s.limiter, time.Now()
	s.ticket = nil
	if ctx.Err() == nil {
		l.dispatch(q, now) // a wait that just fits ends in the same moment
	}
	l.remove(t)
	switch {
	case ctx.Err() != nil: // also when the start came at the same moment (P61)
		if t.granted {
			s.release(now)
		}
		return nil, context.Cause(ctx)
	case t.granted:
		return s, nil
	case t.err != nil:
		return nil, t.err
	default:
		return nil, l.refusal(QueueTimeout, now, t.model, "its turn did not come within %s (maxWaitMs)", s.wait)
	}
}

// heldBack refuses a call whose wait would be in vain.
func (l *limiter) heldBack(model string, until, now time.Time) *Error {
	e := l.refusal(QueueTimeout, now, model, "nothing can start for %s, longer than this request may wait", until.Sub(now).Round(time.Millisecond))
	e.RetryAfter, e.Elsewhere = until.Sub(now), true
	return e
}

func (l *limiter) refusal(code Code, now time.Time, model, format string, args ...any) *Error {
	e := &Error{Code: code, Message: fmt.Sprintf("Breakwater's own queue for %s/%s: %s.", l.conn.Provider, model, fmt.Sprintf(format, args...))}
	if at, ok := l.next(now); ok {
		e.RetryAfter = max(0, at.Sub(now))
	}
	return e
}

// Slot is the right to send a call. It is a lease: whoever has it defers
// Release at once (P60).
type Slot struct {
	queues    *Queues
	limiter   *limiter
	ticket    *ticket
	wait      time.Duration
	execution time.Duration
	released  atomic.Bool
}

// Release gives the slot back and starts the next call. Only the first call
// counts; a nil slot is none.
func (s *Slot) Release() {
	if s == nil || s.limiter == nil || s.released.Load() {
		return
	}
	s.queues.mu.Lock()
	defer s.queues.mu.Unlock()
	s.release(time.Now())
}

func (s *Slot) release(now time.Time) {
	if !s.released.CompareAndSwap(false, true) {
		return
	}
	s.limiter.running--
	s.limiter.used = now
	s.limiter.dispatch(s.queues, now)
}

// Tokens counts what the call has used against the connection's token limits.
func (s *Slot) Tokens(n int64) {
	if s == nil || s.limiter == nil {
		return
	}
	s.queues.mu.Lock()
	defer s.queues.mu.Unlock()
	c, now := s.limiter.conn, time.Now()
	if c.rules.TokensPerMinute > 0 {
		c.tokensMinute.span = time.Minute
		c.tokensMinute.add(now, n)
	}
	if c.rules.TokensPerDay > 0 {
		c.tokensDay.span = day
		c.tokensDay.add(now, n)
	}
}

// Limit returns how long the call may take until its answer begins:
// executionMaxWaitMs, or fetchStart, the caller's own time to the first answer,
// when that is longer (guide §5). Zero is without end; Expired is what ends it.
func (s *Slot) Limit(fetchStart time.Duration) time.Duration {
	if s == nil || s.execution <= 0 {
		return 0
	}
	return max(s.execution, fetchStart)
}

// Expired is the refusal of a call whose answer did not begin within its Limit.
func Expired(limit time.Duration) *Error {
	return &Error{
		Code: ExecutionTimeout, Elsewhere: true,
		Message: fmt.Sprintf("Breakwater gave up on the request: it ran for %s (executionMaxWaitMs).", limit),
	}
}
