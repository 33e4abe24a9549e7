package admission

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"breakwater/resilience/settings"
)

// bubble runs f in a synctest bubble of its own with rapid's generator.
func bubble(t *testing.T, f func(t *testing.T, rt *rapid.T)) {
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(t *testing.T) { f(t, rt) })
	})
}

// request is one request of the model.
type request[P interface{ Release() }] struct {
	id     int
	cancel context.CancelFunc
	done   <-chan result[P]
	permit P
	model  string
	from   time.Time
}

// TestGateProperties drives the composite gate with arbitrary requests,
// cancellations, releases, blocks and limits.
func TestGateProperties(t *testing.T) {
	bubble(t, func(t *testing.T, rt *rapid.T) {
		g := NewGates()
		limits := map[string]int{"global": 3, "a": 2, "b": 2, "x": 1}
		var waiting, running []*request[*Permit]
		seq := 0
		key := map[string]Key{"global": {}, "a": AccountKey("p", "a"), "b": AccountKey("p", "b"), "x": {Model, "p", "a", "x"}}
		settle := func() {
			synctest.Wait()
			waiting = slices.DeleteFunc(waiting, func(r *request[*Permit]) bool {
				select {
				case end := <-r.done:
					if end.err == nil {
						r.permit = end.got
						running = append(running, r)
					} else {
						r.cancel()
					}
					return true
				default:
					return false
				}
			})
		}
		uses := func(r *request[*Permit], gate string) bool {
			return gate == "global" || gate == r.model[:1] || gate == r.model[1:]
		}
		count := func(gate string) (n int) {
			for _, r := range running {
				if uses(r, gate) {
					n++
				}
			}
			return n
		}
		blocked := func(gate string) bool {
			return slices.ContainsFunc(g.Views(), func(v GateView) bool { return v.Key == key[gate] && v.Blocked > 0 })
		}
		most := map[string]int{} // running when the limit was lowered
		rt.Repeat(map[string]func(*rapid.T){
			"": func(rt *rapid.T) {
				settle()
				for gate, k := range key {
					n := g.Running(k)
					if n < 0 || n != count(gate) {
						rt.Fatalf("%s counts %d, %d run", gate, n, count(gate))
					}
					if n > max(limits[gate], most[gate]) {
						rt.Fatalf("%d at %s, limit %d", n, gate, limits[gate])
					}
					most[gate] = min(most[gate], n)
				}
				for _, r := range waiting { // nobody waits without a reason
					reason := false
					for gate := range key {
						reason = reason || uses(r, gate) && (blocked(gate) || count(gate) >= limits[gate])
					}
					if !reason {
						rt.Fatalf("%d (%s) waits for nothing: %+v", r.id, r.model, g.Views())
					}
				}
			},
			"acquire": func(rt *rapid.T) {
				r := &request[*Permit]{id: seq, model: rapid.SampledFrom([]string{"ax", "ay", "bx", "by"}).Draw(rt, "model")}
				seq++
				if r.model == "bx" {
					r.model = "by"
				}
				ctx, cancel := context.WithCancel(t.Context())
				r.cancel = cancel
				needs := []Need{{key["global"], limits["global"], Unbounded}, {key[r.model[:1]], limits[r.model[:1]], 3}}
				if r.model == "ax" {
					needs = append(needs, Need{key["x"], limits["x"], 3})
				}
				r.done = start(func() (*Permit, error) { return g.Acquire(ctx, 10*time.Second, needs...) })
				waiting = append(waiting, r)
			},
			"release": func(rt *rapid.T) {
				if len(running) == 0 {
					return
				}
				i := rapid.IntRange(0, len(running)-1).Draw(rt, "which")
				running[i].permit.Release()
				running[i].permit.Release()
				running = slices.Delete(running, i, i+1)
			},
			"cancel": func(rt *rapid.T) {
				if len(waiting) == 0 {
					return
				}
				r := waiting[rapid.IntRange(0, len(waiting)-1).Draw(rt, "which")]
				r.cancel()
				if len(running) > 0 && rapid.Bool().Draw(rt, "and a release at the same moment") {
					running[0].permit.Release()
					running = running[1:]
				}
				if end := <-r.done; end.err == nil {
					rt.Fatalf("%d was let in after it had left", r.id)
				}
				waiting = slices.DeleteFunc(waiting, func(x *request[*Permit]) bool { return x == r })
			},
			"limit": func(rt *rapid.T) {
				gate := rapid.SampledFrom([]string{"global", "a", "b", "x"}).Draw(rt, "gate")
				limits[gate] = rapid.IntRange(1, 4).Draw(rt, "limit")
				most[gate] = max(most[gate], count(gate))
				g.SetLimit(key[gate], limits[gate])
			},
			"block": func(rt *rapid.T) {
				g.Block(key[rapid.SampledFrom([]string{"a", "b", "x"}).Draw(rt, "gate")], time.Duration(rapid.IntRange(1, 20).Draw(rt, "s"))*time.Second)
			},
			"reset": func(*rapid.T) { g.Reset(func(k Key) bool { return k.Account == "a" }) },
			"wait": func(rt *rapid.T) {
				pause(t, time.Duration(rapid.IntRange(1, 8000).Draw(rt, "ms"))*ms)
			},
		})
		for _, r := range waiting {
			r.cancel()
		}
		for _, r := range running {
			r.permit.Release()
			r.cancel()
		}
		pause(t, time.Minute)
		settle()
		if len(running) > 0 && len(waiting) > 0 || len(g.gates) != 0 {
			rt.Fatalf("left behind: %+v", g.Views())
		}
	})
}

// TestQueueProperties drives one queue with arbitrary calls, answers and rules.
func TestQueueProperties(t *testing.T) {
	bubble(t, func(t *testing.T, rt *rapid.T) {
		s := settings.Defaults()
		s.RequestQueue.MaxWaitMs = 90_000
		conns := []Conn{{ID: "alpha", Provider: "acme", APIKey: true, Active: true}}
		q := NewQueues()
		q.Configure(&s, conns)
		var waiting, running []*request[*Slot]
		seq, most := 0, 0
		paused := time.Time{}
		settle := func() {
			synctest.Wait()
			waiting = slices.DeleteFunc(waiting, func(r *request[*Slot]) bool {
				select {
				case end := <-r.done:
					if end.err == nil {
						r.permit = end.got
						running = append(running, r)
						if at := r.from.Add(end.after); at.Before(paused) {
							rt.Errorf("started %s before the pause's end", paused.Sub(at))
						}
					} else {
						r.cancel()
					}
					return true
				default:
					return false
				}
			})
		}
		rt.Repeat(map[string]func(*rapid.T){
			"": func(rt *rapid.T) {
				settle()
				v := q.view(t, acme)
				if v.Running != int64(len(running)) || v.Queued != int64(len(waiting)) {
					rt.Fatalf("%+v, and %d run, %d wait", v, len(running), len(waiting))
				}
				r := s.RequestQueue
				if r.ConcurrentRequests > 0 && len(running) > max(int(r.ConcurrentRequests), most) {
					rt.Fatalf("%d run, limit %d", len(running), r.ConcurrentRequests)
				}
				most = min(most, len(running))
			},
			"acquire": func(*rapid.T) {
				r := &request[*Slot]{id: seq}
				seq++
				ctx, cancel := context.WithCancel(t.Context())
				r.cancel = cancel
				r.from = time.Now()
				r.done = start(func() (*Slot, error) { return q.Acquire(ctx, call) })
				waiting = append(waiting, r)
			},
			"release": func(rt *rapid.T) {
				if len(running) == 0 {
					return
				}
				i := rapid.IntRange(0, len(running)-1).Draw(rt, "which")
				running[i].permit.Release()
				running[i].permit.Release()
				running = slices.Delete(running, i, i+1)
			},
			"cancel": func(rt *rapid.T) {
				if len(waiting) == 0 {
					return
				}
				r := waiting[rapid.IntRange(0, len(waiting)-1).Draw(rt, "which")]
				r.cancel()
				if end := <-r.done; end.err == nil {
					rt.Fatalf("%d was started after it had left", r.id)
				}
				waiting = slices.DeleteFunc(waiting, func(x *request[*Slot]) bool { return x == r })
			},
			"rules": func(rt *rapid.T) {
				most = max(most, len(running))
				s.RequestQueue.ConcurrentRequests = rapid.Int64Range(0, 4).Draw(rt, "concurrent")
				s.RequestQueue.MaxQueueDepth = rapid.Int64Range(0, 4).Draw(rt, "depth")
				q.Configure(&s, conns)
			},
			"pause": func(rt *rapid.T) {
				wait := rapid.IntRange(1, 40).Draw(rt, "s")
				q.Learn(call, Answer{Status: 429, Now: t0, Body: fmt.Appendf(nil, `%s%ds"}]}}`, retryInfo, wait)})
				if until := time.Now().Add(time.Duration(wait) * time.Second); until.After(paused) {
					paused = until
				}
			},
			"wait": func(rt *rapid.T) {
				pause(t, time.Duration(rapid.IntRange(1, 30_000).Draw(rt, "ms"))*ms)
			},
			"sweep": func(rt *rapid.T) {
				if w := q.Sweep(); len(w) > 0 {
					rt.Fatalf("taken down: %v", w)
				}
				q.Configure(&s, conns)
			},
		})
		for _, r := range waiting {
			r.cancel()
		}
		synctest.Wait()
		settle()
		for _, r := range running {
			r.permit.Release()
			r.cancel()
		}
		if v := q.view(t, acme); v.Running != 0 || v.Queued != 0 {
			rt.Fatalf("left behind: %+v", v)
		}
	})
}

// TestWindowProperties compares the window with a list of everything counted.
func TestWindowProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := window{span: time.Minute}
		limit := rapid.Int64Range(1, 5).Draw(rt, "limit")
		if rapid.Bool().Draw(rt, "large") {
			limit = 1500
		}
		now := t0
		var all []time.Time
		within := func(span time.Duration, at time.Time) (n int64) {
			for i := len(all) - 1; i >= 0 && all[i].Add(span).After(at); i-- {
				n++
			}
			return n
		}
		inside := func(at time.Time) int64 { return within(w.span, at) }
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 20_000).Draw(rt, "ms")) * ms)
			gap := time.Duration(rapid.IntRange(0, 2).Draw(rt, "gap")) * ms
			for range rapid.IntRange(1, 300).Draw(rt, "burst") {
				free := w.free(now, limit)
				if n := inside(now); limit < maxExact && free.After(now) != (n >= limit) {
					rt.Fatalf("free at %s with %d of %d", free.Sub(now), n, limit)
				}
				if free.After(now) {
					if n := within(w.span+w.span/1000, now); n < limit {
						rt.Fatalf("refused with %d of %d", n, limit)
					}
					if inside(free) >= limit || free.Sub(now) > w.span {
						rt.Fatalf("told to come back after %s, when %d are inside", free.Sub(now), inside(free))
					}
					break
				}
				w.add(now, 1)
				all = append(all, now)
				now = now.Add(gap)
			}
			if n := inside(now); n > limit {
				rt.Fatalf("%d within a minute, limit %d", n, limit)
			}
		}
		if len(w.entries) > 4*maxExact || w.sum < 0 {
			rt.Fatalf("%d entries, sum %d", len(w.entries), w.sum)
		}
	})
}

func TestWindowAtAHighRate(t *testing.T) {
	w, now, passed := window{span: time.Minute}, t0, 0
	const limit = 60_000
	for range 180_000 {
		now = now.Add(ms)
		if !w.free(now, limit).After(now) {
			w.add(now, 1)
			passed++
		}
	}
	if passed < 178_000 || len(w.entries) > 4*maxExact {
		t.Errorf("%d of 180000 passed at the limit's own rate, %d entries", passed, len(w.entries))
	}
}

func BenchmarkComposite(b *testing.B) {
	g, ctx := NewGates(), context.Background()
	caps := Caps{Global: 100, Provider: 50, Account: 4, Models: map[string]int{"m1": 2}, Depth: 20}
	b.ReportAllocs()
	for b.Loop() {
		p, err := g.Composite(ctx, caps, "acme", "alpha", "m1")
		if err != nil {
			b.Fatal(err)
		}
		p.Release()
	}
}

func BenchmarkCompositeWithoutLimits(b *testing.B) {
	g, ctx := NewGates(), context.Background()
	b.ReportAllocs()
	for b.Loop() {
		p, err := g.Composite(ctx, Caps{}, "acme", "alpha", "m1")
		if err != nil {
			b.Fatal(err)
		}
		p.Release()
	}
}

func BenchmarkQueue(b *testing.B) {
	for name, set := range map[string]func(*settings.RequestQueue){
		"defaults": nil,
		"limited":  func(q *settings.RequestQueue) { q.ConcurrentRequests, q.RequestsPerMinute = 100, 1_000_000 },
	} {
		b.Run(name, func(b *testing.B) {
			q, ctx := queues("acme", set, Overrides{}), context.Background()
			b.ReportAllocs()
			for b.Loop() {
				s, err := q.Acquire(ctx, call)
				if err != nil {
					b.Skip("the minute's limit is used up")
				}
				s.Release()
			}
		})
	}
}

// BenchmarkContended hands one place from one waiting request to the next.
func BenchmarkContended(b *testing.B) {
	g := NewGates()
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			p, err := g.Acquire(context.Background(), time.Minute, Need{account, 4, Unbounded})
			if err != nil {
				b.Error(err)
				return
			}
			p.Release()
		}
	})
}
