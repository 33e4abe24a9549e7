// Package breaker provides the four-state circuit breaker of one provider.
package breaker

import (
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"breakwater/resilience/clock"
	"breakwater/resilience/outcome"
)

// historySize is how many transitions a breaker remembers (sheet §1.2).
const historySize = 20

// Breaker guards one provider (guide §1). There is no timer behind it: every
// read moves an expired state on. It is safe for concurrent use.
type Breaker struct {
	// seen is what decisions read, so that they take no lock: nil while the
	// breaker is CLOSED without a failure.
	seen atomic.Pointer[seen]
	note func(Transition, Saved)

	mu           sync.Mutex
	opts         Options
	state        State
	failures     int
	lastFailure  time.Time // wall time, zero: none
	lastKind     outcome.Kind
	kindFailures map[outcome.Kind]int
	cycles       int
	lease        lease
	history      []Transition
}

// seen is the part of the state that holds until a moment.
type seen struct {
	state State
	until time.Time // end of OPEN, or of DEGRADED by decay
	floor time.Time // earlier moments are the trace of a clock step
}

// New returns a CLOSED breaker with the default options patched by o. note is
// told of every change that must be stored; From and To are equal when only
// figures changed. It is called with the breaker locked: it must not block and
// must not call back.
func New(o Options, note func(Transition, Saved)) *Breaker {
	if note == nil {
		note = func(Transition, Saved) {}
	}
	return &Breaker{opts: DefaultOptions().Merge(o), note: note}
}

// Configure patches the options and keeps the state.
func (b *Breaker) Configure(o Options) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opts = b.opts.Merge(o)
	b.lease.allowance = min(b.lease.allowance, b.opts.HalfOpenRequests)
	b.mark()
}

// Options returns the present options.
func (b *Breaker) Options() Options {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.opts
}

// Verdict says whether the provider may be tried.
type Verdict struct {
	Allowed bool
	State   State
	Until   time.Time // when a refusal ends by itself
}

// Check tells whether a request may be sent, without taking a probe.
func (b *Breaker) Check(now time.Time) Verdict {
	s := b.seen.Load()
	if s == nil || s.state == Closed {
		return Verdict{Allowed: true}
	}
	if s.state != HalfOpen && now.Before(s.until) && !now.Before(s.floor) {
		v := Verdict{State: s.state, Allowed: s.state == Degraded}
		if !v.Allowed {
			v.Until = s.until
		}
		return v
	}
	return b.checkSlow(now)
}

// checkSlow brings the state up to date before it answers.
func (b *Breaker) checkSlow(now time.Time) Verdict {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refresh(now)
	return b.verdict(now)
}

// Clean reports, without a lock, that the breaker is CLOSED without a failure.
func (b *Breaker) Clean() bool { return b.seen.Load() == nil }

// Status returns everything the breaker knows.
func (b *Breaker) Status(now time.Time) Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refresh(now)
	s := Status{
		Saved:                 b.saved(),
		DegradationThreshold:  b.opts.DegradationThreshold,
		EffectiveResetTimeout: b.escalate(b.opts.ResetTimeout),
		History:               append([]Transition(nil), b.history...),
	}
	if v := b.verdict(now); !v.Allowed {
		s.Until = v.Until
		s.RetryAfter = max(0, v.Until.Sub(now))
	}
	return s
}

// Reset closes the breaker and forgets every figure; the history stays.
func (b *Breaker) Reset(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget()
	b.to(now, Closed, "manual-reset")
}

// TestPassed takes a good connection test: DEGRADED becomes CLOSED, OPEN and
// HALF_OPEN stay as they are (guide §1).
func (b *Breaker) TestPassed(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refresh(now)
	if b.state == Degraded {
		b.failures = 0
		b.to(now, Closed, "connection-test")
	}
}

// Restore puts a stored state back. What could not have been stored by a sound
// breaker is corrected; a half-open breaker gets its full allowance.
func (b *Breaker) Restore(now time.Time, s Saved) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state = s.State
	b.failures, b.cycles = max(0, s.Failures), max(0, s.Cycles)
	b.lastFailure = s.LastFailure
	b.lastKind = known(s.LastKind)
	b.kindFailures = nil
	for kind, n := range s.KindFailures {
		if known(kind) != outcome.KindNone && n > 0 {
			b.countKind(kind, n)
		}
	}
	b.lease.renew(b.opts.HalfOpenRequests)
	b.mark()
	b.refresh(now)
}

// refresh is the lazy recovery: whatever time alone has changed happens here,
// before anything else is decided.
func (b *Breaker) refresh(now time.Time) {
	if past := clock.Past(now, b.lastFailure); !past.Equal(b.lastFailure) {
		b.lastFailure = past
		b.changed(b.same(now))
	}
	switch b.state {
	case Open:
		if b.lastFailure.IsZero() || now.Sub(b.lastFailure) >= b.cooldown() {
			b.to(now, HalfOpen, "timeout-elapsed")
		}
	case Degraded:
		if b.lastFailure.IsZero() || now.Sub(b.lastFailure) >= b.decayWindow() {
			b.failures = 0
			b.to(now, Closed, "degraded-decay")
		}
	case HalfOpen:
		b.lease.expire(now, b.opts)
	case Closed:
	}
}

func (b *Breaker) verdict(now time.Time) Verdict {
	v := Verdict{State: b.state, Allowed: true}
	switch b.state {
	case Open:
		v.Allowed, v.Until = false, b.lastFailure.Add(b.cooldown())
	case HalfOpen:
		if b.lease.allowance <= 0 {
			v.Allowed, v.Until = false, b.lease.end(now, b.opts.ResetTimeout)
		}
	case Closed, Degraded:
	}
	return v
}

// hold is the unescalated wait after the last failure: its kind's, or the
// reset time.
func (b *Breaker) hold() time.Duration {
	if d, ok := b.opts.CooldownByKind[b.lastKind]; ok && d >= 0 && b.lastKind != outcome.KindNone {
		return d
	}
	return b.opts.ResetTimeout
}

// cooldown is how long OPEN lasts; ruling 14: kind holds escalate alike.
func (b *Breaker) cooldown() time.Duration { return b.escalate(b.hold()) }

func (b *Breaker) escalate(d time.Duration) time.Duration {
	ceiling := times(d, b.opts.MaxBackoffMultiplier)
	for n := b.cycles - b.opts.BackoffEscalationCount; n > 0 && d < ceiling; n-- {
		d = min(times(d, 2), ceiling)
	}
	return d
}

// decayWindow is the longest OPEN hold of the last failure's kind, which is
// never less than one cooldown (guide §1, DEGRADED).
func (b *Breaker) decayWindow() time.Duration {
	return times(b.hold(), b.opts.MaxBackoffMultiplier)
}

// times multiplies without overflow.
func times(d time.Duration, n int) time.Duration {
	const longest = time.Duration(1<<63 - 1)
	if n > 0 && d > longest/time.Duration(n) {
		return longest
	}
	return d * time.Duration(n)
}

// to moves to a state, writes the history and makes every probe that is out
// stale.
func (b *Breaker) to(now time.Time, s State, reason string) {
	t := Transition{From: b.state, To: s, At: clock.Wall(now), FailureCount: b.failures, Reason: reason}
	b.state = s
	if s == Open {
		t.Until = b.lastFailure.Add(b.cooldown())
	}
	b.lease.renew(b.opts.HalfOpenRequests)
	if len(b.history) == historySize {
		b.history = append(b.history[:0], b.history[1:]...)
	}
	b.history = append(b.history, t)
	b.changed(t)
}

// changed tells the owner that there is something to store.
func (b *Breaker) changed(t Transition) {
	b.mark()
	b.note(t, b.saved())
}

// mark makes the state visible to decisions.
func (b *Breaker) mark() {
	if b.state == Closed && b.failures == 0 {
		b.seen.Store(nil)
		return
	}
	var span time.Duration
	switch b.state {
	case Open:
		span = b.cooldown()
	case Degraded:
		span = b.decayWindow()
	case Closed, HalfOpen:
	}
	s := &seen{state: b.state, until: b.lastFailure.Add(span)}
	s.floor = clock.Floor(s.until, span)
	b.seen.Store(s)
}

func (b *Breaker) saved() Saved {
	return Saved{
		State: b.state, Failures: b.failures, LastFailure: b.lastFailure,
		LastKind: b.lastKind, Cycles: b.cycles, KindFailures: maps.Clone(b.kindFailures),
		FailureThreshold: b.opts.FailureThreshold, ResetTimeout: b.opts.ResetTimeout,
	}
}

func (b *Breaker) forget() {
	b.failures, b.cycles = 0, 0
	b.lastFailure, b.lastKind, b.kindFailures = time.Time{}, outcome.KindNone, nil
}

func (b *Breaker) countKind(kind outcome.Kind, n int) {
	if b.kindFailures == nil {
		b.kindFailures = map[outcome.Kind]int{}
	}
	b.kindFailures[kind] += n
}

// known returns the kind, or none for a word outside the closed set.
func known(k outcome.Kind) outcome.Kind {
	switch k {
	case outcome.KindRateLimit, outcome.KindQuotaExhausted, outcome.KindTransient:
		return k
	default:
		return outcome.KindNone
	}
}

func elevated(n, of int) string { return fmt.Sprintf("elevated-failures (%d/%d)", n, of) }
