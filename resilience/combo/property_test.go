package combo

import (
	"breakwater/resilience/exclusion"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// anything draws what might be known of a target.
func anything(rt *rapid.T, t *Target) {
	share := rapid.Float64Range(0, 1)
	l := &t.Live
	*l = Live{
		Breaker: rapid.SampledFrom([]Breaker{Closed, Closed, Degraded, HalfOpen, Open}).Draw(rt, "breaker"),
		Exclusion: exclusion.Exclusion{Reason: rapid.SampledFrom([]exclusion.Reason{
			exclusion.None, exclusion.None, exclusion.None, exclusion.ModelLocked, exclusion.Unavailable,
		}).Draw(rt, "reason")},
		Quota: &Quota{
			At:      t0.Add(-time.Duration(rapid.IntRange(0, 1200).Draw(rt, "age")) * time.Second),
			Session: used(share.Draw(rt, "session"), time.Duration(rapid.IntRange(-3600, 18_000).Draw(rt, "reset"))*time.Second),
			Weekly:  used(share.Draw(rt, "week"), time.Duration(rapid.IntRange(-3600, 604_800).Draw(rt, "week reset"))*time.Second),
		},
		Usage:    &Usage{Requests: int64(rapid.IntRange(0, 50).Draw(rt, "requests")), P95: time.Duration(rapid.IntRange(0, 9000).Draw(rt, "p95")) * time.Millisecond},
		InFlight: rapid.IntRange(0, 5).Draw(rt, "in flight"),
	}
	if !rapid.Bool().Draw(rt, "known") {
		l.Quota = nil
	}
	t.MaxConcurrent = float64(rapid.IntRange(0, 3).Draw(rt, "cap"))
	l.Usage.Successes, l.Usage.Telemetry = l.Usage.Requests/2, l.Usage.Requests > 9
	if rapid.Bool().Draw(rt, "priced") {
		t.Facts = Facts{Price: price(rapid.Float64Range(0, 50).Draw(rt, "price"), 1), Context: 128_000, Tools: Yes}
	}
}

// TestOrderIsAPermutation: no strategy loses, doubles or invents a target,
// except that quota-weighted leaves out what is used up; all are the same for
// the same dice and state.
func TestOrderIsAPermutation(t *testing.T) {
	for i := range table {
		e := &table[i]
		t.Run(string(e.Name), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				n := rapid.IntRange(1, 12).Draw(rt, "targets")
				targets := make([]*Target, n)
				group := 0
				for i := range targets {
					targets[i] = tgt(fmt.Sprint("t", i))
					if i > 0 && rapid.Bool().Draw(rt, "next step") {
						group++
					}
					targets[i].Group, targets[i].Weight = group, float64(rapid.IntRange(0, 9).Draw(rt, "weight"))
					anything(rt, targets[i])
				}
				seed := rapid.Uint64().Draw(rt, "seed")
				limit := rapid.IntRange(1, 4).Draw(rt, "batch")
				run := func() (orders []string) {
					in := input(slices.Clone(targets))
					in.Rand, in.CacheKey = seeded(seed), "key"
					in.Config.StickyRoundRobin, in.Config.StickyWeighted = limit, limit
					for step := range 6 {
						in.Now = t0.Add(time.Duration(step) * time.Minute)
						in.Reserved = ""
						got := e.Order(in)
						orders = append(orders, keys(got))
						check(rt, e, in, got)
						if len(got) > 0 {
							served := got[step%len(got)]
							done(e.Name, in, got, served.Key, got[:step%len(got)]...)
						}
					}
					return orders
				}
				if one, two := run(), run(); !slices.Equal(one, two) {
					rt.Fatalf("%v\n%v", one, two)
				}
				if in := input(targets); keys(in.Targets) != keys(targets) {
					rt.Fatal("the input was changed")
				}
			})
		})
	}
}

func check(rt *rapid.T, e *Entry, in *Input, got []*Target) {
	want := map[string]bool{}
	for i := range in.Targets {
		t := in.Targets[i]
		left, known := t.Live.Quota.Remaining(in.Now)
		if e.Name != QuotaWeighted || t.Live.Breaker != Open && !(known && left <= tiny) {
			want[t.Key] = true
		}
	}
	for i := range got {
		if !want[got[i].Key] {
			rt.Fatalf("%s is doubled or out of place in %s", got[i].Key, keys(got))
		}
		delete(want, got[i].Key)
	}
	if len(want) > 0 {
		rt.Fatalf("lost %v", want)
	}
	for _, c := range []string{"c-t0", "c-t1"} {
		if n := InFlight(in.State, in.Now, c); n < 0 || n > 1 {
			rt.Fatalf("%d in flight on %s", n, c)
		}
	}
}

// TestRoundRobinIsFair: with everybody well, n·k requests are k each, whatever
// happens at the same time.
func TestRoundRobinIsFair(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(rt, "targets")
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprint("t", i)
		}
		in := input(tgts(names...))
		count := map[string]int{}
		var open [][]*Target
		for range 12 * n {
			got := e(RoundRobin).Order(in)
			count[got[0].Key]++
			open = append(open, got)
			if rapid.Bool().Draw(rt, "ends") { // some end late, in any order
				i := rapid.IntRange(0, len(open)-1).Draw(rt, "which")
				done(RoundRobin, in, open[i], open[i][0].Key)
				open = slices.Delete(open, i, i+1)
			}
		}
		for k, v := range count {
			if v != 12 {
				rt.Fatalf("%s has %d of 12: %v", k, v, count)
			}
		}
	})
}

func e(n Name) *Entry {
	x, _ := Lookup(string(n))
	return x
}

var numbers = newSlot[int](5)

// TestState: a slot never holds more than it may, and what is used stays.
func TestState(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, m := numbers, NewState()
		var recent []string
		model := map[string]int{}
		rt.Repeat(map[string]func(*rapid.T){
			"": func(rt *rapid.T) {
				if held(m, s) != len(model) || len(model) > 5 {
					rt.Fatalf("%d keys, want %d", held(m, s), len(model))
				}
			},
			"add": func(rt *rapid.T) {
				k := fmt.Sprint(rapid.IntRange(0, 9).Draw(rt, "key"))
				s.do(m, k, func(v *int) bool { *v++; return true })
				model[k]++
				recent = append(slices.DeleteFunc(recent, func(x string) bool { return x == k }), k)
				if len(model) > 5 {
					delete(model, recent[0])
					recent = recent[1:]
				}
			},
			"read": func(rt *rapid.T) {
				k := fmt.Sprint(rapid.IntRange(0, 9).Draw(rt, "key"))
				v, ok := s.get(m, k)
				if _, want := model[k]; ok != want || v != model[k] {
					rt.Fatalf("%s = %d, want %d", k, v, model[k])
				}
				if ok {
					recent = append(slices.DeleteFunc(recent, func(x string) bool { return x == k }), k)
				}
			},
			"drop": func(rt *rapid.T) {
				k := fmt.Sprint(rapid.IntRange(0, 9).Draw(rt, "key"))
				s.drop(m, k)
				delete(model, k)
				recent = slices.DeleteFunc(recent, func(x string) bool { return x == k })
			},
		})
	})
}

// TestPlansRunTogether is for the race detector: one planner, many requests.
func TestPlansRunTogether(t *testing.T) {
	w := place{accounts: map[string][]Account{"p": {{ID: "c1", Active: true}, {ID: "c2", Active: true}}}}
	for _, name := range append(Public(), QuotaShare) {
		p := planner(w)
		p.Rand = func() float64 { return .5 }
		c := mk("x", name, "p/a", "p/b", "p/c")
		end := make(chan string, 8)
		for range 8 {
			go func() {
				for i := range 50 {
					plan, r := p.Plan(&c, &Request{Now: t0, Session: "s", CacheKey: "k"})
					if r != nil {
						end <- r.Message
						return
					}
					plan.Fail(plan.Order[0])
					if i%2 == 0 {
						plan.Serve(t0, plan.Order[1], "", nil)
					}
					plan.Abandon(t0)
				}
				end <- ""
			}()
		}
		for range 8 {
			if msg := <-end; msg != "" {
				t.Errorf("%s: %s", name, msg)
			}
		}
		for _, c := range []string{"c1", "c2"} {
			if n := InFlight(p.State, t0, c); n != 0 {
				t.Errorf("%s: %d slots are never given back", name, n)
			}
		}
	}
}

// TestSpread: the percentile is the one that sorting would find.
func TestSpread(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		list := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 20), func(n int) time.Duration { return time.Duration(n) }), 1, 64).Draw(rt, "latencies")
		_, p95, _ := spread(list)
		sorted := slices.Sorted(slices.Values(list))
		if want := sorted[(95*len(list)+99)/100-1]; p95 != want {
			rt.Fatalf("the percentile of %v is %v, want %v", list, p95, want)
		}
	})
}
