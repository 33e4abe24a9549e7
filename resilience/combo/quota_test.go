package combo

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestQuotaWeighted(t *testing.T) {
	fresh := func(left float64) *Quota { return weekly(1-left, 3*day) }
	t.Run("the fuller pool first, the low one last, the used up ones not at all", func(t *testing.T) {
		in := input(tgts("empty", "low", "stale", "open", "good", "better"))
		for i, q := range []*Quota{fresh(0), fresh(.005), fresh(.9), fresh(.9), fresh(.5), weekly(.5, day)} {
			in.Targets[i].Live.Quota = q
		}
		in.Targets[2].Live.Quota.At = t0.Add(-11 * time.Minute)
		in.Targets[3].Live.Breaker = Open
		in.Rand = script(0) // the first of the pool by score
		got := order(t, QuotaWeighted, in)
		wantKeys(t, got, "better good low stale")
		if in.Reserved != "c-better" || InFlight(in.State, t0, "c-better") != 1 {
			t.Error("no slot is reserved", in.Reserved)
		}
		done(QuotaWeighted, in, got, "better")
		if InFlight(in.State, t0, "c-better") != 0 {
			t.Error("the slot is kept")
		}
	})
	t.Run("load and a 402 weigh against", func(t *testing.T) {
		in := input(tgts("a", "b"))
		in.Targets[0].Live.Quota, in.Targets[1].Live.Quota = fresh(.5), fresh(.5)
		in.Rand = seeded(7)
		count := func() map[string]int {
			n := map[string]int{}
			for range 1000 {
				got := order(t, QuotaWeighted, in)
				n[got[0].Key]++
				End(in.State, t0, in.Reserved)
			}
			return n
		}
		if n := count(); n["a"] < 430 || n["a"] > 570 {
			t.Error(n)
		}
		in.Targets[0].Live.InFlight = 3 // a quarter of the weight
		if n := count(); n["a"] < 150 || n["a"] > 250 {
			t.Error(n)
		}
		in.Targets[0].Live.Account.Paid402 = true
		if n := count(); n["a"] != 0 {
			t.Error(n)
		}
	})
	t.Run("only low ones: they are used", func(t *testing.T) {
		in := input(tgts("a", "b"))
		in.Targets[0].Live.Quota = fresh(.001)
		in.Rand = script(.999)
		wantKeys(t, order(t, QuotaWeighted, in), "a b") // both are in the low pool
		in.Rand = script(0)
		End(in.State, t0, in.Reserved)
		wantKeys(t, order(t, QuotaWeighted, in), "b a")
	})
	t.Run("nothing left", func(t *testing.T) {
		in := input(tgts("a"))
		in.Targets[0].Live.Quota = fresh(0)
		if got := order(t, QuotaWeighted, in); len(got) != 0 {
			t.Error(keys(got))
		}
	})
}

func TestQuotaShare(t *testing.T) {
	t.Run("case 135 deficit round robin by weight", func(t *testing.T) {
		in := input(tgts("a", "b"))
		in.Targets[0].Weight, in.Targets[1].Weight = 200, 100
		n := map[string]int{}
		for range 30 {
			n[order(t, QuotaShare, in)[0].Key]++
			End(in.State, t0, in.Reserved)
		}
		if ratio := float64(n["a"]) / float64(n["b"]); ratio < 1.5 || ratio > 2.5 {
			t.Error(n)
		}
	})
	t.Run("case 136 the runner-up with less load is served", func(t *testing.T) {
		in := input(tgts("a", "b"))
		in.Targets[0].Live.InFlight = 2
		wantKeys(t, order(t, QuotaShare, in), "b a")
	})
	t.Run("case 137 a connection at its cap is demoted and listed", func(t *testing.T) {
		in := input(tgts("a", "b", "c"))
		in.Targets[0].Weight = 900
		in.Targets[0].MaxConcurrent, in.Targets[0].Live.InFlight = 1, 1
		in.Targets[1].Live.InFlight, in.Targets[2].Live.InFlight = 5, 5
		if got := order(t, QuotaShare, in); got[2].Key != "a" || len(got) != 3 {
			t.Error(keys(got))
		}
	})
	t.Run("case 138 all at their cap, or all saturated", func(t *testing.T) {
		in := input(tgts("a", "b"))
		for i := range in.Targets {
			in.Targets[i].MaxConcurrent, in.Targets[i].Live.InFlight = 1, 1
			in.Targets[i].Live.Quota = weekly(.9, day)
		}
		if got := order(t, QuotaShare, in); len(got) != 2 {
			t.Error(keys(got))
		}
	})
	t.Run("case 139 another model's saturated window does not count", func(t *testing.T) {
		in := input(tgts("a", "b"))
		in.Targets[0].Live.Quota = &Quota{Models: map[string]Window{"other": used(.9, day)}}
		wantKeys(t, order(t, QuotaShare, in), "a b")
		in.Targets[0].Live.Quota.Models["a"] = used(.9, day)
		wantKeys(t, order(t, QuotaShare, in), "b a")
		in.Targets[0].Connection = "" // nobody's quota
		in.Now = t0.Add(time.Hour)    // and no load left
		if got := order(t, QuotaShare, in); len(got) != 2 {
			t.Error(keys(got))
		}
	})
	t.Run("case 134 caps", func(t *testing.T) {
		for v, want := range map[float64]int{2.7: 2, -1: 9, 0: 9, 3: 3} {
			if n := EffectiveMax(v, 9); n != want {
				t.Errorf("%v becomes %d", v, n)
			}
		}
		if n := EffectiveMax(nan(), 9); n != 9 {
			t.Error(n)
		}
	})
	t.Run("case 140 an in-flight lease ends", func(t *testing.T) {
		st := NewState()
		Begin(st, t0, "c")
		Begin(st, t0.Add(time.Minute), "c")
		if n := InFlight(st, t0.Add(3*time.Minute-1), "c"); n != 2 {
			t.Error(n)
		}
		if n := InFlight(st, t0.Add(3*time.Minute), "c"); n != 0 {
			t.Error(n)
		}
		End(st, t0.Add(3*time.Minute), "c")
		End(st, t0.Add(3*time.Minute), "c")
		Begin(st, t0.Add(3*time.Minute), "c")
		if n := InFlight(st, t0.Add(3*time.Minute), "c"); n != 1 {
			t.Errorf("%d after too many ends", n)
		}
		Begin(st, t0, "")
	})
	t.Run("targets that are gone leave no credit behind", func(t *testing.T) {
		in := input(nil)
		for i := range 200 {
			in.Targets = tgts(fmt.Sprint("x", i), fmt.Sprint("y", i))
			order(t, QuotaShare, in)
		}
		d, _ := shares.get(in.State, "c")
		if len(d) > 40 {
			t.Error(len(d))
		}
		if got := order(t, QuotaShare, input(nil)); got != nil {
			t.Error(got)
		}
	})
}

func nan() float64 { z := 0.0; return z / z }

func TestQuota(t *testing.T) {
	t.Run("a window whose reset has passed is full", func(t *testing.T) {
		if left := used(.9, -time.Second).Remaining(t0, .5); left != 1 {
			t.Error(left)
		}
		if left := (Window{}).Remaining(t0, .5); left != .5 {
			t.Error(left)
		}
		if left := (Window{Known: true, Used: nan()}).Remaining(t0, .5); left != .5 {
			t.Error(left)
		}
	})
	t.Run("the smallest share left", func(t *testing.T) {
		q := weekly(.2, day)
		q.Session, q.Overall = used(.7, time.Hour), new(.1)
		if left, ok := q.Remaining(t0); !ok || !near(left, .1) {
			t.Error(left, ok)
		}
		q.LimitReached = true
		if left, ok := q.Remaining(t0); !ok || left != 0 {
			t.Error(left, ok)
		}
		q = &Quota{}
		if _, ok := q.Remaining(t0); ok {
			t.Error("known")
		}
		if (&Quota{Overall: new(nan())}).overall() != .5 || (&Quota{Overall: new(2.0)}).overall() != 1 {
			t.Error("overall")
		}
	})
	t.Run("reset moments", func(t *testing.T) {
		at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
		for _, v := range []any{"2030-01-02T03:04:05Z", "2030-01-02T04:04:05+01:00", float64(at.Unix()), float64(at.UnixMilli()), fmt.Sprint(at.Unix())} {
			if got := ResetTime(v); !got.Equal(at) {
				t.Errorf("%v: %s", v, got)
			}
		}
		for _, v := range []any{nil, "soon", -5.0, nan(), 1e18, true} {
			if !ResetTime(v).IsZero() {
				t.Errorf("%v is a time", v)
			}
		}
	})
}

func TestLatencySignal(t *testing.T) {
	stats := func(ttfb time.Duration, samples, failed int) LatencyStats {
		l := NewLatency()
		for i := range samples {
			l.Record(t0, "c", "m", ttfb, i < failed)
		}
		if l.Stats(t0, "c", "m") != l.Stats(t0, "c", "") {
			t.Fatal("connection and model differ")
		}
		return l.Stats(t0, "c", "")
	}
	t.Run("case 217 twice as slow is the full half", func(t *testing.T) {
		a, b := LatencyPenalty(10, stats(100*time.Millisecond, 3, 0), stats(200*time.Millisecond, 3, 0))
		if a != 0 || !near(b, 5) {
			t.Error(a, b)
		}
		if a, b := LatencyPenalty(10, stats(time.Second, 3, 0), stats(100*time.Millisecond, 3, 0)); !near(a, 5) || b != 0 {
			t.Error(a, b)
		}
	})
	t.Run("case 218 too few samples", func(t *testing.T) {
		if a, b := LatencyPenalty(10, stats(100*time.Millisecond, 3, 0), stats(200*time.Millisecond, 2, 2)); a != 0 || b != 0 {
			t.Error(a, b)
		}
	})
	t.Run("case 219 error rate", func(t *testing.T) {
		a, b := LatencyPenalty(10, stats(100*time.Millisecond, 4, 0), stats(100*time.Millisecond, 4, 2))
		if a != 0 || !near(b, 2.5) {
			t.Error(a, b)
		}
	})
	t.Run("case 220 weight 0 is off, 21 counts as 20", func(t *testing.T) {
		slow, fast := stats(time.Second, 3, 3), stats(100*time.Millisecond, 3, 0)
		for _, w := range []float64{0, -1, nan()} {
			if a, b := LatencyPenalty(w, slow, fast); a != 0 || b != 0 {
				t.Error(w, a, b)
			}
		}
		if a, _ := LatencyPenalty(21, slow, fast); !near(a, 20) {
			t.Error(a)
		}
	})
	t.Run("20 samples, 15 minutes", func(t *testing.T) {
		l := NewLatency()
		for i := range 30 {
			l.Record(t0, "c", "", time.Duration(i)*time.Millisecond, i < 10)
		}
		if st := l.Stats(t0, "c", ""); st.Samples != 20 || st.ErrorRate != 0 || st.TTFB != 19500*time.Microsecond {
			t.Errorf("%+v", st)
		}
		if st := l.Stats(t0.Add(15*time.Minute+1), "c", ""); st.Samples != 0 {
			t.Errorf("%+v", st)
		}
		if st := l.Stats(t0.Add(-time.Hour), "c", ""); st.Samples != 0 { // the clock was set back
			t.Errorf("%+v", st)
		}
		l.Sweep(t0.Add(time.Minute))
		if len(l.rings) != 1 {
			t.Error("swept too early")
		}
		l.Sweep(t0.Add(time.Hour))
		if len(l.rings) != 0 {
			t.Error("not swept")
		}
		l.Record(t0, "", "m", time.Second, false)
		l.Record(t0, "c", "m", 0, true)
		if st := l.Stats(t0, "c", "m"); st.TTFB != 0 || st.ErrorRate != 1 {
			t.Errorf("%+v", st)
		}
		if a, b := LatencyPenalty(10, LatencyStats{Samples: 3}, LatencyStats{Samples: 3, TTFB: time.Second}); a != 0 || b != 0 {
			t.Error("no time is slow or fast", a, b)
		}
		l.Forget("c")
		if len(l.rings) != 0 {
			t.Error("not forgotten")
		}
	})
}

func TestAccounts(t *testing.T) {
	for _, c := range []struct {
		name string
		c    Candidate
		want float64
	}{
		{"new, unknown headroom", Candidate{Priority: 1}, 4},
		{"priority not set", Candidate{Known: true, Headroom: 100}, -1},
		{"exhausted and blocked", Candidate{Priority: 1, Exhausted: true, Blocked: true}, 280},
		{"rate limited", Candidate{Priority: 1, LastError: true, RateLimit: true, Auth: true, Known: true, Headroom: 100}, 30},
		{"refused", Candidate{Priority: 1, LastError: true, Auth: true, Known: true, Headroom: 100}, 24},
		{"server error", Candidate{Priority: 1, LastError: true, Server: true, Known: true, Headroom: 100}, 16},
		{"backoff is capped", Candidate{Priority: 1, Backoff: 9, Known: true, Headroom: 100}, 40},
		{"little headroom", Candidate{Priority: 1, Known: true, Headroom: 20}, 14},
		{"hardly any headroom", Candidate{Priority: 1, Known: true, Headroom: 4}, 22},
		{"used a lot just now", Candidate{Priority: 1, Known: true, Headroom: 100, Uses: 9, UsedAt: t0.Add(-time.Second)}, 15},
		{"used a minute ago", Candidate{Priority: 1, Known: true, Headroom: 100, UsedAt: t0.Add(-61 * time.Second)}, 1},
		{"used half a minute ago", Candidate{Priority: 1, Known: true, Headroom: 100, UsedAt: t0.Add(-31 * time.Second)}, 2},
		{"low priority", Candidate{Priority: 50, Known: true, Headroom: 100}, 6},
	} {
		if got := c.c.Score(t0); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	ids := func(l []Candidate) (s string) {
		for _, c := range l {
			s += c.ID
		}
		return s
	}
	full := Candidate{Known: true, Headroom: 100, Priority: 1}
	a, b, c := full, full, full
	a.ID, b.ID, c.ID = "a", "b", "c"
	a.LastError = true
	if got := ids(ChooseAccount(t0, seeded(1), 0, []Candidate{a, b})); got != "ba" {
		t.Error(got)
	}
	if got := ids(ChooseAccount(t0, script(0, 0), 0, []Candidate{a, b, c})); got != "bac" {
		t.Error(got)
	}
	if got := ids(ChooseAccount(t0, script(.99, .99), 0, []Candidate{a, b, c})); got != "bac" { // c and b: by id
		t.Error(got)
	}
	if got := ids(ChooseAccount(t0, seeded(1), 0, []Candidate{a})); got != "a" {
		t.Error(got)
	}
	b.Priority, c.Priority = 0, 1
	b.Known, b.Headroom = true, 92 // -1 for the priority, +1 for the headroom: a tie
	if got := ids(ChooseAccount(t0, seeded(1), 0, []Candidate{b, c})); got != "cb" {
		t.Error("more headroom wins a tie", got)
	}
	b, c = full, full
	b.ID, c.ID = "b", "c"
	b.Latency, c.Latency = LatencyStats{Samples: 5, TTFB: time.Second}, LatencyStats{Samples: 5, TTFB: 100 * time.Millisecond}
	if got := ids(ChooseAccount(t0, seeded(1), 0, []Candidate{b, c})); got != "bc" {
		t.Error(got)
	}
	if got := ids(ChooseAccount(t0, seeded(1), 10, []Candidate{b, c})); got != "cb" {
		t.Error("latency does not count", got)
	}
	if (&Candidate{}).rank() != 999 {
		t.Error("priority 0 does not sort last")
	}
}

func TestUsage(t *testing.T) {
	st := NewState()
	if u := UsageOf(st, t0, "c", "a"); u.Requests != 0 || held(st, tallies) != 0 {
		t.Error("a question leaves a trace")
	}
	for i := range 100 {
		Count(st, t0, "c", "a", time.Duration(i+1)*time.Millisecond, i%4 != 0)
	}
	Count(st, t0, "c", "a", 0, false)
	u := UsageOf(st, t0, "c", "a")
	if u.Requests != 101 || u.Successes != 75 || u.Samples != 64 || !u.Telemetry {
		t.Errorf("%+v", u)
	}
	if u.Latency != 68500*time.Microsecond || u.P95 != 97*time.Millisecond || u.StdDev < 18*time.Millisecond || u.StdDev > 19*time.Millisecond {
		t.Errorf("%+v", u)
	}
	if !near(u.SuccessRate(), 75.0/101) || (Usage{}).SuccessRate() != 0 {
		t.Error(u.SuccessRate())
	}
	if u := UsageOf(st, t0.Add(25*time.Hour), "c", "a"); u.Samples != 0 || u.Telemetry || u.Requests != 101 {
		t.Errorf("%+v", u)
	}
	ForgetUsage(st, "c", "a")
	if u := UsageOf(st, t0, "c", "a"); u.Requests != 0 {
		t.Error("not forgotten")
	}
}

func TestFacts(t *testing.T) {
	tab := NewTable(map[string]Facts{
		"OpenAI/GPT-5":  {Price: price(100, 200)},
		"gpt-5":         {Context: 5},
		"homemade":      {Price: price(0, 0), Vision: Yes, Reasoning: true, MaxOutput: 9},
		"glm/homemade":  {Tier: PremiumTier, Tools: No},
		"claude-opus-x": {Schema: No},
	}, map[string]Facts{"glm/homemade": {Price: price(7, 8), Tools: Yes}, "glm/listed": {Price: price(1, 2), Context: 77}})
	for _, c := range []struct {
		model string
		in    float64
		ctx   int64
		tier  string
	}{
		{"anthropic/claude-sonnet-4-5", 3, 200_000, PremiumTier},
		{"claude/claude-opus-4-1-20250805", 15, 200_000, PremiumTier},
		{"claude/claude-opus-4-20250514", 15, 200_000, PremiumTier},
		{"claude/claude-opus-4-8", 5, 1_000_000, PremiumTier},
		{"claude/claude-opus-5-5", 4, 1_000_000, PremiumTier},
		{"claude/claude-sonnet-5", 2, 1_000_000, PremiumTier},
		{"claude/claude-haiku-5-5", .1, 1_000_000, CheapTier},
		{"openai/gpt-5.4", 2.5, 1_000_000, PremiumTier},
		{"openai/gpt-5.6-luna", .2, 1_000_000, CheapTier},
		{"openrouter/anthropic/claude-haiku-4.5", 1, 200_000, PremiumTier},
		{"openrouter/anthropic/claude-opus-4.5", 5, 200_000, PremiumTier},
		{"openrouter/qwen/qwen3-coder:free", 0, 262_144, FreeTier},
		{"openai/gpt-5", 100, 5, PremiumTier},
		{"azure/gpt-5", 1.25, 5, PremiumTier},
		{"openai/gpt-5-mini", .25, 400_000, CheapTier},
		{"groq/llama-3.1-8b-instant", .05, 131_072, CheapTier},
		{"ollama/homemade", 0, 0, FreeTier},
		{"glm/homemade", 0, 0, PremiumTier},
		{"GLM/Listed", 1, 77, PremiumTier},
		{"x/nobody-knows", 0, 0, ""},
		{"x/nobody-knows-free", 0, 0, FreeTier},
	} {
		f := tab.Of(c.model)
		if f.Price.Input != c.in || f.Context != c.ctx || f.Tier != c.tier {
			t.Errorf("%s: %+v", c.model, f)
		}
	}
	if f := tab.Of("glm/homemade"); f.Tools != No || f.Vision != Yes || !f.Reasoning || f.MaxOutput != 9 {
		t.Errorf("%+v", f)
	}
	if f := tab.Of("anthropic/claude-opus-x"); f.Schema != No || f.Price.Input != 5 {
		t.Errorf("%+v", f)
	}
	for i, r := range factRows { // no row may stand behind one that hides it
		name := regexp.MustCompile(`\[(.).*?\]`).ReplaceAllString(strings.ReplaceAll(r.pattern, "*", "z"), "$1")
		if f := builtin(name); f.Price.Input != r.input || f.Context != r.context {
			t.Errorf("row %d %s is hidden", i, r.pattern)
		}
		if r.input < 0 || r.output < 0 || r.context < 1000 || r.out < 1000 {
			t.Errorf("row %d %s: %+v", i, r.pattern, r)
		}
	}
}
