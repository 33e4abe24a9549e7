package proxy

import (
	"context"
	"sync"
	"time"

	"breakwater/proxy/dialect"
	"breakwater/resilience/admission"
	"breakwater/resilience/settings"
	"breakwater/resilience/watchdog"
)

// Limits are the waits that the proxy allows an upstream (stream sheet §6.1).
// They are local deadlines: passing one is no penalty (case P10). A zero wait
// is without end.
type Limits struct {
	Headers      time.Duration // until the answer's headers
	Readiness    time.Duration // until the first event of a stream, before bonuses
	ReadinessMax time.Duration // what bonuses and bytes extend that to
	Stall        time.Duration // least budget between two signs of progress
	Idle         time.Duration // between two reads of a stream
	Body         time.Duration // between two reads of a document
	Total        time.Duration // for a whole stream
	Write        time.Duration // for a client that does not read (case P34)
	Heartbeat    time.Duration // between two signs of life to a client that waits
	Head         time.Duration // for the headers of a request
	Upload       time.Duration // for a part of a request body (see pace)
	// Hold bounds how long any client waits for its headers; zero leaves it
	// to the client's profile.
	Hold time.Duration
	// Patience bounds one wait for a resting connection below what the settings
	// allow; zero leaves it to them, and a negative one never waits.
	Patience time.Duration
}

// held is how long a client of this kind is left without headers (ruling 45).
func (l Limits) held(p dialect.Profile) time.Duration {
	if l.Hold > 0 {
		return min(l.Hold, p.Hold)
	}
	return p.Hold
}

// writeLimit is how long one write to a client may take.
const writeLimit = 60 * time.Second

// LimitsOf returns the waits that the settings name.
func LimitsOf(t settings.Timeouts) Limits {
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	return Limits{
		Headers: ms(t.FetchHeadersMs), Readiness: ms(t.StreamReadinessMs), ReadinessMax: ms(t.StreamReadinessMaxMs),
		Stall: ms(t.StreamStallMs), Idle: ms(t.StreamIdleMs), Body: ms(t.FetchBodyMs), Total: ms(t.StreamActiveMs),
		Write: writeLimit, Heartbeat: ms(t.HeartbeatMs), Head: headLimit, Upload: uploadLimit,
	}
}

// DefaultLimits returns the guide's figures.
func DefaultLimits() Limits { return LimitsOf(settings.Defaults().Timeouts) }

// DemoLimits returns shorter waits, so that a newcomer sees a stall end.
func DemoLimits() Limits {
	l := DefaultLimits()
	l.Headers, l.Readiness, l.ReadinessMax = 10*time.Second, 10*time.Second, 20*time.Second
	l.Stall, l.Idle, l.Body = 10*time.Second, 20*time.Second, 20*time.Second
	return l
}

// budgets returns what a stream of this target may take.
func (t *attempt) budgets() watchdog.Budgets {
	x, l := t.x, &t.x.s.limits
	ready := watchdog.Readiness(l.Readiness, l.ReadinessMax, watchdog.Request{
		Provider: t.route.Provider.ID, Model: t.model, Claude: x.rt.dialect == dialect.Anthropic,
		Items: x.body.Items, Tools: x.body.Tools, Bytes: len(x.body.Raw), Effort: x.body.Effort,
	})
	b := l.of(ready)
	if x.rt.dialect != dialect.Anthropic {
		b.Throughput = watchdog.ThroughputOf(x.s.svc.InForce().StreamRecovery.ThroughputWatchdog)
	}
	return b
}

// of returns the budgets of a stream with this readiness budget.
func (l Limits) of(ready time.Duration) watchdog.Budgets {
	return watchdog.Budgets{
		Ready: ready, ReadyCap: max(l.Readiness, l.ReadinessMax), Stall: watchdog.Stall(ready, l.Stall),
		Idle: l.Idle, Total: l.Total,
	}
}

// overdue is the cause with which an attempt is cancelled that took too long.
type overdue struct{ cause watchdog.Cause }

// Error names what took too long.
func (o overdue) Error() string { return o.cause.Code() }

// watch cancels an attempt that makes no progress in time. What happens is
// only noted; one timer looks at it when the first budget may be used up.
type watch struct {
	mu     sync.Mutex
	dog    watchdog.Watch
	timer  *time.Timer
	cancel context.CancelCauseFunc
	done   bool
	rate   bool          // of output is watched
	budget time.Duration // between two signs of progress
	limit  limit
}

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

// newWatch begins to wait for the headers of an answer.
func newWatch(answer time.Duration, until limit, cancel context.CancelCauseFunc) *watch {
	now := time.Now()
	w := &watch{dog: watchdog.New(watchdog.Budgets{Answer: answer}, now), cancel: cancel, limit: until}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.plan(now)
	return w
}

// lift takes the limit away: the answer begins.
func (w *watch) lift() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit = limit{}
}

// accepted marks the headers; from now on these budgets hold.
func (w *watch) accepted(b watchdog.Budgets) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rate, w.budget = b.Throughput.Enabled, b.Stall
	w.dog.Accepted(now, b)
	w.plan(now)
}

// sight is what one read of an upstream has shown.
type sight struct {
	at       time.Time // zero is now
	ready    bool      // a structured event
	progress bool      // output or reasoning
	text     int       // bytes of output text
	closed   bool      // nothing but text is under way
	opened   bool      // reasoning or a tool call is under way
}

// add notes one delta.
func (s *sight) add(kind dialect.DeltaKind, text int) {
	switch kind {
	case dialect.TextDelta:
		s.text += text
		s.closed, s.opened = true, false
	case dialect.ReasoningDelta, dialect.ToolDelta:
		s.opened = true
	case dialect.ItemEnd:
		s.closed, s.opened = true, false
	case dialect.NoDelta:
	}
}

// saw notes what a read has shown. It only ever moves a deadline further away,
// so the timer may stay as it is.
func (w *watch) saw(s sight) {
	if s.at.IsZero() {
		s.at = time.Now()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dog.Bytes(s.at)
	switch {
	case s.progress:
		w.dog.Progress(s.at)
	case s.ready:
		w.dog.Ready()
	}
	if s.closed {
		w.dog.Suspend(s.at, false)
	}
	w.dog.Useful(s.at, s.text)
	if s.opened {
		w.dog.Suspend(s.at, true)
	}
}

// stall is the budget between two signs of progress.
func (w *watch) stall() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.budget
}

// measures reports whether the rate of output is watched.
func (w *watch) measures() bool { return w.rate }

// plan cancels the attempt if it is overdue, or sets the timer to when it may
// be. The caller holds the lock.
func (w *watch) plan(now time.Time) {
	if w.done {
		return
	}
	cause, next := w.dog.Due(now)
	if end := w.limit.at; !end.IsZero() && (next.IsZero() || end.Before(next)) {
		next = end
	}
	switch {
	case w.limit.passed(now):
		w.done = true
		w.cancel(w.limit.cause())
	case cause != watchdog.None:
		w.done = true
		w.cancel(overdue{cause})
	case next.IsZero():
	case w.timer == nil:
		w.timer = time.AfterFunc(next.Sub(now), w.look)
	default:
		w.timer.Reset(next.Sub(now))
	}
}

func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.plan(time.Now())
}

// stop ends the watch.
func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = true
	if w.timer != nil {
		w.timer.Stop()
	}
}
