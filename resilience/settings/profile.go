// Package settings holds every knob of the resilience core with its default,
// bounds and precedence.
package settings

import "time"

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
