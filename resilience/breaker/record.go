package breaker

import (
	"fmt"
	"time"

	"breakwater/resilience/clock"
	"breakwater/resilience/outcome"
)

// Report applies the result of an attempt that Acquire admitted, and returns
// whether it counted. OPEN counts nothing, so that it is never extended, and a
// half-open breaker listens to its own live probe only: a late result of an
// older probe changes nothing (case P22).
func (b *Breaker) Report(now time.Time, p Permit, class outcome.Class, kind outcome.Kind) bool {
	if b.Clean() && !p.probe && class != outcome.Failure {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refresh(now)
	live := p.probe && p.generation == b.lease.generation
	if class == outcome.Neutral {
		if live {
			b.lease.giveBack(b.opts.HalfOpenRequests)
		}
		return false
	}
	if b.state == Open || live != (b.state == HalfOpen) || p.probe != live {
		return false
	}
	if class == outcome.Success {
		return b.succeed(now)
	}
	return b.fail(now, kind)
}

// Failure applies a failure directly, as the table of sheet §1.6 says.
func (b *Breaker) Failure(now time.Time, kind outcome.Kind) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refresh(now)
	b.fail(now, kind)
}

// Success applies a success directly, as the table of sheet §1.6 says.
func (b *Breaker) Success(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refresh(now)
	b.succeed(now)
}

func (b *Breaker) fail(now time.Time, kind outcome.Kind) bool {
	kind = known(kind)
	b.failures++
	if kind != outcome.KindNone {
		b.countKind(kind, 1)
	}
	if b.state == Open {
		b.changed(b.same(now)) // counters only: the hold is never extended
		return true
	}
	b.lastFailure, b.lastKind = clock.Wall(now), kind
	from := b.state
	if from == HalfOpen {
		b.cycles++
	}
	switch {
	case b.kindTrips(kind):
		b.to(now, Open, "kind:"+string(kind))
	case from == HalfOpen:
		b.to(now, Open, fmt.Sprintf("probe-failed (cycle %d)", b.cycles))
	case b.failures >= b.opts.FailureThreshold:
		reason := ""
		if kind != outcome.KindNone {
			reason = "kind:" + string(kind)
		}
		b.to(now, Open, reason)
	case from == Closed && b.failures >= b.opts.DegradationThreshold:
		b.to(now, Degraded, elevated(b.failures, b.opts.FailureThreshold))
	default:
		b.changed(b.same(now))
	}
	return true
}

// kindTrips reports whether the failures of this kind alone open the breaker.
func (b *Breaker) kindTrips(kind outcome.Kind) bool {
	t, ok := b.opts.KindThresholds[kind]
	if !ok || kind == outcome.KindNone {
		return false
	}
	need := t.Threshold
	if need <= 0 {
		need = b.opts.FailureThreshold
		if t.ImmediateOpen {
			need = 1
		}
	}
	return b.kindFailures[kind] >= need
}

func (b *Breaker) succeed(now time.Time) bool {
	switch b.state {
	case Open:
		b.forget()
		b.to(now, Closed, "success-recovery")
	case HalfOpen:
		b.failures, b.cycles = 0, 0
		b.lastKind, b.kindFailures = outcome.KindNone, nil
		b.to(now, Closed, "probe-success")
	case Closed, Degraded:
		if b.failures == 0 && b.state == Closed {
			return false
		}
		b.failures = max(0, b.failures-1)
		if b.state == Degraded && b.failures <= b.opts.DegradationThreshold {
			b.to(now, Closed, "recovery")
		} else {
			b.changed(b.same(now))
		}
	}
	return true
}

// same is the note of a change that leaves the state as it is.
func (b *Breaker) same(now time.Time) Transition {
	return Transition{From: b.state, To: b.state, At: clock.Wall(now), FailureCount: b.failures}
}
