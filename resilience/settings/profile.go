// Package settings holds every knob of the resilience core with its default,
// bounds and precedence.
package settings

import (
	"strings"
	"time"
)

// ProfileName is the class of a provider that decides its figures (guide §1).
type ProfileName string

// The provider classes.
const (
	OAuth  ProfileName = "oauth"
	APIKey ProfileName = "apikey"
	Local  ProfileName = "local"
)

// Profile holds the figures of one provider class (guide §1 and §2, sheet §1.3).
type Profile struct {
	Name ProfileName

	// Connection cooldown (guide §2).
	BaseCooldown          time.Duration
	MaxBackoffSteps       int
	UseUpstreamRetryHints bool // ruling 7: true for every profile

	// Provider breaker (guide §1).
	FailureThreshold       int
	DegradationThreshold   int
	ResetTimeout           time.Duration
	MaxBackoffMultiplier   int
	BackoffEscalationCount int

	// Opt-in provider window gate (guide §1, PROVIDER_COOLDOWN_ENABLED).
	ProviderFailureThreshold int
	ProviderFailureWindow    time.Duration
	ProviderCooldown         time.Duration
}

// FixedProfile holds the figures of a class that are not part of the stored
// tree; the environment may change most of them (sheet §1.4).
type FixedProfile struct {
	MaxBackoffMultiplier     int64
	BackoffEscalationCount   int64
	ProviderFailureThreshold int64
	ProviderFailureWindowMs  int64
	ProviderCooldownMs       int64
}

// Fixed holds the unstored figures of all classes and the local class whole.
type Fixed struct {
	OAuth, APIKey, Local FixedProfile
	// LocalCooldown and LocalBreaker are the local class's own sections,
	// which the settings page does not show (guide §1).
	LocalCooldown CooldownProfile
	LocalBreaker  BreakerProfile
}

// Profile returns the figures of a class. Unknown names get the API-key
// figures, as an unknown provider does (sheet §1.3).
func (s Settings) Profile(name ProfileName) Profile {
	switch name {
	case OAuth:
		return profile(OAuth, s.ConnectionCooldown.OAuth, s.ProviderBreaker.OAuth, s.Fixed.OAuth)
	case Local:
		return profile(Local, s.Fixed.LocalCooldown, s.Fixed.LocalBreaker, s.Fixed.Local)
	default:
		return profile(APIKey, s.ConnectionCooldown.APIKey, s.ProviderBreaker.APIKey, s.Fixed.APIKey)
	}
}

func profile(name ProfileName, c CooldownProfile, b BreakerProfile, f FixedProfile) Profile {
	return Profile{
		Name:                     name,
		BaseCooldown:             ms(c.BaseCooldownMs),
		MaxBackoffSteps:          int(c.MaxBackoffSteps),
		UseUpstreamRetryHints:    c.UseUpstreamRetryHints,
		FailureThreshold:         int(b.FailureThreshold),
		DegradationThreshold:     int(b.DegradationThreshold),
		ResetTimeout:             ms(b.ResetTimeoutMs),
		MaxBackoffMultiplier:     int(f.MaxBackoffMultiplier),
		BackoffEscalationCount:   int(f.BackoffEscalationCount),
		ProviderFailureThreshold: int(f.ProviderFailureThreshold),
		ProviderFailureWindow:    ms(f.ProviderFailureWindowMs),
		ProviderCooldown:         ms(f.ProviderCooldownMs),
	}
}

// Scaled is the ladder's rung for a backoff level: base·2^level, the level
// capped by MaxBackoffSteps and the result by ceiling, and the level that the
// next failure starts from (sheet §3.2). A ceiling of zero or less caps
// nothing.
func (p Profile) Scaled(level int, ceiling time.Duration) (wait time.Duration, next int) {
	level = max(0, level)
	return Backoff(p.BaseCooldown, min(level, p.MaxBackoffSteps), ceiling), min(level+1, p.MaxBackoffSteps)
}

// Backoff returns base·2^steps, at most ceiling, without overflow. A ceiling of
// zero or less means the longest duration there is.
func Backoff(base time.Duration, steps int, ceiling time.Duration) time.Duration {
	if ceiling <= 0 {
		ceiling = 1<<63 - 1
	}
	if base <= 0 {
		return 0
	}
	for ; steps > 0 && base < ceiling; steps-- {
		if base > ceiling/2 {
			return ceiling
		}
		base *= 2
	}
	return min(base, ceiling)
}

// The holds that replace the reset time after a failure of a known kind, when
// the 429 hints are on (sheet §1.5).
const (
	RateLimitBreakerHold = 60 * time.Second
	QuotaBreakerHold     = time.Hour
)

// selfHosted are chat servers that people run themselves: their 429 says
// nothing about a quota (sheet §1.3, §1.5).
var selfHosted = map[string]bool{
	"lm-studio": true, "vllm": true, "lemonade": true, "llamafile": true,
	"triton": true, "xinference": true, "oobabooga": true,
	"cliproxyapi": true, // an upstream proxy, not self-hosted, but treated alike
}

// BreakerHints reports whether the breaker of a provider takes the hold of the
// failure's kind (sheet §1.5): the stored switch of its class, or else a
// default by provider.
func (s Settings) BreakerHints(provider string, name ProfileName) bool {
	stored := s.ConnectionCooldown.APIKey.UseUpstream429BreakerHints
	if name == OAuth {
		stored = s.ConnectionCooldown.OAuth.UseUpstream429BreakerHints
	}
	if name != Local && stored != nil {
		return *stored
	}
	provider = strings.ToLower(provider)
	return name != Local && !selfHosted[provider] && !strings.HasPrefix(provider, "anthropic-compatible-cc-")
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
