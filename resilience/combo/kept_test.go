package combo

import (
	"breakwater/resilience/exclusion"
	"slices"
	"testing"
	"time"
)

func TestKeptPlans(t *testing.T) {
	w := place{
		models:   map[string][]string{"p": {"a", "b"}},
		accounts: map[string][]Account{"p": {{ID: "one", Active: true, Tags: []string{"eu"}}, {ID: "two", Active: true}}},
	}
	fixed := 0
	p := planner(w)
	p.Kept = &Kept{}
	p.Fixed = func(s *Spec) {
		fixed++
		s.Data, s.MaxConcurrent = "data of "+s.Model, 3
	}
	p.Look = func(now time.Time, x *Target) {
		if !now.Equal(t0) || x.Data != "data of "+x.Model || x.MaxConcurrent != 3 {
			t.Errorf("Look sees %v, %v, %v", now, x.Data, x.MaxConcurrent)
		}
		x.Live.Reason, x.Live.InFlight = exclusion.Exhausted, x.Live.InFlight+1
	}
	c := mk("x", P2C, "p/*")
	for range 3 { // what Look wrote must not stay
		plan, r := p.Plan(&c, &Request{Now: t0})
		if r != nil || len(plan.Order) != 2 || plan.Order[0].Live.InFlight != 1 || plan.Order[0].Usage().Requests != 0 {
			t.Fatalf("%+v, %v", plan, r)
		}
	}
	if fixed != 2 || p.Size(&c) != 2 {
		t.Errorf("fixed %d targets, size %d", fixed, p.Size(&c))
	}
	w.models["p"] = []string{"a", "b", "c"}
	if p.Size(&c) != 2 {
		t.Error("nothing was kept")
	}
	p.Kept = &Kept{}
	if p.Size(&c) != 3 {
		t.Error("the old plan outlived a new Kept")
	}
	t.Run("a caller's own connections are no part of what is kept", func(t *testing.T) {
		c := mk("y", Headroom, "p/a")
		plan, r := p.Plan(&c, &Request{Now: t0, Allowed: []string{"two"}})
		if r != nil {
			t.Fatal(r)
		}
		wantModels(t, plan.Order, "p/a@two")
		if plan, r = p.Plan(&c, &Request{Now: t0}); r != nil || len(plan.Order) != 2 {
			t.Error("the others see it", r)
		}
		plan, r = p.Plan(&c, &Request{Now: t0, Allowed: []string{"two"}, Needs: Needs{Tags: []string{"eu"}}})
		if r != nil {
			t.Fatal(r)
		}
		wantModels(t, plan.Order, "p/a@two") // tags that would leave nothing are ignored
	})
	t.Run("what a combo counted of its targets is looked at", func(t *testing.T) {
		p.Look = nil
		Count(p.State, t0, "x", p.fixedKey(&c, 1), time.Second, true)
		plan, r := p.Plan(&c, &Request{Now: t0})
		if r != nil {
			t.Fatal(r)
		}
		i := slices.IndexFunc(plan.Order, func(x *Target) bool { return x.Usage().Requests == 1 })
		if i < 0 || plan.Order[i].Model != "p/b" || plan.Order[i].Usage().Latency != time.Second {
			t.Errorf("counted on %d", i)
		}
	})
	t.Run("auto knows the session's connection", func(t *testing.T) {
		Bind(p.State, t0, "s", "two")
		c := mk("z", Auto, "p/a")
		plan, r := p.Plan(&c, &Request{Now: t0, Session: "s"})
		if r != nil {
			t.Fatal(r)
		}
		for _, x := range plan.Order {
			if want := map[string]SessionTie{"one": OtherAccount, "two": SameAccount}[x.Connection]; x.Live.Session != want {
				t.Errorf("%s is tied %d, want %d", x.Connection, x.Live.Session, want)
			}
		}
	})
}

// fixedKey is the execution key of a combo's i-th target.
func (p *Planner) fixedKey(c *Combo, i int) string { return p.prepare(c, &Request{}).specs[i].Key }

func TestAutoCombosFilterByTheirName(t *testing.T) {
	p := planner(place{models: map[string][]string{"p": {"blind", "seeing"}}})
	p.Fixed = func(s *Spec) {
		if s.Model == "p/seeing" {
			s.Facts.Vision = Yes
		}
	}
	n, _ := ParseAuto("auto/vision")
	c := n.Combo([]string{"p"})
	plan, r := p.Plan(&c, &Request{Now: t0})
	if r != nil {
		t.Fatal(r)
	}
	wantModels(t, plan.Order, "p/seeing")
}

func TestCountedLatenciesGrowOld(t *testing.T) {
	st := NewState()
	for i := range 12 {
		Count(st, t0, "c", "k", time.Duration(i+1)*time.Second, i%2 == 0)
	}
	u := UsageOf(st, t0, "c", "k")
	if u.Requests != 12 || u.Successes != 6 || u.Samples != 12 || !u.Telemetry || u.P95 != 12*time.Second {
		t.Errorf("%+v", u)
	}
	Count(st, t0.Add(time.Second), "c", "k", 99*time.Second, true)
	if u = UsageOf(st, t0.Add(time.Second), "c", "k"); u.Requests != 13 || u.Samples != 13 || u.P95 != 99*time.Second {
		t.Errorf("a further one is not seen at once: %+v", u)
	}
	if u = UsageOf(st, t0.Add(25*time.Hour), "c", "k"); u.Requests != 13 || u.Samples != 0 || u.Telemetry || u.Latency != 0 {
		t.Errorf("a day later %+v", u)
	}
	if u = UsageOf(st, t0.Add(-time.Hour), "c", "k"); u.Samples != 13 {
		t.Errorf("with the clock set back %+v", u)
	}
}

func TestWatchGoodTellsOfChanges(t *testing.T) {
	var told []Good
	st := NewState()
	st.WatchGood(func(name, id string, g Good) {
		if name != "My combo" || id != "id" {
			t.Errorf("told of %q %q", name, id)
		}
		told = append(told, g)
	})
	SetGood(st, "My combo", "id", Good{"p", "one"})
	SetGood(st, "My combo", "id", Good{"p", "one"})
	SetGood(st, "My combo", "id", Good{"p", "two"})
	if g, ok := LastGood(st, "My combo", "id"); !ok || g.Connection != "two" {
		t.Errorf("%+v, %v", g, ok)
	}
	Bind(st, t0, "s", "one") // another space
	e, _ := Lookup(string(LKGP))
	e.Done(&Result{Combo: "My combo", ComboID: "id", State: st, Failed: tgts("a")})
	if want := []Good{{"p", "one"}, {"p", "two"}, {}}; !slices.Equal(told, want) {
		t.Errorf("told %+v, want %+v", told, want)
	}
}
