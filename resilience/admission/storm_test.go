package admission

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"breakwater/resilience/settings"
)

// meter counts who is inside and how many were at once.
type meter struct{ in, most atomic.Int64 }

func (m *meter) enter() {
	n := m.in.Add(1)
	for {
		most := m.most.Load()
		if n <= most || m.most.CompareAndSwap(most, n) {
			return
		}
	}
}

// TestPermitStorm cancels 2 000 requests after 0 to 5 ms, some of them while
// they wait, on every gate and queue at once, while limits go up and down.
// Afterwards the full capacity must be there, and nobody may have been let in
// whose client had left.
func TestPermitStorm(t *testing.T) {
	const limit = 64
	for _, changing := range []bool{false, true} {
		t.Run(fmt.Sprintf("case P60 limits changing: %v", changing), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { storm(t, limit, changing) })
		})
	}
}

func storm(t *testing.T, limit int, changing bool) {
	s := settings.Defaults()
	s.RequestQueue.ConcurrentRequests = int64(limit)
	conns := []Conn{{ID: "alpha", Provider: "acme", APIKey: true, Active: true}}
	q, g := NewQueues(), NewGates()
	q.Configure(&s, conns)
	caps := Caps{Global: limit, Provider: limit, Account: limit, Models: map[string]int{"m0": limit, "m1": limit / 2}}
	var inside meter
	var served, ghosts atomic.Int64
	through := func(ctx context.Context, i int) {
		share := g.QuotaShare(ctx, true, "alpha", limit, 0, Unbounded)
		defer share.Release()
		p, err := g.Composite(ctx, caps, "acme", "alpha", fmt.Sprintf("m%d", i%2))
		if err != nil {
			return
		}
		defer p.Release()
		slot, err := q.Acquire(ctx, call)
		if err != nil {
			return
		}
		defer slot.Release()
		if ctx.Err() != nil {
			ghosts.Add(1)
		}
		inside.enter()
		defer inside.in.Add(-1)
		if Sleep(ctx, time.Duration(rand.IntN(3000))*time.Microsecond) == nil {
			served.Add(1)
		}
	}
	var all sync.WaitGroup
	for i := range 2000 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(5000))*time.Microsecond)
			defer cancel()
			through(ctx, i)
		})
	}
	if changing {
		all.Go(func() {
			for range 50 {
				n := 1 + rand.IntN(limit)
				g.SetLimit(AccountKey("acme", "alpha"), n)
				changed := s
				changed.RequestQueue.ConcurrentRequests = int64(1 + rand.IntN(limit))
				q.Configure(&changed, conns)
				pause(t, 100*time.Microsecond)
			}
			q.Configure(&s, conns)
		})
	}
	all.Wait()
	if inside.in.Load() != 0 || inside.most.Load() > int64(limit) || ghosts.Load() > 0 {
		t.Errorf("%d inside, %d at once, %d let in after they had left", inside.in.Load(), inside.most.Load(), ghosts.Load())
	}
	if len(g.gates) != 0 || q.view(t, acme).Running != 0 || q.view(t, acme).Queued != 0 {
		t.Fatalf("left: %+v, %+v", g.Views(), q.Views())
	}
	var again meter
	for i := range limit {
		all.Go(func() {
			p, err := g.Composite(t.Context(), caps, "acme", "alpha", "m0")
			if err != nil {
				t.Errorf("%d: %v", i, err)
				return
			}
			defer p.Release()
			slot, err := q.Acquire(t.Context(), call)
			if err != nil {
				t.Errorf("%d: %v", i, err)
				return
			}
			defer slot.Release()
			again.enter()
			pause(t, time.Second)
		})
	}
	synctest.Wait()
	if n := again.in.Load(); n != int64(limit) {
		t.Errorf("%d of %d run together after the storm", n, limit)
	}
	all.Wait()
	t.Logf("served %d of 2000, at most %d at once", served.Load(), inside.most.Load())
}

// TestRealStorm does the same outside a bubble, where grants and cancellations
// really meet.
func TestRealStorm(t *testing.T) {
	const limit = 8
	g := NewGates()
	needs := []Need{{Key{Level: Global}, limit, Unbounded}, {account, limit, Unbounded}}
	q := queues("acme", func(q *settings.RequestQueue) { q.ConcurrentRequests = limit }, Overrides{})
	for name, acquire := range map[string]func(ctx context.Context, i int) (interface{ Release() }, error){
		"gates": func(ctx context.Context, i int) (interface{ Release() }, error) {
			return g.Acquire(ctx, time.Minute, needs[i%2:]...)
		},
		"queue": func(ctx context.Context, _ int) (interface{ Release() }, error) { return q.Acquire(ctx, call) },
	} {
		t.Run(name, func(t *testing.T) {
			var inside meter
			var all sync.WaitGroup
			var wrong atomic.Int64
			gone := errors.New("gone")
			for i := range 2000 {
				all.Go(func() {
					ctx, cancel := context.WithCancelCause(context.Background())
					all.Go(func() { cancel(gone) })
					p, err := acquire(ctx, i)
					if err != nil {
						if !errors.Is(err, gone) {
							wrong.Add(1)
						}
						return
					}
					inside.enter()
					inside.in.Add(-1)
					p.Release()
					p.Release()
				})
			}
			all.Wait()
			if inside.most.Load() > limit || wrong.Load() > 0 {
				t.Errorf("%d at once, %d wrong errors", inside.most.Load(), wrong.Load())
			}
		})
	}
	if v := q.view(t, acme); len(g.gates) != 0 || v.Running != 0 || v.Queued != 0 {
		t.Errorf("left %+v, %+v", g.Views(), v)
	}
}
