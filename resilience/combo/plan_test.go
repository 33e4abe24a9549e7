package combo

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// clinic is a Health of fixed answers.
type clinic struct {
	session, week float64
	loadErr       error
	condition     Condition
	conditionErr  error
}

func (c clinic) Load(string) (session, week float64, err error) { return c.session, c.week, c.loadErr }
func (c clinic) Condition(string) (Condition, error)            { return c.condition, c.conditionErr }

func TestSessionKey(t *testing.T) {
	t.Run("case 76 the same first user text is the same key", func(t *testing.T) {
		a := SessionKey(FirstUserText([]Message{{"user", "hello"}, {"assistant", "hi"}, {"user", "more"}}))
		b := SessionKey(FirstUserText([]Message{{"assistant", "welcome"}, {"user", "hello"}}))
		if a != b || len(a) != 16 || strings.Trim(a, "0123456789abcdef") != "" {
			t.Error(a, b)
		}
		if SessionKey("other") == a {
			t.Error("other text, same key")
		}
	})
	t.Run("case 75 no user text", func(t *testing.T) {
		if SessionKey(FirstUserText([]Message{{"system", "x"}})) != "" || SessionKey(" \n") != "" {
			t.Error("a key of nothing")
		}
	})
}

func TestStickiness(t *testing.T) {
	bound := func(name Name) (*Input, *Entry) {
		in := input(tgts("a", "b", "c"))
		in.Session = "s"
		Bind(in.State, t0, "s", "c-b")
		e, _ := Lookup(string(name))
		return in, e
	}
	stick := func(in *Input, e *Entry, h Health) string { return keys(in.stick(e, h, in.Targets)) }
	t.Run("case 73 headroom .16 and .10", func(t *testing.T) {
		for left, want := range map[float64]string{.16: "b a c", .15: "a b c", .10: "a b c"} {
			in, e := bound(Random)
			if got := stick(in, e, clinic{session: 1 - left, week: .1}); got != want {
				t.Errorf("%v: %s", left, got)
			}
			if kept := Bound(in.State, t0, "s") != ""; kept != (want == "b a c") {
				t.Errorf("%v: binding kept %v", left, kept)
			}
		}
	})
	t.Run("case 74 the condition of the account", func(t *testing.T) {
		for _, c := range []struct {
			name string
			c    Condition
			err  error
			want string
		}{
			{"terminal", Condition{Terminal: true}, nil, "a b c"},
			{"exhausted", Condition{Exhausted: true}, nil, "a b c"},
			{"limited", Condition{LimitedUntil: t0.Add(time.Second)}, nil, "a b c"},
			{"limited before", Condition{LimitedUntil: t0.Add(-time.Second)}, nil, "b a c"},
			{"unknown", Condition{Terminal: true}, errors.New("lookup"), "b a c"},
		} {
			in, e := bound(Random)
			if got := stick(in, e, clinic{condition: c.c, conditionErr: c.err}); got != c.want {
				t.Errorf("%s: %s", c.name, got)
			}
		}
		in, e := bound(Random)
		if got := stick(in, e, clinic{loadErr: errors.New("lookup")}); got != "a b c" || Bound(in.State, t0, "s") == "" {
			t.Error("a failed look at the load changes something", got)
		}
		if got := stick(in, e, nil); got != "b a c" {
			t.Error(got)
		}
	})
	t.Run("case 75 one target, or no session", func(t *testing.T) {
		in, e := bound(Random)
		in.Targets = in.Targets[1:2]
		if got := stick(in, e, clinic{session: 1}); got != "b" || Bound(in.State, t0, "s") == "" {
			t.Error(got)
		}
		in, e = bound(Random)
		in.Session = ""
		if got := stick(in, e, nil); got != "a b c" {
			t.Error(got)
		}
	})
	t.Run("strategies", func(t *testing.T) {
		for name, want := range map[Name]string{Priority: "a b c", RoundRobin: "b c a", CacheOptimized: "a b c", Auto: "b a c", FillFirst: "a b c", Weighted: "a b c"} {
			in, e := bound(name) // every target has a model of its own
			if got := stick(in, e, nil); got != want {
				t.Errorf("%s: %s", name, got)
			}
		}
		in, e := bound(FillFirst)
		for i := range in.Targets {
			in.Targets[i].Model = "p/same"
		}
		if got := stick(in, e, nil); got != "b a c" {
			t.Error(got)
		}
	})
	t.Run("15 minutes from the last use, switched off, and gone", func(t *testing.T) {
		in, e := bound(Random)
		in.Now = t0.Add(15*time.Minute + 1)
		if got := stick(in, e, nil); got != "a b c" || Bound(in.State, in.Now, "s") != "" {
			t.Error(got)
		}
		in, e = bound(Random)
		Bind(in.State, t0, "s", "gone")
		if got := stick(in, e, nil); got != "a b c" {
			t.Error(got)
		}
		in, e = bound(Random)
		in.Config.DisableSessionStickiness = true
		if got := stick(in, e, nil); got != "a b c" || Bound(in.State, t0, "s") != "" {
			t.Error(got)
		}
	})
	t.Run("ties", func(t *testing.T) {
		st := NewMemory()
		Bind(st, t0, "", "c")
		Bind(st, t0, "s", "")
		if st.Len("session") != 0 {
			t.Error("a tie without ends")
		}
		Bind(st, t0, "s", "c")
		Unbind(st, "s", "other")
		if Bound(st, t0, "s") != "c" {
			t.Error("untied by another connection's failure")
		}
		Unbind(st, "s", "c")
		if Bound(st, t0, "s") != "" {
			t.Error("still tied")
		}
		for i := range 600 {
			Bind(st, t0, strings.Repeat("x", i+1), "c")
		}
		if n := st.Len("session"); n != 500 {
			t.Error(n)
		}
	})
}

func TestFailureStreak(t *testing.T) {
	t.Run("case 121 cleared once a streak, others keep theirs", func(t *testing.T) {
		st := NewMemory()
		for i, want := range []bool{false, false, true, false, false} {
			if got := CountFailure(st, t0, "s", "c"); got != want {
				t.Errorf("failure %d: %v", i+1, got)
			}
		}
		if CountFailure(st, t0, "other", "c") || CountFailure(st, t0, "s", "d") || CountFailure(st, t0, "", "c") {
			t.Error("another's")
		}
		CountSuccess(st, "s", "c")
		CountFailure(st, t0, "s", "c")
		CountFailure(st, t0, "s", "c")
		if CountFailure(st, t0.Add(6*time.Minute), "s", "c") {
			t.Error("a streak outlives five minutes")
		}
	})
}

func TestExhaustion(t *testing.T) {
	at := func(p, c string) *Target { return &Target{Provider: p, Connection: c} }
	for _, c := range []struct {
		name string
		f    Failure
		look *Target
		skip string
		soft bool
	}{
		{"case 104 quota", Failure{Target: at("p", "1"), Class: MarksProvider}, at("p", "2"), "provider", false},
		{"quota counted by model", Failure{Target: at("p", "1"), Class: MarksProvider, PerModelQuota: true}, at("p", "1"), "", false},
		{"case 105 a plain 429", Failure{Target: at("p", "1"), Class: MarksTransient}, at("p", "2"), "", true},
		{"case 106 with a connection", Failure{Target: at("p", "1"), Class: MarksConnection, Status: 502}, at("p", "1"), "connection", false},
		{"case 111 its sibling", Failure{Target: at("p", "1"), Class: MarksConnection, Status: 502}, at("p", "2"), "", false},
		{"the connection from the answer", Failure{Target: at("p", ""), Connection: "1", Class: MarksConnection}, at("p", "1"), "connection", false},
		{"… does not touch a target without one", Failure{Target: at("p", ""), Connection: "1", Class: MarksConnection}, at("p", ""), "", false},
		{"case 106 without a connection", Failure{Target: at("p", ""), Class: MarksConnection, Status: 503}, at("p", "2"), "provider", false},
		{"case 107 nothing", Failure{Target: at("p", "1"), Class: MarksNothing}, at("p", "1"), "", false},
		{"case 109 an unknown provider", Failure{Target: at("unknown", "1"), Class: MarksProvider}, at("unknown", "1"), "", false},
		{"case 109 no provider", Failure{Target: at("", "1"), Class: MarksConnection}, at("", "1"), "", false},
		{"a 500 where quota is by model", Failure{Target: at("p", "1"), Class: MarksConnection, Status: 500, PerModelQuota: true}, at("p", "1"), "", false},
		{"another provider", Failure{Target: at("p", "1"), Class: MarksProvider}, at("q", "1"), "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e Exhaustion
			e.Mark(c.f)
			reason, skip := e.Skip(c.look)
			if reason != c.skip || skip != (c.skip != "") || e.AllowLimited(c.look) != c.soft {
				t.Errorf("%q %v, limited allowed %v", reason, skip, e.AllowLimited(c.look))
			}
		})
	}
	t.Run("case 110 the connection's reason first", func(t *testing.T) {
		var e Exhaustion
		x := at("p", "1")
		e.Mark(Failure{Target: x, Class: MarksProvider})
		e.Mark(Failure{Target: x, Class: MarksConnection, Status: 502})
		if reason, _ := e.Skip(x); reason != "connection" {
			t.Error(reason)
		}
	})
}

func TestFilters(t *testing.T) {
	w := place{accounts: map[string][]Account{"p": {{ID: "c1", Tags: []string{"EU ", "paid"}}, {ID: "c2", Tags: []string{"us"}}}, "q": {{ID: "c3"}}}}
	r := Resolver{World: w}
	l := []*Target{{Key: "a", Provider: "p"}, {Key: "b", Provider: "p", Connection: "c2"}, {Key: "c", Provider: "q"}, {Key: "d", Kind: KindRef}}
	t.Run("tags", func(t *testing.T) {
		got := r.byTags(l, &Needs{Tags: ReadTags(" eu, PAID,eu,, ")})
		wantKeys(t, got, "a d")
		if !slices.Equal(got[0].Allowed, []string{"c1"}) {
			t.Error(got[0].Allowed)
		}
		wantKeys(t, r.byTags(l, &Needs{Tags: ReadTags([]any{"us", "eu", 5.0})}), "a b d")
		wantKeys(t, r.byTags(l[:3], &Needs{Tags: []string{"us", "eu"}, AllTags: true}), "a b c") // fails open
		wantKeys(t, r.byTags(l, &Needs{Tags: []string{"eu", "paid"}, AllTags: true}), "a d")
		wantKeys(t, r.byTags(l, &Needs{}), "a b c d")
		own := []*Target{{Key: "a", Provider: "p", Allowed: []string{"c2"}}, {Key: "x", Provider: "p"}}
		wantKeys(t, r.byTags(own, &Needs{Tags: []string{"eu"}}), "x")
	})
	with := func(set func(i int, f *Facts)) []*Target {
		l := tgts("a", "b", "c")
		for i := range l {
			set(i, &l[i].Live.Facts)
		}
		return l
	}
	t.Run("context overflow", func(t *testing.T) {
		l := with(func(i int, f *Facts) { f.Context = int64(i+1) * 1000 })
		if r := overflows(l, &Needs{InputTokens: 2500, OutputTokens: 501}); r == nil || r.Status != 400 || r.Code != "context_length_exceeded" {
			t.Error(r)
		}
		if r := overflows(l, &Needs{InputTokens: 2500, OutputTokens: 500}); r != nil {
			t.Error(r)
		}
		l[0].Live.Facts.Context = 0
		if r := overflows(l, &Needs{InputTokens: 99_999}); r != nil {
			t.Error(r)
		}
	})
	t.Run("abilities", func(t *testing.T) {
		l := with(func(i int, f *Facts) { f.Tools, f.Vision, f.Schema = Known(i), Known(i), Known(i) }) // unknown, yes, no
		for _, x := range []struct {
			need Needs
			want string
		}{
			{Needs{Tools: true}, "a b"}, {Needs{Vision: true}, "b"}, {Needs{Schema: true}, "a b"}, {Needs{}, "a b c"},
		} {
			kept, _, r := capable(l, &x.need, false)
			if r != nil {
				t.Error(r)
			}
			wantKeys(t, kept, x.want)
		}
		n := Needs{Vision: true}
		if _, rejected, r := capable(l[:1], &n, false); r == nil || r.Code != "capability_mismatch" || len(rejected) != 1 {
			t.Error(r)
		}
		if kept, _, r := capable(l[:1], &n, true); r != nil || len(kept) != 1 {
			t.Error(r)
		}
	})
	t.Run("room", func(t *testing.T) {
		l := with(func(i int, f *Facts) { f.Context = []int64{1000, 0, 9000}[i] })
		wantKeys(t, roomy(l, &Needs{InputTokens: 500}), "a b c")
		wantKeys(t, roomy(l, &Needs{InputTokens: 5000}), "c b")
		wantKeys(t, roomy(l[:1], &Needs{InputTokens: 5000}), "a")
		l[2].Live.Facts.MaxOutput = 100
		wantKeys(t, roomy(l, &Needs{OutputTokens: 500}), "a b")
	})
	t.Run("the combo's own requirements", func(t *testing.T) {
		l := with(func(i int, f *Facts) { f.Context = []int64{1000, 0, 9000}[i] })
		for _, c := range []struct {
			req  ContextRequirements
			from []*Target
			want string
		}{
			{ContextRequirements{}, l, "a b c"},
			{ContextRequirements{MinWindow: 5000}, l, "b c"},
			{ContextRequirements{MinWindow: 5000, Mode: "strict"}, l, "c"},
			{ContextRequirements{MinWindow: 5000, Mode: "strict"}, l[:2], "b"},
			{ContextRequirements{PreferLarge: true}, l, "c a b"},
		} {
			got, r := c.req.require(c.from)
			if r != nil {
				t.Error(r)
			}
			wantKeys(t, got, c.want)
		}
		_, r := (&ContextRequirements{MinWindow: 5000}).require(l[:1])
		if r == nil || r.Status != 404 || r.Terminal != ContextExhausted || r.Excluded[0].Reason != ContextRequired {
			t.Errorf("%+v", r)
		}
	})
	t.Run("evaluations", func(t *testing.T) {
		e := &EvalRouting{MaxAgeHours: 720, MinCases: 2, QualityWeight: .85, LatencyWeight: .15}
		scores := map[string]EvalScore{
			"p/a": {Quality: .5, Cases: 5}, "p/b": {Quality: .4, Latency: 1, Cases: 2}, "p/c": {Quality: 1, Cases: 1},
		}
		wantKeys(t, e.byEval(tgts("a", "b", "c", "d"), scores), "b a c d")
		wantKeys(t, (*EvalRouting)(nil).byEval(tgts("a", "b"), scores), "a b")
	})
}

func TestPlan(t *testing.T) {
	t.Run("case 72 a round-robin target that seems unable is a last resort", func(t *testing.T) {
		p := planner(place{})
		p.Look = look(func(x *Target) Live {
			if x.Model == "p/b" {
				return Live{Facts: Facts{Tools: No}}
			}
			return Live{Hold: Unavailable}
		})
		c := mk("x", RoundRobin, "p/a", "p/b", "p/c")
		plan, r := p.Plan(&c, &Request{Now: t0, Needs: Needs{Tools: true}})
		if r != nil {
			t.Fatal(r)
		}
		wantModels(t, plan.Order, "p/a p/c")
		wantModels(t, plan.LastResort, "p/b")
		p.Look = look(func(*Target) Live { return Live{Facts: Facts{Tools: No}} })
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
			{"case 118 model lockouts", func(*Target) Live { return Live{Hold: ModelLockout, Until: t0.Add(56500 * time.Millisecond)} }, 503, 57 * time.Second},
			{"case 119 connection cooldowns", func(x *Target) Live {
				if x.Model == "p/a" {
					return Live{Hold: ConnectionCooldown, Until: t0.Add(5 * time.Second)}
				}
				return Live{Hold: ConnectionCooldown, Until: t0.Add(9 * time.Second)}
			}, 503, 5 * time.Second},
			{"case 119 rounded up", func(*Target) Live { return Live{Hold: ConnectionCooldown, Until: t0.Add(1200 * time.Millisecond)} }, 503, 2 * time.Second},
			{"a timer that has just run out", func(*Target) Live { return Live{Breaker: Open} }, 503, time.Second},
			{"case 120 unavailable", func(*Target) Live { return Live{Hold: Unavailable} }, 404, 0},
			{"case 120 a mix", func(x *Target) Live {
				if x.Model == "p/a" {
					return Live{Hold: Unavailable}
				}
				return Live{Hold: CircuitOpen, Until: t0.Add(time.Second)}
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
			return Live{Quota: Quota{Known: true, At: t0, Weekly: Window{Known: true, Used: .5}}}
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
		p.Look = look(func(*Target) Live { return Live{Facts: Facts{Vision: No}} })
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
		plan.Serve(t0, &Target{Provider: "p"}, "c9", nil) // case 125a: named by the answer
		if Bound(p.State, t0, "s") != "c9" {
			t.Error(Bound(p.State, t0, "s"))
		}
	})
	t.Run("combos that choose by the task", func(t *testing.T) {
		p := planner(place{})
		table := NewTable(nil)
		p.Look = look(func(x *Target) Live { return Live{Facts: table.Of(x.Model)} })
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
		table := NewTable(nil)
		p.Look = look(func(x *Target) Live { return Live{Facts: table.Of(x.Model)} })
		c := n.Combo([]string{"openai"})
		plan, r := p.Plan(&c, &Request{Now: t0, Auto: &n})
		if r != nil {
			t.Fatal(r)
		}
		wantModels(t, plan.Order, "openai/gpt-5@c1")
	})
	t.Run("a request that is too long", func(t *testing.T) {
		p := planner(place{})
		p.Look = look(func(*Target) Live { return Live{Facts: Facts{Context: 1000}} })
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

func TestWalk(t *testing.T) {
	exec := map[string]any{"nestedComboMode": "execute"}
	w := place{combos: map[string]*Combo{}}
	put := func(name string, s Name, steps ...string) *Combo {
		c := mk(name, s, steps...)
		c.Config = exec
		w.combos[name] = &c
		return &c
	}
	p := planner(w)
	walk := func(t *testing.T, c *Combo) *Walk {
		t.Helper()
		q := Request{Now: t0, Session: "s"}
		plan, r := p.Plan(c, &q)
		if r != nil {
			t.Fatal(r)
		}
		return p.Walk(plan, q)
	}
	all := func(wk *Walk) string {
		var got []string
		for {
			x, r, ok := wk.Next()
			switch {
			case !ok:
				return strings.Join(got, " ")
			case r != nil:
				got = append(got, "refused:"+x.Combo)
			default:
				got = append(got, x.Model)
				wk.Fail(x)
			}
		}
	}
	put("inner", LKGP, "p/a", "p/b")
	outer := put("outer", RoundRobin, "p/1", "inner", "p/2")
	// lkgp cannot hold a black box itself but is one here.
	wk := walk(t, outer)
	if got := all(wk); got != "p/1 p/a p/b p/2" {
		t.Error(got)
	}
	wk.Abandon(t0)
	t.Run("a success is learned on every level", func(t *testing.T) {
		wk := walk(t, outer) // the second turn starts at inner
		x, _, _ := wk.Next()
		wk.Fail(x)
		x, _, _ = wk.Next()
		if x.Model != "p/b" {
			t.Fatal(x.Model)
		}
		wk.Serve(t0, x, "c7", nil)
		if g, ok := LastGood(p.State, "inner", "inner"); !ok || g.Connection != "c7" {
			t.Error(g, ok)
		}
		if Bound(p.State, t0, "s") != "c7" {
			t.Error(Bound(p.State, t0, "s"))
		}
		wk = walk(t, outer)
		if x, _, _ := wk.Next(); x.Model != "p/2" {
			t.Error("the parent did not move on", x.Model)
		}
		wk.Abandon(t0)
	})
	t.Run("a circle, too much depth, and a combo that is gone", func(t *testing.T) {
		a := put("a", Priority, "b", "p/1")
		put("b", Priority, "a", "p/2")
		wk := walk(t, a)
		if got := all(wk); got != "refused:a p/2 p/1" {
			t.Error(got)
		}
		put("d4", Priority, "p/4")
		put("d3", Priority, "d4", "p/3")
		put("d2", Priority, "d3", "p/2")
		d1 := put("d1", Priority, "d2", "p/1")
		wk = walk(t, d1)
		if got := all(wk); got != "refused:d4 p/3 p/2 p/1" {
			t.Error(got)
		}
		put("empty", Priority)
		wk = walk(t, put("g", Priority, "empty", "d3", "p/9"))
		delete(w.combos, "d3")
		if got := all(wk); got != "refused:empty refused:d3 p/9" {
			t.Error(got)
		}
	})
	t.Run("the message names the reason", func(t *testing.T) {
		for _, c := range []struct {
			err  NestError
			want string
		}{{NestError{Cycle: true, path: []string{"a", "b", "a"}}, "circular"}, {NestError{path: []string{"a"}}, "maximum nesting"}} {
			if !strings.Contains(c.err.Error(), c.want) {
				t.Error(c.err.Error())
			}
		}
	})
}
