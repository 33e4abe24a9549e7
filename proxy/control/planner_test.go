package control

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/dialect"
	"breakwater/resilience"
	"breakwater/resilience/clock"
	"breakwater/resilience/combo"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/outcome"
	"breakwater/resilience/quota"
)

// t0 is the time at which the services of these tests begin.
var t0 = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

// planned returns a service over these connections, whose ids are their names,
// with a clock that stands still.
func planned(t testing.TB, records ...ConnectionRecord) (*Service, *memory, *clock.Fake) {
	t.Helper()
	store := newMemory()
	store.records = nil
	for i, r := range records {
		r.ID, r.Priority, r.Active = r.Name, i+1, !strings.HasSuffix(r.Name, "-off")
		if r.Credential == "" {
			r.Credential = "apikey"
		}
		store.records = append(store.records, r)
	}
	return restarted(t, store)
}

func restarted(t testing.TB, store *memory) (*Service, *memory, *clock.Fake) {
	t.Helper()
	now := clock.NewFake(t0)
	s, err := New(t.Context(), Config{Store: store, Secrets: noSecrets{}, Log: slog.New(slog.DiscardHandler), Clock: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, store, now
}

func conn(provider, name string) ConnectionRecord {
	return ConnectionRecord{Provider: provider, Name: name}
}

// made adds a combo of these steps.
func made(t testing.TB, s *Service, name, strategy string, steps ...ComboStep) Combo {
	t.Helper()
	c, err := s.AddCombo(t.Context(), ComboInput{Name: name, Strategy: strategy, Steps: steps})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// step is a step for a model, by its name alone.
func step(model string) ComboStep { return ComboStep{Model: model} }

// plan plans one request and returns the targets.
func plan(t testing.TB, s *Service, model string, q combo.Request) []*combo.Target {
	t.Helper()
	c, ok := s.Combo(model)
	if !ok {
		t.Fatalf("%q is no combo", model)
	}
	q.Now = s.Now()
	p, refusal := s.Planner().Plan(c, &q)
	if refusal != nil {
		t.Fatalf("refused: %+v", refusal)
	}
	t.Cleanup(func() { p.Abandon(s.Now()) })
	return p.Order
}

// places shows targets as connection=model pairs of those they may be sent to.
func places(s *Service, targets []*combo.Target, q Ask) []string {
	var out []string
	for _, t := range targets {
		var one []string
		choices, _ := s.ComboChoices(t, q)
		for _, c := range choices {
			one = append(one, c.Route.Record.Name+"="+c.Model)
		}
		out = append(out, strings.Join(one, ","))
	}
	return out
}

func TestComboTargetsLeadToConnections(t *testing.T) {
	narrow := conn("openai", "work")
	narrow.Models = []string{"gpt-5*"}
	gateway := conn("custom", "My Gateway")
	gateway.BaseURL, gateway.Models = "https://llm.example.com/v1", []string{"org/special", "other-*"}
	picky := conn("deepseek", "picky")
	picky.ExcludedModels = []string{"*-big"}
	s, _, _ := planned(t, conn("openai", "spare"), narrow, conn("anthropic", "claude-key"), gateway, conn("groq", "groq-off"), ConnectionRecord{
		Provider: "claude", Name: "sub", Credential: "passthrough",
	}, picky)
	chat := Ask{Dialect: dialect.Chat}
	pinned := ComboStep{Model: "openai/gpt-5", Connection: "spare"}
	only := ComboStep{Model: "openai/gpt-5", Allowed: []string{"work", "nobody"}}
	for _, c := range []struct {
		name  string
		steps []ComboStep
		ask   Ask
		want  []string
	}{
		{"all of the provider in the user's order", []ComboStep{step("openai/gpt-5")}, chat, []string{"spare=gpt-5,work=gpt-5"}},
		{"those that offer the model", []ComboStep{step("openai/o3")}, chat, []string{"spare=o3"}},
		{"all when nobody is known to offer it", []ComboStep{step("openai/brand-new")}, chat, []string{"spare=brand-new,work=brand-new"}},
		{"a pinned connection", []ComboStep{pinned}, chat, []string{"spare=gpt-5"}},
		{"no model that a connection leaves out, pinned or not", []ComboStep{
			{Model: "deepseek/deepseek-big", Connection: "picky"}, step("deepseek/deepseek-big"), step("deepseek/deepseek-new"),
		}, chat, []string{"", "", "picky=deepseek-new"}},
		{"an allow-list", []ComboStep{only}, chat, []string{"work=gpt-5"}},
		{"a connection's name, and slashes in the model's", []ComboStep{step("My Gateway/org/special")}, chat, []string{"My Gateway=org/special"}},
		{"a connection that is switched off is left to the engine", []ComboStep{step("groq/x")}, chat, []string{"groq-off=x"}},
		{"a provider nobody has", []ComboStep{step("mistral/x")}, chat, []string{""}},
		{"a model alone, of those known to offer it", []ComboStep{step("gpt-5"), step("claude-opus-5"), step("unheard-of")}, chat, []string{"spare=gpt-5,work=gpt-5", "", ""}},
		{"another dialect", []ComboStep{step("openai/gpt-5"), step("anthropic/claude-opus-5")}, Ask{Dialect: dialect.Anthropic}, []string{"", "claude-key=claude-opus-5"}},
		{"the key's connections", []ComboStep{step("openai/gpt-5")}, Ask{Dialect: dialect.Chat, Grant: Grant{Connections: []string{"work"}}}, []string{"work=gpt-5"}},
		{"passthrough without the client's login", []ComboStep{step("claude/claude-opus-5")}, Ask{Dialect: dialect.Anthropic}, []string{""}},
		{"passthrough with it", []ComboStep{step("cc/claude-opus-5")}, Ask{Dialect: dialect.Anthropic, Admits: func(*Route) bool { return true }}, []string{"sub=claude-opus-5"}},
		{"a pattern that fits a list", []ComboStep{step("My Gateway/org/*")}, chat, []string{"My Gateway=org/special"}},
		{"a pattern that fits nothing", []ComboStep{step("My Gateway/other-*")}, chat, []string{""}},
		{"a pattern over the catalogue", []ComboStep{step("openai/o4*"), step("groq/llama-3.1*")}, chat, []string{"spare=o4-mini", "groq-off=llama-3.1-8b-instant"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			made := made(t, s, "c", "", c.steps...)
			defer func() { _ = s.DeleteCombo(t.Context(), made.ID) }()
			if got := places(s, plan(t, s, "c", combo.Request{}), c.ask); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestPlansFollowEveryChange(t *testing.T) {
	ctx := t.Context()
	s, _, _ := planned(t, conn("openai", "a"), conn("openai", "b"))
	c := made(t, s, "team", "headroom", step("openai/gpt-5"))
	has := func(why string, want ...string) {
		t.Helper()
		var got []string
		for _, x := range plan(t, s, "team", combo.Request{}) {
			got = append(got, x.Connection)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", why, got, want)
		}
		snap, _ := s.Snapshot(ctx)
		if snap.Combos[0].Targets != len(want) {
			t.Errorf("%s: the snapshot tells of %d targets", why, snap.Combos[0].Targets)
		}
	}
	has("at first", "a", "b")
	if err := s.ReorderConnections(ctx, []string{"b"}); err != nil {
		t.Fatal(err)
	}
	has("after the order", "b", "a")
	if _, err := s.EditConnection(ctx, "b", ConnectionPatch{Active: new(false)}); err != nil {
		t.Fatal(err)
	}
	has("with b off", "a")
	if _, err := s.EditConnection(ctx, "b", ConnectionPatch{Active: new(true)}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.EditCombo(ctx, c.ID, ComboPatch{Steps: &[]ComboStep{{Model: "openai/gpt-5", Allowed: []string{"b"}}}}); err != nil {
		t.Fatal(err)
	}
	has("with an allow-list", "b")
	if got := plan(t, s, "team", combo.Request{Allowed: []string{"b"}}); len(got) != 1 {
		t.Errorf("the key's own list: %d targets", len(got))
	}
	if _, r := s.Planner().Plan(mustCombo(t, s, "team"), &combo.Request{Now: t0, Allowed: []string{"a"}}); r == nil || r.Terminal != combo.NoExecutable {
		t.Errorf("a key that may not use b: %+v", r)
	}
	if err := s.DeleteConnection(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	if all, _ := s.Combos(ctx); len(all[0].Steps) != 0 {
		t.Errorf("the step that allowed only the deleted connection is still there: %+v", all[0].Steps)
	}
}

func mustCombo(t testing.TB, s *Service, name string) *combo.Combo {
	t.Helper()
	c, ok := s.Combo(name)
	if !ok {
		t.Fatalf("%q is no combo", name)
	}
	return c
}

func TestComboNames(t *testing.T) {
	s, _, _ := planned(t, conn("openai", "a"), conn("groq", "b-off"))
	on := made(t, s, "gpt-5", "", step("openai/gpt-5-mini"))
	off := made(t, s, "asleep", "", step("openai/gpt-5"))
	if _, err := s.EditCombo(t.Context(), off.ID, ComboPatch{Active: new(false)}); err != nil {
		t.Fatal(err)
	}
	if on.Warning == nil || on.Warning.Code != "COMBO_NAME_SHADOWS_MODEL" {
		t.Errorf("gpt-5 hides a model of the catalogue: %+v", on.Warning)
	}
	if off.Warning != nil {
		t.Errorf("nobody offers a model called asleep: %+v", off.Warning)
	}
	for name, want := range map[string]bool{"gpt-5": true, "gpt-5[1m]": true, "asleep": false, "gpt-5-mini": false, "auto": true, "auto/coding:cheap": true, "auto/nothing": false, "automatic": false, "AUTO/fast": true, "": false} {
		if c, ok := s.Combo(name); ok != want || ok != (c != nil) {
			t.Errorf("%q is a combo: %v, want %v", name, ok, want)
		}
	}
	first, _ := s.Combo("auto/fast")
	again, _ := s.Combo("Auto/Fast")
	if first != again {
		t.Error("an auto combo is made anew for each request")
	}
	for _, x := range plan(t, s, "auto", combo.Request{}) {
		if x.Provider != "openai" || x.Connection != "a" {
			t.Errorf("auto offers %s on %s", x.Model, x.Connection)
		}
	}
	if _, err := s.EditConnection(t.Context(), "a", ConnectionPatch{DefaultModel: new("asleep")}); err != nil {
		t.Fatal(err)
	}
	if all, _ := s.Combos(t.Context()); all[1].Warning == nil || all[1].Warning.Code != "COMBO_NAME_SHADOWS_MODEL" {
		t.Errorf("no warning: %+v", all[1])
	}
}

func TestTargetsShowTheEnginesState(t *testing.T) {
	s, _, now := planned(t, conn("openai", "a"), conn("openai", "b"), conn("groq", "c"))
	made(t, s, "pair", "", ComboStep{Model: "openai/gpt-5", Connection: "a"}, step("openai/gpt-5"), step("groq/llama-3.1-8b-instant"))
	fail := func(id string, o outcome.Outcome) {
		t.Helper()
		r, _ := s.Route(id)
		a, x := s.Engine().Begin(resilience.Candidate{Conn: r.Conn, Model: "gpt-5"})
		if x != nil {
			t.Fatalf("%s: %+v", id, x)
		}
		o.Class = outcome.Failure
		a.Report(o)
	}
	fail("a", outcome.Outcome{Reason: outcome.ReasonRateLimit, Status: 429, Scope: outcome.ScopeConnection, Cooldown: time.Minute})
	got := plan(t, s, "pair", combo.Request{})
	if got[0].Live.Reason != exclusion.Cooling || !got[0].Live.Until.After(now.Now()) {
		t.Errorf("the cooling connection shows %+v", got[0].Live)
	}
	if got[1].Live.Reason != exclusion.None || !got[1].Usable() {
		t.Errorf("of two connections one serves: %+v", got[1].Live)
	}
	facts := got[2].Facts
	if !facts.Price.Known || facts.Price.Input != 0.05 || facts.Context != 131072 || facts.Tools != combo.Yes || facts.Vision != combo.No {
		t.Errorf("facts of the catalogue: %+v", facts)
	}
	if _, err := s.EditConnection(t.Context(), "c", ConnectionPatch{Active: new(false)}); err != nil {
		t.Fatal(err)
	}
	if got = plan(t, s, "pair", combo.Request{}); got[2].Live.Reason != exclusion.Off || got[2].Live.Reason.Temporary() {
		t.Errorf("switched off shows %+v", got[2].Live.Reason)
	}
	now.Advance(2 * time.Hour)
	if got = plan(t, s, "pair", combo.Request{}); !got[0].Usable() {
		t.Errorf("after the cooldown %+v", got[0].Live)
	}
}

// A connection without its key is passed over, so that the other one of its
// target is what the strategies see.
func TestTargetsDoNotShowALostKey(t *testing.T) {
	s, _, _ := planned(t, conn("openai", "a"), conn("openai", "b"))
	made(t, s, "both", "", step("openai/gpt-5"))
	lost, _ := s.Route("a")
	lost.key = ""
	other, _ := s.Route("b")
	other.Use.InFlight.Store(3)
	if got := plan(t, s, "both", combo.Request{})[0]; got.Live.InFlight != 3 {
		t.Errorf("it shows %+v", got.Live)
	}
	a, x := s.Engine().Begin(resilience.Candidate{Conn: other.Conn, Model: "gpt-5"})
	if x != nil {
		t.Fatalf("%+v", x)
	}
	a.Report(outcome.Outcome{Class: outcome.Failure, Reason: outcome.ReasonRateLimit, Status: 429, Scope: outcome.ScopeConnection, Cooldown: time.Minute})
	if got := plan(t, s, "both", combo.Request{})[0]; got.Live.Reason != exclusion.Cooling {
		t.Errorf("while the other one rests it shows %+v", got.Live)
	}
}

func TestNestedCombosAreNoPlaces(t *testing.T) {
	s, _, _ := planned(t, conn("openai", "a"))
	made(t, s, "inner", "", step("openai/gpt-5"))
	c := made(t, s, "outer", "random", step("inner"), step("openai/nothing-*"))
	if _, err := s.EditCombo(t.Context(), c.ID, ComboPatch{Config: &map[string]any{"nestedComboMode": "execute"}}); err != nil {
		t.Fatal(err)
	}
	for _, x := range plan(t, s, "outer", combo.Request{}) {
		if nested := x.Kind == combo.KindRef; nested != x.Usable() {
			t.Errorf("%s %s is held by %q", x.Combo, x.Model, x.Live.Reason)
		}
		if choices, _ := s.ComboChoices(x, Ask{Dialect: dialect.Chat}); len(choices) != 0 {
			t.Errorf("%s %s leads to a connection", x.Combo, x.Model)
		}
	}
	p := s.Planner()
	q := combo.Request{Now: t0}
	outer, _ := p.Plan(mustCombo(t, s, "outer"), &q)
	for w := p.Walk(outer, q); ; {
		x, refusal, ok := w.Next()
		if !ok {
			t.Fatal("the walk never comes to the nested combo's target")
		}
		if refusal == nil && x.Model == "openai/gpt-5" && x.Usable() {
			w.Abandon(t0)
			break
		}
		w.Fail(x)
	}
}

func TestTargetsShowQuota(t *testing.T) {
	s, _, now := planned(t, conn("openai", "a"), conn("openai", "b"))
	made(t, s, "hr", "headroom", step("openai/gpt-5"))
	window := func(kind quota.Kind, used float64) quota.Window {
		return quota.Window{Kind: kind, Used: used, ResetAt: t0.Add(3 * time.Hour), At: t0}
	}
	s.Quota().Put("a", quota.Snapshot{At: t0, Windows: []quota.Window{window(quota.Session, .99), window(quota.Weekly, .3)}})
	got := plan(t, s, "hr", combo.Request{})
	if got[0].Connection != "b" || got[1].Live.Quota == nil || got[1].Live.Quota.Session.Used != .99 || got[1].Live.Cutoff {
		t.Errorf("order %s %s, quota %+v, cutoff %v", got[0].Connection, got[1].Connection, got[1].Live.Quota, got[1].Live.Cutoff)
	}
	again := plan(t, s, "hr", combo.Request{})
	if again[1].Live.Quota != got[1].Live.Quota {
		t.Error("the same snapshot is weighed anew")
	}
	s.Quota().Put("a", quota.Snapshot{At: t0, Windows: []quota.Window{window(quota.Weekly, .4)}})
	if again = plan(t, s, "hr", combo.Request{}); again[1].Live.Quota.Weekly.Used != .4 || got[1].Live.Quota.Weekly.Used != .3 {
		t.Errorf("after a newer snapshot %+v, of the plan before %+v", again[1].Live.Quota, got[1].Live.Quota)
	}
	if _, err := s.EditResilience(t.Context(), []byte(`{"quotaPreflight":{"enabled":true}}`)); err != nil {
		t.Fatal(err)
	}
	if got = plan(t, s, "hr", combo.Request{}); !got[1].Live.Cutoff {
		t.Error("1 % left of 2 % is no cutoff")
	}
	health := comboHealth{s}
	session, week, err := health.Load("a")
	if c, cerr := health.Condition("a"); err != nil || cerr != nil || session < .98 || week < .29 || !c.Exhausted || c.Terminal {
		t.Errorf("health %v %v %+v", session, week, c)
	}
	if c, _ := health.Condition("nobody"); !c.Terminal {
		t.Error("a connection that is gone is well")
	}
	now.Advance(4 * time.Hour)
	if session, _, _ = health.Load("a"); session != 0 {
		t.Errorf("after the reset %v is used", session)
	}
}

func TestModelFactsOverrideTheTable(t *testing.T) {
	local := conn("ollama-local", "box")
	local.Credential = "none"
	s, _, _ := planned(t, conn("openai", "a"), local)
	made(t, s, "cheap", "cost-optimized", step("openai/gpt-5"), step("ollama-local/gpt-oss-20b"))
	if got := plan(t, s, "cheap", combo.Request{}); got[0].Provider != "ollama-local" || got[0].Facts.Tier != combo.FreeTier {
		t.Errorf("%s at %+v is first, want the local one", got[0].Model, got[0].Facts.Price)
	}
	_, err := s.EditAllSettings(t.Context(), AllSettingsPatch{ComboSettingsPatch: ComboSettingsPatch{ModelFacts: &map[string]ModelFact{
		"gpt-oss-20b": {Input: new(3.0), Output: new(4.0)}, "openai/gpt-5": {Input: new(1.0), Tools: new(false), Context: 9999},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	got := plan(t, s, "cheap", combo.Request{})
	f := got[0].Facts
	if got[0].Provider != "openai" || f.Price.Input != 1 || f.Price.HasOutput || f.Tools != combo.No || f.Context != 9999 || f.Vision != combo.Yes {
		t.Errorf("%s is first with %+v", got[0].Model, f)
	}
}

func TestTheCatalogueTellsOfModels(t *testing.T) {
	s, _, _ := planned(t)
	all, err := s.Providers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		switch {
		case p.ID == "groq" && (len(p.KnownModels) == 0 || p.KnownModels[0].Name != "llama-3.3-70b-versatile" || *p.KnownModels[0].Output != 0.79 || !p.KnownModels[0].Tools):
			t.Errorf("groq offers %+v", p.KnownModels)
		case p.ID == "ollama-cloud" && p.KnownModels[0].Input != nil:
			t.Errorf("a subscription has the price %v", *p.KnownModels[0].Input)
		case p.ID == "custom" && p.KnownModels != nil:
			t.Errorf("custom offers %+v", p.KnownModels)
		}
	}
}

func BenchmarkServicePlan(b *testing.B) {
	var records []ConnectionRecord
	var steps []ComboStep
	for i := range 10 {
		name := fmt.Sprintf("c%d", i)
		records = append(records, conn("groq", name))
		steps = append(steps, ComboStep{Model: "groq/llama-3.1-8b-instant", Connection: name, Weight: float64(i + 1)})
	}
	s, _, _ := planned(b, records...)
	for _, strategy := range []string{"priority", "weighted", "round-robin", "p2c", "quota-weighted", "auto"} {
		made(b, s, "b "+strategy, strategy, steps...)
		b.Run(strategy, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c, _ := s.Combo("b " + strategy)
				q := combo.Request{Now: t0, Session: "0123456789abcdef"}
				p, refusal := s.Planner().Plan(c, &q)
				if refusal != nil {
					b.Fatal(refusal)
				}
				p.Serve(t0, p.Order[0], "", nil)
			}
		})
	}
}
