package resilience

import (
	"sync/atomic"
	"time"

	"breakwater/resilience/breaker"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/outcome"
)

// Attempt is one try of a target, between Begin and Report.
type Attempt struct {
	e       *Engine
	target  Target
	permit  breaker.Permit
	route   breaker.Route
	version uint64 // of the connection's state when the attempt began
	retry   bool   // holds the retry lease of an expired credential
	lease   uint64
	test    bool // forced by a person, past every gate
	done    atomic.Bool
}

// Effect tells what a report did.
type Effect struct {
	Until         time.Time        // end of the cooldown or lock, zero if none
	Cooldown      time.Duration    // how long that is from now
	Terminal      outcome.Terminal // the connection's terminal state, if any
	BreakerOpened bool             // this report opened the provider's breaker
	Counted       bool             // the breaker counted the outcome
}

// Begin is the last gate before dispatch. It returns an attempt that must be
// reported or released, or the exclusion that came up since the plan. In a
// half-open provider the attempt holds the probe.
func (e *Engine) Begin(t Target) (*Attempt, *Exclusion) {
	defer e.out.flush()
	now, cfg := e.clock.Now(), e.cfg.Load()
	c := t.Conn
	s := c.seen.Load()
	if x := e.check(now, cfg, t); x.Excludes() {
		return nil, &Exclusion{t, x}
	}
	permit, v := c.provider.breaker.Acquire(now)
	if !v.Allowed {
		return nil, &Exclusion{t, refusedBy(v)}
	}
	a := &Attempt{e: e, target: t, permit: permit, version: s.version}
	if s.terminal == outcome.Expired {
		if until, ok := a.takeRetry(now); !ok {
			c.provider.breaker.Report(now, permit, outcome.Neutral, outcome.KindNone)
			return nil, &Exclusion{t, exclusion.Exclusion{Reason: exclusion.Expired, Until: until}}
		}
	}
	return a, nil
}

// BeginTest begins an attempt that a person forces: no gate holds it back, not
// even a terminal state. A good answer counts as a good connection test; a
// failure is put on record without any penalty (sheet §3.11, step 10).
func (e *Engine) BeginTest(t Target) *Attempt {
	return &Attempt{e: e, target: t, test: true, version: t.Conn.seen.Load().version}
}

// reportTest applies the outcome of a forced attempt.
func (a *Attempt) reportTest(now time.Time, o outcome.Outcome) {
	c := a.target.Conn
	switch o.Class {
	case outcome.Success:
		a.e.TestPassed(c.id, a.target.Model)
	case outcome.Failure:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.state.Note(now, o)
		c.changed(a.e)
	case outcome.Neutral:
	}
}

// takeRetry takes the one retry of an expired credential.
func (a *Attempt) takeRetry(now time.Time) (until time.Time, ok bool) {
	c := a.target.Conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.Terminal() != outcome.Expired {
		return time.Time{}, true
	}
	a.lease, a.retry = c.state.TakeRetry(now)
	return c.state.RetryDue(now), a.retry
}

// Target returns what is being tried.
func (a *Attempt) Target() Target { return a.target }

// Probe reports whether the attempt is the provider's half-open probe.
func (a *Attempt) Probe() bool { return a.permit.Probe() }

// Route tells on which path the attempt came, before it is reported: in a
// combo some failures are left to the next target of the same provider.
func (a *Attempt) Route(r breaker.Route) { a.route = r }

// Release reports a neutral end: permits and probes go back and nothing is
// recorded. After a report it does nothing, so it is safe to defer.
func (a *Attempt) Release() { a.Report(outcome.Outcome{}) }

// Report applies the outcome, exactly once; later calls do nothing.
func (a *Attempt) Report(o outcome.Outcome) Effect {
	if !a.done.CompareAndSwap(false, true) {
		return Effect{}
	}
	now := a.e.clock.Now()
	if a.target.Conn.cfg.Load().removed {
		o = outcome.Outcome{} // nobody is left to remember it
	}
	if a.test {
		a.reportTest(now, o)
		a.e.out.flush()
		return Effect{}
	}
	var effect Effect
	switch o.Class {
	case outcome.Success:
		effect = a.succeed(now)
	case outcome.Failure:
		effect = a.fail(now, o)
	case outcome.Neutral:
		a.giveBack(now)
	}
	a.e.out.flush()
	return effect
}

// giveBack returns what the attempt held.
func (a *Attempt) giveBack(now time.Time) {
	a.target.Conn.provider.breaker.Report(now, a.permit, outcome.Neutral, outcome.KindNone)
	a.returnRetry()
}

func (a *Attempt) returnRetry() {
	if !a.retry {
		return
	}
	c := a.target.Conn
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.GiveBack(a.lease)
}
