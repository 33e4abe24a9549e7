package settings

import (
	"maps"
	"slices"
	"time"
)

// Settings is the whole tree of resilience settings (settings sheet §1.1). Its
// JSON form is what is stored under the key "resilienceSettings"; ModelLockout
// has a key of its own. Durations are milliseconds unless the name says
// otherwise, because that is what the stored keys hold.
type Settings struct {
	RequestQueue               RequestQueue             `json:"requestQueue"`
	ConnectionCooldown         ByClass[CooldownProfile] `json:"connectionCooldown"`
	ProviderBreaker            ByClass[BreakerProfile]  `json:"providerBreaker"`
	TokenRefreshBreaker        TokenRefreshBreaker      `json:"tokenRefreshBreaker"`
	WaitForCooldown            WaitForCooldown          `json:"waitForCooldown"`
	ComboCooldownWait          ComboCooldownWait        `json:"comboCooldownWait"`
	QuotaShareConcurrencyLimit Switch                   `json:"quotaShareConcurrencyLimit"`
	StreamStallCooldown        Switch                   `json:"streamStallCooldown"`
	P2CLatency                 P2CLatency               `json:"p2cLatency"`
	ProviderCooldown           ProviderCooldown         `json:"providerCooldown"`
	CredentialHealthCheck      CredentialHealthCheck    `json:"credentialHealthCheck"`
	QuotaPreflight             QuotaPreflight           `json:"quotaPreflight"`
	StreamRecovery             StreamRecovery           `json:"streamRecovery"`
	EmergencyFallback          EmergencyFallback        `json:"emergencyFallback"`
	Failover                   Failover                 `json:"failover"`
	ProviderQuotaOverrides     map[string]QuotaOverride `json:"providerQuotaOverrides"`

	// ModelLockout is stored under its own key, "modelLockout".
	ModelLockout ModelLockout `json:"-"`
	// ErrorRules and ErrorDefaults are the operator's, by provider id, stored
	// under "providerErrorRules" and "providerErrorDefaults".
	ErrorRules    map[string][]ErrorRule  `json:"-"`
	ErrorDefaults map[string]ErrorDefault `json:"-"`
	// Fixed holds the figures that only the environment can change.
	Fixed Fixed `json:"-"`
	// Rotation holds the process-wide rotation switches (environment only).
	Rotation Rotation `json:"-"`
	// Timeouts holds the upstream timeouts (environment only).
	Timeouts Timeouts `json:"-"`
}

// ByClass holds one value for each of the two configurable provider classes.
// The local class has fixed figures (guide §1).
type ByClass[T any] struct {
	OAuth  T `json:"oauth"`
	APIKey T `json:"apikey"`
}

// Switch is a section that is only on or off.
type Switch struct {
	Enabled bool `json:"enabled"`
}

// RequestQueue holds the admission queue's figures (guide §4). Zero rates,
// spacing and concurrency mean not limited (ruling 39).
type RequestQueue struct {
	AutoEnableAPIKeyProviders bool  `json:"autoEnableApiKeyProviders"`
	RequestsPerMinute         int64 `json:"requestsPerMinute"`
	MinTimeBetweenRequestsMs  int64 `json:"minTimeBetweenRequestsMs"`
	ConcurrentRequests        int64 `json:"concurrentRequests"`
	GlobalConcurrentRequests  int64 `json:"globalConcurrentRequests"`
	MaxWaitMs                 int64 `json:"maxWaitMs"`
	ExecutionMaxWaitMs        int64 `json:"executionMaxWaitMs"`
	MaxQueueDepth             int64 `json:"maxQueueDepth"`
}

// CooldownProfile holds the connection cooldown of one class (guide §2).
type CooldownProfile struct {
	BaseCooldownMs        int64 `json:"baseCooldownMs"`
	UseUpstreamRetryHints bool  `json:"useUpstreamRetryHints"`
	MaxBackoffSteps       int64 `json:"maxBackoffSteps"`
	// UseUpstream429BreakerHints has three states: nil leaves it to the
	// provider (see Settings.BreakerHints).
	UseUpstream429BreakerHints *bool `json:"useUpstream429BreakerHints,omitempty"`
}

// BreakerProfile holds the provider breaker of one class (guide §1).
type BreakerProfile struct {
	FailureThreshold     int64 `json:"failureThreshold"`
	DegradationThreshold int64 `json:"degradationThreshold"`
	ResetTimeoutMs       int64 `json:"resetTimeoutMs"`
}

// TokenRefreshBreaker guards the refresh of stored logins: after that many
// failures in a row none is tried for a while.
type TokenRefreshBreaker struct {
	Scope            string `json:"scope"` // "provider" or "connection"
	FailureThreshold int64  `json:"failureThreshold"`
	CooldownMs       int64  `json:"cooldownMs"`
}

// WaitForCooldown tells how long a request may wait for a cooling connection.
type WaitForCooldown struct {
	Enabled         bool  `json:"enabled"`
	MaxRetries      int64 `json:"maxRetries"`
	MaxRetryWaitSec int64 `json:"maxRetryWaitSec"`
	BudgetMs        int64 `json:"budgetMs"`
}

// MaxRetryWaitMs is one wait's ceiling in milliseconds; it is derived, never
// stored.
func (w WaitForCooldown) MaxRetryWaitMs() int64 { return w.MaxRetryWaitSec * 1000 }

// ComboCooldownWait is the same for combos.
type ComboCooldownWait struct {
	Enabled     bool  `json:"enabled"`
	MaxWaitMs   int64 `json:"maxWaitMs"`
	MaxAttempts int64 `json:"maxAttempts"`
	BudgetMs    int64 `json:"budgetMs"`
}

// P2CLatency weighs latency in the p2c strategy; 0 is off.
type P2CLatency struct {
	Weight int64 `json:"weight"`
}

// ProviderCooldown is the opt-in window gate (guide §1).
type ProviderCooldown struct {
	Enabled            bool  `json:"enabled"`
	MinRetryCooldownMs int64 `json:"minRetryCooldownMs"`
	MaxRetryCooldownMs int64 `json:"maxRetryCooldownMs"`
}

// CredentialHealthCheck is how often stored logins are refreshed and tested in
// the background; 0 is off.
type CredentialHealthCheck struct {
	IntervalMinutes int64 `json:"intervalMinutes"`
}

// QuotaPreflight skips connections whose remaining quota is too low.
type QuotaPreflight struct {
	Enabled                 bool                        `json:"enabled"`
	DefaultThresholdPercent int64                       `json:"defaultThresholdPercent"`
	WarnThresholdPercent    int64                       `json:"warnThresholdPercent"`
	ProviderWindowDefaults  map[string]map[string]int64 `json:"providerWindowDefaults"`
}

// Failover holds the switches of what happens when a target did not answer.
type Failover struct {
	// SecondOpinion asks another target about a 400 that is not understood
	// (ruling 55 d).
	SecondOpinion bool `json:"secondOpinion"`
	// FinalErrors ends a request at once whose connections all wait for the user
	// (ruling 71).
	FinalErrors bool `json:"finalErrors"`
	// SlowDemotion moves streamed requests on from a cloud target that sends no
	// headers within FirstByteMs, and asks it last for a while (ruling 69).
	SlowDemotion bool  `json:"slowDemotion"`
	FirstByteMs  int64 `json:"firstByteMs"`
	// MoveHistory takes reasoning that another account made out of a request when
	// its conversation goes on at this one, MoveCompacted lets one with another
	// account's encrypted compaction go on there as it is (ruling 61).
	MoveHistory   bool `json:"moveHistory"`
	MoveCompacted bool `json:"moveCompacted"`
}

// EmergencyFallback sends a request for a single model to a free model when the
// account is out of money (guide, "Otras funciones de resiliencia"). Model is
// "provider/model" and needs a connection of that provider.
type EmergencyFallback struct {
	Enabled         bool   `json:"enabled"`
	Model           string `json:"model"`
	MaxOutputTokens int64  `json:"maxOutputTokens"`
}

// StreamRecovery re-opens broken streams.
type StreamRecovery struct {
	Enabled            bool               `json:"enabled"`
	ContinueMidStream  bool               `json:"continueMidStream"`
	ThroughputWatchdog ThroughputWatchdog `json:"throughputWatchdog"`
}

// ThroughputWatchdog gives up on streams that trickle.
type ThroughputWatchdog struct {
	Enabled                 bool  `json:"enabled"`
	WarmupMs                int64 `json:"warmupMs"`
	WindowMs                int64 `json:"windowMs"`
	MinUsefulBytesPerSecond int64 `json:"minUsefulBytesPerSecond"`
	MinUsefulBytes          int64 `json:"minUsefulBytes"`
}

// QuotaOverride changes figures for one provider; nil fields are automatic.
type QuotaOverride struct {
	RPM                      *int64 `json:"rpm,omitempty"`
	Concurrency              *int64 `json:"concurrency,omitempty"`
	ProviderConcurrency      *int64 `json:"providerConcurrency,omitempty"`
	RateLimitCooldownSeconds *int64 `json:"rateLimitCooldownSeconds,omitempty"`
}

// ModelLockout configures model lockouts (guide §3). Enabled governs only the
// ErrorCodes path (ruling 50).
type ModelLockout struct {
	Enabled               bool  `json:"enabled"`
	ErrorCodes            []int `json:"errorCodes"`
	BaseCooldownMs        int64 `json:"baseCooldownMs"`
	MaxCooldownMs         int64 `json:"maxCooldownMs"`
	MaxBackoffSteps       int64 `json:"maxBackoffSteps"`
	UseExponentialBackoff bool  `json:"useExponentialBackoff"`
}

// Lists reports whether status is one of the error codes.
func (m ModelLockout) Lists(status int) bool {
	return slices.Contains(m.ErrorCodes, status)
}

// Clone returns a copy that shares no memory with s.
func (s Settings) Clone() Settings {
	s.ConnectionCooldown.OAuth.UseUpstream429BreakerHints = clonePtr(s.ConnectionCooldown.OAuth.UseUpstream429BreakerHints)
	s.ConnectionCooldown.APIKey.UseUpstream429BreakerHints = clonePtr(s.ConnectionCooldown.APIKey.UseUpstream429BreakerHints)
	windows := make(map[string]map[string]int64, len(s.QuotaPreflight.ProviderWindowDefaults))
	for provider, byWindow := range s.QuotaPreflight.ProviderWindowDefaults {
		inner := make(map[string]int64, len(byWindow))
		maps.Copy(inner, byWindow)
		windows[provider] = inner
	}
	s.QuotaPreflight.ProviderWindowDefaults = windows
	overrides := make(map[string]QuotaOverride, len(s.ProviderQuotaOverrides))
	for provider, o := range s.ProviderQuotaOverrides {
		overrides[provider] = QuotaOverride{clonePtr(o.RPM), clonePtr(o.Concurrency), clonePtr(o.ProviderConcurrency), clonePtr(o.RateLimitCooldownSeconds)}
	}
	s.ProviderQuotaOverrides = overrides
	s.ErrorRules, s.ErrorDefaults = maps.Clone(s.ErrorRules), maps.Clone(s.ErrorDefaults)
	for provider, rules := range s.ErrorRules {
		s.ErrorRules[provider] = slices.Clone(rules)
	}
	s.ModelLockout.ErrorCodes = append([]int(nil), s.ModelLockout.ErrorCodes...)
	return s
}

func clonePtr[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// Allows reports whether a request may wait need for a connection when left of
// its budget remains.
func (w WaitForCooldown) Allows(need, left time.Duration) bool {
	return w.Enabled && need <= left && need <= ms(w.BudgetMs)
}
