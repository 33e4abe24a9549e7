package attempt

import (
	"context"
	"sync"
	"time"

	"breakwater/proxy/dialect"
	"breakwater/resilience/admission"
	"breakwater/resilience/watchdog"
)

// Limits are the waits that an upstream is allowed (stream sheet §6.1). They
// are local deadlines: passing one is no penalty (case P10). A zero wait is
// without end.
type Limits struct {
	Headers      time.Duration // until the answer's headers
	Readiness    time.Duration // until the first event of a stream, before bonuses
	ReadinessMax time.Duration // what bonuses and bytes extend that to
	Stall        time.Duration // least budget between two signs of progress
	Idle         time.Duration // between two reads of a stream
	Body         time.Duration // between two reads of a document
	Total        time.Duration // for a whole stream
}

// of returns the budgets of a stream with this readiness budget.
func (l Limits) of(ready time.Duration) watchdog.Budgets {
	return watchdog.Budgets{
		Ready: ready, ReadyCap: max(l.Readiness, l.ReadinessMax), Stall: watchdog.Stall(ready, l.Stall),
		Idle: l.Idle, Total: l.Total,
	}
}

// budgets returns what a stream of this target may take.
func (a *attempt) budgets() watchdog.Budgets {
	req, l := a.req, &a.Limits
	traits := req.Dialect.Traits()
	b := l.of(watchdog.Readiness(l.Readiness, l.ReadinessMax, watchdog.Request{
		Provider: a.target.Route.Provider.ID, Model: a.target.Model, Claude: traits.SlowElsewhere,
		Items: req.Body.Items, Tools: req.Body.Tools, Bytes: len(req.Body.Raw), Effort: req.Body.Effort,
	}))
	if traits.Rated {
		b.Throughput = watchdog.ThroughputOf(a.Services.InForce().StreamRecovery.ThroughputWatchdog)
	}
	return b
}

// overdue is the error of a call that took too long.
type overdue struct{ cause watchdog.Cause }

// Error names what took too long.
func (o overdue) Error() string { return o.cause.Code() }

// limit is how long an answer may take to begin, whatever comes meanwhile. The
// zero value is none.
type limit struct {
	at     time.Time
	within time.Duration
}

// limitOf is a limit that begins now.
func limitOf(now time.Time, within time.Duration) limit {
	if within <= 0 {
		return limit{}
	}
	return limit{now.Add(within), within}
}

func (l limit) passed(now time.Time) bool { return !l.at.IsZero() && !now.Before(l.at) }

func (l limit) cause() error { return admission.Expired(l.within) }

// deadlines cancels a call that makes no progress in time. What happens is only
// noted; one timer looks at it when the first budget may be used up.
type deadlines struct {
	mu     sync.Mutex
	dog    watchdog.Watch
	timer  *time.Timer
	cancel context.CancelFunc
	done   bool
	rate   bool          // of output is watched
	budget time.Duration // between two signs of progress
	limit  limit
	err    error // why the call was cancelled
}

// newDeadlines begins to wait for the headers of an answer.
func newDeadlines(answer time.Duration, until limit, cancel context.CancelFunc) *deadlines {
	now := time.Now()
	d := &deadlines{dog: watchdog.New(watchdog.Budgets{Answer: answer}, now), cancel: cancel, limit: until}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.plan(now)
	return d
}

// lift takes the limit away: the answer begins.
func (d *deadlines) lift() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.limit = limit{}
}

// accepted marks the headers; from now on these budgets hold.
func (d *deadlines) accepted(b watchdog.Budgets) {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rate, d.budget = b.Throughput.Enabled, b.Stall
	d.dog.Accepted(now, b)
	d.plan(now)
}

// readInfo is what one read of an upstream has shown.
type readInfo struct {
	at       time.Time // zero is now
	ready    bool      // a structured event
	progress bool      // output or reasoning
	text     int       // bytes of output text
	closed   bool      // nothing but text is under way
	opened   bool      // reasoning or a tool call is under way
}

// add notes one delta.
func (r *readInfo) add(kind dialect.DeltaKind, text int) {
	switch kind {
	case dialect.TextDelta:
		r.text += text
		r.closed, r.opened = true, false
	case dialect.ReasoningDelta, dialect.ToolDelta:
		r.opened = true
	case dialect.ItemEnd:
		r.closed, r.opened = true, false
	case dialect.NoDelta:
	}
}

// read notes what a read has shown. It only ever moves a deadline further away,
// so the timer may stay as it is.
func (d *deadlines) read(r readInfo) {
	if r.at.IsZero() {
		r.at = time.Now()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dog.Bytes(r.at)
	switch {
	case r.progress:
		d.dog.Progress(r.at)
	case r.ready:
		d.dog.Ready()
	}
	if r.closed {
		d.dog.Suspend(r.at, false)
	}
	d.dog.Useful(r.at, r.text)
	if r.opened {
		d.dog.Suspend(r.at, true)
	}
}

// stall is the budget between two signs of progress.
func (d *deadlines) stall() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.budget
}

// measures reports whether the rate of output is watched.
func (d *deadlines) measures() bool { return d.rate }

// expired is why the call was cancelled here, nil when it was not.
func (d *deadlines) expired() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// plan cancels the call if it is overdue, or sets the timer to when it may be.
// The caller holds the lock.
func (d *deadlines) plan(now time.Time) {
	if d.done {
		return
	}
	cause, next := d.dog.Due(now)
	if end := d.limit.at; !end.IsZero() && (next.IsZero() || end.Before(next)) {
		next = end
	}
	switch {
	case d.limit.passed(now):
		d.expire(d.limit.cause())
	case cause != watchdog.None:
		d.expire(overdue{cause})
	case next.IsZero():
	case d.timer == nil:
		d.timer = time.AfterFunc(next.Sub(now), d.look)
	default:
		d.timer.Reset(next.Sub(now))
	}
}

func (d *deadlines) expire(err error) {
	d.done, d.err = true, err
	d.cancel()
}

func (d *deadlines) look() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.plan(time.Now())
}

// stop ends the watch.
func (d *deadlines) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done = true
	if d.timer != nil {
		d.timer.Stop()
	}
}
