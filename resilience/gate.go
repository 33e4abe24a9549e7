package resilience

import (
	"time"

	"breakwater/resilience/breaker"
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
		if h := e.check(now, cfg, cand); h.reason != "" {
			out = append(out, excluded{i, h})
		}
	}
	plan := Plan{Targets: make([]Target, 0, len(cands)-len(out))}
	if len(out) > 0 {
		plan.Excluded = make([]Exclusion, len(out))
	}
	next := 0
	for i, x := range out {
		plan.Targets = append(plan.Targets, cands[next:x.index]...)
		plan.Excluded[i] = Exclusion{Candidate: cands[x.index], Reason: x.reason, Until: x.until}
		next = x.index + 1
	}
	plan.Targets = append(plan.Targets, cands[next:]...)
	e.out.flush()
	return plan
}

// excluded is a candidate, by its index, with what keeps it out.
type excluded struct {
	index int
	hindrance
}

// hindrance is what keeps a candidate out, and until when.
type hindrance struct {
	reason Skip
	until  time.Time
}

// add keeps the hindrance that lasts longest: only when that one is over may
// the candidate be tried.
func (h *hindrance) add(reason Skip, until time.Time) {
	if h.reason == "" || until.After(h.until) {
		h.reason, h.until = reason, until
	}
}

// check asks every layer. What no waiting ends comes first.
func (e *Engine) check(now time.Time, cfg *config, cand Candidate) hindrance {
	c := cand.Conn
	if !c.cfg.Load().Active {
		return hindrance{reason: SkipOff}
	}
	s := c.seen.Load()
	if s.terminal != outcome.NotTerminal {
		if h := c.terminal(now, s.terminal); h.reason != "" {
			return h
		}
	}
	var h hindrance
	if v := c.provider.breaker.Check(now); !v.Allowed {
		reason := SkipBreakerOpen
		if v.State == breaker.HalfOpen {
			reason = SkipProbing
		}
		h.add(reason, v.Until)
	}
	if s.until.After(now) {
		h.add(SkipCooling, c.cooling(e, now, s))
	}
	if cfg.gate {
		if until := c.gated(now, cfg); !until.IsZero() {
			h.add(SkipProviderCooldown, until)
		}
	}
	if v := c.view.Load(); v != nil {
		if until := c.lockedUntil(now, v, cand.Model); !until.IsZero() {
			h.add(SkipModelLocked, until)
		}
	}
	return h
}

// terminal returns the hindrance of a terminal state: none when an expired
// credential is due for a retry.
func (c *Conn) terminal(now time.Time, t outcome.Terminal) hindrance {
	switch t {
	case outcome.Banned:
		return hindrance{reason: SkipBanned}
	case outcome.CreditsExhausted:
		return hindrance{reason: SkipCreditsExhausted}
	case outcome.Expired, outcome.NotTerminal:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	due := c.state.RetryDue(now)
	if c.state.Terminal() != outcome.Expired || !due.IsZero() && !due.After(now) {
		return hindrance{}
	}
	return hindrance{reason: SkipExpired, until: due}
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
// set back.
func (c *Conn) lockedUntil(now time.Time, v *lockout.View, model string) time.Time {
	until, stepped := v.Until(now, model)
	if !stepped {
		return until
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.publishLocks(now)
	until, _ = c.view.Load().Until(now, model)
	return until
}
