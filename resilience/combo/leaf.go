package combo

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// leaf is one key of a combo's configuration.
type leaf struct {
	key     string
	kind    string // of a valid value, for people
	ownOnly bool   // refused in defaults and provider overrides
	set     func(c *Config, v any) bool
	valid   func(v any) bool
}

// Issue is one value that does not fit, or that was not taken as it stood.
type Issue struct {
	Field  string
	Reason string
}

// removed are keys of earlier versions; they are dropped without a word.
var removed = []string{"timeoutMs", "healthCheckEnabled", "healthCheckTimeoutMs"}

var leaves = []leaf{
	whole("maxRetries", 0, 10, func(c *Config) *int { return &c.MaxRetries }),
	whole("retryDelayMs", 0, 60_000, func(c *Config) *int { return &c.RetryDelayMs }),
	whole("fallbackDelayMs", 0, 60_000, func(c *Config) *int { return &c.FallbackDelayMs }),
	whole("maxSetRetries", 0, 10, func(c *Config) *int { return &c.MaxSetRetries }),
	whole("setRetryDelayMs", 0, 60_000, func(c *Config) *int { return &c.SetRetryDelayMs }),
	whole("maxGlobalAttempts", 1, 200, func(c *Config) *int { return &c.MaxGlobalAttempts }),
	whole("comboTimeoutMs", 0, maxTimer, func(c *Config) *int { return &c.ComboTimeoutMs }),
	whole("targetTimeoutMs", 0, maxTimer, func(c *Config) *int { return &c.TargetTimeoutMs }),
	{key: "failoverBeforeRetry", kind: "true or false", valid: isBool, set: func(c *Config, v any) bool {
		on, ok := v.(bool)
		if ok {
			c.FailoverBeforeRetry, c.FailoverExplicit = on, c.FailoverExplicit || on
		}
		return ok
	}},
	whole("concurrencyPerModel", 1, 20, func(c *Config) *int { return &c.ConcurrencyPerModel }),
	whole("queueTimeoutMs", 1000, 120_000, func(c *Config) *int { return &c.QueueTimeoutMs }),
	whole("queueDepth", 0, 100, func(c *Config) *int { return &c.QueueDepth }),
	atLeastOne("stickyRoundRobinLimit", func(c *Config) *int { return &c.StickyRoundRobin }),
	atLeastOne("stickyWeightedLimit", func(c *Config) *int { return &c.StickyWeighted }),
	flag("disableSessionStickiness", func(c *Config) *bool { return &c.DisableSessionStickiness }),
	{key: "comboCooldownWaitEnabled", kind: "true or false", valid: isBool, set: func(c *Config, v any) bool {
		on, ok := v.(bool)
		c.CooldownWait = !ok || on // only a literal false opts out
		return ok
	}},
	{key: "maxComboDepth", kind: "a whole number from 1 to 10", valid: inRange(1, 10), set: func(c *Config, v any) bool {
		f, ok := asNumber(v)
		if c.MaxComboDepth = 3; ok && f >= 1 {
			c.MaxComboDepth = int(min(f, 10))
		}
		return ok
	}},
	choice("nestedComboMode", []string{"flatten", "execute"}, func(c *Config, s string) { c.NestedExecute = s == "execute" }),
	flag("reasoningTokenBufferEnabled", func(c *Config) *bool { return &c.ReasoningTokenBuffer }),
	flag("trackMetrics", func(c *Config) *bool { return &c.TrackMetrics }),
	flag("manifestRouting", func(c *Config) *bool { return &c.ManifestRouting }),
	flag("complexityAwareRouting", func(c *Config) *bool { return &c.ComplexityAware }),
	real("resetAwareSessionWeight", 0, 100, func(c *Config) *float64 { return &c.ResetSessionWeight }),
	real("resetAwareWeeklyWeight", 0, 100, func(c *Config) *float64 { return &c.ResetWeeklyWeight }),
	real("resetAwareTieBandPercent", 0, 100, func(c *Config) *float64 { return &c.ResetTieBandPercent }),
	real("resetAwareExhaustionGuardPercent", 0, 100, func(c *Config) *float64 { return &c.ResetGuardPercent }),
	whole("resetAwareQuotaCacheTtlMs", 0, 300_000, func(c *Config) *int { return &c.ResetAwareCacheTTLMs }),
	whole("resetAwareQuotaCacheMaxStaleMs", 0, 3_600_000, func(c *Config) *int { return &c.ResetAwareMaxStaleMs }),
	whole("resetWindowQuotaCacheTtlMs", 0, 300_000, func(c *Config) *int { return &c.ResetWindowCacheTTLMs }),
	whole("resetWindowQuotaCacheMaxStaleMs", 0, 3_600_000, func(c *Config) *int { return &c.ResetWindowMaxStaleMs }),
	{key: "resetWindowIncludeSession", kind: "true or false", valid: isBool, set: func(c *Config, v any) bool {
		on, ok := v.(bool)
		if ok && on {
			c.ResetWindows = []string{"weekly", "session"}
		}
		return ok
	}},
	texts("resetWindowWindows", []string{"weekly", "session", "monthly"}, func(c *Config) *[]string { return &c.ResetWindows }),
	whole("resetWindowTieBandMs", 0, 86_400_000, func(c *Config) *int { return &c.ResetWindowTieBandMs }),
	real("quotaWeightedFloorPercent", 0, 100, func(c *Config) *float64 { return &c.QuotaFloorPercent }),
	real("handoffThreshold", 0.5, 0.94, func(c *Config) *float64 { return &c.HandoffThreshold }),
	text("handoffModel", func(c *Config) *string { return &c.HandoffModel }),
	texts("handoffProviders", nil, func(c *Config) *[]string { return &c.HandoffProviders }),
	whole("maxMessagesForSummary", 5, 100, func(c *Config) *int { return &c.MaxMessagesForSummary }),
	flag("zeroLatencyOptimizationsEnabled", func(c *Config) *bool { return &c.ZeroLatency }),
	flag("hedging", func(c *Config) *bool { return &c.Hedging }),
	whole("hedgeDelayMs", 0, 60_000, func(c *Config) *int { return &c.HedgeDelayMs }),
	whole("predictiveTtftMs", 0, maxTimer, func(c *Config) *int { return &c.PredictiveTTFTMs }),
	text("fallbackCompressionMode", func(c *Config) *string { return &c.FallbackCompression }),
	whole("fallbackCompressionThreshold", 0, maxTimer, func(c *Config) *int { return &c.FallbackCompressionTokens }),
	text("judgeModel", func(c *Config) *string { return &c.JudgeModel }),
	{key: "fusionTuning", kind: "an object of minPanel, stragglerGraceMs, panelHardTimeoutMs and maxPanel", valid: validFusion, set: readFusion},
	{key: "responseValidation", kind: "an object", valid: isObject, set: func(c *Config, v any) bool {
		r := ResponseValidation{}
		if ok := isObject(v) && decodeInto(v, &r); !ok {
			return false
		}
		r.Forbidden, r.Required = head(r.Forbidden, 50), head(r.Required, 50)
		r.Predicates = head(r.Predicates, 20)
		c.Validation = &r
		return true
	}},
	object("contextRequirements", func(c *Config) any { return &c.Context }),
	flag("compatFilterFailOpen", func(c *Config) *bool { return &c.CompatFailOpen }),
	{key: "shadowRouting", kind: "an object", valid: isObject, set: func(c *Config, v any) bool {
		c.Shadow = &ShadowRouting{MaxTargets: 2, TimeoutMs: 30_000}
		return isObject(v) && decodeInto(v, c.Shadow)
	}},
	{key: "evalRouting", kind: "an object", valid: isObject, set: func(c *Config, v any) bool {
		c.Eval = &EvalRouting{MaxAgeHours: 720, MinCases: 1, QualityWeight: 0.85, LatencyWeight: 0.15}
		return isObject(v) && decodeInto(v, c.Eval)
	}},
	{key: "auto", kind: "an object", valid: isObject, set: readAuto},
	{key: "compositeTiers", kind: "an object", ownOnly: true, valid: isObject, set: func(c *Config, v any) bool {
		t := Tiers{}
		ok := isObject(v) && decodeInto(v, &t) && len(t.Tiers) > 0
		if ok {
			c.Tiers = &t
		}
		return ok
	}},
}

// Check returns what is wrong with a layer of configuration. Unknown keys are
// no error: they are stripped (Strip). own tells a combo's own configuration
// from defaults and provider overrides.
func Check(layer map[string]any, own bool) []Issue {
	var issues []Issue
	for _, l := range leaves {
		v, ok := layer[l.key]
		switch {
		case !ok || v == nil:
		case l.ownOnly && !own:
			issues = append(issues, Issue{l.key, "belongs into a combo's own configuration"})
		case !l.valid(v):
			issues = append(issues, Issue{l.key, "must be " + l.kind})
		}
	}
	return issues
}

// Strip returns the known keys of a layer that hold a value.
func Strip(layer map[string]any) map[string]any {
	out := map[string]any{}
	for _, l := range leaves {
		if v, ok := layer[l.key]; ok && v != nil && !slices.Contains(removed, l.key) {
			out[l.key] = v
		}
	}
	return out
}

func whole(key string, lo, hi int, at func(*Config) *int) leaf {
	return leaf{
		key: key, kind: fmt.Sprintf("a whole number from %d to %d", lo, hi), valid: inRange(float64(lo), float64(hi)),
		set: func(c *Config, v any) bool {
			f, ok := asNumber(v)
			if ok {
				*at(c) = int(clampTo(math.Trunc(f), float64(lo), float64(hi)))
			}
			return ok
		},
	}
}

// atLeastOne is a batch size: 0 may be stored and means 1.
func atLeastOne(key string, at func(*Config) *int) leaf {
	l := whole(key, 1, 1000, at)
	l.kind, l.valid = "a whole number from 0 to 1000", inRange(0, 1000)
	return l
}

func real(key string, lo, hi float64, at func(*Config) *float64) leaf {
	return leaf{
		key: key, kind: fmt.Sprintf("a number from %v to %v", lo, hi),
		valid: func(v any) bool {
			f, ok := v.(float64)
			return ok && f >= lo && f <= hi
		},
		set: func(c *Config, v any) bool {
			f, ok := asNumber(v)
			if ok {
				*at(c) = clampTo(f, lo, hi)
			}
			return ok
		},
	}
}

func flag(key string, at func(*Config) *bool) leaf {
	return leaf{key: key, kind: "true or false", valid: isBool, set: func(c *Config, v any) bool {
		on, ok := v.(bool)
		if ok {
			*at(c) = on
		}
		return ok
	}}
}

func text(key string, at func(*Config) *string) leaf {
	return leaf{key: key, kind: "text", valid: isText, set: func(c *Config, v any) bool {
		s, ok := v.(string)
		if ok {
			*at(c) = strings.TrimSpace(s)
		}
		return ok
	}}
}

func choice(key string, of []string, set func(*Config, string)) leaf {
	one := func(v any) bool { s, ok := v.(string); return ok && slices.Contains(of, s) }
	return leaf{key: key, kind: "one of " + strings.Join(of, ", "), valid: one, set: func(c *Config, v any) bool {
		if !one(v) {
			return false
		}
		set(c, fmt.Sprint(v))
		return true
	}}
}

// texts is a list; of names its members, nil allows any. An empty list is kept
// when any member is allowed.
func texts(key string, of []string, at func(*Config) *[]string) leaf {
	read := func(v any) ([]string, bool) {
		list, ok := v.([]any)
		if !ok {
			return nil, false
		}
		out := make([]string, 0, len(list))
		for _, e := range list {
			s, ok := e.(string)
			if !ok || of != nil && !slices.Contains(of, s) {
				return nil, false
			}
			out = append(out, s)
		}
		return out, of == nil || len(out) > 0
	}
	kind := "a list of text"
	if of != nil {
		kind = "a list out of " + strings.Join(of, ", ")
	}
	return leaf{key: key, kind: kind, valid: func(v any) bool { _, ok := read(v); return ok }, set: func(c *Config, v any) bool {
		list, ok := read(v)
		if ok {
			*at(c) = list
		}
		return ok
	}}
}

func object(key string, at func(*Config) any) leaf {
	return leaf{key: key, kind: "an object", valid: isObject, set: func(c *Config, v any) bool {
		return isObject(v) && decodeInto(v, at(c))
	}}
}

func isBool(v any) bool   { _, ok := v.(bool); return ok }
func isText(v any) bool   { _, ok := v.(string); return ok }
func isObject(v any) bool { _, ok := v.(map[string]any); return ok }

func inRange(lo, hi float64) func(any) bool {
	return func(v any) bool {
		f, ok := v.(float64)
		return ok && f == math.Trunc(f) && f >= lo && f <= hi
	}
}

// asNumber reads a finite number, or text that is one in full (settings sheet
// §0.1).
func asNumber(v any) (float64, bool) {
	f := math.NaN()
	switch x := v.(type) {
	case float64:
		f = x
	case int:
		f = float64(x)
	case int64:
		f = float64(x)
	case string:
		n, err := strconv.ParseFloat(strings.TrimSpace(x), 64)
		if err != nil {
			return 0, false
		}
		f = n
	}
	return f, !math.IsNaN(f) && !math.IsInf(f, 0)
}

func head[T any](list []T, n int) []T { return list[:min(n, len(list))] }
