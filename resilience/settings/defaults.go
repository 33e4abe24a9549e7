package settings

// Defaults returns the built-in settings, before environment and store.
func Defaults() Settings {
	return Settings{
		RequestQueue: RequestQueue{
			AutoEnableAPIKeyProviders: true,
			MaxWaitMs:                 30_000, // ruling 1
			ExecutionMaxWaitMs:        600_000,
		},
		ConnectionCooldown: ByClass[CooldownProfile]{
			OAuth:  CooldownProfile{BaseCooldownMs: 5_000, UseUpstreamRetryHints: true, MaxBackoffSteps: 8}, // ruling 7
			APIKey: CooldownProfile{BaseCooldownMs: 3_000, UseUpstreamRetryHints: true, MaxBackoffSteps: 5},
		},
		ProviderBreaker: ByClass[BreakerProfile]{
			OAuth:  BreakerProfile{FailureThreshold: 8, DegradationThreshold: 5, ResetTimeoutMs: 60_000},
			APIKey: BreakerProfile{FailureThreshold: 12, DegradationThreshold: 7, ResetTimeoutMs: 30_000},
		},
		TokenRefreshBreaker:        TokenRefreshBreaker{Scope: "provider", FailureThreshold: 5, CooldownMs: 1_800_000},
		WaitForCooldown:            WaitForCooldown{Enabled: true, MaxRetries: 5, MaxRetryWaitSec: 90, BudgetMs: 300_000},
		ComboCooldownWait:          ComboCooldownWait{Enabled: true, MaxWaitMs: 90_000, MaxAttempts: 5, BudgetMs: 300_000},
		QuotaShareConcurrencyLimit: Switch{Enabled: true},
		ProviderCooldown:           ProviderCooldown{MinRetryCooldownMs: 5_000, MaxRetryCooldownMs: 300_000},
		CredentialHealthCheck:      CredentialHealthCheck{IntervalMinutes: 60},
		QuotaPreflight: QuotaPreflight{
			DefaultThresholdPercent: 2, WarnThresholdPercent: 20,
			ProviderWindowDefaults: map[string]map[string]int64{},
		},
		StreamRecovery: StreamRecovery{ThroughputWatchdog: ThroughputWatchdog{
			WarmupMs: 30_000, WindowMs: 30_000, MinUsefulBytesPerSecond: 4, MinUsefulBytes: 1,
		}},
		EmergencyFallback:      EmergencyFallback{Enabled: true, Model: "nvidia/openai/gpt-oss-120b", MaxOutputTokens: 4096},
		Failover:               Failover{SecondOpinion: true, FinalErrors: true, SlowDemotion: true, FirstByteMs: 100_000, MoveHistory: true},
		ProviderQuotaOverrides: map[string]QuotaOverride{},
		ModelLockout:           defaultModelLockout(),
		Fixed:                  defaultFixed(),
		Rotation:               defaultRotation(),
		Timeouts:               defaultTimeouts(),
	}
}

func defaultModelLockout() ModelLockout {
	return ModelLockout{
		ErrorCodes:     defaultErrorCodes(),
		BaseCooldownMs: 120_000, MaxCooldownMs: 1_800_000,
		MaxBackoffSteps: 10, UseExponentialBackoff: true,
	}
}

func defaultErrorCodes() []int { return []int{403, 404, 429, 502, 503, 504} }

func defaultFixed() Fixed {
	return Fixed{
		OAuth: FixedProfile{
			MaxBackoffMultiplier: 8, BackoffEscalationCount: 2,
			ProviderFailureThreshold: 10, ProviderFailureWindowMs: 900_000, ProviderCooldownMs: 300_000,
		},
		APIKey: FixedProfile{
			MaxBackoffMultiplier: 4, BackoffEscalationCount: 3,
			ProviderFailureThreshold: 15, ProviderFailureWindowMs: 1_800_000, ProviderCooldownMs: 600_000,
		},
		Local: FixedProfile{
			MaxBackoffMultiplier: 16, BackoffEscalationCount: 3,
			ProviderFailureThreshold: 2, ProviderFailureWindowMs: 300_000, ProviderCooldownMs: 60_000,
		},
		LocalCooldown: CooldownProfile{BaseCooldownMs: 2_000, UseUpstreamRetryHints: true, MaxBackoffSteps: 3},
		// The degradation threshold is derived: 60 % of the failure threshold.
		LocalBreaker: BreakerProfile{FailureThreshold: 2, DegradationThreshold: 2, ResetTimeoutMs: 15_000},
	}
}

// Cautious returns the request queue with the preset of that name: one request
// each 350 ms, 60 a minute, six at a time (ruling 39).
func Cautious(q RequestQueue) RequestQueue {
	q.RequestsPerMinute, q.MinTimeBetweenRequestsMs, q.ConcurrentRequests = 60, 350, 6
	return q
}
