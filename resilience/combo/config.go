package combo

import (
	"encoding/json"
	"math"
	"time"

	"breakwater/resilience/settings"
)

const (
	defaultSessionWeight = 0.35
	defaultWeeklyWeight  = 0.65
)

// Config is a combo's configuration in force (sheet §1.3). Durations are
// milliseconds where the name says so. Cascade makes one.
type Config struct {
	MaxRetries, RetryDelayMs, FallbackDelayMs    int
	MaxSetRetries, SetRetryDelayMs               int
	MaxGlobalAttempts, ComboTimeoutMs            int
	TargetTimeoutMs                              int  // 0: unset
	FailoverBeforeRetry                          bool // no upstream retry while another target exists
	FailoverExplicit                             bool // … and no same-target retry either: a layer says so
	ConcurrencyPerModel                          int
	QueueTimeoutMs, QueueDepth                   int
	StickyRoundRobin, StickyWeighted             int // batch sizes, 1: none
	DisableSessionStickiness                     bool
	CooldownWait                                 bool // false: the combo opted out; true follows the global switch
	MaxComboDepth                                int
	NestedExecute                                bool // nested combos run as black boxes
	ReasoningTokenBuffer, TrackMetrics           bool
	ManifestRouting, ComplexityAware             bool
	ResetSessionWeight, ResetWeeklyWeight        float64
	ResetTieBandPercent, ResetGuardPercent       float64
	ResetAwareCacheTTLMs, ResetAwareMaxStaleMs   int
	ResetWindowCacheTTLMs, ResetWindowMaxStaleMs int
	ResetWindows                                 []string
	ResetWindowTieBandMs                         int
	QuotaFloorPercent                            float64
	HandoffThreshold                             float64
	HandoffModel                                 string
	HandoffProviders                             []string
	MaxMessagesForSummary                        int
	ZeroLatency, Hedging                         bool
	HedgeDelayMs, PredictiveTTFTMs               int
	FallbackCompression                          string
	FallbackCompressionTokens                    int
	JudgeModel                                   string
	Fusion                                       FusionTuning
	Validation                                   *ResponseValidation
	Context                                      ContextRequirements
	CompatFailOpen                               bool
	Shadow                                       *ShadowRouting
	Eval                                         *EvalRouting
	Auto                                         AutoConfig
	Tiers                                        *Tiers // order of the steps by named tiers
}

// ResponseValidation is what an answer must satisfy to count as one.
type ResponseValidation struct {
	Forbidden  []string         `json:"forbiddenSubstrings,omitempty"`
	Required   []string         `json:"requiredSubstrings,omitempty"`
	MinLength  int              `json:"minContentLength,omitempty"`
	Predicates []map[string]any `json:"jsonPathPredicates,omitempty"`
}

// ContextRequirements drops or reorders targets by their context window.
type ContextRequirements struct {
	MinWindow   int64  `json:"minContextWindow,omitempty"`
	PreferLarge bool   `json:"preferLargeContext,omitempty"`
	Mode        string `json:"contextFilterMode,omitempty"` // strict; else lenient
}

// ShadowRouting sends copies of requests to further targets, without waiting
// for them.
type ShadowRouting struct {
	Targets    []string `json:"targets"`
	SampleRate *float64 `json:"sampleRate,omitempty"` // nil: 1
	MaxTargets int      `json:"maxTargets,omitempty"` // 0: 2
	TimeoutMs  int      `json:"timeoutMs,omitempty"`  // 0: 30 000
}

// EvalRouting reorders targets by stored evaluation runs.
type EvalRouting struct {
	MaxAgeHours   float64 `json:"maxAgeHours,omitempty"`
	MinCases      int     `json:"minCases,omitempty"`
	QualityWeight float64 `json:"qualityWeight,omitempty"`
	LatencyWeight float64 `json:"latencyWeight,omitempty"`
}

// Tiers orders steps by named tiers (config key compositeTiers).
type Tiers struct {
	Default string          `json:"defaultTier"`
	Tiers   map[string]Tier `json:"tiers"`
}

// Tier is one of them.
type Tier struct {
	Step     string `json:"stepId"`
	Fallback string `json:"fallbackTier,omitempty"`
}

// Defaults returns the built-in configuration.
func Defaults() Config {
	return Config{
		MaxRetries: 1, RetryDelayMs: 2000, SetRetryDelayMs: 2000, MaxGlobalAttempts: 30,
		FailoverBeforeRetry: true, ConcurrencyPerModel: 3, QueueTimeoutMs: 30_000, QueueDepth: 20,
		StickyRoundRobin: 1, StickyWeighted: 1, CooldownWait: true, MaxComboDepth: 3,
		ReasoningTokenBuffer: true, TrackMetrics: true,
		ResetSessionWeight: defaultSessionWeight, ResetWeeklyWeight: defaultWeeklyWeight,
		ResetTieBandPercent: 5, ResetGuardPercent: 10,
		ResetWindows: []string{"weekly"}, ResetWindowTieBandMs: 60_000, QuotaFloorPercent: 1,
		HandoffThreshold: 0.85, HandoffProviders: []string{"codex"}, MaxMessagesForSummary: 30,
		HedgeDelayMs: 500, FallbackCompression: "lite", FallbackCompressionTokens: 1000,
		Fusion: DefaultFusion(),
		Auto:   AutoConfig{ExplorationRate: 0.05},
	}
}

// Globals are the settings that lie below every combo's own configuration.
type Globals struct {
	Defaults  map[string]any            // settings.comboDefaults
	Providers map[string]map[string]any // settings.providerOverrides, by provider id
	// The account's own sticky limits and switches, which a combo may override.
	ComboStickyRoundRobin, StickyRoundRobin *int
	StickyWeighted                          *int
	DisableSessionStickiness                bool
	CompatFailOpen                          bool
}

// Cascade returns the configuration in force for a combo whose first target is
// of provider: defaults, comboDefaults, the provider's overrides, the combo's
// own, the later the stronger. Values of the wrong kind and null are passed
// over, numbers are clamped; stored data is never refused here (see Check).
func Cascade(g Globals, provider string, own map[string]any) Config {
	c := Defaults()
	c.DisableSessionStickiness, c.CompatFailOpen = g.DisableSessionStickiness, g.CompatFailOpen
	for _, limit := range []*int{g.StickyRoundRobin, g.ComboStickyRoundRobin} {
		if limit != nil {
			c.StickyRoundRobin = clampInt(*limit, 1, 1000)
		}
	}
	if g.StickyWeighted != nil {
		c.StickyWeighted = clampInt(*g.StickyWeighted, 1, 1000)
	}
	layers := []map[string]any{g.Defaults, g.Providers[provider], own}
	for i, layer := range layers {
		if len(layer) == 0 {
			continue
		}
		for _, l := range leaves {
			if v, ok := layer[l.key]; ok && v != nil && (!l.ownOnly || i == len(layers)-1) {
				l.set(&c, v)
			}
		}
	}
	if _, set := own["zeroLatencyOptimizationsEnabled"]; !set {
		// Combos from before the switch existed keep what they had on.
		_, compresses := own["fallbackCompressionMode"].(string)
		if c.Hedging || c.PredictiveTTFTMs > 0 || compresses && c.FallbackCompression != "off" {
			c.ZeroLatency = true
		}
	}
	return c
}

// Hedges reports whether a second target may be started while the first is
// still silent, and after how long.
func (c *Config) Hedges() (time.Duration, bool) {
	return time.Duration(c.HedgeDelayMs) * time.Millisecond, c.ZeroLatency && c.Hedging
}

// minSamples is how often a target must have answered before its latency is
// held against it.
const minSamples = 5

// TooSlow reports that a target is skipped because it is known to answer later
// than predictiveTtftMs.
func (c *Config) TooSlow(u Usage) bool {
	return c.PredictiveTTFTMs > 0 && u.Samples >= minSamples &&
		u.Latency > time.Duration(c.PredictiveTTFTMs)*time.Millisecond
}

// Waits reports whether requests for this combo may wait for a cooldown: the
// combo can only opt out (guide §4; ruling 35: every strategy).
func (c *Config) Waits(s settings.ComboCooldownWait) bool { return s.Enabled && c.CooldownWait }

const (
	defaultTargetTimeout = 120_000
	waitMargin           = 10_000
	maxTimer             = math.MaxInt32 // milliseconds
)

// TargetTimeout returns the ceiling of one target, 0 for none (sheet §1.4).
// ceiling is the upstream fetch timeout, 0 when that is unbounded.
func (c *Config) TargetTimeout(wait settings.ComboCooldownWait, ceiling time.Duration) time.Duration {
	limit, ms := ceiling.Milliseconds(), int64(c.TargetTimeoutMs)
	if ms <= 0 {
		if limit <= 0 {
			return 0
		}
		ms = defaultTargetTimeout
		if c.Waits(wait) {
			ms = max(ms, wait.BudgetMs+waitMargin)
		}
	}
	if limit > 0 {
		ms = min(ms, limit)
	}
	return time.Duration(min(ms, maxTimer)) * time.Millisecond
}

func clampInt(n, lo, hi int) int { return max(lo, min(hi, n)) }

// decodeInto reads a decoded JSON value into a struct, over what is there.
func decodeInto(v any, out any) bool {
	b, err := json.Marshal(v)
	return err == nil && json.Unmarshal(b, out) == nil
}
