package oauth

import (
	"sync"
	"time"

	"breakwater/resilience/clock"
)

// GuardState is the state of a refresh guard, in the words of a breaker.
type GuardState string

// The states.
const (
	GuardClosed   GuardState = "CLOSED"    // logins are refreshed
	GuardOpen     GuardState = "OPEN"      // none is, until the cooldown is over
	GuardHalfOpen GuardState = "HALF_OPEN" // one refresh tries whether it works again
)

// probeLease bounds a probe that never reports: a refresh takes 93 s at most.
const probeLease = 2 * time.Minute

// GuardRules are the figures of a guard: how many refreshes must fail in a row,
// and for how long none is tried then (Claude sheet §3.5: 5, 30 min).
type GuardRules struct {
	Threshold int64
	Cooldown  time.Duration
}

// GuardResult is what a refresh said about the token endpoint.
type GuardResult uint8

// The results.
const (
	GuardNeutral GuardResult = iota // nothing: one login is refused, or nobody was asked
	GuardPassed                     // it works
	GuardFailed                     // it does not
)

// GuardPermit is what an admitted refresh carries until it reports.
type GuardPermit struct {
	generation uint64
	probe      bool
}

// Guard is the circuit breaker around the refreshing of stored logins, one for
// each key: those of a provider, or a single connection. There is no timer
// behind it: every read moves an expired state on. It lives in memory only and
// is safe for concurrent use.
type Guard struct {
	mu   sync.Mutex
	keys map[string]*guarded // those with failures; any other is CLOSED
	last uint64              // generation
}

// guarded is a key with failures.
type guarded struct {
	failures int64
	opened   time.Time // wall time; zero: CLOSED
	half     bool      // HALF_OPEN whatever the time: a probe was out, or a person has asked for a try
	probing  time.Time // when the probe went out; zero: none is
	gen      uint64    // probes of another generation are stale
}

// NewGuard returns a guard that is CLOSED for every key.
func NewGuard() *Guard { return &Guard{keys: map[string]*guarded{}} }

// Begin admits a refresh, or not. In HALF_OPEN one is out at a time.
func (g *Guard) Begin(now time.Time, key string, r GuardRules) (GuardPermit, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	e := g.keys[key]
	if e == nil || e.opened.IsZero() {
		return GuardPermit{}, true
	}
	if e.state(now, r) == GuardOpen || !e.probing.IsZero() {
		return GuardPermit{}, false
	}
	g.last++
	e.half, e.probing, e.gen = true, now, g.last
	return GuardPermit{generation: e.gen, probe: true}, true
}

// Report applies the result of an admitted refresh; opened tells that it made
// the guard open. OPEN is never prolonged by what began before it.
func (g *Guard) Report(now time.Time, key string, r GuardRules, p GuardPermit, result GuardResult) (opened bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	e := g.keys[key]
	switch live := e != nil && p.probe && !e.probing.IsZero() && e.gen == p.generation; {
	case p.probe != live, !live && e != nil && !e.opened.IsZero():
		return false // late
	case result == GuardPassed:
		delete(g.keys, key)
		return false
	case result == GuardNeutral:
		if live {
			e.probing = time.Time{}
		}
		return false
	}
	if e == nil {
		e = &guarded{}
		g.keys[key] = e
	}
	e.failures++
	if !p.probe && e.failures < r.Threshold {
		return false
	}
	e.opened, e.half, e.probing = clock.Wall(now), false, time.Time{}
	return true
}

// Retry lets one refresh of the key try before the cooldown is over.
func (g *Guard) Retry(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if e := g.keys[key]; e != nil && !e.opened.IsZero() {
		e.half = true
	}
}

// Forget makes the guard CLOSED for a key.
func (g *Guard) Forget(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.keys, key)
}

// Reset makes it CLOSED for every key.
func (g *Guard) Reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.keys)
}

// GuardStatus is what a guard knows of a key.
type GuardStatus struct {
	State    GuardState
	Failures int64     // in a row
	Until    time.Time // end of OPEN, wall time; zero otherwise
}

// Status tells how it stands with a key.
func (g *Guard) Status(now time.Time, key string, r GuardRules) GuardStatus {
	g.mu.Lock()
	defer g.mu.Unlock()
	e := g.keys[key]
	if e == nil {
		return GuardStatus{State: GuardClosed}
	}
	s := GuardStatus{State: e.state(now, r), Failures: e.failures}
	if s.State == GuardOpen {
		s.Until = e.opened.Add(r.Cooldown)
	}
	return s
}

// state is the lazy recovery: what time alone has changed happens here.
func (e *guarded) state(now time.Time, r GuardRules) GuardState {
	if e.opened.IsZero() {
		return GuardClosed
	}
	e.opened = clock.Past(now, e.opened)
	if e.probing.After(now) {
		e.probing = now // the clock was set back
	}
	if !e.half && now.Before(e.opened.Add(r.Cooldown)) {
		return GuardOpen
	}
	if !e.probing.IsZero() && now.Sub(e.probing) >= probeLease {
		e.probing = time.Time{}
	}
	return GuardHalfOpen
}
