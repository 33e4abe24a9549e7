package resilience

import (
	"slices"
	"time"

	"breakwater/resilience/breaker"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/lockout"
	"breakwater/resilience/outcome"
)

// Plan sorts candidates into those that may be tried, in their order, and
// those that may not, with the reason and its end. It takes no probe; what
// time alone has changed is brought up to date by reading it.
func (e *Engine) Plan(cands []Candidate) Plan {
	now, cfg := e.clock.Now(), e.cfg.Load()
	// Everybody is asked first, so that both lists are made in their size.
	var room [64]excluded
	out := room[:0]
	for i, cand := range cands {
		if x := e.check(now, cfg, cand); x.Excludes() {
			out = append(out, excluded{i, x})
		}
	}
	plan := Plan{Targets: make([]Target, 0, len(cands)-len(out))}
	if len(out) > 0 {
		plan.Excluded = make([]Exclusion, len(out))
	}
	next := 0
	for i, x := range out {
		plan.Targets = append(plan.Targets, cands[next:x.index]...)
		plan.Excluded[i] = Exclusion{cands[x.index], x.Exclusion}
		next = x.index + 1
	}
	plan.Targets = append(plan.Targets, cands[next:]...)
	LastLast(plan.Targets)
	e.out.flush()
	return plan
}

// LastLast moves the targets that need attention behind all others, in their order
// (ruling 62).
func LastLast(targets []Target) {
	if slices.ContainsFunc(targets, func(t Target) bool { return t.Conn.AskedLast() }) {
		slices.SortStableFunc(targets, func(a, b Target) int { return order(a.Conn.AskedLast(), b.Conn.AskedLast()) })
	}
}

// order compares two flags: false comes first.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// excluded is a candidate, by its index, with what keeps it out.
type excluded struct {
	index int
	exclusion.Exclusion
}

// check asks every layer. What no waiting ends comes first.
func (e *Engine) check(now time.Time, cfg *config, cand Candidate) exclusion.Exclusion {
	c := cand.Conn
	if !c.cfg.Load().Active {
		return exclusion.Exclusion{Reason: exclusion.Off}
	}
	s := c.seen.Load()
	if s.terminal != outcome.NotTerminal {
		if x := c.terminal(now, s.terminal); x.Excludes() {
			return x
		}
	}
	if s.misplaced {
		return exclusion.Exclusion{Reason: exclusion.WrongAddress, Source: s.reason}
	}
	var x exclusion.Exclusion
	if v := c.provider.breaker.Check(now); !v.Allowed {
		x.Add(refusedBy(v))
	}
	if s.until.After(now) {
		x.Add(exclusion.Exclusion{Reason: exclusion.Cooling, Until: c.cooling(e, now, s), Source: s.reason})
	}
	if cfg.gate {
		if until := c.gated(now, cfg); !until.IsZero() {
			x.Add(exclusion.Exclusion{Reason: exclusion.ProviderCooldown, Until: until})
		}
	}
	if v := c.view.Load(); v != nil {
		if until, reason := c.lockedUntil(now, v, cand.Model); !until.IsZero() {
			x.Add(exclusion.Exclusion{Reason: exclusion.ModelLocked, Until: until, Source: outcome.Reason(reason)})
		}
	}
	return x
}

// refusedBy is the exclusion by a breaker that lets no call through.
func refusedBy(v breaker.Verdict) exclusion.Exclusion {
	if v.State == breaker.HalfOpen {
		return exclusion.Exclusion{Reason: exclusion.Probing, Until: v.Until}
	}
	return exclusion.Exclusion{Reason: exclusion.BreakerOpen, Until: v.Until}
}

// terminal returns the exclusion by a terminal state: none when an expired
// credential is due for a retry.
func (c *Conn) terminal(now time.Time, t outcome.Terminal) exclusion.Exclusion {
	switch t {
	case outcome.Banned:
		return exclusion.Exclusion{Reason: exclusion.Banned}
	case outcome.CreditsExhausted:
		return exclusion.Exclusion{Reason: exclusion.CreditsExhausted}
	case outcome.Expired, outcome.NotTerminal:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	due := c.state.RetryDue(now)
	if c.state.Terminal() != outcome.Expired || !due.IsZero() && !due.After(now) {
		return exclusion.Exclusion{}
	}
	return exclusion.Exclusion{Reason: exclusion.Expired, Until: due}
}

// cooling returns the end of the cooldown, clamped when the clock was set back.
func (c *Conn) cooling(e *Engine, now time.Time, s *seen) time.Time {
	if !now.Before(s.floor) {
		return s.until
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.coolingUntil(e, now)
}

// gated asks the opt-in window gate (guide §1): the provider's window and the
// connection's own pace are independent.
func (c *Conn) gated(now time.Time, cfg *config) time.Time {
	until := c.provider.cooling(now)
	if !c.recent.Load() {
		return until
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if own := c.pace.Cooling(now, cfg.pace); own.After(until) {
		return own
	}
	return until
}

func (p *provider) cooling(now time.Time) time.Time {
	if !p.cools.Load() {
		return time.Time{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	until := p.window.Cooling(now)
	p.cools.Store(!until.IsZero())
	return until
}

// lockedUntil returns the end of the model's lock, clamped when the clock was
// set back, and what the lock was set for.
func (c *Conn) lockedUntil(now time.Time, v *lockout.View, model string) (time.Time, string) {
	until, reason, stepped := v.Until(now, model)
	if !stepped {
		return until, reason
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.publishLocks(now)
	until, reason, _ = c.view.Load().Until(now, model)
	return until, reason
}
