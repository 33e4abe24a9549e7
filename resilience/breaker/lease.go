package breaker

import (
	"time"

	"breakwater/resilience/clock"
)

// Permit is what an admitted attempt carries until it reports. The zero permit
// is that of ordinary traffic.
type Permit struct {
	generation uint64
	probe      bool
}

// Probe reports whether the permit is a half-open probe.
func (p Permit) Probe() bool { return p.probe }

// Acquire admits an attempt, or tells why not. In HALF_OPEN it takes one of
// the probes, as a lease: it ends with the report, or after one reset time.
func (b *Breaker) Acquire(now time.Time) (Permit, Verdict) {
	if b.Clean() {
		return Permit{}, Verdict{Allowed: true}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refresh(now)
	v := b.verdict(now)
	if !v.Allowed || v.State != HalfOpen {
		return Permit{}, v
	}
	return b.lease.take(now), v
}

// lease counts the probes of a half-open breaker. Results of an older
// generation are stale.
type lease struct {
	allowance  int
	startedAt  time.Time // of the first probe out; a span, so monotonic (ruling 37)
	generation uint64
}

// renew makes every probe that is out stale and restores the allowance.
func (l *lease) renew(allowance int) {
	l.generation++
	l.allowance = allowance
	l.startedAt = time.Time{}
}

func (l *lease) take(now time.Time) Permit {
	l.allowance--
	if l.startedAt.IsZero() {
		l.startedAt = now
	}
	return Permit{generation: l.generation, probe: true}
}

// giveBack returns a probe that proved nothing.
func (l *lease) giveBack(allowance int) {
	l.allowance = min(l.allowance+1, allowance)
	if l.allowance == allowance {
		l.startedAt = time.Time{}
	}
}

// expire takes the probes back when the first has been out for one reset time
// (case P22: a hanging probe kept a provider shut for days).
func (l *lease) expire(now time.Time, o Options) {
	if l.allowance > 0 {
		return
	}
	if l.startedAt.After(now) {
		l.startedAt = now // the clock was set back
	}
	if l.startedAt.IsZero() || now.Sub(l.startedAt) >= o.ResetTimeout {
		l.renew(o.HalfOpenRequests)
	}
}

// end is when the probe that is out loses its lease.
func (l *lease) end(now time.Time, reset time.Duration) time.Time {
	return clock.Wall(now.Add(max(0, reset-now.Sub(l.startedAt))))
}
