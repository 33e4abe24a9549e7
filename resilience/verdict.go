package resilience

import (
	"strings"
	"time"

	"breakwater/resilience/classify"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// Input returns what the classifier must know of a connection and the settings
// in force; the caller adds the answer (status, headers, body), the location
// of the present, if daily quotas follow one, and how the credential works.
func (e *Engine) Input(c *Conn, model string) classify.Input {
	cfg := c.cfg.Load()
	in := classify.Input{
		Now: e.clock.Now(), Provider: cfg.Provider, Model: model, Connection: c.id,
		Profile: cfg.profile, Level: c.Level(), Options: cfg.options,
		PerModelQuota: cfg.PerModelQuota, DisableCooling: cfg.DisableCooling, LocalURL: cfg.Profile == settings.Local,
	}
	if cfg.Passthrough {
		in.Auth = classify.AuthPassthrough
	}
	if locked, recent := c.locked.Load(), c.recent.Load(); locked || recent {
		c.mu.Lock()
		defer c.mu.Unlock()
		in.CreditWaits = c.credit.ranOut(in.Now)
		in.Rejections = c.locks.Rejections(in.Now, model)
		in.StreamBreaks = c.locks.Cuts(in.Now, model)
	}
	return in
}

// options is the operator's part of a verdict about one connection.
func (e *Engine) options(s *settings.Settings, c Connection) *classify.Options {
	o := classify.Options{
		Streak:      &e.streak,
		LockoutMax:  time.Duration(s.ModelLockout.MaxCooldownMs) * time.Millisecond,
		CoolOnStall: s.StreamStallCooldown.Enabled,
	}
	if d := ofProvider(s.ProviderQuotaOverrides, c.Provider).RateLimitCooldownSeconds; d != nil {
		o.ProviderDelay = time.Duration(*d) * time.Second
	}
	for _, r := range ofProvider(s.ErrorRules, c.Provider) {
		o.Rules = append(o.Rules, classify.Rule{
			Status: r.Status, Match: r.Match, Scope: ruleScope(r.Scope), Reason: outcome.Reason(r.Reason),
			Cooldown: time.Duration(r.CooldownMs) * time.Millisecond,
		})
	}
	if d := ofProvider(s.ErrorDefaults, c.Provider); d.CooldownMs > 0 {
		o.Default = &classify.Default{
			Cooldown: time.Duration(d.CooldownMs) * time.Millisecond, Scope: ruleScope(d.Scope), Reason: outcome.Reason(d.Reason),
		}
	}
	o = c.Rotation.Apply(o, s.Rotation)
	return &o
}

// ofProvider looks up what an operator declared for a provider: by its whole
// id, or for user-defined ones ("custom:host") by the part before the colon.
func ofProvider[V any](m map[string]V, id string) V {
	if v, ok := m[id]; ok {
		return v
	}
	general, _, _ := strings.Cut(id, ":")
	return m[general]
}

func ruleScope(name string) outcome.Scope {
	switch name {
	case "model":
		return outcome.ScopeModel
	case "provider":
		return outcome.ScopeProvider
	default:
		return outcome.ScopeConnection
	}
}
