package combo

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func resolve(t *testing.T, w place, c Combo) []*Target {
	t.Helper()
	cfg := Cascade(Globals{}, "", c.Config)
	r := Resolver{World: w}
	return bareTargets(r.Resolve(&c, &cfg, nil))
}

// bareTargets are the targets of which nothing is known yet.
func bareTargets(specs []*Spec) []*Target { return (&prepared{specs: specs}).targets() }

func TestNormalize(t *testing.T) {
	c := mk("My Combo", "usage", "openai/gpt-5", "inner", "glm/*", "My Combo", "openai/gpt-5")
	if c.Version != 2 || c.Strategy != LeastUsed {
		t.Errorf("%+v", c)
	}
	for i, want := range []struct {
		id   string
		kind Kind
	}{
		{"my-combo-model-1-openai-gpt-5", KindModel},
		{"my-combo-ref-2-inner", KindRef},
		{"my-combo-model-3-glm", KindWildcard},
		{"my-combo-ref-4-my-combo", KindRef},
		{"my-combo-model-5-openai-gpt-5", KindModel},
	} {
		if s := c.Steps[i]; s.ID != want.id || s.Kind != want.kind {
			t.Errorf("step %d: %s %s", i, s.ID, s.Kind)
		}
	}
	t.Run("aliases and unknown strategies", func(t *testing.T) {
		for in, want := range map[string]Name{"weekly-reset": ResetWindow, "reset-window-order": ResetWindow, "context": ContextOptimized, "": Priority, "x": Priority, "quota-share": QuotaShare, " AUTO ": Auto} {
			if got := Parse(in); got != want {
				t.Errorf("%q: %s", in, got)
			}
		}
		guide := strings.Fields(`priority weighted round-robin context-relay fill-first p2c random least-used cost-optimized reset-aware
			reset-window headroom quota-weighted strict-random auto lkgp context-optimized cache-optimized fusion pipeline`)
		for i, name := range Public() {
			if i < len(guide) && string(name) != guide[i] {
				t.Errorf("strategy %d is %s, want the guide's %s", i+1, name, guide[i])
			}
		}
		if n := len(Public()); n < len(guide) {
			t.Errorf("only %d strategies", n)
		}
	})
	t.Run("steps as clients send them", func(t *testing.T) {
		var c Combo
		err := json.Unmarshal([]byte(`{"name":"x","models":["openai/gpt-5",
			{"provider":"glm","model":"glm-4.6","weight":"300","connectionId":"c1","id":"one"},
			{"providerId":"glm","model":"glm-4.6","weight":"heavy","id":"one"},
			{"kind":"provider-wildcard","providerId":"kimi"},
			{"comboName":"other","weight":-4}]}`), &c)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(c.Corrections()); got != "[{models[1].weight 300 100 } {models[2].weight heavy 0 } {models[4].weight -4 0 }]" {
			t.Error(got)
		}
		c = c.Normalize(nil)
		if list := c.Corrections(); len(list) > 0 {
			t.Errorf("the saved form is corrected: %v", list)
		}
		want := []Step{
			{ID: "x-model-1-openai-gpt-5", Kind: KindModel, Model: "openai/gpt-5", Provider: "openai"},
			{ID: "one", Kind: KindModel, Model: "glm/glm-4.6", Provider: "glm", Weight: 100, Connection: "c1"},
			{ID: "one-2", Kind: KindModel, Model: "glm/glm-4.6", Provider: "glm"},
			{ID: "x-model-4-kimi", Kind: KindWildcard, Model: "kimi/*", Provider: "kimi"},
			{ID: "x-ref-5-other", Kind: KindRef, Combo: "other"},
		}
		for i, w := range want {
			got, _ := json.Marshal(c.Steps[i])
			exp, _ := json.Marshal(w)
			if string(got) != string(exp) {
				t.Errorf("step %d: %s", i, got)
			}
		}
		if err := json.Unmarshal([]byte(`{"models":[5]}`), &c); err == nil {
			t.Error("a number is a step")
		}
	})
	t.Run("ids are cut at 200 and stay apart", func(t *testing.T) {
		long := strings.Repeat("m", 250)
		c := Combo{Name: "x", Steps: []Step{{ID: long, Model: "a/b"}, {ID: long, Model: "a/b"}}}.Normalize(nil)
		if len(c.Steps[0].ID) != 200 || len(c.Steps[1].ID) > 200 || c.Steps[0].ID == c.Steps[1].ID {
			t.Error(c.Steps[0].ID, c.Steps[1].ID)
		}
	})
	off := false
	if c.Enabled(); !(&Combo{}).Enabled() || (&Combo{Active: &off}).Enabled() {
		t.Error("enabled")
	}
}

func TestWildcards(t *testing.T) {
	w := place{models: map[string][]string{"openai": {"gpt-4.1", "gpt-4o", "o3", "org/gpt-4x"}}}
	c := mk("x", Priority, "openai/gpt-4*", "glm/*", "kimi/k2")
	c.Steps[0].Weight, c.Steps[0].Connection, c.Steps[0].Allowed = 7, "c1", []string{"c1"}
	got := resolve(t, w, c)
	wantModels(t, got, "openai/gpt-4.1@c1 openai/gpt-4o@c1 glm/* kimi/k2")
	if got[1].Weight != 7 || got[1].Allowed[0] != "c1" || got[0].Key == got[1].Key {
		t.Errorf("%+v", got[1])
	}
	wantModels(t, resolve(t, w, mk("x", Priority, "openai/*")), "openai/gpt-4.1 openai/gpt-4o openai/o3 openai/org/gpt-4x")
	plain := mk("x", Priority, "a/b")
	r := Resolver{World: w}
	if steps := r.expandSteps(&plain); &steps[0] != &plain.Steps[0] {
		t.Error("a combo without wildcards was copied")
	}
}

func TestNesting(t *testing.T) {
	w := place{combos: map[string]*Combo{}}
	put := func(name string, s Name, steps ...string) Combo {
		c := mk(name, s, steps...)
		w.combos[name] = &c
		return c
	}
	put("inner", Random, "p/a", "p/b")
	outer := put("outer", Weighted, "inner", "p/c")
	t.Run("flatten puts the leaves in, as one group", func(t *testing.T) {
		outer.Steps[0].Weight, outer.Steps[1].Weight = 9, 1
		got := resolve(t, w, outer)
		wantModels(t, got, "p/a p/b p/c")
		if got[0].Group != got[1].Group || got[1].Group == got[2].Group || got[1].Weight != 9 || got[2].Weight != 1 {
			t.Errorf("%+v", got)
		}
		if got[1].Key != "outer-ref-1-inner>inner-model-2-p-b" {
			t.Error(got[1].Key)
		}
	})
	t.Run("execute keeps a black box", func(t *testing.T) {
		outer.Config = map[string]any{"nestedComboMode": "execute"}
		wantModels(t, resolve(t, w, outer), "[inner] p/c")
		outer.Strategy = LeastUsed // cannot run one
		wantModels(t, resolve(t, w, outer), "p/a p/b p/c")
	})
	t.Run("a circle and too much depth drop the reference", func(t *testing.T) {
		a := put("a", Priority, "b", "p/1")
		put("b", Priority, "a", "p/2")
		wantModels(t, resolve(t, w, a), "p/2 p/1")
		put("d4", Priority, "p/4")
		put("d3", Priority, "d4", "p/3")
		put("d2", Priority, "d3", "p/2")
		d1 := put("d1", Priority, "d2", "p/1")
		wantModels(t, resolve(t, w, d1), "p/3 p/2 p/1")
		d1.Config = map[string]any{"maxComboDepth": 4.0}
		wantModels(t, resolve(t, w, d1), "p/4 p/3 p/2 p/1")
	})
	t.Run("missing and switched off combos", func(t *testing.T) {
		off := put("off", Priority, "p/1")
		no := false
		off.Active = &no
		w.combos["off"] = &off
		wantModels(t, resolve(t, w, put("x", Priority, "off", "nowhere", "p/2")), "p/2")
	})
	t.Run("a protected reference protects its leaves", func(t *testing.T) {
		c := mk("x", Priority, "inner", "p/2")
		c.Steps[0].Protected = true
		got := resolve(t, w, c)
		if !got[0].Protected || !got[1].Protected || got[2].Protected {
			t.Errorf("%+v", got)
		}
	})
}

func TestExpansion(t *testing.T) {
	w := place{accounts: map[string][]Account{"p": {{ID: "c1", Active: true}, {ID: "c2", Active: true}, {ID: "c3"}}}}
	wantModels(t, resolve(t, w, mk("x", ResetAware, "p/a", "q/b")), "p/a@c1 p/a@c2 q/b")
	wantModels(t, resolve(t, w, mk("x", Priority, "p/a", "q/b")), "p/a q/b")
	c := mk("x", Headroom, "p/a", "p/b")
	c.Steps[0].Allowed, c.Steps[1].Connection = []string{"c2"}, "c3"
	got := resolve(t, w, c)
	wantModels(t, got, "p/a@c2 p/b@c3")
	if !strings.HasSuffix(got[0].Key, "@c2") || strings.Contains(got[1].Key, "@") {
		t.Error(keys(got))
	}
	t.Run("case 65 the API key's allow-list", func(t *testing.T) {
		cfg := Defaults()
		r := Resolver{World: w, Allowed: []string{"c2"}}
		aware, plain := mk("x", ResetAware, "p/a", "q/b"), mk("x", Priority, "p/a", "q/b", "p/c")
		plain.Steps[2].Connection = "c1"
		wantModels(t, bareTargets(r.Resolve(&aware, &cfg, nil)), "p/a@c2")
		wantModels(t, bareTargets(r.Resolve(&plain, &cfg, nil)), "p/a")
	})
	t.Run("allowed providers and families", func(t *testing.T) {
		c := mk("x", Priority, "p/gpt-5", "q/gpt-5", "p/llama")
		c.AllowedProviders, c.AllowedFamilies = []string{"p"}, []string{"GPT"}
		wantModels(t, resolve(t, w, c), "p/gpt-5")
	})
	t.Run("compositeTiers order the steps", func(t *testing.T) {
		c := mk("x", Priority, "p/1", "p/2", "p/3", "p/4")
		id := func(i int) string { return c.Steps[i].ID }
		c.Config = map[string]any{"compositeTiers": map[string]any{"defaultTier": "best", "tiers": map[string]any{
			"best": map[string]any{"stepId": id(2), "fallbackTier": "good"}, "good": map[string]any{"stepId": id(1), "fallbackTier": "best"},
		}}}
		wantModels(t, resolve(t, w, c), "p/3 p/2 p/1 p/4")
	})
}

func TestValidate(t *testing.T) {
	code := func(t *testing.T, err error, want Code) {
		t.Helper()
		var e *Error
		if want == "" {
			if err != nil {
				t.Errorf("refused: %v", err)
			}
			return
		}
		if !errors.As(err, &e) || e.Code != want || !errors.Is(err, &Error{Code: want}) || e.Error() == "" {
			t.Errorf("%v, want %s", err, want)
		}
	}
	t.Run("COMBO_001 and COMBO_002 reading", func(t *testing.T) {
		_, err := Read([]byte(`{`))
		code(t, err, BadJSON)
		_, err = Read([]byte(`{"models":5}`))
		code(t, err, BadSchema)
		_, err = Read([]byte(`{"name":"a","models":["p/x"]}`))
		code(t, err, "")
	})
	t.Run("COMBO_002 bounds", func(t *testing.T) {
		for name, change := range map[string]func(c *Combo){
			"no name":          func(c *Combo) { c.Name = "" },
			"long name":        func(c *Combo) { c.Name = strings.Repeat("x", 101) },
			"letters":          func(c *Combo) { c.Name = "a:b" },
			"description":      func(c *Combo) { c.Description = strings.Repeat("x", 2001) },
			"providers":        func(c *Combo) { c.AllowedProviders = make([]string, 101) },
			"families":         func(c *Combo) { c.AllowedFamilies = make([]string, 101) },
			"system message":   func(c *Combo) { c.SystemMessage = strings.Repeat("x", 50_001) },
			"filter":           func(c *Combo) { c.ToolFilter = "(" },
			"long filter":      func(c *Combo) { c.ToolFilter = strings.Repeat("x", 1001) },
			"context":          func(c *Combo) { c.ContextLength = 999 },
			"too many steps":   func(c *Combo) { c.Steps = make([]Step, 1001) },
			"kind":             func(c *Combo) { c.Steps[0].Kind = "zebra" },
			"no model":         func(c *Combo) { c.Steps[0].Model = "p/" },
			"no provider":      func(c *Combo) { c.Steps[0].Provider = "" },
			"no combo":         func(c *Combo) { c.Steps[0].Kind = KindRef },
			"long model":       func(c *Combo) { c.Steps[0].Model = "p/" + strings.Repeat("x", 300) },
			"tags":             func(c *Combo) { c.Steps[0].Tags = make([]string, 21) },
			"label":            func(c *Combo) { c.Steps[0].Label = strings.Repeat("x", 201) },
			"prompt":           func(c *Combo) { c.Steps[0].Prompt = strings.Repeat("x", 20_001) },
			"config":           func(c *Combo) { c.Config = map[string]any{"maxRetries": 11.0} },
			"fusion is closed": func(c *Combo) { c.Config = map[string]any{"fusionTuning": map[string]any{"x": 1.0}} },
		} {
			c := mk("ok", Priority, "p/a")
			change(&c)
			if err := Validate(&c); err == nil {
				t.Errorf("%s is accepted", name)
			} else {
				code(t, err, BadSchema)
			}
		}
		c := mk("My [best]_models/v1.0-x", Priority, "p/a")
		c.Config = map[string]any{"unknown": 1.0, "timeoutMs": 5.0}
		code(t, Validate(&c), "")
	})
	t.Run("COMBO_003 tiers", func(t *testing.T) {
		tier := func(step, next string) any { return map[string]any{"stepId": step, "fallbackTier": next} }
		c := mk("x", Priority, "p/a", "p/b")
		a, b := c.Steps[0].ID, c.Steps[1].ID
		for name, tiers := range map[string]any{
			"no object": "x", "no tiers": map[string]any{},
			"no default":  map[string]any{"defaultTier": "z", "tiers": map[string]any{"a": tier(a, "")}},
			"no step":     map[string]any{"defaultTier": "a", "tiers": map[string]any{"a": tier("gone", "")}},
			"no fallback": map[string]any{"defaultTier": "a", "tiers": map[string]any{"a": tier(a, "b")}},
			"circle":      map[string]any{"defaultTier": "a", "tiers": map[string]any{"a": tier(a, "b"), "b": tier(b, "a")}},
		} {
			c.Config = map[string]any{"compositeTiers": tiers}
			if err := Validate(&c); err == nil {
				t.Errorf("%s is accepted", name)
			} else {
				code(t, err, BadTiers)
			}
		}
		c.Config = map[string]any{"compositeTiers": map[string]any{"defaultTier": "a", "tiers": map[string]any{"a": tier(a, "b"), "b": tier(b, "")}}}
		code(t, Validate(&c), "")
	})
	t.Run("COMBO_004 names are taken once", func(t *testing.T) {
		old := mk("x", Priority, "p/a")
		c := mk("X", Priority, "p/a")
		c.ID = "other"
		code(t, CheckAll(&c, Globals{}, []Combo{old}), NameTaken)
		code(t, CheckAll(&old, Globals{}, []Combo{old}), "")
	})
	t.Run("COMBO_005 circles and depth", func(t *testing.T) {
		a, b := mk("a", Priority, "b"), mk("b", Priority, "a")
		code(t, CheckAll(&a, Globals{}, []Combo{b}), CycleOrDepth)
		self := mk("a", Priority, "a")
		err := CheckAll(&self, Globals{}, nil)
		code(t, err, CycleOrDepth)
		if !strings.Contains(err.Error(), "circular") {
			t.Error(err)
		}
		chain := []Combo{mk("d2", Priority, "d3"), mk("d3", Priority, "d4"), mk("d4", Priority, "p/x")}
		d1 := mk("d1", Priority, "d2")
		code(t, CheckAll(&d1, Globals{}, chain), CycleOrDepth)
		d1.Config = map[string]any{"maxComboDepth": 4.0}
		code(t, CheckAll(&d1, Globals{}, chain), "")
		short := mk("d1", Priority, "d3")
		code(t, CheckAll(&short, Globals{}, chain), "")
		t.Run("a change at the end of a chain that begins elsewhere", func(t *testing.T) {
			all := []Combo{mk("d1", Priority, "d2"), mk("d2", Priority, "d3"), mk("d4", Priority, "p/x"), mk("unrelated", Priority, "unrelated")}
			d3 := mk("d3", Priority, "d4")
			code(t, CheckAll(&d3, Globals{}, all), CycleOrDepth)
			leaf := mk("d3", Priority, "p/x")
			code(t, CheckAll(&leaf, Globals{}, all), "")
		})
	})
	t.Run("COMBO_006 shared quotas, COMBO_008 invariants", func(t *testing.T) {
		c := mk("x", QuotaShare, "p/a")
		code(t, Validate(&c), Managed)
		c = mk("x", Pipeline, "p/*")
		code(t, Validate(&c), Invariant)
	})
	t.Run("statuses", func(t *testing.T) {
		for code, want := range map[Code]int{BadJSON: 400, BadSchema: 400, BadTiers: 400, NameTaken: 400, CycleOrDepth: 400, Managed: 409, NotFound: 404, Invariant: 400, Internal: 500} {
			if got := (&Error{Code: code}).Status(); got != want {
				t.Errorf("%s: %d", code, got)
			}
		}
	})
}

// FuzzRead feeds combos as clients send them: whatever is accepted keeps its
// promises after a round trip.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"name":"a","models":["p/x",{"comboName":"a"}],"strategy":"auto","config":{"maxComboDepth":0}}`,
		`{"name":"a","models":[{"provider":"p","weight":"1e9"}],"config":{"auto":{"explorationRate":-1}}}`,
		`{"name":"a","models":[null,{"model":"*"},{"model":"p/**","kind":"model"}],"config":{"compositeTiers":{"defaultTier":"a","tiers":{"a":{"stepId":"x"}}}}}`,
		`{"models":["a","a","a"],"name":"a"}`, `[`, `{"config":{"fusionTuning":{"minPanel":-1}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Read(b)
		if err != nil {
			return
		}
		n := c.Normalize(func(name string) bool { return name == "a" })
		cfg := Cascade(Globals{}, n.firstProvider(), n.Config)
		if cfg.MaxComboDepth < 1 || cfg.MaxComboDepth > 10 || cfg.MaxGlobalAttempts < 1 || cfg.QueueDepth < 0 {
			t.Errorf("%+v", cfg)
		}
		seen := map[string]bool{}
		for _, s := range n.Steps {
			if len(s.ID) > 200 || seen[s.ID] || s.Weight < 0 || s.Weight > 100 {
				t.Errorf("step %+v", s)
			}
			seen[s.ID] = true
		}
		_ = Validate(&n)
		p := planner(place{combos: map[string]*Combo{"a": &n}})
		if plan, r := p.Plan(&n, &Request{Now: t0}); r == nil {
			plan.Abandon(t0)
			if len(plan.Order) == 0 {
				t.Error("an empty plan")
			}
		}
	})
}
