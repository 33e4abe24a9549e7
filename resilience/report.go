package resilience

import (
	"time"

	"breakwater/resilience/breaker"
	"breakwater/resilience/clock"
	"breakwater/resilience/cooldown"
	"breakwater/resilience/outcome"
)

// succeed forgets what the success disproves. Nothing is locked or written
// when there is nothing to forget.
func (a *Attempt) succeed(now time.Time) Effect {
	c := a.target.Conn
	if !c.seen.Load().clean {
		c.cleanse(a.e, now, a.version)
	}
	if c.recent.Load() {
		c.forgetRecent()
	}
	if c.locked.Load() {
		c.unlock(a.e, now, a.target.Model)
	}
	if a.e.cfg.Load().gate {
		c.provider.succeed()
	}
	return Effect{Counted: c.provider.breaker.Report(now, a.permit, outcome.Success, outcome.KindNone)}
}

// cleanse is clearAccountError, as a compare and swap: an error recorded since
// the attempt began is not this success's to forget (sheet §3.15).
func (c *Conn) cleanse(e *Engine, now time.Time, version uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version == version {
		from := c.state.Status
		if c.state.Succeed() {
			c.cleared(e, now, from, "success")
		}
	}
}

// cleared queues the write and the change of a connection that is sound again.
// The caller holds c.mu.
func (c *Conn) cleared(e *Engine, now time.Time, from, why string) {
	c.credit = creditWaits{}
	c.changed(e)
	e.out.change(Change{
		At: clock.Wall(now), Kind: ChangeCleared, Provider: c.provider.name, Connection: c.id,
		From: from, To: c.state.Status, Reason: why,
	})
}

// forgetRecent clears the breaker's dedup key and the window gate's pace.
func (c *Conn) forgetRecent() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counted.Reset()
	c.pace.Succeed()
	c.credit = creditWaits{}
	c.recent.Store(false)
}

func (p *provider) succeed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.window.Succeed()
	p.cools.Store(false)
}

// fail records a failure where it belongs: with the connection, with the
// window gate and with the provider's breaker.
func (a *Attempt) fail(now time.Time, o outcome.Outcome) Effect {
	var effect Effect
	if o.CreditWords {
		a.target.Conn.creditRefused(now, o.Cooldown)
	}
	switch c := a.target.Conn; a.reach(o) {
	case outcome.ScopeRequest, outcome.ScopeLocal:
		a.returnRetry() // nobody upstream is to blame
	case outcome.ScopeModel:
		a.returnRetry()
		effect = c.failModel(a, now, o)
		a.pace(now, o)
	default:
		var cooled bool
		if effect, cooled = c.fail(a, now, o); cooled && o.Scope == outcome.ScopeEgress {
			a.e.spread(c, now, o)
		}
		a.pace(now, o)
	}
	effect.Counted = a.count(now, o)
	effect.BreakerOpened = effect.Counted && a.target.Conn.provider.breaker.Check(now).State == breaker.Open
	return effect
}

// creditRefused counts a refusal that speaks of credit.
func (c *Conn) creditRefused(now time.Time, wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.credit.refused(now, wait)
	c.recent.Store(true)
}

// fail marks the connection unavailable, in the order of sheet §3.11.
// cooled tells that a new cooldown began.
func (c *Conn) fail(a *Attempt, now time.Time, o outcome.Outcome) (effect Effect, cooled bool) {
	e := a.e
	rules := c.cfg.Load().rules
	c.mu.Lock()
	defer c.mu.Unlock()
	from := c.state.Status
	if o.Reason == outcome.ReasonRequestRejected { // no model is known (ruling 13)
		o.Cooldown, _ = c.locks.Reject(now, "")
		c.locked.Store(true)
	}
	r := c.state.Fail(now, o, rules, a.retry && c.state.HoldsRetry(a.lease))
	if r.Written {
		c.changed(e)
	}
	c.announce(e, now, o, from, r)
	return Effect{Until: r.Until, Cooldown: r.Cooldown, Terminal: r.Terminal}, r.Cooled
}

// announce queues the change that a failure made. The caller holds c.mu.
func (c *Conn) announce(e *Engine, now time.Time, o outcome.Outcome, from string, r cooldown.Effect) {
	change := Change{
		At: clock.Wall(now), Provider: c.provider.name, Connection: c.id,
		From: from, To: c.state.Status, Until: r.Until, Reason: string(o.Reason),
	}
	switch {
	case r.Fell, r.Misplaced:
		change.Kind = ChangeTerminal
	case r.Cooled:
		change.Kind = ChangeCooldown
	}
	if change.Kind != "" {
		e.out.change(change)
	}
	if r.Alarmed {
		change.Kind, change.To, change.Until = ChangeAttention, string(StateNeedsAttention), time.Time{}
		e.out.change(change)
	}
}

// pace records the failure with the opt-in window gate (sheet §2): not the
// request's own, and not what a per-model quota explains.
func (a *Attempt) pace(now time.Time, o outcome.Outcome) {
	c := a.target.Conn
	if !a.e.cfg.Load().gate || o.OfAddress() || c.provider.name == "" || c.provider.name == "unknown" {
		return
	}
	if c.cfg.Load().PerModelQuota && (o.Status == 500 || o.Status == 429) {
		return
	}
	c.mu.Lock()
	if c.pace.Idle(now, a.e.cfg.Load().pace) {
		c.pace = cooldown.Pace{}
	}
	c.pace.Fail(now)
	c.recent.Store(true)
	c.mu.Unlock()
	c.provider.fail(now)
}

func (p *provider) fail(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	until, _ := p.window.Fail(now, p.windowR)
	p.cools.Store(!until.IsZero())
}

// count reports the failure to the breaker, or gives the probe back when it
// says nothing about the provider.
func (a *Attempt) count(now time.Time, o outcome.Outcome) bool {
	c := a.target.Conn
	b := c.provider.breaker
	if !breaker.Counts(o, a.route) {
		b.Report(now, a.permit, outcome.Neutral, outcome.KindNone)
		return false
	}
	// A probe must settle, so only ordinary traffic is deduplicated.
	if !a.permit.Probe() && !c.first(now, o.Network) {
		return false
	}
	return b.Report(now, a.permit, outcome.Failure, o.BreakerKind)
}

// first reports whether the failure counts although others came just before:
// one per connection and 5 s, one network error per provider and 10 s.
func (c *Conn) first(now time.Time, network bool) bool {
	if !c.provider.breaker.Check(now).Allowed {
		return false // never recorded, so it must not use up the key
	}
	if network && !c.provider.firstNetwork(now) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recent.Store(true)
	return c.counted.Allow(now, breaker.ConnectionDedup)
}

func (p *provider) firstNetwork(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.network.Allow(now, breaker.NetworkDedup)
}
