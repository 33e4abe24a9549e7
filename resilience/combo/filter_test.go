package combo

import (
	"breakwater/resilience/exclusion"
	"slices"
	"testing"
)

func TestExhaustion(t *testing.T) {
	at := func(p, c string) *Target { return of(Spec{Provider: p, Connection: c}) }
	for _, c := range []struct {
		name string
		f    Failure
		look *Target
		skip string
	}{
		{"case 104 quota", Failure{Target: at("p", "1"), Class: MarksProvider}, at("p", "2"), "provider"},
		{"quota counted by model", Failure{Target: at("p", "1"), Class: MarksProvider, PerModelQuota: true}, at("p", "1"), ""},
		{"case 105 a plain 429", Failure{Target: at("p", "1"), Class: MarksTransient}, at("p", "2"), ""},
		{"case 106 with a connection", Failure{Target: at("p", "1"), Class: MarksConnection, Status: 502}, at("p", "1"), "connection"},
		{"case 111 its sibling", Failure{Target: at("p", "1"), Class: MarksConnection, Status: 502}, at("p", "2"), ""},
		{"the connection from the answer", Failure{Target: at("p", ""), Connection: "1", Class: MarksConnection}, at("p", "1"), "connection"},
		{"… does not touch a target without one", Failure{Target: at("p", ""), Connection: "1", Class: MarksConnection}, at("p", ""), ""},
		{"case 106 without a connection", Failure{Target: at("p", ""), Class: MarksConnection, Status: 503}, at("p", "2"), "provider"},
		{"case 107 nothing", Failure{Target: at("p", "1"), Class: MarksNothing}, at("p", "1"), ""},
		{"case 109 an unknown provider", Failure{Target: at("unknown", "1"), Class: MarksProvider}, at("unknown", "1"), ""},
		{"case 109 no provider", Failure{Target: at("", "1"), Class: MarksConnection}, at("", "1"), ""},
		{"a 500 where quota is by model", Failure{Target: at("p", "1"), Class: MarksConnection, Status: 500, PerModelQuota: true}, at("p", "1"), ""},
		{"another provider", Failure{Target: at("p", "1"), Class: MarksProvider}, at("q", "1"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e Exhaustion
			e.Mark(c.f)
			reason, skip := e.Skip(c.look)
			if reason != c.skip || skip != (c.skip != "") {
				t.Errorf("%q %v, want %q", reason, skip, c.skip)
			}
		})
	}
	t.Run("a protected target is left for quota only", func(t *testing.T) {
		x := at("p", "1")
		if !MayLeave(x, []FailureClass{MarksConnection}) {
			t.Error("an ordinary one is kept")
		}
		x.Protected = true
		if MayLeave(x, []FailureClass{MarksProvider, MarksConnection}) || !MayLeave(x, []FailureClass{MarksProvider}) {
			t.Error("wrong")
		}
	})
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
	l := bareTargets([]*Spec{{Key: "a", Provider: "p"}, {Key: "b", Provider: "p", Connection: "c2"}, {Key: "c", Provider: "q"}, {Key: "d", Kind: KindRef}})
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
		own := bareTargets([]*Spec{{Key: "a", Provider: "p", Allowed: []string{"c2"}}, {Key: "x", Provider: "p"}})
		wantKeys(t, r.byTags(own, &Needs{Tags: []string{"eu"}}), "x")
	})
	with := func(set func(i int, f *Facts)) []*Target {
		l := tgts("a", "b", "c")
		for i := range l {
			set(i, &l[i].Facts)
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
		l[0].Facts.Context = 0
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
		l[2].Facts.MaxOutput = 100
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
		if r == nil || r.Status != 404 || r.Terminal != ContextExhausted || r.Excluded[0].Reason != exclusion.ContextRequirements {
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
