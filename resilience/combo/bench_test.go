package combo

import (
	"testing"
	"time"
)

// benchTargets are ten targets with everything known.
func benchTargets() []*Target {
	l := tgts("a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
	for i := range l {
		f := float64(i)
		l[i].Weight = f + 1
		l[i].Live = Live{
			Quota: &Quota{At: t0, Session: used(f/20, time.Hour), Weekly: used(f/15, 50*time.Hour)},
			Usage: &Usage{Requests: int64(i), Successes: int64(i), Samples: i, Latency: time.Second, P95: time.Second, Telemetry: true},
		}
		l[i].Facts = Facts{Price: price(f, 2*f), Context: int64(i) * 1000, Tools: Yes, Tier: PremiumTier}
	}
	return l
}

func BenchmarkOrder(b *testing.B) {
	for i := range table {
		e := &table[i]
		b.Run(string(e.Name), func(b *testing.B) {
			in := input(benchTargets())
			in.CacheKey = "conversation-1"
			b.ReportAllocs()
			for b.Loop() {
				e.Order(in)
				if in.Reserved != "" {
					End(in.State, in.Now, in.Reserved)
				}
			}
		})
	}
}

func BenchmarkPlan(b *testing.B) {
	for _, name := range []Name{Priority, RoundRobin, Weighted, Auto, QuotaWeighted} {
		b.Run(string(name), func(b *testing.B) {
			p := planner(place{})
			live := benchTargets()
			p.Look = func(_ time.Time, t *Target) { t.Live = live[t.Group].Live }
			p.Fixed = func(s *Spec) { s.Facts = live[s.Group].Facts }
			c := mk("x", name, "p/a", "p/b", "p/c", "p/d", "p/e", "p/f", "p/g", "p/h", "p/i", "p/j")
			q := Request{Now: t0, Session: "s"}
			b.ReportAllocs()
			for b.Loop() {
				plan, r := p.Plan(&c, &q)
				if r != nil {
					b.Fatal(r)
				}
				plan.Serve(t0, plan.Order[0], "", nil)
			}
		})
	}
}

func BenchmarkLatency(b *testing.B) {
	l := NewLatency()
	for i := range 20 {
		l.Record(t0, "c", "m", time.Duration(i)*time.Millisecond, false)
	}
	b.ReportAllocs()
	for b.Loop() {
		LatencyPenalty(10, l.Stats(t0, "c", "m"), l.Stats(t0, "c", ""))
	}
}
