package resilience

import (
	"sync"
	"sync/atomic"
	"time"

	"breakwater/resilience/breaker"
	"breakwater/resilience/classify"
	"breakwater/resilience/clock"
	"breakwater/resilience/cooldown"
	"breakwater/resilience/lockout"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// Connection is what the engine must know of a connection. It is a value; an
// edit replaces it.
type Connection struct {
	ID             string
	Provider       string               // canonical provider id; the breaker's name
	Profile        settings.ProfileName // which figures apply
	Active         bool                 // the user's switch
	DisableCooling bool                 // guide §2: never cooled; terminal states still apply
	PerModelQuota  bool                 // quotas are counted per model (sheet §4.5)
	// Passthrough tells that the credential is the client's own: a 401 says
	// nothing about the connection (ruling 34).
	Passthrough bool
	// EgressShared marks a provider whose quota belongs to the outgoing
	// address (guide §7): siblings behind the same address cool together.
	EgressShared bool
	// Rotation is providerSpecificData.rotationOverrides (sheet §3.7).
	Rotation classify.Overrides
}

// Conn is the engine's handle of one connection; candidates carry it, so that
// no decision needs a look-up.
type Conn struct {
	id       string
	provider *provider

	// cfg and seen are replaced whole, so that planning takes no lock.
	cfg  atomic.Pointer[connConfig]
	seen atomic.Pointer[seen]
	view atomic.Pointer[lockout.View]
	// locked tells that locks hold something a success may lift.
	locked atomic.Bool
	egress atomic.Pointer[egress]
	// recent tells that counted or pace hold something a success must clear.
	recent atomic.Bool

	mu      sync.Mutex
	state   cooldown.State
	version uint64       // of state: a success clears only what it has seen
	counted breaker.Once // the 5 s dedup of breaker failures
	pace    cooldown.Pace
	locks   lockout.Set
	credit  creditWaits
}

// connConfig is the configuration with what follows from the settings.
type connConfig struct {
	Connection
	removed bool
	rules   cooldown.Rules
	lock    lockout.Rules
	profile settings.Profile
	options *classify.Options
}

// seen is the part of the state that decisions read.
type seen struct {
	terminal outcome.Terminal
	// misplaced and last tell that the address is wrong, and that the connection
	// needs attention: it is asked last (rulings 56, 62).
	misplaced, last bool
	until           time.Time
	reason          outcome.Reason // of the cooldown
	floor           time.Time      // earlier moments are the trace of a clock step
	level           int
	clean           bool
	version         uint64
}

// provider is what connections of one provider share. Nothing is shared
// between providers.
type provider struct {
	name    string
	breaker *breaker.Breaker

	profile settings.ProfileName // of the connection configured last; guarded by Engine.mu
	conns   int                  // guarded by Engine.mu

	// cools tells that the window holds a cooldown.
	cools atomic.Bool

	mu      sync.Mutex
	network breaker.Once // the 10 s dedup of network errors
	window  cooldown.Window
	windowR cooldown.WindowRules
}

// ID returns the connection's id.
func (c *Conn) ID() string { return c.id }

// Provider returns the canonical id of the connection's provider.
func (c *Conn) Provider() string { return c.provider.name }

// Level returns the backoffLevel, from which the classifier scales its wait.
func (c *Conn) Level() int { return c.seen.Load().level }

// AskedLast reports whether the connection is asked after all others, because it
// needs attention (ruling 62).
func (c *Conn) AskedLast() bool { return c.seen.Load().last }

// Config returns the connection's configuration.
func (c *Conn) Config() Connection { return c.cfg.Load().Connection }

// warm ends a cooldown that the user no longer wants.
func (c *Conn) warm(e *Engine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := e.clock.Now()
	if from := c.state.Status; c.state.Warm(now) {
		c.cleared(e, now, from, "disable_cooling")
	}
}

// publish makes the state visible to planning. The caller holds c.mu.
func (c *Conn) publish() {
	c.seen.Store(&seen{
		terminal: c.state.Terminal(), misplaced: c.state.Misplaced(), last: c.state.Attention.Needed(), until: c.state.Until, reason: c.state.Reason, floor: clock.Floor(c.state.Until, c.state.Span),
		level: c.state.Level, clean: c.state.Clean(), version: c.version,
	})
}

// changed publishes a new version of the state and queues its write. The
// caller holds c.mu.
func (c *Conn) changed(e *Engine) {
	c.version++
	c.keep(e)
}

// coolingUntil is the end of the cooldown, brought back and stored when the clock was
// set back. The caller holds c.mu.
func (c *Conn) coolingUntil(e *Engine, now time.Time) time.Time {
	before := c.state.Until
	until := c.state.Cooling(now)
	if !c.state.Until.Equal(before) {
		c.keep(e)
	}
	return until
}

// keep publishes the state and queues its write. The caller holds c.mu.
func (c *Conn) keep(e *Engine) {
	c.publish()
	saved := c.saved()
	e.out.save(func(s Store) { s.SaveConnectionState(saved) })
}

// saved is the state as it is stored. The caller holds c.mu.
func (c *Conn) saved() ConnectionState {
	s := &c.state
	return ConnectionState{
		ID: c.id, RateLimitedUntil: s.Until, TestStatus: s.Status, BackoffLevel: s.Level,
		ErrorCode: s.ErrorCode, LastErrorType: s.ErrorType, LastErrorReason: s.Reason,
		LastErrorAt: s.ErrorAt, LastErrorSource: s.Source, RawHint: s.RawHint,
		ExpiredRetries: s.Retries, ExpiredRetryAt: s.RetryAt, LastErrorWords: s.Words,
		RefusalCount: s.Refusals.Count, RefusedSince: s.Refusals.Since,
		AttentionSince: s.Attention.Since, AttentionWords: s.Attention.Words,
	}
}

// restored is the reverse of saved.
func restored(now time.Time, r ConnectionState) cooldown.State {
	return cooldown.Restore(now, cooldown.State{
		Until: r.RateLimitedUntil, Status: r.TestStatus, Level: r.BackoffLevel,
		ErrorCode: r.ErrorCode, ErrorType: r.LastErrorType, Reason: r.LastErrorReason,
		ErrorAt: r.LastErrorAt, Source: r.LastErrorSource, RawHint: r.RawHint,
		Retries: r.ExpiredRetries, RetryAt: r.ExpiredRetryAt, Words: r.LastErrorWords,
		Refusals:  cooldown.Refusals{Count: r.RefusalCount, Since: r.RefusedSince},
		Attention: cooldown.Attention{Since: r.AttentionSince, Words: r.AttentionWords},
	})
}
