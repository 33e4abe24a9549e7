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

// path is the way of a request past everything that can hold it, in the order
// of the attempt loop: qsconn, the round-robin gate, the composite gate and the
// queue.
type path struct {
	g     *Gates
	q     *Queues
	caps  Caps
	limit int
}

// newPath returns a path on which every gate and the queue have one limit.
func newPath(limit int) *path {
	p := &path{g: NewGates(), q: NewQueues(), limit: limit}
	p.caps = Caps{Global: limit, Provider: limit, Account: limit, Models: map[string]int{"m0": limit, "m1": limit / 2}}
	p.setQueue(limit)
	return p
}

func (p *path) setQueue(limit int) {
	s := settings.Defaults()
	s.RequestQueue.ConcurrentRequests = int64(limit)
	p.q.Configure(&s, []Conn{{ID: "alpha", Provider: "acme", APIKey: true, Active: true}})
}

var roundRobin = Key{Level: Combo, Account: "target"}

// through passes everything, runs f and gives everything back.
func (p *path) through(ctx context.Context, i int, f func()) error {
	share := p.g.QuotaShare(ctx, true, "alpha", p.limit, 0, Unbounded)
	defer share.Release()
	turn, err := p.g.Acquire(ctx, 0, Need{roundRobin, p.limit, Unbounded})
	if err != nil {
		return err
	}
	defer turn.Release()
	permit, err := p.g.Composite(ctx, p.caps, "acme", "alpha", fmt.Sprintf("m%d", i%2))
	if err != nil {
		return err
	}
	defer permit.Release()
	slot, err := p.q.Acquire(ctx, call)
	if err != nil {
		return err
	}
	defer slot.Release()
	f()
	return nil
}

// wobble lowers and raises limits at random.
func (p *path) wobble(pause func()) {
	for range 50 {
		for _, key := range []Key{{Level: Global}, {Level: Provider, Provider: "acme"}, AccountKey("acme", "alpha"), roundRobin, {Level: Share, Account: "alpha"}} {
			p.g.SetLimit(key, 1+rand.IntN(p.limit))
		}
		p.setQueue(1 + rand.IntN(p.limit))
		pause()
	}
	p.setQueue(p.limit)
}

// rested checks that nothing is left, and that as many as before, and no more,
// can run together.
func (p *path) rested(t *testing.T) {
	t.Helper()
	if v := p.q.view(t, acme); len(p.g.gates) != 0 || v.Running != 0 || v.Queued != 0 {
		t.Fatalf("left: %+v, %+v", p.g.Views(), p.q.Views())
	}
	var all, in sync.WaitGroup
	leave := make(chan struct{})
	in.Add(p.limit)
	for range p.limit {
		all.Go(func() {
			if err := p.through(t.Context(), 0, func() { in.Done(); <-leave }); err != nil {
				t.Error(err)
				in.Done()
			}
		})
	}
	in.Wait() // all of them run together, or the test never ends
	for _, need := range []Need{
		{Key{Level: Share, Account: "alpha"}, p.limit, 0},
		{roundRobin, p.limit, 0},
		{Key{Level: Global}, p.limit, 0},
		{AccountKey("acme", "alpha"), p.limit, 0},
	} {
		if one, err := p.g.Acquire(t.Context(), 0, need); err == nil {
			t.Errorf("%s lets one more in", need.Key)
			one.Release()
		}
	}
	if v := p.q.view(t, acme); v.Running != int64(p.limit) {
		t.Errorf("%d of %d run in the queue", v.Running, p.limit)
	}
	close(leave)
	all.Wait()
}

func storm(t *testing.T, limit int, changing bool) {
	p := newPath(limit)
	var inside meter
	var served, ghosts atomic.Int64
	var all sync.WaitGroup
	for i := range 2000 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(5000))*time.Microsecond)
			defer cancel()
			_ = p.through(ctx, i, func() {
				// Time stands still while anybody runs: whoever is let in later than
				// this had left before.
				if left, _ := ctx.Deadline(); time.Now().After(left) {
					ghosts.Add(1)
				}
				inside.enter()
				defer inside.in.Add(-1)
				if Sleep(ctx, time.Duration(rand.IntN(3000))*time.Microsecond) == nil {
					served.Add(1)
				}
			})
		})
	}
	if changing {
		all.Go(func() { p.wobble(func() { pause(t, 100*time.Microsecond) }) })
	}
	all.Wait()
	if inside.in.Load() != 0 || inside.most.Load() > int64(limit) || ghosts.Load() > 0 {
		t.Errorf("%d inside, %d at once, %d let in after they had left", inside.in.Load(), inside.most.Load(), ghosts.Load())
	}
	p.rested(t)
	t.Logf("served %d of 2000, at most %d at once", served.Load(), inside.most.Load())
}

// TestRealPermitStorm is the storm in real time, where grants, cancellations
// and changed limits really meet.
func TestRealPermitStorm(t *testing.T) {
	for _, changing := range []bool{false, true} {
		t.Run(fmt.Sprintf("case P60 limits changing: %v", changing), func(t *testing.T) {
			const limit = 64
			p := newPath(limit)
			var inside meter
			var served, wrong atomic.Int64
			var all sync.WaitGroup
			gone := errors.New("gone")
			for i := range 2000 {
				all.Go(func() {
					ctx, cancel := context.WithCancelCause(context.Background())
					defer cancel(nil)
					timer := time.AfterFunc(time.Duration(rand.IntN(5000))*time.Microsecond, func() { cancel(gone) })
					defer timer.Stop()
					err := p.through(ctx, i, func() {
						inside.enter()
						defer inside.in.Add(-1)
						if Sleep(ctx, time.Duration(rand.IntN(300))*time.Microsecond) == nil {
							served.Add(1)
						}
					})
					if err != nil && !errors.Is(err, gone) {
						wrong.Add(1)
					}
				})
			}
			if changing {
				all.Go(func() { p.wobble(func() { _ = Sleep(context.Background(), 100*time.Microsecond) }) })
			}
			all.Wait()
			if inside.in.Load() != 0 || inside.most.Load() > limit || wrong.Load() > 0 {
				t.Errorf("%d inside, %d at once, %d wrong errors", inside.in.Load(), inside.most.Load(), wrong.Load())
			}
			p.rested(t)
			t.Logf("served %d of 2000, at most %d at once", served.Load(), inside.most.Load())
		})
	}
}

// TestRealStorm storms the gates and the queue each alone, outside a bubble,
// with cancellations at the very moment of the grant.
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
