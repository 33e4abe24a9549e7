package combo

import (
	"breakwater/resilience/exclusion"
	"slices"
	"strings"
	"testing"
	"time"
)

const day = 24 * time.Hour

func TestWeighted(t *testing.T) {
	two := func(a, b float64) []*Target {
		l := tgts("a", "b")
		l[0].Weight, l[1].Weight = a, b
		return l
	}
	t.Run("case 51 the heavier one, then the other", func(t *testing.T) {
		in := input(two(1, 9))
		in.Rand = script(.95)
		wantKeys(t, order(t, Weighted, in), "b a")
	})
	t.Run("case 52 no weight at all is uniform", func(t *testing.T) {
		in := input(two(0, 0))
		in.Rand = script(.75)
		wantKeys(t, order(t, Weighted, in), "b a")
	})
	t.Run("case 53 a nested combo stays together", func(t *testing.T) {
		l := tgts("a", "b", "c")
		l[1].Group, l[2].Group = 0, 1
		l[0].Weight, l[1].Weight, l[2].Weight = 9, 9, 1
		in := input(l)
		in.Rand = script(.01)
		wantKeys(t, order(t, Weighted, in), "a b c")
	})
	t.Run("a weight of 0 is never drawn while another has weight", func(t *testing.T) {
		in := input(two(0, 5))
		in.Rand = script(0)
		wantKeys(t, order(t, Weighted, in), "b a")
	})
	t.Run("a step without a usable target is not drawn and comes last", func(t *testing.T) {
		l := two(99, 1)
		l[0].Live.Reason = exclusion.ModelLocked
		in := input(l)
		in.Rand = script(0)
		wantKeys(t, order(t, Weighted, in), "b a")
	})
	t.Run("a batch stays until it is full", func(t *testing.T) {
		in := input(two(5, 5))
		in.Config.StickyWeighted = 3
		in.Rand = script(.9, .1)
		got := order(t, Weighted, in)
		wantKeys(t, got, "b a")
		for range 2 {
			done(Weighted, in, got, "b")
			got = order(t, Weighted, in)
			wantKeys(t, got, "b a")
		}
		done(Weighted, in, got, "b")
		wantKeys(t, order(t, Weighted, in), "a b")
	})
	t.Run("a batch ends when its target cannot be used", func(t *testing.T) {
		in := input(two(5, 5))
		in.Config.StickyWeighted = 3
		done(Weighted, in, in.Targets, "b")
		in.Targets[1].Live.Breaker = Open
		in.Rand = script(.9)
		wantKeys(t, order(t, Weighted, in), "a b")
		if _, ok := stickyWeighted.get(in.State, "c"); ok {
			t.Error("the batch goes on")
		}
	})
	t.Run("the others keep their order under compositeTiers", func(t *testing.T) {
		l := tgts("a", "b", "c")
		l[0].Weight, l[1].Weight, l[2].Weight = 1, 2, 3
		in := input(l)
		in.Rand = script(0)
		wantKeys(t, order(t, Weighted, in), "a c b")
		in.Config.Tiers = &Tiers{}
		wantKeys(t, order(t, Weighted, in), "a b c")
	})
}

func TestRandom(t *testing.T) {
	t.Run("case 55 is the Fisher–Yates result", func(t *testing.T) {
		in := input(tgts("a", "b", "c", "d"))
		in.Rand = script(.1, .5, .9) // 3↔0, 2↔1, 1↔1
		wantKeys(t, order(t, Random, in), "d c b a")
	})
}

func TestStrictRandom(t *testing.T) {
	t.Run("case 69 each once in n calls, the rest shuffled", func(t *testing.T) {
		in := input(tgts("a", "b", "c", "d", "e"))
		last, rests := "", map[string]bool{}
		for cycle := range 50 {
			seen := map[string]int{}
			for range 5 {
				got := order(t, StrictRandom, in)
				if len(got) != 5 {
					t.Fatalf("%d targets", len(got))
				}
				if got[0].Key == last {
					t.Fatalf("cycle %d: %s twice in a row", cycle, last)
				}
				last = got[0].Key
				seen[last]++
				rests[keys(got[1:])] = true
				sorted := slices.Clone(got)
				slices.SortFunc(sorted, func(a, b *Target) int { return strings.Compare(a.Key, b.Key) })
				wantKeys(t, sorted, "a b c d e") // a healthy one is always reached
			}
			if len(seen) != 5 {
				t.Fatalf("cycle %d: %v", cycle, seen)
			}
		}
		if len(rests) < 50 {
			t.Errorf("only %d different fallback orders", len(rests))
		}
	})
	t.Run("a changed set begins a new deck", func(t *testing.T) {
		in := input(tgts("a", "b", "c"))
		first := order(t, StrictRandom, in)[0].Key
		in.Targets = slices.DeleteFunc(in.Targets, func(x *Target) bool { return x.Key == first })
		seen := map[string]bool{}
		for range 2 {
			seen[order(t, StrictRandom, in)[0].Key] = true
		}
		if len(seen) != 2 {
			t.Errorf("dealt %v", seen)
		}
	})
	t.Run("one target needs no deck", func(t *testing.T) {
		in := input(tgts("a"))
		wantKeys(t, order(t, StrictRandom, in), "a")
		if held(in.State, decks) != 0 {
			t.Error("a deck was made")
		}
	})
}

func TestRoundRobin(t *testing.T) {
	t.Run("case 70 goes on behind the target that served", func(t *testing.T) {
		in := input(tgts("a", "b", "c", "d"))
		got := order(t, RoundRobin, in)
		wantKeys(t, got, "a b c d")
		done(RoundRobin, in, got, "c")
		wantKeys(t, order(t, RoundRobin, in), "d a b c")
	})
	t.Run("requests under way together start apart", func(t *testing.T) {
		in := input(tgts("a", "b", "c"))
		one, two := order(t, RoundRobin, in), order(t, RoundRobin, in)
		wantKeys(t, one, "a b c")
		wantKeys(t, two, "b c a")
		done(RoundRobin, in, one, "a") // does not turn back what two has moved on
		wantKeys(t, order(t, RoundRobin, in), "c a b")
	})
	t.Run("a batch of three", func(t *testing.T) {
		in := input(tgts("a", "b"))
		in.Config.StickyRoundRobin = 3
		var seq []string
		for range 7 {
			got := order(t, RoundRobin, in)
			seq = append(seq, got[0].Key)
			done(RoundRobin, in, got, got[0].Key)
		}
		if s := strings.Join(seq, ""); s != "aaabbba" {
			t.Errorf("sequence %s", s)
		}
	})
	t.Run("a batch ends when its target cannot be used", func(t *testing.T) {
		in := input(tgts("a", "b"))
		in.Config.StickyRoundRobin = 3
		done(RoundRobin, in, in.Targets, "b")
		in.Targets[1].Live.Reason = exclusion.Cooling
		wantKeys(t, order(t, RoundRobin, in), "a b")
	})
	t.Run("case 71 the gate of each target", func(t *testing.T) {
		in := input(tgts("a"))
		if k := GateKey("c", in.Targets[0]); k != "combo:c:a" {
			t.Errorf("key %s", k)
		}
		if n := GateCapacity(in.Config, in.Targets[0]); n != 3 {
			t.Errorf("capacity %d", n)
		}
		in.Targets[0].MaxConcurrent = 2.7
		if n := GateCapacity(in.Config, in.Targets[0]); n != 2 {
			t.Errorf("capacity %d", n)
		}
		in.Targets[0].MaxConcurrent = 0
		in.Config.ConcurrencyPerModel = 100
		if n := GateCapacity(in.Config, in.Targets[0]); n != 32 {
			t.Errorf("capacity %d", n)
		}
	})
	t.Run("no targets", func(t *testing.T) {
		if got := order(t, RoundRobin, input(nil)); len(got) != 0 {
			t.Error(got)
		}
	})
}

func TestRanked(t *testing.T) {
	t.Run("case 56 the largest window first", func(t *testing.T) {
		in := input(tgts("a", "b", "c"))
		for i, n := range []int64{128_000, 64_000, 256_000} {
			in.Targets[i].Facts.Context = n
		}
		wantKeys(t, order(t, ContextOptimized, in), "c a b")
	})
	t.Run("case 57 an unknown window last", func(t *testing.T) {
		in := input(tgts("a", "b", "c"))
		in.Targets[1].Facts.Context, in.Targets[2].Facts.Context = 8000, 16_000
		wantKeys(t, order(t, ContextOptimized, in), "c b a")
		in.Targets[1].Facts.Context, in.Targets[2].Facts.Context = 0, 0
		wantKeys(t, order(t, ContextOptimized, in), "a b c")
	})
	t.Run("case 58 least used by execution key", func(t *testing.T) {
		in := input(tgts("a", "b"))
		Count(in.State, t0, "c", "a", time.Second, true)
		for i := range in.Targets {
			in.Targets[i].Live.Usage = new(UsageOf(in.State, t0, "c", in.Targets[i].Key))
		}
		wantKeys(t, order(t, LeastUsed, in), "b a")
	})
	t.Run("cost by input price, unknown last", func(t *testing.T) {
		in := input(tgts("a", "b", "c"))
		in.Targets[1].Facts.Price = Price{Known: true, Input: 3}
		in.Targets[2].Facts.Price = Price{Known: true, Input: 1}
		wantKeys(t, order(t, CostOptimized, in), "c b a")
		in.Config.ManifestRouting, in.Hints.RequirePremium = true, true
		wantKeys(t, order(t, CostOptimized, in), "c b a") // none is premium
		in.Targets[1].Facts.Tier = PremiumTier
		wantKeys(t, order(t, CostOptimized, in), "b")
	})
	t.Run("priority, fill-first and context-relay keep the order", func(t *testing.T) {
		for _, n := range []Name{Priority, FillFirst, ContextRelay} {
			wantKeys(t, order(t, n, input(tgts("b", "a"))), "b a")
		}
	})
}

func TestHeadroom(t *testing.T) {
	q := func(s, w float64) *Quota { return &Quota{At: t0, Session: used(s, 0), Weekly: used(w, 0)} }
	t.Run("case 66", func(t *testing.T) {
		in := input(tgts("a", "b"))
		in.Targets[0].Live.Quota, in.Targets[1].Live.Quota = q(.8, .1), q(.2, .1)
		wantKeys(t, order(t, Headroom, in), "b a")
	})
	t.Run("case 67", func(t *testing.T) {
		in := input(tgts("b", "a"))
		in.Targets[0].Live.Quota, in.Targets[1].Live.Quota = weekly(.9, 0), session(.5, 0)
		wantKeys(t, order(t, Headroom, in), "a b")
	})
	t.Run("case 68 missing data is full headroom, ties keep their order", func(t *testing.T) {
		in := input(tgts("a", "b", "c"))
		in.Targets[0].Live.Quota = q(.1, .1)
		wantKeys(t, order(t, Headroom, in), "b c a")
	})
	t.Run("a reached limit is no headroom", func(t *testing.T) {
		in := input(tgts("a", "b"))
		in.Targets[0].Live.Quota = &Quota{LimitReached: true}
		in.Targets[1].Live.Quota = q(.99, .1)
		wantKeys(t, order(t, Headroom, in), "b a")
	})
}

func TestResetAware(t *testing.T) {
	t.Run("case 59 the sooner reset outweighs the fuller quota", func(t *testing.T) {
		in := input(tgts("b", "a"))
		in.Targets[0].Live.Quota, in.Targets[1].Live.Quota = weekly(.2, 5*day), weekly(.4, day)
		wantKeys(t, order(t, ResetAware, in), "a b")
	})
	t.Run("case 60 two soon ones take turns", func(t *testing.T) {
		in := input(tgts("x", "a", "y", "b"))
		for i, q := range []*Quota{weekly(.2, 5*day), weekly(.84, 36*time.Hour), weekly(.3, 6*day), weekly(.86, 36*time.Hour)} {
			in.Targets[i].Live.Quota = q
		}
		first := map[string]int{}
		for range 4 {
			got := order(t, ResetAware, in)
			first[got[0].Key]++
			if k := got[1].Key; k != "a" && k != "b" {
				t.Errorf("second is %s", k)
			}
		}
		if first["a"] != 2 || first["b"] != 2 {
			t.Errorf("first: %v", first)
		}
	})
	t.Run("case 61 exhaustion guard", func(t *testing.T) {
		in := input(tgts("a", "b"))
		in.Targets[0].Live.Quota, in.Targets[1].Live.Quota = session(.98, time.Hour), session(.2, time.Hour)
		wantKeys(t, order(t, ResetAware, in), "b a")
	})
	t.Run("case 62 the five-hour window presses softer", func(t *testing.T) {
		in := input(tgts("a", "b"))
		in.Targets[0].Live.Quota, in.Targets[1].Live.Quota = session(.7, 2*time.Hour), session(0, 5*time.Hour)
		wantKeys(t, order(t, ResetAware, in), "b a")
	})
	t.Run("a reached limit comes last, an unknown quota is worth a half", func(t *testing.T) {
		in := input(tgts("a", "b", "c"))
		in.Targets[0].Live.Quota = &Quota{LimitReached: true}
		in.Targets[2].Live.Quota = weekly(.9, 6*day)
		wantKeys(t, order(t, ResetAware, in), "b c a")
		all := input(tgts("a", "b"))
		for i := range all.Targets {
			all.Targets[i].Live.Quota = &Quota{LimitReached: true}
		}
		wantKeys(t, order(t, ResetAware, all), "a b")
	})
	t.Run("weights of nothing are the defaults", func(t *testing.T) {
		in := input(tgts("b", "a"))
		in.Config.ResetSessionWeight, in.Config.ResetWeeklyWeight = 0, 0
		in.Targets[0].Live.Quota, in.Targets[1].Live.Quota = weekly(.2, 5*day), weekly(.4, day)
		wantKeys(t, order(t, ResetAware, in), "a b")
	})
}

func TestResetWindow(t *testing.T) {
	in := input(tgts("a", "b", "c", "d"))
	for i, q := range []*Quota{nil, weekly(.1, 3*day), weekly(.9, day), {LimitReached: true}} {
		in.Targets[i].Live.Quota = q
	}
	wantKeys(t, order(t, ResetWindow, in), "c b a d")
	in.Targets[1].Live.Quota = weekly(.1, day+30*time.Second) // inside the tie band
	one, two := order(t, ResetWindow, in), order(t, ResetWindow, in)
	if one[0].Key == two[0].Key {
		t.Error("the tie does not rotate")
	}
	in.Config.ResetWindows = []string{"monthly", "session"}
	in.Targets[0].Live.Quota = &Quota{Monthly: used(.5, time.Hour)}
	in.Targets[3].Live.Quota = session(.5, 2*time.Hour)
	wantKeys(t, order(t, ResetWindow, in), "a d b c")
}

func TestPowerOfTwo(t *testing.T) {
	in := input(tgts("a", "b", "c"))
	in.Rand = script(0, 0) // a and b
	in.Targets[1].Live.Usage = &Usage{Requests: 10, Successes: 10, Latency: 100 * time.Millisecond}
	wantKeys(t, order(t, P2C, in), "b a c")
	in.Targets[1].Live.Breaker = Open
	in.Rand = script(0, 0)
	wantKeys(t, order(t, P2C, in), "a b c")
	in.Targets[1].Live = Live{Breaker: HalfOpen}
	in.Rand = script(.99, 0) // c and a are equal: the first drawn stays
	wantKeys(t, order(t, P2C, in), "c a b")
	in.Rand = script(.5, 0) // b, half open, against a
	wantKeys(t, order(t, P2C, in), "a b c")
	wantKeys(t, order(t, P2C, input(tgts("a"))), "a")
}

func TestLastKnownGood(t *testing.T) {
	in := input(tgts("a", "b", "c"))
	in.Targets[2].Provider = "q"
	wantKeys(t, order(t, LKGP, in), "a b c")
	done(LKGP, in, nil, "b")
	wantKeys(t, order(t, LKGP, in), "b a c")
	SetGood(in.State, "c", "", Good{Provider: "q"})
	wantKeys(t, order(t, LKGP, in), "c a b")
	SetGood(in.State, "c", "", Good{Provider: "gone"})
	wantKeys(t, order(t, LKGP, in), "a b c")
	SetGood(in.State, "c", "", Good{Provider: "p", Connection: "c-b"})
	done(LKGP, in, nil, "", in.Targets[1])
	if _, ok := LastGood(in.State, "c", ""); ok {
		t.Error("a failure keeps the record")
	}
	SetGood(in.State, "c", "", Good{Provider: "p", Connection: "c-b"})
	done(LKGP, in, nil, "")
	if _, ok := LastGood(in.State, "c", ""); !ok {
		t.Error("a request that tried nothing clears the record")
	}
}

func TestCacheOptimized(t *testing.T) {
	in := input(tgts("a", "b", "c", "d"))
	wantKeys(t, order(t, CacheOptimized, in), "a b c d") // no key
	in.CacheKey = CacheKey("conversation", nil)
	first := order(t, CacheOptimized, in)
	for range 3 {
		wantKeys(t, order(t, CacheOptimized, in), keys(first))
	}
	t.Run("a lost target moves only its own keys", func(t *testing.T) {
		less := input(slices.DeleteFunc(slices.Clone(in.Targets), func(x *Target) bool { return x.Key == first[2].Key }))
		less.CacheKey = in.CacheKey
		wantKeys(t, order(t, CacheOptimized, less), keys(slices.Delete(slices.Clone(first), 2, 3)))
	})
	t.Run("keys spread", func(t *testing.T) {
		n := map[string]int{}
		for i := range 4000 {
			in.CacheKey = strings.Repeat("k", i%50) + string(rune('a'+i/50))
			n[order(t, CacheOptimized, in)[0].Key]++
		}
		for k, v := range n {
			if v < 800 || v > 1200 {
				t.Errorf("%s has %d of 4000", k, v)
			}
		}
	})
	t.Run("a key that is too long gives way to the prefix", func(t *testing.T) {
		if CacheKey(strings.Repeat("x", 4097), []byte("prefix")) != CacheKey("", []byte("prefix")) || CacheKey("", nil) != "" {
			t.Error("wrong key")
		}
	})
	t.Run("the account is where a cache lives, else the execution key", func(t *testing.T) {
		x := of(Spec{Key: "k"})
		if x.identity() != "execution:k" || in.Targets[0].identity() != "connection:c-a" {
			t.Error("wrong identity")
		}
	})
}
