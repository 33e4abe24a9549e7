package combo

import (
	"math"
	"strings"
	"testing"
	"time"
)

func price(in, out float64) Price { return Price{Known: true, Input: in, Output: out, HasOutput: true} }

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestWeights(t *testing.T) {
	t.Run("case 84 named weights", func(t *testing.T) {
		w := NamedWeights(map[string]float64{"health": .2, "cacheAffinity": .5})
		for i, x := range w {
			want := map[factor]float64{fHealth: 2.0 / 7, fCacheAffinity: 5.0 / 7}[factor(i)]
			if !near(x, want) {
				t.Errorf("%s = %v", factorNames[i], x)
			}
		}
	})
	t.Run("16 factors, defaults and packs sum to 1 or nearly", func(t *testing.T) {
		if len(FactorNames()) != 16 {
			t.Error(len(FactorNames()))
		}
		for name, w := range map[string]Weights{"defaults": DefaultWeights, ShipFast: packs[ShipFast], ChaosMode: packs[ChaosMode]} {
			sum := 0.0
			for _, x := range w {
				sum += x
			}
			if math.Abs(sum-1) > .05 {
				t.Errorf("%s sums to %v", name, sum)
			}
		}
	})
	t.Run("negative, NaN and nothing", func(t *testing.T) {
		w := NormalizeWeights(Weights{fHealth: -1, fQuota: math.NaN(), fCostInv: 2, fQuality: math.Inf(1)})
		if !near(w[fCostInv], 1) || w[fHealth] != 0 || w[fQuota] != 0 || w[fQuality] != 0 {
			t.Error(w)
		}
		if NormalizeWeights(Weights{}) != NormalizeWeights(DefaultWeights) {
			t.Error("nothing is not the defaults")
		}
	})
	t.Run("mode before weights before pack", func(t *testing.T) {
		a := AutoConfig{Weights: map[string]float64{"health": 1}, ModePack: CostSaver}
		if a.weights("")[fHealth] != 1 || *a.weights(balanced) != NormalizeWeights(DefaultWeights) || *a.weights(ShipFast) != NormalizeWeights(packs[ShipFast]) {
			t.Error("wrong order")
		}
		a.Weights = nil
		if *a.weights("") != NormalizeWeights(packs[CostSaver]) {
			t.Error("the pack is not used")
		}
		a.ModePack = "nonsense"
		if *a.weights("") != NormalizeWeights(DefaultWeights) {
			t.Error("an unknown pack is no default")
		}
	})
	t.Run("the budget header", func(t *testing.T) {
		for word, want := range map[string]float64{"0.05": .05, " 2 ": 2, "0": 0, "-1": 0, "cheap": 0, "NaN": 0, "": 0} {
			if got := ParseBudget(word); got != want {
				t.Errorf("%q: %v", word, got)
			}
		}
	})
	t.Run("the header's words", func(t *testing.T) {
		for word, want := range map[string]string{
			"Fast": ShipFast, "speed": ShipFast, "best": QualityFirst, "saver": CostSaver, "reliable": ReliabilityFirst,
			" offline ": OfflineFriendly, "default": balanced, "turbo": "",
		} {
			if got := ParseMode(word); got != want {
				t.Errorf("%s: %s", word, got)
			}
		}
	})
}

func factorsFor(targets []*Target, h Hints) []Factors {
	pool := make([]candidate, len(targets))
	for i := range targets {
		pool[i] = candidate{at: i, t: targets[i]}
	}
	b := boundsOf(pool)
	out := make([]Factors, len(pool))
	for i := range pool {
		out[i] = factorsOf(&pool[i], &b, &h, t0)
	}
	return out
}

func TestFactors(t *testing.T) {
	t.Run("case 85 everything stays within 0 and 1", func(t *testing.T) {
		l := make([]*Target, 1000)
		for i := range l {
			l[i] = tgt("x")
		}
		l[0].Live.Quality, l[0].Live.CacheAffinity = new(math.NaN()), new(5.0)
		l[0].Facts.Price = price(-100, -100)
		l[1].Facts.Price = price(3, 3)
		for _, f := range factorsFor(l, Hints{}) {
			w := DefaultWeights
			w[fCacheAffinity] = 9
			for i, x := range f {
				if !(x >= 0 && x <= 1) {
					t.Fatalf("%s = %v", factorNames[i], x)
				}
			}
			if s := f.score(&w, &AccountFacts{}); !(s >= 0 && s <= 1) {
				t.Fatal(s)
			}
		}
	})
	t.Run("case 89 price $3 in, $15 out", func(t *testing.T) {
		if a, b := price(3, 15).Blended(), price(5, 5).Blended(); !near(a, 7.8) || !near(b, 5) || a < b {
			t.Error(a, b)
		}
		if p := (Price{Known: true, Input: 3}); p.Blended() != 3 {
			t.Error("a missing output price counts")
		}
		if p := price(3, 0); !near(p.Blended(), 1.8) {
			t.Error("an output price of 0 does not count")
		}
	})
	t.Run("the values", func(t *testing.T) {
		a, b := tgt("a"), tgt("b")
		a.Live = Live{
			Breaker: Degraded, Quota: weekly(.25, 84*time.Hour), InFlight: 1,
			Usage:   &Usage{P95: 3 * time.Second, StdDev: time.Second, Telemetry: true, Requests: 10, Successes: 9},
			Account: AccountFacts{ResetAt: t0.Add(15 * day)}, Session: SameAccount,
		}
		a.Facts, a.Tier, a.MaxConcurrent = Facts{Price: price(10, 10), Tier: PremiumTier, Reasoning: true}, "pro", 4
		b.Facts, b.Tier = Facts{Price: price(0, 0), Tier: FreeTier}, "free"
		b.Live = Live{Breaker: HalfOpen, Session: OtherAccount}
		f := factorsFor([]*Target{a, b}, Hints{Task: TaskCoding, Tier: CheapTier, Specificity: 60, HasSpecificity: true})
		for i, want := range map[factor][2]float64{
			fQuota: {.75, 1}, fHealth: {.75, .5}, fCostInv: {0, 1}, fLatencyInv: {0, .5}, fTaskFit: {.92, .5},
			fStability: {0, 1}, fTierPriority: {.8*.67 + .1, 0}, fTierAffinity: {.7, .7}, fSpecificity: {.9, .2},
			fContextAffinity: {1, .1}, fSessionAvailability: {.75, 1}, fDensity: {.1, .1}, fQuality: {.5, .5},
			fCacheAffinity: {0, 0}, fResetWindow: {.5, .5}, fReliability: {.9, .95},
		} {
			for j := range f {
				if !near(f[j][i], want[j]) {
					t.Errorf("%s of %d = %v, want %v", factorNames[i], j, f[j][i], want[j])
				}
			}
		}
	})
	t.Run("soft penalties multiply", func(t *testing.T) {
		f := Factors{fHealth: 1}
		w := Weights{fHealth: 1}
		if s := f.score(&w, &AccountFacts{SoftQuota: true, BadStatus: true}); !near(s, .35) {
			t.Error(s)
		}
	})
	t.Run("tiers and specificity", func(t *testing.T) {
		for _, c := range []struct {
			hint, tier string
			want       float64
		}{{"", FreeTier, .5}, {FreeTier, FreeTier, 1}, {FreeTier, CheapTier, .7}, {PremiumTier, CheapTier, .7}, {FreeTier, PremiumTier, .3}, {FreeTier, "", .5}} {
			if got := tierAffinity(c.hint, c.tier); got != c.want {
				t.Errorf("%+v: %v", c, got)
			}
		}
		for _, c := range []struct {
			s    float64
			tier string
			want float64
		}{{15, FreeTier, .9}, {16, FreeTier, .2}, {15, CheapTier, .4}, {50, CheapTier, .9}, {50, PremiumTier, .3}, {51, PremiumTier, .9}, {9, "", .5}} {
			if got := specificity(&Hints{Specificity: c.s, HasSpecificity: true}, c.tier); got != c.want {
				t.Errorf("%+v: %v", c, got)
			}
		}
		if got := tierPriority("ultra", t0.Add(-time.Hour), t0); got != 1 {
			t.Error(got)
		}
	})
}

func TestTaskFit(t *testing.T) {
	for _, c := range []struct {
		model string
		f     Facts
		task  string
		own   map[string]float64
		want  float64
	}{
		{"p/m", Facts{Reasoning: true}, TaskAnalysis, nil, .95},
		{"p/m", Facts{Tools: Yes, Context: 128_000}, TaskDebugging, nil, .82},
		{"p/m", Facts{Tools: Yes, Context: 8000}, TaskDocs, nil, .80},
		{"p/m", Facts{Context: 8000}, "poetry", nil, .55},
		{"p/super-coder-fast", Facts{}, TaskCoding, nil, .8},
		{"p/x-thinking", Facts{}, TaskPlanning, nil, .6},
		{"p/x", Facts{}, TaskDefault, nil, .5},
		{"p/x-free", Facts{Reasoning: true}, TaskCoding, map[string]float64{"x": .4}, .4},
		{"p/x", Facts{}, TaskCoding, map[string]float64{"p/x": 3}, 1},
	} {
		if got := TaskFit(c.own, c.model, &c.f, c.task); !near(got, c.want) {
			t.Errorf("%+v: %v", c, got)
		}
	}
	for text, want := range map[string]string{
		"short": TaskDefault, "please refactor this Function": TaskCoding, "prove that there are infinitely many primes": TaskAnalysis,
		"tell me about your day please": TaskDefault,
	} {
		if got := TaskOf(text); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestAuto(t *testing.T) {
	t.Run("case 86 no exploration during an incident", func(t *testing.T) {
		in := input(tgts("a", "b", "c"))
		in.Config.Auto.ExplorationRate = 1
		in.Rand = script(0)
		in.Targets[0].Live.Breaker, in.Targets[1].Live.Breaker = Open, Open
		wantKeys(t, order(t, Auto, in), "c a b")
		calm := input(tgts("a", "b", "c"))
		calm.Config.Auto.ExplorationRate = 1
		calm.Targets[2].Facts.Reasoning = true
		calm.Rand = script(0, .99)
		if got := order(t, Auto, calm); got[0].Key == "c" {
			t.Error("nothing is explored")
		}
	})
	t.Run("case 87 a pool that excludes everything is ignored", func(t *testing.T) {
		in := input(tgts("a", "b"))
		in.Config.Auto.Pool = []string{"nobody"}
		if got := order(t, Auto, in); len(got) != 2 {
			t.Error(keys(got))
		}
		in.Config.Auto.Pool = []string{"p/b"}
		wantKeys(t, order(t, Auto, in), "b a")
		in.Config.Auto.Pool = []string{"a"}
		wantKeys(t, order(t, Auto, in), "a b")
	})
	t.Run("case 88 a budget the winner breaks", func(t *testing.T) {
		in := input(tgts("a", "b", "c"))
		for i, p := range []float64{30, 10, 20} {
			in.Targets[i].Facts.Price = price(p, p)
		}
		in.Config.Auto.Weights = map[string]float64{"taskFit": 1}
		in.Targets[0].Facts.Reasoning = true
		in.Config.Auto.ExplorationRate = 0
		in.Config.Auto.BudgetCap = .001 // 30/1e6·1000 = 0.03
		if got := order(t, Auto, in); got[0].Key != "b" {
			t.Error(keys(got))
		}
		in.Config.Auto.BudgetFallback = "strict"
		if got := order(t, Auto, in); got != nil || in.Refusal == nil || in.Refusal.Code != "budget_exceeded" {
			t.Error(keys(got), in.Refusal)
		}
		in.Refusal = nil
		in.Hints.Budget = .02 // two are within: they take turns
		one, two := order(t, Auto, in), order(t, Auto, in)
		if one[0].Key == two[0].Key || one[0].Key == "a" || two[0].Key == "a" {
			t.Error(keys(one), keys(two))
		}
		in.Hints.Budget = .5
		if got := order(t, Auto, in); got[0].Key != "a" {
			t.Error(keys(got))
		}
	})
	t.Run("429 when every account is below the cutoff", func(t *testing.T) {
		in := input(tgts("a", "b"))
		in.Targets[0].Live.Cutoff = true
		wantKeys(t, order(t, Auto, in), "b")
		in.Targets[1].Live.Cutoff = true
		if got := order(t, Auto, in); got != nil || in.Refusal.Status != 429 {
			t.Error(keys(got))
		}
	})
	t.Run("candidates about as good get their share", func(t *testing.T) {
		in := input(tgts("a", "b", "c", "d"))
		in.Config.Auto.ExplorationRate = 0
		n := map[string]int{}
		for range 400 {
			n[order(t, Auto, in)[0].Key]++
		}
		for k, v := range n {
			if v != 100 {
				t.Errorf("%s %d", k, v)
			}
		}
	})
	t.Run("close scores draw a tier by the combo's name", func(t *testing.T) {
		in := input(tgts("a", "b", "c", "d", "e"))
		in.Combo = "my cheap models"
		in.Config.Auto.Weights = map[string]float64{"quality": 1}
		in.Config.Auto.ExplorationRate = 0
		for i, q := range []float64{.50, .49, .46, .45, .44} {
			in.Targets[i].Live.Quality = new(q)
		}
		n := map[string]int{}
		for range 1000 {
			n[order(t, Auto, in)[0].Key]++
		}
		if n["a"] < 150 || n["a"] > 250 || n["b"] < 250 || n["b"] > 350 || n["c"]+n["d"]+n["e"] < 450 {
			t.Error(n)
		}
		in.Targets[0].Live.Quality = new(.9) // clearly the best
		for range 20 {
			if got := order(t, Auto, in); got[0].Key != "a" {
				t.Fatal(keys(got))
			}
		}
	})
}

// patient is the record of the first target.
func patient(in *Input) (h healing, out bool) {
	w, _ := wards.get(in.State, in.Combo)
	h, out = w[in.Targets[0].Key]
	return h, out
}

func TestHealing(t *testing.T) {
	bad := func() *Input {
		in := input(tgts("a", "b", "c"))
		in.Config.Auto.ExplorationRate = 0
		in.Config.Auto.Weights = map[string]float64{"quality": 1}
		for i := range in.Targets {
			in.Targets[i].Live.Quality = new(.5)
		}
		return in
	}
	t.Run("a low score is left out for five minutes, then twice as long", func(t *testing.T) {
		in := bad()
		in.Targets[0].Live.Quality = new(.1)
		order(t, Auto, in)
		h, out := patient(in)
		if !out || !h.until.Equal(t0.Add(5*time.Minute)) {
			t.Fatalf("%+v", h)
		}
		for _, pause := range []time.Duration{10, 20, 30, 30} {
			in.Now = h.until.Add(time.Second)
			order(t, Auto, in)
			if h, _ = patient(in); h.until.Sub(in.Now) != pause*time.Minute {
				t.Fatalf("%s, want %d min", h.until.Sub(in.Now), pause)
			}
		}
		in.Now = h.until.Add(time.Second)
		in.Targets[0].Live.Quality = new(.25)
		if got := order(t, Auto, in); got[2].Key != "a" {
			t.Error("back with .25", keys(got))
		}
		in.Targets[0].Live.Quality = new(.9)
		wantKeys(t, order(t, Auto, in), "a b c")
		if _, ok := patient(in); ok {
			t.Error("the record stays")
		}
	})
	t.Run("an open breaker is left out, half-open lets probes through", func(t *testing.T) {
		in := bad()
		in.Targets[0].Live.Breaker, in.Targets[0].Live.Quality = Open, new(.9)
		if got := order(t, Auto, in); got[2].Key != "a" {
			t.Error(keys(got))
		}
		in.Targets[0].Live.Breaker = Closed
		if got := order(t, Auto, in); got[2].Key != "a" {
			t.Error("back too early", keys(got))
		}
		in.Targets[0].Live.Breaker = HalfOpen
		wantKeys(t, order(t, Auto, in), "a b c")
		for range 2 {
			done(Auto, in, nil, "a")
		}
		in.Targets[0].Live.Breaker = Closed
		if got := order(t, Auto, in); got[2].Key != "a" {
			t.Error("back after two probes", keys(got))
		}
		done(Auto, in, nil, "a")
		wantKeys(t, order(t, Auto, in), "a b c")
	})
	t.Run("a bad probe doubles the pause", func(t *testing.T) {
		in := bad()
		in.Targets[0].Live.Breaker = Open
		order(t, Auto, in)
		done(Auto, in, nil, "", in.Targets[0])
		h, _ := patient(in)
		if h.until.Sub(t0) != 10*time.Minute {
			t.Error(h.until.Sub(t0))
		}
	})
	t.Run("all are left out: all are used", func(t *testing.T) {
		in := bad()
		for i := range in.Targets {
			in.Targets[i].Live.Quality = new(.1)
		}
		if got := order(t, Auto, in); len(got) != 3 {
			t.Error(keys(got))
		}
		if got := order(t, Auto, in); len(got) != 3 {
			t.Error(keys(got))
		}
	})
	t.Run("a clock set back cannot keep a candidate out", func(t *testing.T) {
		in := bad()
		in.Targets[0].Live.Quality = new(.1)
		order(t, Auto, in)
		in.Now = t0.Add(-100 * time.Hour)
		order(t, Auto, in)
		h, _ := patient(in)
		if left := h.until.Sub(in.Now); left > healMax {
			t.Error(left)
		}
	})
}

func TestRouters(t *testing.T) {
	in := input(tgts("a", "b", "c"))
	in.Config.Auto.ExplorationRate = 0
	for i, u := range []Usage{
		{P95: 5 * time.Second, TTFT: time.Second, Latency: 4 * time.Second, Rate: 20, Telemetry: true, Requests: 100, Successes: 99},
		{P95: time.Second, TTFT: 200 * time.Millisecond, Latency: time.Second, Rate: 80, Telemetry: true, Requests: 100, Successes: 98},
		{P95: time.Second, TTFT: 200 * time.Millisecond, Latency: time.Second, Rate: 80, Telemetry: true, Requests: 100, Successes: 40},
	} {
		in.Targets[i].Live.Usage = &u
	}
	in.Targets[0].Facts.Price, in.Targets[2].Facts.Price = price(1, 1), price(9, 9)
	for router, want := range map[string]string{
		"cost": "a c b", "eco": "a c b", "latency": "b a c", "fast": "b a c", "sla": "b a c", "sla-aware": "b a c",
	} {
		in.Config.Auto.Router = router
		if got := keys(order(t, Auto, in)); got != want {
			t.Errorf("%s: %s", router, got)
		}
	}
	in.Config.Auto.Router, in.Config.Auto.SLAHard = "sla", true
	in.Config.Auto.SLAErrorRate = .7
	in.Targets[1].Live.Breaker, in.Targets[2].Live.Breaker = HalfOpen, HalfOpen
	if got := order(t, Auto, in); got[2].Key != "a" { // breaks the latency target
		t.Error(keys(got))
	}
	in.Config.Auto = AutoConfig{Router: "lkgp"}
	SetGood(in.State, "c", "", Good{Provider: "p", Connection: "c-c"})
	in.Targets[1].Live.Breaker, in.Targets[2].Live.Breaker = Closed, Closed
	if got := order(t, Auto, in); got[0].Key != "c" {
		t.Error(keys(got))
	}
	in.Config.Auto.Router = "nonsense"
	if in.routerName() != "rules" {
		t.Error(in.routerName())
	}
}

func TestAutoNames(t *testing.T) {
	for name, want := range map[string]AutoName{
		"auto":                    {},
		"Auto/Fast":               {Pack: ShipFast},
		"auto/coding":             {Category: "coding", Pack: QualityFirst, Task: TaskCoding},
		"auto/coding:cheap":       {Category: "coding", Variant: "cheap", Pack: CostSaver, Task: TaskCoding},
		"auto/reasoning":          {Category: "reasoning", Task: TaskAnalysis},
		"auto/vision:floor":       {Category: "vision", Variant: "floor", Pack: CostSaver, Task: TaskDefault},
		"auto/chat:free":          {Category: "chat", Variant: "free", Task: TaskDefault},
		"auto/lkgp":               {Router: "lkgp"},
		"auto/chaos":              {Pack: ChaosMode},
		"auto/multimodal:pro":     {Category: "multimodal", Variant: "pro", Pack: QualityFirst, Task: TaskDefault},
		"auto/offline":            {Pack: OfflineFriendly},
		"auto/reasoning:reliable": {Category: "reasoning", Variant: "reliable", Pack: ReliabilityFirst, Task: TaskAnalysis},
	} {
		got, ok := ParseAuto(name)
		want.Name = strings.ToLower(name)
		if !ok || got != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, name := range []string{"autos", "auto/", "auto/poetry", "auto/coding:", "auto/coding:weird", "openai/auto"} {
		if _, ok := ParseAuto(name); ok {
			t.Errorf("%s is taken for an auto name", name)
		}
	}
	n, _ := ParseAuto("auto/lkgp")
	c := n.Combo([]string{"glm", "openai"})
	if c.Strategy != Auto || len(c.Steps) != 2 || c.Steps[1].Kind != KindWildcard {
		t.Errorf("%+v", c)
	}
	if cfg := config(c.Config); cfg.Auto.Router != "lkgp" || cfg.Auto.ExplorationRate != .05 {
		t.Errorf("%+v", cfg.Auto)
	}
	l := tgts("a", "b", "c")
	l[0].Facts.Vision, l[1].Facts.Vision, l[1].Facts.Tier = Yes, Yes, FreeTier
	n, _ = ParseAuto("auto/vision:free")
	wantKeys(t, n.Filter(l), "b")
	n, _ = ParseAuto("auto/vision:pro") // none is premium: that filter is ignored
	wantKeys(t, n.Filter(l), "a b")
	n, _ = ParseAuto("auto/reasoning")
	wantKeys(t, n.Filter(l), "a b c")
}
