package combo

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"breakwater/resilience/settings"
)

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func config(own map[string]any) Config { return Cascade(Globals{}, "", own) }

func TestTargetTimeout(t *testing.T) {
	off := settings.ComboCooldownWait{}
	wait := func(budget int64) settings.ComboCooldownWait {
		return settings.ComboCooldownWait{Enabled: true, BudgetMs: budget}
	}
	for _, c := range []struct {
		name     string
		explicit float64
		ceiling  int64
		wait     settings.ComboCooldownWait
		want     int64
	}{
		{"case 37 unset", 0, 600_000, off, 120_000},
		{"case 38 explicit", 300_000, 600_000, off, 300_000},
		{"case 38 explicit above the ceiling", 900_000, 600_000, off, 600_000},
		{"case 39 unset without a ceiling", 0, 0, off, 0},
		{"case 40 explicit without a ceiling", 30_000, 0, off, 30_000},
		{"case 41 longer than a timer can run", 999_999_999_999, 0, off, 2_147_483_647},
		{"case 42 waiting", 0, 600_000, wait(130_000), 140_000},
		{"case 42 waiting is off", 0, 600_000, settings.ComboCooldownWait{BudgetMs: 130_000}, 120_000},
		{"case 42 a small budget", 0, 600_000, wait(5000), 120_000},
		{"case 42 explicit while waiting", 45_000, 600_000, wait(130_000), 45_000},
		{"case 42 a low ceiling", 0, 100_000, wait(130_000), 100_000},
		{"all defaults", 0, 600_000, wait(300_000), 310_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config(map[string]any{"targetTimeoutMs": c.explicit})
			if got := cfg.TargetTimeout(c.wait, ms(c.ceiling)); got != ms(c.want) {
				t.Errorf("%s, want %s", got, ms(c.want))
			}
		})
	}
	t.Run("case 32 a combo that opted out has the plain default", func(t *testing.T) {
		cfg := config(map[string]any{"comboCooldownWaitEnabled": false})
		if got := cfg.TargetTimeout(wait(300_000), ms(600_000)); got != ms(120_000) || cfg.Waits(wait(1)) {
			t.Error(got)
		}
	})
	t.Run("case 33 a combo cannot switch the wait on", func(t *testing.T) {
		cfg := config(map[string]any{"comboCooldownWaitEnabled": true})
		if cfg.Waits(off) || !cfg.Waits(wait(1)) {
			t.Error("it can")
		}
		for _, v := range []any{"no", 0.0, nil} { // only a literal false
			cfg := config(map[string]any{"comboCooldownWaitEnabled": v})
			if !cfg.Waits(wait(1)) {
				t.Errorf("%v opts out", v)
			}
		}
	})
}

func TestCeiling(t *testing.T) {
	t.Run("case 43 a target over its limit is cancelled and answers 504", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			ctx, _, stop := Ceiling(t.Context(), 20*time.Millisecond)
			defer stop()
			<-ctx.Done()
			r := Verdict(ctx, "openai/gpt", ctx.Err())
			if r.Status != 504 || r.Code != CodeTargetTimeout || !strings.Contains(r.Message, "timed out") {
				t.Errorf("%+v", r)
			}
			if d := time.Since(began); d != 20*time.Millisecond {
				t.Errorf("after %s", d)
			}
		})
	})
	t.Run("case 44 no limit, and an error", func(t *testing.T) {
		ctx, _, stop := Ceiling(t.Context(), 0)
		defer stop()
		if r := Verdict(ctx, "m", errors.New("boom")); r.Status != 502 || r.Error() != "boom" {
			t.Errorf("%+v", r)
		}
		if r := Verdict(ctx, "m", nil); r.Status != 502 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("case 45 the child sees that its parent has ended", func(t *testing.T) {
		parent, cancel := context.WithCancel(t.Context())
		cancel()
		ctx, _, stop := Ceiling(parent, time.Minute)
		defer stop()
		if ctx.Err() == nil || Verdict(ctx, "m", ctx.Err()).Status != 499 {
			t.Error("it does not")
		}
	})
	t.Run("a lifted limit cuts no stream", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, lift, stop := Ceiling(t.Context(), time.Second)
			defer stop()
			lift()
			time.AfterFunc(time.Minute, stop)
			<-ctx.Done()
			if errors.Is(context.Cause(ctx), errCeiling) {
				t.Error("cut by the limit")
			}
		})
	})
}

func TestCascade(t *testing.T) {
	t.Run("case 46 sticky limits", func(t *testing.T) {
		g := Globals{ComboStickyRoundRobin: new(2), StickyRoundRobin: new(3)}
		own := map[string]any{"stickyRoundRobinLimit": 5.0}
		if n := Cascade(g, "", own).StickyRoundRobin; n != 5 {
			t.Error(n)
		}
		if n := Cascade(g, "", nil).StickyRoundRobin; n != 2 {
			t.Error(n)
		}
		if n := Cascade(Globals{StickyRoundRobin: new(7)}, "", nil).StickyRoundRobin; n != 7 {
			t.Error(n)
		}
		if n := config(nil).StickyRoundRobin; n != 1 {
			t.Error(n)
		}
		if n := Cascade(g, "", map[string]any{"stickyRoundRobinLimit": 0.0}).StickyRoundRobin; n != 1 {
			t.Errorf("an explicit 0 became %d", n)
		}
		if n := Cascade(Globals{StickyWeighted: new(4)}, "", nil).StickyWeighted; n != 4 {
			t.Error(n)
		}
	})
	t.Run("case 47 depth", func(t *testing.T) {
		for v, want := range map[float64]int{1: 1, 4: 4, 10: 10, 99: 10, 0: 3, -2: 3, .5: 3} {
			if n := config(map[string]any{"maxComboDepth": v}).MaxComboDepth; n != want {
				t.Errorf("%v becomes %d", v, n)
			}
		}
		for _, v := range []any{math.NaN(), "deep"} {
			if n := config(map[string]any{"maxComboDepth": v}).MaxComboDepth; n != 3 {
				t.Errorf("%v becomes %d", v, n)
			}
		}
	})
	t.Run("case 48 queue depth", func(t *testing.T) {
		if n := config(nil).QueueDepth; n != 20 {
			t.Error(n)
		}
		if n := config(map[string]any{"queueDepth": 0.0}).QueueDepth; n != 0 {
			t.Error(n)
		}
		for v, ok := range map[float64]bool{0: true, 100: true, 101: false, -1: false, 1.5: false} {
			if got := len(Check(map[string]any{"queueDepth": v}, true)) == 0; got != ok {
				t.Errorf("%v accepted: %v", v, got)
			}
		}
	})
	t.Run("case 49 predicted time to the first token", func(t *testing.T) {
		for _, c := range []struct {
			limit float64
			u     Usage
			want  bool
		}{
			{2000, Usage{Samples: 10, Latency: 5 * time.Second}, true},
			{2000, Usage{Samples: 4, Latency: 5 * time.Second}, false},
			{0, Usage{Samples: 10, Latency: 5 * time.Second}, false},
			{2000, Usage{}, false},
		} {
			cfg := config(map[string]any{"predictiveTtftMs": c.limit})
			if got := cfg.TooSlow(c.u); got != c.want {
				t.Errorf("%+v: %v", c, got)
			}
		}
	})
	t.Run("case 50 the stickiness switch", func(t *testing.T) {
		g := Globals{DisableSessionStickiness: true}
		if Cascade(g, "", map[string]any{"disableSessionStickiness": false}).DisableSessionStickiness {
			t.Error("the combo does not win")
		}
		if !Cascade(g, "", map[string]any{"disableSessionStickiness": "yes"}).DisableSessionStickiness {
			t.Error("a word counts as a switch")
		}
	})
	t.Run("later layers win, null and the wrong kind are passed over", func(t *testing.T) {
		g := Globals{
			Defaults:  map[string]any{"maxRetries": 2.0, "retryDelayMs": 100.0, "queueDepth": 5.0, "compositeTiers": map[string]any{}},
			Providers: map[string]map[string]any{"glm": {"maxRetries": 3.0, "retryDelayMs": nil}},
		}
		c := Cascade(g, "glm", map[string]any{"maxRetries": 99.0, "queueDepth": "x", "retryDelayMs": "250"})
		if c.MaxRetries != 10 || c.RetryDelayMs != 250 || c.QueueDepth != 5 || c.Tiers != nil {
			t.Errorf("%d %d %d", c.MaxRetries, c.RetryDelayMs, c.QueueDepth)
		}
		if c := Cascade(g, "openai", nil); c.MaxRetries != 2 {
			t.Error(c.MaxRetries)
		}
	})
	t.Run("an explicit failoverBeforeRetry in any layer", func(t *testing.T) {
		if c := config(nil); !c.FailoverBeforeRetry || c.FailoverExplicit {
			t.Error("the default is explicit")
		}
		g := Globals{Defaults: map[string]any{"failoverBeforeRetry": true}}
		if c := Cascade(g, "", map[string]any{"failoverBeforeRetry": false}); !c.FailoverExplicit || c.FailoverBeforeRetry {
			t.Error("lost")
		}
	})
	t.Run("combos from before the zero-latency switch keep what they had", func(t *testing.T) {
		for _, own := range []map[string]any{{"hedging": true}, {"predictiveTtftMs": 500.0}, {"fallbackCompressionMode": "lite"}} {
			if c := config(own); !c.ZeroLatency {
				t.Errorf("%v is off", own)
			}
		}
		for _, own := range []map[string]any{nil, {"fallbackCompressionMode": "off"}, {"hedging": true, "zeroLatencyOptimizationsEnabled": false}} {
			if c := config(own); c.ZeroLatency {
				t.Errorf("%v is on", own)
			}
		}
		cfg := config(map[string]any{"hedging": true, "hedgeDelayMs": 250.0})
		if d, on := cfg.Hedges(); !on || d != 250*time.Millisecond {
			t.Error(d, on)
		}
	})
	t.Run("objects", func(t *testing.T) {
		c := config(map[string]any{
			"fusionTuning":              map[string]any{"minPanel": 3.0},
			"responseValidation":        map[string]any{"minContentLength": 5.0, "forbiddenSubstrings": make60()},
			"contextRequirements":       map[string]any{"minContextWindow": 1000.0, "contextFilterMode": "strict"},
			"shadowRouting":             map[string]any{"targets": []any{"a/b"}},
			"evalRouting":               map[string]any{"minCases": 3.0},
			"auto":                      map[string]any{"explorationRate": 7.0, "budgetCap": -1.0},
			"compositeTiers":            map[string]any{"defaultTier": "a", "tiers": map[string]any{"a": map[string]any{"stepId": "x"}}},
			"resetWindowIncludeSession": true,
			"handoffProviders":          []any{},
			"nestedComboMode":           "execute",
			"judgeModel":                " openai/gpt ",
			"resetAwareSessionWeight":   1.0,
		})
		if c.Fusion.MinPanel != 3 || c.Fusion.MaxPanel != 40 {
			t.Error(c.Fusion)
		}
		if c.Validation.MinLength != 5 || len(c.Validation.Forbidden) != 50 {
			t.Error(len(c.Validation.Forbidden))
		}
		if c.Context.MinWindow != 1000 || c.Shadow.MaxTargets != 2 || c.Eval.MinCases != 3 || c.Eval.QualityWeight != .85 {
			t.Error(c.Context, c.Shadow, c.Eval)
		}
		if c.Auto.ExplorationRate != 1 || c.Auto.BudgetCap != 0 || c.Tiers.Default != "a" {
			t.Error(c.Auto, c.Tiers)
		}
		if !slices.Equal(c.ResetWindows, []string{"weekly", "session"}) || len(c.HandoffProviders) != 0 || !c.NestedExecute || c.JudgeModel != "openai/gpt" {
			t.Error(c.ResetWindows, c.HandoffProviders, c.NestedExecute, c.JudgeModel)
		}
		if c.ResetSessionWeight != 1 {
			t.Error(c.ResetSessionWeight)
		}
	})
}

func make60() []any {
	list := make([]any, 60)
	for i := range list {
		list[i] = "x"
	}
	return list
}

// TestLeaves tries every key with a value of each kind: what Check accepts is
// taken, and nothing ever panics.
func TestLeaves(t *testing.T) {
	values := []any{
		true, 1.0, 2.0, .7, 50.0, 1500.0, -1.0, "flatten", "text",
		[]any{"weekly"},
		[]any{1.0},
		map[string]any{},
		map[string]any{"minPanel": "x"},
		map[string]any{"maxPanel": 3.0, "surprise": 1.0},
		[]any{},
		nil,
	}
	seen := map[string]bool{}
	for _, l := range leaves {
		if seen[l.key] {
			t.Errorf("%s twice", l.key)
		}
		seen[l.key] = true
		accepted := 0
		for _, v := range values {
			layer := map[string]any{l.key: v}
			config(layer)
			if v == nil {
				if len(Strip(layer)) != 0 {
					t.Errorf("%s: null is kept", l.key)
				}
				continue
			}
			if issues := Check(layer, true); len(issues) == 0 {
				accepted++
				c := Defaults()
				if l.key != "compositeTiers" && !l.set(&c, v) {
					t.Errorf("%s accepts %v and does not take it", l.key, v)
				}
			} else if issues[0].Field != l.key || !strings.HasPrefix(issues[0].Reason, "must be ") {
				t.Errorf("%+v", issues)
			}
		}
		if accepted == 0 {
			t.Errorf("%s accepts nothing", l.key)
		}
	}
	layer := map[string]any{"timeoutMs": 5.0, "unknown": 1.0, "maxRetries": 2.0}
	if got := Strip(layer); len(got) != 1 || len(Check(layer, true)) != 0 {
		t.Error(got)
	}
	if issues := Check(map[string]any{"compositeTiers": map[string]any{}}, false); len(issues) != 1 {
		t.Error("compositeTiers in the defaults", issues)
	}
}
