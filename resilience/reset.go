package resilience

import (
	"slices"
	"time"

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
// the backoff level, the model lockouts of a connection, and the opt-in window of
// its provider. A terminal state stays (guide §3, "Gestor de tiempos de espera";
// ruling 66).
func (e *Engine) ClearConnection(id string) ClearResult { return e.clear(id, false, "reset") }

// ResetConnection also lifts a terminal state: the credential has changed.
func (e *Engine) ResetConnection(id string) ClearResult { return e.clear(id, true, "credentials") }

// TestPassed takes a good connection test, which lifts what it proves (ruling
// 66). A list of models proves key and transport: the terminal state and the
// errors go, and a DEGRADED breaker closes; OPEN and HALF_OPEN stay (guide §1). A
// token that a model has generated also disproves that model's lockouts and what
// was guessed about rates. What the provider has stated stays until its end.
// model is empty where only the list was read.
func (e *Engine) TestPassed(id, model string) {
	c := e.Connection(id)
	if c == nil {
		return
	}
	defer e.out.flush()
	now := e.clock.Now()
	c.provider.breaker.TestPassed(now)
	c.provider.succeed()
	c.mu.Lock()
	defer c.mu.Unlock()
	forgetPace(c)
	if model != "" {
		relock(c, e, now, "test", func() { c.locks.Prove(now, model) })
	}
	if from := c.state.Status; cooldown.Disproved(&c.state, now, model != "") && c.state.Clear(true) {
		c.cleared(e, now, from, "test")
	}
}

// QuotaProved takes figures of the provider's usage endpoint by which no window
// is used up: what rests for its quota or its rate is back, also before a stated
// end (ruling 66).
func QuotaProved(e *Engine, id string) {
	c := e.Connection(id)
	if c == nil {
		return
	}
	defer e.out.flush()
	now := e.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	relock(c, e, now, "usage", c.locks.ProveQuota)
	if from := c.state.Status; cooldown.OfQuota(c.state.Reason) && c.state.Clear(false) {
		c.cleared(e, now, from, "usage")
	}
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
	defer e.out.flush()
	now := e.clock.Now()
	r := ClearResult{Found: true, Lockouts: c.clearLocks(e, now, "", why)}
	c.provider.succeed()
	c.mu.Lock()
	defer c.mu.Unlock()
	forgetPace(c)
	from := c.state.Status
	if c.state.Clear(force) {
		r.Cleared = true
		c.cleared(e, now, from, why)
	}
	r.Terminal = c.state.Terminal()
	return r
}

// forgetPace clears the breaker's dedup key and the window gate's pace. The
// caller holds c.mu.
func forgetPace(c *Conn) {
	c.counted.Reset()
	c.pace = cooldown.Pace{}
	c.recent.Store(false)
}

// resetConn lifts what a reset of its breaker lifts of a connection: its locks, and
// its part in the opt-in provider window.
func resetConn(c *Conn, e *Engine, now time.Time) {
	c.clearLocks(e, now, "", "reset")
	c.mu.Lock()
	defer c.mu.Unlock()
	forgetPace(c)
}

// ResetBreakers closes every breaker and lifts every model lockout; connection
// cooldowns stay (ruling 31). It returns how many breakers there were.
func (e *Engine) ResetBreakers() int {
	n := e.resetBreakers()
	now := e.clock.Now()
	for _, c := range e.allConns() {
		resetConn(c, e, now)
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
			resetConn(c, e, now)
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
