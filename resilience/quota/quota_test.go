package quota

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// T0 of the field cases.
var t0 = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func on(set ...func(*settings.QuotaPreflight)) *settings.QuotaPreflight {
	s := settings.Defaults().QuotaPreflight
	s.Enabled = true
	for _, f := range set {
		f(&s)
	}
	return &s
}

// account is a snapshot with a session and a weekly window used to these
// percentages; negative leaves the window out.
func account(session, week float64) *Snapshot {
	s := &Snapshot{At: t0}
	if session >= 0 {
		s.Windows = append(s.Windows, Window{Kind: Session, Used: session / 100, ResetAt: t0.Add(time.Hour), At: t0})
	}
	if week >= 0 {
		s.Windows = append(s.Windows, Window{Kind: Weekly, Used: week / 100, ResetAt: t0.Add(48 * time.Hour), At: t0})
	}
	return s
}

func TestPreflightCases(t *testing.T) {
	overall := func(used float64) *Snapshot { return &Snapshot{At: t0, Overall: &used} }
	weekReset, hourReset := t0.Add(48*time.Hour), t0.Add(time.Hour)
	for _, c := range []struct {
		name  string
		s     *settings.QuotaPreflight
		a     Account
		known *Snapshot
		want  Verdict
	}{
		{"case 183 80 % used", on(), Account{}, account(80, -1), Verdict{Warn: true, Window: "session", Remaining: 20, ResetAt: hourReset}},
		{"case 183 99 % used", on(), Account{}, account(99, -1), Verdict{Block: true, Reason: outcome.ReasonQuota, Window: "session", Remaining: 1, ResetAt: hourReset}},
		{
			"case 183 override 10, 91 % used", on(),
			Account{Thresholds: map[string]int64{"session": 10}},
			account(91, -1),
			Verdict{Block: true, Reason: outcome.ReasonQuota, Window: "session", Remaining: 9, ResetAt: hourReset},
		},
		{
			"case 183 override 10, 89 % used", on(),
			Account{Thresholds: map[string]int64{"session": 10}},
			account(89, -1),
			Verdict{Warn: true, Window: "session", Remaining: 11, ResetAt: hourReset},
		},
		{
			"case 184 the weekly window blocks", on(),
			Account{Thresholds: map[string]int64{"session": 5, "weekly": 20}},
			account(50, 82),
			Verdict{Block: true, Reason: outcome.ReasonQuota, Window: "weekly", Remaining: 18, ResetAt: weekReset},
		},
		{"case 185 nothing is known", on(), Account{}, nil, Verdict{}},
		{"case 186 switched off", &settings.QuotaPreflight{DefaultThresholdPercent: 2}, Account{}, account(100, 100), Verdict{}},
		{
			"case 186 switched on", on(),
			Account{},
			account(100, 100),
			Verdict{Block: true, Reason: outcome.ReasonQuota, Window: "weekly", Remaining: 0, ResetAt: weekReset},
		},
		{"plenty is left", on(), Account{}, account(10, 20), Verdict{}},
		{"exactly the threshold", on(), Account{}, account(98, -1), Verdict{Block: true, Reason: outcome.ReasonQuota, Window: "session", Remaining: 2, ResetAt: hourReset}},
		{
			"the provider's threshold", on(func(s *settings.QuotaPreflight) {
				s.ProviderWindowDefaults = map[string]map[string]int64{"claude": {"7d": 30}}
			}),
			Account{Provider: "claude"},
			account(-1, 75),
			Verdict{Block: true, Reason: outcome.ReasonQuota, Window: "weekly", Remaining: 25, ResetAt: weekReset},
		},
		{
			"the connection's goes before it", on(func(s *settings.QuotaPreflight) {
				s.ProviderWindowDefaults = map[string]map[string]int64{"claude": {"weekly": 30}}
			}), Account{Provider: "claude", Thresholds: map[string]int64{"seven_day": 10}}, account(-1, 75), Verdict{},
		},
		{"another provider's does not count", on(func(s *settings.QuotaPreflight) {
			s.ProviderWindowDefaults = map[string]map[string]int64{"codex": {"weekly": 30}}
		}), Account{Provider: "claude"}, account(-1, 75), Verdict{}},
		{"the session does not count for the lane", on(), Account{IgnoreSession: true}, account(100, 50), Verdict{}},
		{
			"but the week does", on(),
			Account{IgnoreSession: true},
			account(100, 100),
			Verdict{Block: true, Reason: outcome.ReasonQuota, Window: "weekly", Remaining: 0, ResetAt: weekReset},
		},
		{"one figure only", on(), Account{}, overall(.99), Verdict{Block: true, Reason: outcome.ReasonQuota, Window: Overall, Remaining: 1}},
		{"one figure, and enough", on(), Account{}, overall(.5), Verdict{}},
		{"the limit was reached", on(), Account{}, &Snapshot{At: t0, LimitReached: true}, Verdict{Block: true, Reason: outcome.ReasonQuota, Window: Overall}},
		{"an old word without a reset says nothing", on(), Account{}, &Snapshot{
			At: t0.Add(-time.Hour), LimitReached: true, Windows: []Window{{Kind: Session, Used: 1, At: t0.Add(-time.Hour)}},
		}, Verdict{}},
		{"after its reset a window is full", on(), Account{}, &Snapshot{
			At: t0.Add(-time.Hour), LimitReached: true, Windows: []Window{{Kind: Session, Used: 1, Rejected: true, ResetAt: t0, At: t0.Add(-time.Hour)}},
		}, Verdict{}},
		{"another model's window", on(), Account{}, &Snapshot{At: t0, Windows: []Window{{Kind: Weekly, Scope: "sonnet", Used: 1, At: t0}}}, Verdict{}},
		{
			"the model's window", on(),
			Account{},
			&Snapshot{At: t0, Windows: []Window{{Kind: Weekly, Scope: "opus", Used: 1, At: t0}}},
			Verdict{Block: true, Reason: outcome.ReasonQuota, Window: "weekly:opus"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Preflight(t0, c.s, c.a, "claude-opus-4-5-20260101", c.known)
			if got.Remaining = math.Round(got.Remaining*1e6) / 1e6; got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestCheckCases(t *testing.T) {
	asked := 0
	answers := func(s *Snapshot, err error) Fetcher {
		return func(context.Context) (*Snapshot, error) { asked++; return s, err }
	}
	for name, fetch := range map[string]Fetcher{
		"case 185 nobody to ask": nil, "case 185 no answer": answers(nil, nil), "case 185 an error": answers(account(100, 100), errors.New("down")),
	} {
		t.Run(name, func(t *testing.T) {
			if v := Check(t.Context(), t0, on(), Account{}, "m", fetch); v != (Verdict{}) {
				t.Errorf("verdict %+v", v)
			}
		})
	}
	asked = 0
	if v := Check(t.Context(), t0, &settings.QuotaPreflight{}, Account{}, "m", answers(account(100, 100), nil)); v.Block || asked != 0 {
		t.Errorf("switched off, asked %d times: %+v", asked, v)
	}
	if v := Check(t.Context(), t0, on(), Account{}, "m", answers(account(100, 100), nil)); !v.Block || asked != 1 {
		t.Errorf("switched on, asked %d times: %+v", asked, v)
	}
}

func TestCutoffSwitch(t *testing.T) {
	for _, c := range []struct {
		name, env, stored string
		want              bool
	}{
		{"case 30 unset", "", `{}`, false},
		{"the environment switches it on", "on", `{}`, true},
		{"case 31 what is stored wins", "true", `{"quotaPreflight":{"enabled":false}}`, false},
		{"case 29 text is no switch", "", `{"quotaPreflight":{"enabled":"true"}}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := settings.Resolve([]byte(c.stored), nil, func(name string) string {
				if name == "QUOTA_PREFLIGHT_CUTOFF_ENABLED" {
					return c.env
				}
				return ""
			})
			if got := Preflight(t0, &s.QuotaPreflight, Account{}, "m", account(100, 100)).Block; got != c.want {
				t.Errorf("blocks: %v", got)
			}
		})
	}
}

func headers(pairs ...string) map[string][]string {
	h := map[string][]string{}
	for i := 0; i < len(pairs); i += 2 {
		h[pairs[i]] = []string{pairs[i+1]}
	}
	return h
}

func TestFromHeaders(t *testing.T) {
	const p = "Anthropic-Ratelimit-Unified-"
	t.Run("unified windows are fractions", func(t *testing.T) {
		s, ok := FromHeaders(headers(p+"5h-utilization", "0.42", p+"5h-reset", "1893557045", p+"5h-status", "allowed",
			p+"7d-utilization", "0.9", p+"7d-reset", "1893726245", p+"7d_oi-status", "rejected"), t0)
		session, _ := s.Window(Session)
		week, _ := s.Window(Weekly)
		if !ok || session.Used != .42 || !session.ResetAt.Equal(t0.Add(time.Hour)) || week.Used != .9 || !week.ResetAt.Equal(t0.Add(48*time.Hour)) {
			t.Errorf("%+v", s)
		}
		if m := s.Models(); len(m) != 1 || !m["oi"].Rejected || s.LimitReached {
			t.Errorf("%+v", m)
		}
		if left, _ := session.Remaining(t0); math.Abs(left-58) > 1e-9 {
			t.Errorf("%v left", left)
		}
	})
	t.Run("a refusal", func(t *testing.T) {
		s, ok := FromHeaders(headers(p+"status", "rejected", p+"5h-status", "rejected", p+"5h-reset", "1893557045"), t0)
		if w, _ := s.Window(Session); !ok || !s.LimitReached || !w.Rejected {
			t.Errorf("%+v", s)
		}
		v := Preflight(t0, on(), Account{}, "m", &s)
		if !v.Block || v.Window != "session" || !v.ResetAt.Equal(t0.Add(time.Hour)) {
			t.Errorf("%+v", v)
		}
		if v := Preflight(t0.Add(2*time.Hour), on(), Account{}, "m", &s); v.Block {
			t.Errorf("after the reset %+v", v)
		}
	})
	t.Run("codex windows by their length", func(t *testing.T) {
		s, ok := FromHeaders(headers("x-codex-primary-used-percent", "25", "x-codex-primary-window-minutes", "300", "x-codex-primary-reset-after-seconds", "60",
			"x-codex-secondary-used-percent", "100", "x-codex-secondary-window-minutes", "10080", "x-codex-secondary-reset-at", "1893726245"), t0)
		session, _ := s.Window(Session)
		week, _ := s.Window(Weekly)
		if !ok || session.Used != .25 || !session.ResetAt.Equal(t0.Add(time.Minute)) || !week.Rejected || !week.ResetAt.Equal(t0.Add(48*time.Hour)) {
			t.Errorf("%+v", s)
		}
		s, _ = FromHeaders(headers("x-codex-primary-used-percent", "25", "x-codex-primary-window-minutes", "43200", "x-codex-secondary-used-percent", "5"), t0)
		if _, monthly := s.Window(Monthly); !monthly {
			t.Errorf("%+v", s)
		}
		if _, weekly := s.Window(Weekly); !weekly {
			t.Errorf("%+v", s)
		}
		s, _ = FromHeaders(headers("x-codex-primary-used-percent", "25"), t0)
		if _, session := s.Window(Session); !session {
			t.Errorf("%+v", s)
		}
	})
	t.Run("nothing readable is nothing", func(t *testing.T) {
		for _, h := range []map[string][]string{nil, headers("x", "y"), headers(p+"5h-utilization", "NaN"), headers(p+"5h-utilization", "-1"), {p + "5h-utilization": nil}} {
			if s, ok := FromHeaders(h, t0); ok {
				t.Errorf("%v: %+v", h, s)
			}
		}
	})
}

func TestFromUsage(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       map[string]float64
		reached    bool
	}{
		{
			"percentages", `{"five_hour":{"utilization":42,"resets_at":"2030-01-02T04:04:05Z"},"seven_day":{"utilization":7.5,"resets_at":null},"seven_day_opus":null,"seven_day_sonnet":{"utilization":3}}`,
			map[string]float64{"session": .42, "weekly": .075, "weekly:sonnet": .03},
			false,
		},
		{"used up", `{"seven_day":{"utilization":100}}`, map[string]float64{"weekly": 1}, true},
		{"a model's window is not the account's", `{"seven_day_opus":{"utilization":100}}`, map[string]float64{"weekly:opus": 1}, false},
		{
			"the newer list goes before", `{"five_hour":{"utilization":42},"limits":[
				{"kind":"session","percent":10,"severity":"normal","resets_at":"2030-01-02T04:04:05Z","is_active":true},
				{"kind":"weekly_all","percent":100,"severity":"critical","is_active":true},
				{"kind":"weekly_scoped","percent":50,"is_active":true,"scope":{"model":{"id":"claude-opus-4-5","display_name":"Claude Opus 4.5"}}},
				{"kind":"weekly_scoped","percent":50,"is_active":true,"scope":{"model":{"id":"claude-haiku"}}},
				{"kind":"weekly_scoped","percent":50,"is_active":true,"scope":null},
				{"kind":"weekly_scoped","percent":50,"is_active":true,"scope":{"model":{}}},
				{"kind":"weekly_all","percent":100,"is_active":false},
				{"kind":"hourly","percent":100,"is_active":true}]}`,
			map[string]float64{"session": .1, "weekly": 1, "weekly:claude opus 4.5": .5, "weekly:claude-haiku": .5},
			true,
		},
		{"nothing known", `{"juniper_tide":1,"five_hour":5,"limits":[]}`, map[string]float64{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := FromUsage([]byte(c.body), t0)
			got := map[string]float64{}
			for _, w := range s.Windows {
				got[w.Name()] = w.Used
			}
			if err != nil || s.LimitReached != c.reached || !maps.Equal(got, c.want) {
				t.Errorf("%v %+v", err, s)
			}
		})
	}
	if _, err := FromUsage([]byte("<html>"), t0); err == nil {
		t.Error("a page was read as usage")
	}
}

func TestApplies(t *testing.T) {
	for _, c := range []struct {
		scope, model string
		want         bool
	}{
		{"", "anything", true},
		{"opus", "claude-opus-4-5-20260101", true},
		{"Opus", "claude-sonnet-4-5", false},
		{"Claude Opus 4.5", "claude-opus-4-5", true},
		{"Claude Opus 4.5", "claude-opus-4-1", false},
		{"claude-opus-4", "claude-opus-4-1", true},
		{"claude-opus-4-5", "claude-opus-4", false},
		{"claude-3-5-haiku", "claude-3-5-haiku-latest", true},
		{"claude", "claude-opus-4-5", false}, // names no model
		{"oi", "claude-opus-4-5", false},
	} {
		w := Window{Scope: c.scope}
		if got := w.Applies(c.model); got != c.want {
			t.Errorf("%q for %q: %v", c.scope, c.model, got)
		}
	}
}

func TestLedger(t *testing.T) {
	l := NewLedger()
	if l.Get("a") != nil {
		t.Error("something is known of nothing")
	}
	l.See("a", headers("content-type", "text/plain"), t0)
	if l.Get("a") != nil {
		t.Error("an answer without windows taught something")
	}
	l.Put("a", *account(10, 20))
	l.See("a", headers("anthropic-ratelimit-unified-5h-utilization", "0.5"), t0.Add(time.Minute))
	s := l.Get("a")
	session, _ := s.Window(Session)
	week, _ := s.Window(Weekly)
	if session.Used != .5 || week.Used != .2 || s.At != t0.Add(time.Minute) {
		t.Errorf("%+v", s)
	}
	if _, ok := s.Window(Monthly); ok {
		t.Error("a window out of nowhere")
	}
	used := .3
	l.Put("b", Snapshot{At: t0, Overall: &used})
	l.Put("b", Snapshot{At: t0.Add(1), LimitReached: true})
	if s := l.Get("b"); s.Overall == nil || !s.LimitReached {
		t.Errorf("%+v", s)
	}
	l.Forget("a")
	if l.Get("a") != nil {
		t.Error("still known")
	}
}

// TestPreflightProperties: a verdict never both blocks and warns, more use never
// unblocks, and a block always has a reason to end or a fresh figure.
func TestPreflightProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		used := rapid.Float64Range(0, 1.5)
		s := on(func(s *settings.QuotaPreflight) {
			s.DefaultThresholdPercent = rapid.Int64Range(0, 99).Draw(rt, "cutoff")
			s.WarnThresholdPercent = min(100, s.DefaultThresholdPercent+1)
		})
		snap := Snapshot{At: t0}
		for range rapid.IntRange(0, 4).Draw(rt, "windows") {
			snap.Windows = append(snap.Windows, Window{
				Kind: rapid.SampledFrom([]Kind{Session, Weekly, Monthly}).Draw(rt, "kind"), Used: used.Draw(rt, "used"),
				ResetAt: rapid.SampledFrom([]time.Time{{}, t0.Add(-1), t0.Add(time.Hour)}).Draw(rt, "reset"),
				At:      t0.Add(-time.Duration(rapid.IntRange(0, 20).Draw(rt, "age")) * time.Minute),
			})
		}
		v := Preflight(t0, s, Account{}, "m", &snap)
		if v.Block && v.Warn || v.Block != (v.Reason == outcome.ReasonQuota) || v.Remaining < 0 || v.Remaining > 100 {
			rt.Fatalf("%+v", v)
		}
		more := snap
		more.Windows = slices.Clone(snap.Windows)
		for i := range more.Windows {
			more.Windows[i].Used += .1
		}
		if v.Block && !Preflight(t0, s, Account{}, "m", &more).Block {
			rt.Fatalf("more use unblocks %+v", snap)
		}
	})
}

func FuzzFromUsage(f *testing.F) {
	f.Add([]byte(`{"five_hour":{"utilization":42,"resets_at":"2030-01-02T04:04:05Z"}}`))
	f.Add([]byte(`{"limits":[{"kind":"session","percent":1e999,"is_active":true}]}`))
	f.Add([]byte(`{"limits":[{"kind":"weekly_scoped","percent":5,"is_active":true,"scope":{"model":{"display_name":"Opus"}}}]}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, body []byte) {
		s, err := FromUsage(body, t0)
		if err != nil {
			return
		}
		for i := range s.Windows {
			w := &s.Windows[i]
			if left, ok := w.Remaining(t0); !ok || left < 0 || left > 100 || math.IsNaN(left) || w.Kind == "" {
				t.Errorf("%+v: %v %v", w, left, ok)
			}
			w.Applies("claude-opus-4-5")
		}
	})
}
