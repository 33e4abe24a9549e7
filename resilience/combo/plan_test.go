package combo

import (
	"breakwater/resilience/exclusion"
	"testing"
	"time"
)

func TestPlan(t *testing.T) {
	t.Run("case 72 a round-robin target that seems unable is a last resort", func(t *testing.T) {
		p := planner(place{})
		p.Look = look(func(*Target) Live { return Live{Exclusion: exclusion.Exclusion{Reason: exclusion.Unavailable}} })
		p.Fixed = func(s *Spec) {
			if s.Model == "p/b" {
				s.Facts.Tools = No
			}
		}
		c := mk("x", RoundRobin, "p/a", "p/b", "p/c")
		plan, r := p.Plan(&c, &Request{Now: t0, Needs: Needs{Tools: true}})
		if r != nil {
			t.Fatal(r)
		}
		wantModels(t, plan.Order, "p/a p/c")
		wantModels(t, plan.LastResort, "p/b")
		p.Look, p.Fixed = nil, facts(Facts{Tools: No})
		plan, r = p.Plan(&c, &Request{Now: t0, Needs: Needs{Tools: true}})
		if r != nil || len(plan.Order) != 3 {
			t.Error("nobody is able: all are tried", r)
		}
		c.Strategy = Random
		if _, r = p.Plan(&c, &Request{Now: t0, Needs: Needs{Tools: true}}); r == nil || r.Code != "capability_mismatch" {
			t.Error(r)
		}
	})
	t.Run("case 54 a prompt cache does not move the weighted winner", func(t *testing.T) {
		p := planner(place{})
		p.Rand = script(0)
		c := mk("x", Weighted, "p/a", "p/b")
		for i := range c.Steps {
			c.Steps[i].Weight = 5
		}
		for _, key := range []string{"k1", "k2", "k3", "k4", "k5", "k6"} {
			plan, r := p.Plan(&c, &Request{Now: t0, CacheKey: key, CacheAffinity: true})
			if r != nil {
				t.Fatal(r)
			}
			wantModels(t, plan.Order, "p/a p/b")
		}
	})
	t.Run("a prompt cache moves what a strategy lets it", func(t *testing.T) {
		same := tgts("a", "b", "c", "d")
		for i := range same {
			same[i].Model = "p/same"
		}
		same[1].Model = "p/other"
		moved := false
		for _, key := range []string{"k1", "k2", "k3", "k4", "k5"} {
			fill, _ := Lookup("fill-first")
			got := withAffinity(fill, key, same)
			if got[0].Key != "a" || got[1].Key != "b" {
				t.Error(keys(got))
			}
			moved = moved || got[2].Key == "d"
			lk, _ := Lookup("lkgp")
			if got := withAffinity(lk, key, same); got[0].Key != "a" || len(got) != 4 {
				t.Error(keys(got))
			}
			rnd, _ := Lookup("random")
			if got := withAffinity(rnd, key, same); keys(got) != keys(byAffinity(key, same)) {
				t.Error(keys(got))
			}
			if got := withAffinity(rnd, "", same); keys(got) != "a b c d" {
				t.Error(keys(got))
			}
		}
		if !moved {
			t.Error("nothing ever moves")
		}
	})
	t.Run("cases 118 to 120 every weighted target is excluded", func(t *testing.T) {
		c := mk("x", Weighted, "p/a", "p/b")
		for _, k := range []struct {
			name   string
			live   func(x *Target) Live
			status int
			after  time.Duration
		}{
			{"case 118 model lockouts", func(*Target) Live {
				return Live{Exclusion: exclusion.Exclusion{Reason: exclusion.ModelLocked, Until: t0.Add(56500 * time.Millisecond)}}
			}, 503, 57 * time.Second},
			{"case 119 connection cooldowns", func(x *Target) Live {
				if x.Model == "p/a" {
					return Live{Exclusion: exclusion.Exclusion{Reason: exclusion.Cooling, Until: t0.Add(5 * time.Second)}}
				}
				return Live{Exclusion: exclusion.Exclusion{Reason: exclusion.Cooling, Until: t0.Add(9 * time.Second)}}
			}, 503, 5 * time.Second},
			{"case 119 rounded up", func(*Target) Live {
				return Live{Exclusion: exclusion.Exclusion{Reason: exclusion.Cooling, Until: t0.Add(1200 * time.Millisecond)}}
			}, 503, 2 * time.Second},
			{"a timer that has just run out", func(*Target) Live { return Live{Breaker: Open} }, 503, time.Second},
			{"case 120 unavailable", func(*Target) Live { return Live{Exclusion: exclusion.Exclusion{Reason: exclusion.Unavailable}} }, 404, 0},
			{"case 120 a mix", func(x *Target) Live {
				if x.Model == "p/a" {
					return Live{Exclusion: exclusion.Exclusion{Reason: exclusion.Unavailable}}
				}
				return Live{Exclusion: exclusion.Exclusion{Reason: exclusion.BreakerOpen, Until: t0.Add(time.Second)}}
			}, 503, time.Second},
		} {
			t.Run(k.name, func(t *testing.T) {
				p := planner(place{})
				p.Look = look(k.live)
				_, r := p.Plan(&c, &Request{Now: t0})
				if r == nil || r.Status != k.status || r.RetryAfter != k.after || len(r.Excluded) != 2 || r.Error() == "" {
					t.Fatalf("%+v", r)
				}
				if want := map[int]string{503: AllCoolingDown, 404: NoExecutable}[k.status]; r.Terminal != want {
					t.Error(r.Terminal)
				}
			})
		}
	})
	t.Run("nothing to run", func(t *testing.T) {
		c := mk("x", Priority)
		if _, r := planner(place{}).Plan(&c, &Request{Now: t0}); r == nil || r.Status != 404 || r.Terminal != NoExecutable || r.Code != "model_not_found" {
			t.Errorf("%+v", r)
		}
		p := planner(place{})
		p.Look = look(func(*Target) Live { return Live{Quota: weekly(1, day)} })
		c = mk("x", QuotaWeighted, "p/a")
		if _, r := p.Plan(&c, &Request{Now: t0}); r == nil || r.Status != 404 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("a reserved slot follows the first target, and is given back", func(t *testing.T) {
		w := place{accounts: map[string][]Account{"p": {{ID: "c1", Active: true}, {ID: "c2", Active: true}}}}
		p := planner(w)
		p.Look = look(func(*Target) Live {
			return Live{Quota: &Quota{At: t0, Weekly: Window{Known: true, Used: .5}}}
		})
		c := mk("x", QuotaWeighted, "p/a")
		for range 20 {
			Bind(p.State, t0, "s", "c2")
			plan, r := p.Plan(&c, &Request{Now: t0, Session: "s"})
			if r != nil {
				t.Fatal(r)
			}
			if plan.Order[0].Connection != "c2" || InFlight(p.State, t0, "c2") != 1 || InFlight(p.State, t0, "c1") != 0 {
				t.Fatal(models(plan.Order), InFlight(p.State, t0, "c1"), InFlight(p.State, t0, "c2"))
			}
			plan.Serve(t0, plan.Order[0], "", nil)
			plan.Abandon(t0) // a second end does nothing
			if InFlight(p.State, t0, "c2") != 0 {
				t.Fatal("the slot is kept")
			}
		}
		p.Look, p.Fixed = nil, facts(Facts{Vision: No})
		if _, r := p.Plan(&c, &Request{Now: t0, Needs: Needs{Vision: true}}); r == nil {
			t.Error("no refusal")
		}
		if InFlight(p.State, t0, "c1")+InFlight(p.State, t0, "c2") != 0 {
			t.Error("a refused request keeps a slot")
		}
	})
	t.Run("a session is bound on success and untied by its connection's failure", func(t *testing.T) {
		w := place{accounts: map[string][]Account{"p": {{ID: "c1", Active: true}, {ID: "c2", Active: true}}}}
		p := planner(w)
		c := mk("x", Headroom, "p/a")
		q := Request{Now: t0, Session: "s"}
		plan, _ := p.Plan(&c, &q)
		wantModels(t, plan.Order, "p/a@c1 p/a@c2")
		plan.Fail(plan.Order[0])
		plan.Serve(t0, plan.Order[1], "", nil)
		plan, _ = p.Plan(&c, &q)
		wantModels(t, plan.Order, "p/a@c2 p/a@c1")
		plan.Fail(plan.Order[0])
		plan.Abandon(t0)
		if Bound(p.State, t0, "s") != "" {
			t.Error("still bound")
		}
		plan, _ = p.Plan(&c, &q)
		plan.Serve(t0, of(Spec{Provider: "p"}), "c9", nil) // case 125a: named by the answer
		if Bound(p.State, t0, "s") != "c9" {
			t.Error(Bound(p.State, t0, "s"))
		}
	})
	t.Run("combos that choose by the task", func(t *testing.T) {
		p := planner(place{})
		table := NewTable(nil, nil)
		p.Fixed = func(s *Spec) { s.Facts = table.Of(s.Model) }
		for name, want := range map[string]string{"my tasks": "openai/o3 openai/gpt-3.5-turbo", "other": "openai/gpt-3.5-turbo openai/o3"} {
			c := mk(name, Priority, "openai/gpt-3.5-turbo", "openai/o3")
			plan, r := p.Plan(&c, &Request{Now: t0, Hints: Hints{Task: TaskCoding}})
			if r != nil {
				t.Fatal(r)
			}
			wantModels(t, plan.Order, want)
		}
	})
	t.Run("an auto name", func(t *testing.T) {
		n, _ := ParseAuto("auto/vision")
		w := place{
			models:   map[string][]string{"openai": {"gpt-5", "gpt-3.5-turbo"}},
			accounts: map[string][]Account{"openai": {{ID: "c1", Active: true}}},
		}
		p := planner(w)
		table := NewTable(nil, nil)
		p.Fixed = func(s *Spec) { s.Facts = table.Of(s.Model) }
		c := n.Combo([]string{"openai"})
		plan, r := p.Plan(&c, &Request{Now: t0, Auto: &n})
		if r != nil {
			t.Fatal(r)
		}
		wantModels(t, plan.Order, "openai/gpt-5@c1")
	})
	t.Run("a request that is too long", func(t *testing.T) {
		p := planner(place{})
		p.Fixed = facts(Facts{Context: 1000})
		c := mk("x", Priority, "p/a")
		if _, r := p.Plan(&c, &Request{Now: t0, Needs: Needs{InputTokens: 1001}}); r == nil || r.Code != "context_length_exceeded" {
			t.Error(r)
		}
		c.Config = map[string]any{"contextRequirements": map[string]any{"minContextWindow": 5000.0}}
		if _, r := p.Plan(&c, &Request{Now: t0}); r == nil || r.Terminal != ContextExhausted {
			t.Error(r)
		}
	})
}
