package resilience

import (
	"sort"
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

// maxProviders is how many breakers are kept of providers that no connection
// uses any more (sheet §1.9, "Registry").
const maxProviders = 500

// Config is what an engine needs from outside.
type Config struct {
	Clock    clock.Clock
	Settings settings.Settings
	Store    Store        // may be nil
	OnChange func(Change) // may be nil; called in order, without any lock held
}

// Engine holds the resilience state of all connections and decides by it. It
// is safe for concurrent use.
type Engine struct {
	clock clock.Clock
	cfg   atomic.Pointer[config]
	out   outbox
	// streak counts errors for rotation thresholds above one.
	streak classify.Streak

	mu        sync.RWMutex // registry only, never taken by Plan, Begin or Report
	conns     map[string]*Conn
	providers map[string]*provider
}

// config is the settings with what decisions need of them at hand.
type config struct {
	settings settings.Settings
	gate     bool // PROVIDER_COOLDOWN_ENABLED
	pace     cooldown.PaceRules
}

// New returns an engine that knows no connection yet.
func New(c Config) *Engine {
	e := &Engine{clock: c.Clock, conns: map[string]*Conn{}, providers: map[string]*provider{}}
	e.out.store, e.out.onChange = c.Store, c.OnChange
	e.cfg.Store(newConfig(c.Settings))
	return e
}

func newConfig(s settings.Settings) *config {
	return &config{
		settings: s.Clone(),
		gate:     s.ProviderCooldown.Enabled,
		pace: cooldown.PaceRules{
			Min: time.Duration(s.ProviderCooldown.MinRetryCooldownMs) * time.Millisecond,
			Max: time.Duration(s.ProviderCooldown.MaxRetryCooldownMs) * time.Millisecond,
		},
	}
}

// Settings returns the settings in force.
func (e *Engine) Settings() settings.Settings { return e.cfg.Load().settings.Clone() }

// SetSettings replaces the settings at once, without a restart. When a 429
// breaker hint changes, every breaker is reset (sheet §1.5).
func (e *Engine) SetSettings(s settings.Settings) {
	e.mu.Lock()
	old := e.cfg.Load().settings
	e.cfg.Store(newConfig(s))
	for _, p := range e.providers {
		e.configure(p)
	}
	for _, c := range e.conns {
		c.cfg.Store(e.connConfig(c.cfg.Load().Connection))
	}
	e.mu.Unlock()
	if hintsChanged(old, s) {
		e.resetBreakers()
	}
	e.out.flush()
}

func hintsChanged(a, b settings.Settings) bool {
	differ := func(x, y *bool) bool { return (x == nil) != (y == nil) || x != nil && *x != *y }
	return differ(a.ConnectionCooldown.OAuth.UseUpstream429BreakerHints, b.ConnectionCooldown.OAuth.UseUpstream429BreakerHints) ||
		differ(a.ConnectionCooldown.APIKey.UseUpstream429BreakerHints, b.ConnectionCooldown.APIKey.UseUpstream429BreakerHints)
}

// Upsert adds a connection or replaces its configuration; its state stays. The
// handle stays the same as long as the provider does.
func (e *Engine) Upsert(c Connection) *Conn {
	defer e.out.flush()
	e.mu.Lock()
	defer e.mu.Unlock()
	old := e.conns[c.ID]
	if old != nil && old.provider.name == c.Provider {
		old.provider.profile = c.Profile
		e.configure(old.provider)
		old.cfg.Store(e.connConfig(c))
		if c.DisableCooling {
			old.warm(e)
		}
		return old
	}
	if old != nil {
		e.detach(old)
	}
	p := e.provider(c.Provider, c.Profile)
	p.conns++
	conn := &Conn{id: c.ID, provider: p, state: cooldown.New(), locks: lockout.NewSet(c.Provider)}
	conn.publish()
	conn.cfg.Store(e.connConfig(c))
	e.conns[c.ID] = conn
	if old != nil { // what was stored of the former provider's account is over
		conn.mu.Lock()
		conn.keep(e)
		conn.mu.Unlock()
	}
	return conn
}

// Remove forgets a connection. Attempts that are under way end harmlessly.
func (e *Engine) Remove(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.conns[id]; c != nil {
		delete(e.conns, id)
		e.detach(c)
	}
}

// detach takes a connection out of routing for good. The caller holds e.mu.
func (e *Engine) detach(c *Conn) {
	gone := *c.cfg.Load()
	gone.Active, gone.removed = false, true
	c.cfg.Store(&gone)
	c.provider.conns--
	e.evict()
}

// evict drops the breakers nobody uses that have nothing to remember, and the
// oldest of those beyond the cap. A breaker that is not CLOSED always stays.
func (e *Engine) evict() {
	var idle []*provider
	for name, p := range e.providers {
		switch {
		case p.conns > 0:
		case p.breaker.Clean():
			delete(e.providers, name)
		default:
			idle = append(idle, p)
		}
	}
	over := len(e.providers) - maxProviders
	if over <= 0 {
		return
	}
	now := e.clock.Now()
	at := make(map[*provider]breaker.Status, len(idle))
	for _, p := range idle {
		at[p] = p.breaker.Status(now)
	}
	sort.Slice(idle, func(i, j int) bool { return at[idle[i]].LastFailure.Before(at[idle[j]].LastFailure) })
	for _, p := range idle {
		if over > 0 && at[p].State == breaker.Closed {
			delete(e.providers, p.name)
			over--
		}
	}
}

// provider returns the shared part of a provider's connections. The caller
// holds e.mu.
func (e *Engine) provider(name string, profile settings.ProfileName) *provider {
	p := e.providers[name]
	if p == nil {
		p = &provider{name: name}
		p.breaker = breaker.New(breaker.Options{}, func(t breaker.Transition, s breaker.Saved) { e.breakerChanged(p, t, s) })
		e.providers[name] = p
	}
	p.profile = profile
	e.configure(p)
	return p
}

// configure applies the settings to a provider. The caller holds e.mu.
func (e *Engine) configure(p *provider) {
	s := &e.cfg.Load().settings
	f := s.Profile(p.profile)
	o := breaker.Options{
		FailureThreshold: f.FailureThreshold, DegradationThreshold: f.DegradationThreshold,
		ResetTimeout: f.ResetTimeout, HalfOpenRequests: 1,
		MaxBackoffMultiplier: f.MaxBackoffMultiplier, BackoffEscalationCount: f.BackoffEscalationCount,
		// Negative holds count as absent: that is how a patch takes them away.
		CooldownByKind: map[outcome.Kind]time.Duration{outcome.KindRateLimit: -1, outcome.KindQuotaExhausted: -1},
	}
	if s.BreakerHints(p.name, p.profile) {
		o.CooldownByKind[outcome.KindRateLimit] = settings.RateLimitBreakerHold
		o.CooldownByKind[outcome.KindQuotaExhausted] = settings.QuotaBreakerHold
	}
	p.breaker.Configure(o)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.windowR = cooldown.WindowRules{Threshold: f.ProviderFailureThreshold, Window: f.ProviderFailureWindow, Cooldown: f.ProviderCooldown}
}

func (e *Engine) connConfig(c Connection) *connConfig {
	s := &e.cfg.Load().settings
	profile := s.Profile(c.Profile)
	ml := &s.ModelLockout
	return &connConfig{
		Connection: c,
		profile:    profile,
		options:    e.options(s, c),
		rules: cooldown.Rules{
			DisableCooling: c.DisableCooling,
			ClientsOwn:     c.Passthrough,
			Refreshed:      c.Profile == settings.OAuth && !c.Passthrough,
			Base:           profile.BaseCooldown,
			StallCools:     s.StreamStallCooldown.Enabled,
		},
		lock: lockout.Rules{ // ruling 50: base, maximum and steps of the setting
			Base:  time.Duration(ml.BaseCooldownMs) * time.Millisecond,
			Max:   time.Duration(ml.MaxCooldownMs) * time.Millisecond,
			Steps: int(ml.MaxBackoffSteps), HasSteps: true,
			Flat: !ml.UseExponentialBackoff, ResetAfter: profile.ResetTimeout,
		},
	}
}

// Restore puts stored states back, after all Upserts, at start. Rows of unknown
// connections and breakers in an unknown state are left out. Deadlines survive,
// clamped to their ceiling (rulings 9, 10).
func (e *Engine) Restore(conns []ConnectionState, breakers []BreakerState) {
	now := e.clock.Now()
	e.mu.Lock()
	for _, r := range conns {
		if c := e.conns[r.ID]; c != nil {
			c.mu.Lock()
			c.state = restored(now, r)
			if c.cfg.Load().DisableCooling {
				c.state.Warm(now)
			}
			c.version++
			c.publish()
			c.mu.Unlock()
		}
	}
	for _, r := range breakers {
		state, ok := breaker.ParseState(r.State)
		if !ok || r.Name == "" {
			continue
		}
		p := e.providers[r.Name]
		if p == nil {
			p = e.provider(r.Name, settings.APIKey)
		}
		p.breaker.Restore(now, breaker.Saved{
			State: state, Failures: r.FailureCount, LastFailure: r.LastFailureTime, LastKind: r.LastFailureKind,
			Cycles: r.OpenCycleCount, KindFailures: r.KindFailureCounts,
		})
	}
	e.evict()
	e.mu.Unlock()
	e.out.flush()
}

// breakerChanged queues what a breaker reports; it runs under its lock.
func (e *Engine) breakerChanged(p *provider, t breaker.Transition, s breaker.Saved) {
	if t.From != t.To {
		e.out.change(Change{
			At: t.At, Kind: ChangeBreaker, Provider: p.name,
			From: t.From.String(), To: t.To.String(), Until: t.Until, Reason: t.Reason,
		})
	}
	row := BreakerState{
		Name: p.name, State: s.State.String(), FailureCount: s.Failures, LastFailureTime: s.LastFailure,
		LastFailureKind: s.LastKind, OpenCycleCount: s.Cycles, KindFailureCounts: s.KindFailures,
		FailureThreshold: s.FailureThreshold, ResetTimeout: s.ResetTimeout,
	}
	e.out.save(func(st Store) { st.SaveBreaker(row) })
}
