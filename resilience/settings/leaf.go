package settings

import (
	"slices"
	"strings"
)

// leaf is one knob of the tree: where it lives, what it may be and which
// environment variable seeds its default. Exactly one of number, flag, tri,
// word and custom is set. Everything that walks the tree walks this table.
type leaf struct {
	path   string
	number func(*Settings) *int64
	flag   func(*Settings) *bool
	tri    func(*Settings) **bool
	word   func(*Settings) *string
	words  []string // the first replaces what is none of them; see text
	text   bool     // the word is "provider/model", words[0] the default
	custom *custom

	lo, hi           int64 // what the normaliser clamps to
	patchLo, patchHi int64 // what a patch may say
	hidden           bool  // not part of the patch schema

	env      string
	envLeast int64 // the smallest environment value that counts
	envYes   bool  // the variable also knows "yes" and "no"
}

// custom is a leaf that holds a map, replaced as a whole.
type custom struct {
	read  func(s *Settings, v any) // tolerant, from the store
	check func(v any, path string) []FieldError
}

const (
	day  = 86_400_000
	hour = 3_600_000
)

func num(path string, p func(*Settings) *int64, lo, hi int64) leaf {
	return leaf{path: path, number: p, lo: lo, hi: hi, patchLo: lo, patchHi: hi}
}

func flag(path string, p func(*Settings) *bool) leaf { return leaf{path: path, flag: p} }

// seeded names the environment variable and the smallest value that counts.
func (l leaf) seeded(env string, least int64) leaf {
	l.env, l.envLeast = env, least
	return l
}

// patch narrows what a patch may say.
func (l leaf) patch(lo, hi int64) leaf {
	l.patchLo, l.patchHi = lo, hi
	return l
}

// unlisted keeps the leaf out of the patch schema.
func (l leaf) unlisted() leaf {
	l.hidden = true
	return l
}

// orYes lets the environment variable say "yes" and "no" too.
func (l leaf) orYes() leaf {
	l.envYes = true
	return l
}

// leaves is the whole tree in the order of settings sheet §1.1.
var leaves = concat(
	queueLeaves(),
	cooldownLeaves("oauth", func(s *Settings) *CooldownProfile { return &s.ConnectionCooldown.OAuth }),
	cooldownLeaves("apikey", func(s *Settings) *CooldownProfile { return &s.ConnectionCooldown.APIKey }),
	breakerLeaves("oauth", "OAUTH", func(s *Settings) *BreakerProfile { return &s.ProviderBreaker.OAuth }),
	breakerLeaves("apikey", "API_KEY", func(s *Settings) *BreakerProfile { return &s.ProviderBreaker.APIKey }),
	waitLeaves(), smallLeaves(), preflightLeaves(), streamLeaves(),
	[]leaf{{path: "providerQuotaOverrides", custom: &custom{read: readOverrides, check: checkOverrides}}},
)

func concat(groups ...[]leaf) []leaf {
	var all []leaf
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
}

func queueLeaves() []leaf {
	q := func(s *Settings) *RequestQueue { return &s.RequestQueue }
	return []leaf{
		flag("requestQueue.autoEnableApiKeyProviders", func(s *Settings) *bool { return &q(s).AutoEnableAPIKeyProviders }),
		// Ruling 39: zero means not limited.
		num("requestQueue.requestsPerMinute", func(s *Settings) *int64 { return &q(s).RequestsPerMinute }, 0, 1_000_000),
		num("requestQueue.minTimeBetweenRequestsMs", func(s *Settings) *int64 { return &q(s).MinTimeBetweenRequestsMs }, 0, hour),
		num("requestQueue.concurrentRequests", func(s *Settings) *int64 { return &q(s).ConcurrentRequests }, 0, 10_000),
		num("requestQueue.globalConcurrentRequests", func(s *Settings) *int64 { return &q(s).GlobalConcurrentRequests }, 0, 100_000),
		num("requestQueue.maxWaitMs", func(s *Settings) *int64 { return &q(s).MaxWaitMs }, 1, day).seeded("RATE_LIMIT_MAX_WAIT_MS", 1),
		num("requestQueue.executionMaxWaitMs", func(s *Settings) *int64 { return &q(s).ExecutionMaxWaitMs }, 1, day).seeded("RATE_LIMIT_EXECUTION_MAX_WAIT_MS", 1),
		num("requestQueue.maxQueueDepth", func(s *Settings) *int64 { return &q(s).MaxQueueDepth }, 0, 100_000).seeded("RATE_LIMIT_MAX_QUEUE_DEPTH", 0),
	}
}

func cooldownLeaves(class string, c func(*Settings) *CooldownProfile) []leaf {
	at := "connectionCooldown." + class + "."
	return []leaf{
		num(at+"baseCooldownMs", func(s *Settings) *int64 { return &c(s).BaseCooldownMs }, 0, day),
		flag(at+"useUpstreamRetryHints", func(s *Settings) *bool { return &c(s).UseUpstreamRetryHints }),
		num(at+"maxBackoffSteps", func(s *Settings) *int64 { return &c(s).MaxBackoffSteps }, 0, 32),
		{path: at + "useUpstream429BreakerHints", tri: func(s *Settings) **bool { return &c(s).UseUpstream429BreakerHints }},
	}
}

func breakerLeaves(class, env string, b func(*Settings) *BreakerProfile) []leaf {
	at := "providerBreaker." + class + "."
	return []leaf{
		num(at+"failureThreshold", func(s *Settings) *int64 { return &b(s).FailureThreshold }, 1, 1000).
			seeded("OMNIROUTE_CIRCUIT_BREAKER_"+env+"_THRESHOLD", 0),
		num(at+"degradationThreshold", func(s *Settings) *int64 { return &b(s).DegradationThreshold }, 1, 1000).
			seeded("OMNIROUTE_PROVIDER_BREAKER_"+env+"_DEGRADATION_THRESHOLD", 0),
		num(at+"resetTimeoutMs", func(s *Settings) *int64 { return &b(s).ResetTimeoutMs }, 1000, day).
			seeded("OMNIROUTE_CIRCUIT_BREAKER_"+env+"_RESET_MS", 0),
	}
}

func waitLeaves() []leaf {
	t := func(s *Settings) *TokenRefreshBreaker { return &s.TokenRefreshBreaker }
	w := func(s *Settings) *WaitForCooldown { return &s.WaitForCooldown }
	c := func(s *Settings) *ComboCooldownWait { return &s.ComboCooldownWait }
	return []leaf{
		{path: "tokenRefreshBreaker.scope", word: func(s *Settings) *string { return &t(s).Scope }, words: []string{"provider", "connection"}},
		num("tokenRefreshBreaker.failureThreshold", func(s *Settings) *int64 { return &t(s).FailureThreshold }, 1, 100),
		num("tokenRefreshBreaker.cooldownMs", func(s *Settings) *int64 { return &t(s).CooldownMs }, 60_000, day),
		flag("waitForCooldown.enabled", func(s *Settings) *bool { return &w(s).Enabled }),
		num("waitForCooldown.maxRetries", func(s *Settings) *int64 { return &w(s).MaxRetries }, 0, 10),
		num("waitForCooldown.maxRetryWaitSec", func(s *Settings) *int64 { return &w(s).MaxRetryWaitSec }, 0, 300),
		num("waitForCooldown.budgetMs", func(s *Settings) *int64 { return &w(s).BudgetMs }, 0, 300_000).unlisted(),
		flag("comboCooldownWait.enabled", func(s *Settings) *bool { return &c(s).Enabled }),
		num("comboCooldownWait.maxWaitMs", func(s *Settings) *int64 { return &c(s).MaxWaitMs }, 0, 300_000), // ruling 2
		num("comboCooldownWait.maxAttempts", func(s *Settings) *int64 { return &c(s).MaxAttempts }, 0, 10),
		num("comboCooldownWait.budgetMs", func(s *Settings) *int64 { return &c(s).BudgetMs }, 0, 300_000),
	}
}

func smallLeaves() []leaf {
	p := func(s *Settings) *ProviderCooldown { return &s.ProviderCooldown }
	return []leaf{
		flag("quotaShareConcurrencyLimit.enabled", func(s *Settings) *bool { return &s.QuotaShareConcurrencyLimit.Enabled }),
		flag("streamStallCooldown.enabled", func(s *Settings) *bool { return &s.StreamStallCooldown.Enabled }),
		num("p2cLatency.weight", func(s *Settings) *int64 { return &s.P2CLatency.Weight }, 0, 20),
		flag("providerCooldown.enabled", func(s *Settings) *bool { return &p(s).Enabled }).seeded("PROVIDER_COOLDOWN_ENABLED", 0),
		num("providerCooldown.minRetryCooldownMs", func(s *Settings) *int64 { return &p(s).MinRetryCooldownMs }, 0, hour).
			patch(0, 300_000).seeded("PROVIDER_COOLDOWN_MIN_MS", 0),
		num("providerCooldown.maxRetryCooldownMs", func(s *Settings) *int64 { return &p(s).MaxRetryCooldownMs }, 0, day).
			patch(0, hour).seeded("PROVIDER_COOLDOWN_MAX_MS", 0),
		num("credentialHealthCheck.intervalMinutes", func(s *Settings) *int64 { return &s.CredentialHealthCheck.IntervalMinutes }, 0, 1440),
	}
}

func preflightLeaves() []leaf {
	q := func(s *Settings) *QuotaPreflight { return &s.QuotaPreflight }
	return []leaf{
		flag("quotaPreflight.enabled", func(s *Settings) *bool { return &q(s).Enabled }).seeded("QUOTA_PREFLIGHT_CUTOFF_ENABLED", 0),
		num("quotaPreflight.defaultThresholdPercent", func(s *Settings) *int64 { return &q(s).DefaultThresholdPercent }, 0, 99),
		num("quotaPreflight.warnThresholdPercent", func(s *Settings) *int64 { return &q(s).WarnThresholdPercent }, 0, 100),
		{path: "quotaPreflight.providerWindowDefaults", custom: &custom{read: readWindows, check: checkWindows}},
	}
}

func streamLeaves() []leaf {
	r := func(s *Settings) *StreamRecovery { return &s.StreamRecovery }
	w := func(s *Settings) *ThroughputWatchdog { return &s.StreamRecovery.ThroughputWatchdog }
	e := func(s *Settings) *EmergencyFallback { return &s.EmergencyFallback }
	at, env := "streamRecovery.throughputWatchdog.", "STREAM_THROUGHPUT_WATCHDOG_"
	return []leaf{
		flag("streamRecovery.enabled", func(s *Settings) *bool { return &r(s).Enabled }).seeded("STREAM_RECOVERY_ENABLED", 0).orYes(),
		flag("streamRecovery.continueMidStream", func(s *Settings) *bool { return &r(s).ContinueMidStream }).seeded("STREAM_RECOVERY_MIDSTREAM_ENABLED", 0).orYes(),
		flag(at+"enabled", func(s *Settings) *bool { return &w(s).Enabled }).seeded(env+"ENABLED", 0).orYes(),
		num(at+"warmupMs", func(s *Settings) *int64 { return &w(s).WarmupMs }, 0, 600_000).seeded(env+"WARMUP_MS", 0),
		num(at+"windowMs", func(s *Settings) *int64 { return &w(s).WindowMs }, 1000, 600_000).seeded(env+"WINDOW_MS", 0),
		num(at+"minUsefulBytesPerSecond", func(s *Settings) *int64 { return &w(s).MinUsefulBytesPerSecond }, 1, 1_000_000).
			seeded(env+"MIN_BYTES_PER_SECOND", 0),
		flag("emergencyFallback.enabled", func(s *Settings) *bool { return &e(s).Enabled }).seeded("OMNIROUTE_EMERGENCY_FALLBACK", 0).orYes(),
		{
			path: "emergencyFallback.model", text: true, words: []string{Defaults().EmergencyFallback.Model},
			word: func(s *Settings) *string { return &e(s).Model },
		},
		flag("failover.secondOpinion", func(s *Settings) *bool { return &s.Failover.SecondOpinion }),
		flag("failover.finalErrors", func(s *Settings) *bool { return &s.Failover.FinalErrors }),
		flag("failover.slowDemotion", func(s *Settings) *bool { return &s.Failover.SlowDemotion }),
		num("failover.firstByteMs", func(s *Settings) *int64 { return &s.Failover.FirstByteMs }, 1000, 300_000),
		flag("failover.moveHistory", func(s *Settings) *bool { return &s.Failover.MoveHistory }),
		flag("failover.moveCompacted", func(s *Settings) *bool { return &s.Failover.MoveCompacted }),
		num("emergencyFallback.maxOutputTokens", func(s *Settings) *int64 { return &e(s).MaxOutputTokens }, 1, 1_000_000),
		num(at+"minUsefulBytes", func(s *Settings) *int64 { return &w(s).MinUsefulBytes }, 1, 1_000_000).seeded(env+"MIN_USEFUL_BYTES", 0),
	}
}

// accepts reports whether a word may stand in the leaf.
func (l *leaf) accepts(w string) bool {
	if !l.text {
		return slices.Contains(l.words, w)
	}
	provider, model, ok := strings.Cut(w, "/")
	return ok && provider != "" && model != "" && len(w) <= maxModelText && strings.TrimSpace(w) == w
}

// maxModelText is the longest "provider/model" (combos sheet §1.2).
const maxModelText = 300

// dig returns what a document holds at a dotted path.
func dig(doc map[string]any, path string) (any, bool) {
	for {
		key, rest, more := strings.Cut(path, ".")
		v, ok := doc[key]
		if !more || !ok {
			return v, ok
		}
		doc, path = object(v), rest
	}
}
