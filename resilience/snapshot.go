package resilience

import (
	"sort"
	"time"

	"breakwater/resilience/breaker"
	"breakwater/resilience/cooldown"
	"breakwater/resilience/outcome"
)

// State is the effective condition of a connection, for views.
type State string

// The states, the one that explains most first.
const (
	StateOff              State = "off"
	StateBanned           State = "banned"
	StateExpired          State = "expired"
	StateCreditsExhausted State = "credits_exhausted"
	StateWrongAddress     State = "wrong_address"
	StateOpen             State = "open"
	StateProbing          State = "probing"
	StateCooling          State = "cooling"
	StateNeedsAttention   State = "needs_attention"
	StateModelLocked      State = "model_locked"
	StateDegraded         State = "degraded"
	StateServing          State = "serving"
)

// Status is everything a view shows of a connection.
type Status struct {
	State            State
	Until            time.Time // when State ends by itself
	TestStatus       string
	RateLimitedUntil time.Time // zero when the cooldown is over
	GatedUntil       time.Time // end of the opt-in provider window, zero while that lets through
	Reason           outcome.Reason
	BackoffLevel     int
	ErrorCode        int
	LastErrorType    string
	LastErrorAt      time.Time
	LastErrorSource  string
	RawHint          string
	Words            string             // the refusal's own, of the last error
	Attention        cooldown.Attention // whatever State is
	ExpiredRetries   int
	Lockouts         []Lockout // active model lockouts, the longest first
}

// BreakerStatus is everything a view shows of a provider's breaker.
type BreakerStatus struct {
	Name                  string
	State                 string
	FailureCount          int
	FailureThreshold      int
	DegradationThreshold  int
	ResetTimeout          time.Duration
	EffectiveResetTimeout time.Duration
	LastFailureTime       time.Time
	LastFailureKind       outcome.Kind
	KindFailureCounts     map[outcome.Kind]int
	OpenCycleCount        int
	RetryAfter            time.Duration
	Until                 time.Time
	History               []breaker.Transition // the last 20, oldest first
}

// ConnectionStatus returns the effective state of a connection.
func (e *Engine) ConnectionStatus(c *Conn) Status {
	defer e.out.flush()
	now, cfg := e.clock.Now(), e.cfg.Load()
	verdict := c.provider.breaker.Check(now)
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.state
	st := Status{
		TestStatus: s.Status, RateLimitedUntil: c.coolingUntil(e, now), Reason: s.Reason, BackoffLevel: s.Level,
		ErrorCode: s.ErrorCode, LastErrorType: s.ErrorType, LastErrorAt: s.ErrorAt,
		LastErrorSource: s.Source, RawHint: s.RawHint, ExpiredRetries: s.Retries,
		Words: s.Words, Attention: s.Attention,
	}
	gated := time.Time{}
	if cfg.gate {
		gated = later(c.provider.cooling(now), c.pace.Cooling(now, cfg.pace))
	}
	if gated.After(now) {
		st.GatedUntil = gated
	}
	st.Lockouts = c.lockouts(now)
	st.State, st.Until = c.effective(now, verdict, st, gated)
	return st
}

// effective names the state. The caller holds c.mu.
func (c *Conn) effective(now time.Time, v breaker.Verdict, st Status, gated time.Time) (State, time.Time) {
	switch t := c.state.Terminal(); {
	case !c.cfg.Load().Active:
		return StateOff, time.Time{}
	case t != outcome.NotTerminal:
		return State(t), c.state.RetryDue(now)
	case c.state.Misplaced():
		return StateWrongAddress, time.Time{}
	case v.State == breaker.Open:
		return StateOpen, v.Until
	case v.State == breaker.HalfOpen:
		return StateProbing, v.Until
	case !st.RateLimitedUntil.IsZero() || !gated.IsZero():
		return StateCooling, later(st.RateLimitedUntil, gated)
	case st.Attention.Needed():
		return StateNeedsAttention, time.Time{}
	case len(st.Lockouts) > 0: // the next one to end
		return StateModelLocked, st.Lockouts[len(st.Lockouts)-1].Until
	case v.State == breaker.Degraded:
		return StateDegraded, time.Time{}
	default:
		return StateServing, time.Time{}
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Breakers returns the breakers of all providers, sorted by name.
func (e *Engine) Breakers() []BreakerStatus {
	defer e.out.flush()
	now := e.clock.Now()
	all := e.allProviders()
	list := make([]BreakerStatus, 0, len(all))
	for _, p := range all {
		s := p.breaker.Status(now)
		list = append(list, BreakerStatus{
			Name: p.name, State: s.State.String(), FailureCount: s.Failures,
			FailureThreshold: s.FailureThreshold, DegradationThreshold: s.DegradationThreshold,
			ResetTimeout: s.ResetTimeout, EffectiveResetTimeout: s.EffectiveResetTimeout,
			LastFailureTime: s.LastFailure, LastFailureKind: s.LastKind, KindFailureCounts: s.KindFailures,
			OpenCycleCount: s.Cycles, RetryAfter: s.RetryAfter, Until: s.Until, History: s.History,
		})
	}
	return list
}

func (e *Engine) allProviders() []*provider {
	e.mu.RLock()
	defer e.mu.RUnlock()
	all := make([]*provider, 0, len(e.providers))
	for _, p := range e.providers {
		all = append(all, p)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].name < all[j].name })
	return all
}

// Connection returns the handle of a connection, or nil.
func (e *Engine) Connection(id string) *Conn {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.conns[id]
}
