package resilience

import (
	"slices"

	"breakwater/resilience/cooldown"
	"breakwater/resilience/outcome"
)

// ClearResult tells what an operator's reset did.
type ClearResult struct {
	Found    bool             // there is such a connection
	Cleared  bool             // it had something to forget
	Terminal outcome.Terminal // the terminal state that stayed
	Lockouts int              // model lockouts lifted
}

// ClearConnection is the operator's reset: it forgets the cooldown, the errors,
// the backoff level and the model lockouts of a connection. A terminal state
// stays (guide §3, "Gestor de tiempos de espera").
func (e *Engine) ClearConnection(id string) ClearResult { return e.clear(id, false, "reset") }

// ResetConnection also lifts a terminal state: the credential has changed.
func (e *Engine) ResetConnection(id string) ClearResult { return e.clear(id, true, "credentials") }

// TestPassed takes a good connection test: every error of the connection is
// forgotten, its terminal state included, and a DEGRADED breaker closes; OPEN
// and HALF_OPEN stay (guide §1).
func (e *Engine) TestPassed(id string) {
	e.clear(id, true, "test")
	c := e.Connection(id)
	if c == nil {
		return
	}
	c.provider.breaker.TestPassed(e.clock.Now())
	c.provider.succeed()
	e.out.flush()
}

// AddressChanged lifts what the former address of a connection was found guilty
// of: a wrong address, and the rest after pages (ruling 56). Its account is the
// same, so everything else stays.
func (e *Engine) AddressChanged(id string) {
	c := e.Connection(id)
	if c == nil {
		return
	}
	defer e.out.flush()
	c.mu.Lock()
	defer c.mu.Unlock()
	if from := c.state.Status; c.state.Moved() {
		c.cleared(e, e.clock.Now(), from, "address")
	}
}

func (e *Engine) clear(id string, force bool, why string) ClearResult {
	c := e.Connection(id)
	if c == nil {
		return ClearResult{}
	}
	if t := c.seen.Load().terminal; t != outcome.NotTerminal && !force {
		return ClearResult{Found: true, Terminal: t} // nothing at all, its lockouts stay too (settings sheet §6.1)
	}
	defer e.out.flush()
	now := e.clock.Now()
	r := ClearResult{Found: true, Lockouts: c.clearLocks(e, now, "", why)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counted.Reset()
	c.pace = cooldown.Pace{}
	c.recent.Store(false)
	from := c.state.Status
	if c.state.Clear(force) {
		r.Cleared = true
		c.cleared(e, now, from, why)
	}
	r.Terminal = c.state.Terminal()
	return r
}

// ResetBreakers closes every breaker and lifts every model lockout; connection
// cooldowns stay (ruling 31). It returns how many breakers there were.
func (e *Engine) ResetBreakers() int {
	n := e.resetBreakers()
	now := e.clock.Now()
	for _, c := range e.allConns() {
		c.clearLocks(e, now, "", "reset")
	}
	e.out.flush()
	return n
}

// ResetProvider is ResetBreakers for the breakers of these names alone, and for
// the models that their connections have locked.
func (e *Engine) ResetProvider(names ...string) int {
	defer e.out.flush()
	now, n := e.clock.Now(), 0
	for _, p := range e.allProviders() {
		if slices.Contains(names, p.name) {
			n++
			p.breaker.Reset(now) // which has its row written
			p.succeed()
		}
	}
	for _, c := range e.allConns() {
		if slices.Contains(names, c.provider.name) {
			c.clearLocks(e, now, "", "reset")
		}
	}
	return n
}

func (e *Engine) resetBreakers() int {
	now := e.clock.Now()
	all := e.allProviders()
	for _, p := range all {
		p.breaker.Reset(now)
		p.succeed()
	}
	e.out.save(func(s Store) { s.DeleteBreakers() })
	return len(all)
}
