package admission

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"breakwater/resilience/settings"
)

var account = AccountKey("acme", "alpha")

func one(limit, depth int) Need { return Need{account, limit, depth} }

// pass takes a permit that must be free.
func pass(t *testing.T, g *Gates, needs ...Need) *Permit {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p, err := g.Acquire(ctx, time.Nanosecond, needs...)
	if err != nil {
		t.Fatalf("not let in: %v", err)
	}
	return p
}

// result is how a call in the background ended.
type result[T any] struct {
	got   T
	err   error
	after time.Duration
}

// start runs f in the background of the bubble.
func start[T any](f func() (T, error)) <-chan result[T] {
	done, from := make(chan result[T], 1), time.Now()
	go func() {
		got, err := f()
		done <- result[T]{got, err, time.Since(from)}
	}()
	return done
}

// pause lets the bubble's time pass.
func pause(t *testing.T, d time.Duration) {
	t.Helper()
	if err := Sleep(context.WithoutCancel(t.Context()), d); err != nil {
		t.Fatal(err)
	}
}

func refused(t *testing.T, err error, code Code) *Error {
	t.Helper()
	e, ok := Local(err)
	if !ok || e.Code != code {
		t.Fatalf("ended with %v, want %s", err, code)
	}
	return e
}

func queued(g *Gates, key Key) int {
	for _, v := range g.Views() {
		if v.Key == key {
			return v.Queued
		}
	}
	return 0
}

func TestGateCases(t *testing.T) {
	run := func(name string, f func(t *testing.T, g *Gates)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, NewGates()) })
		})
	}
	run("case 126 the third of two waits", func(t *testing.T, g *Gates) {
		a, b := pass(t, g, one(2, 20)), pass(t, g, one(2, 20))
		third := start(func() (*Permit, error) { return g.Acquire(t.Context(), 0, one(2, 20)) })
		synctest.Wait()
		if n := queued(g, account); n != 1 {
			t.Fatalf("%d wait", n)
		}
		a.Release()
		r := <-third
		if r.err != nil {
			t.Fatal(r.err)
		}
		b.Release()
		r.got.Release()
		if v := g.Views(); len(v) != 0 {
			t.Errorf("the idle gate stays: %+v", v)
		}
	})
	run("case 127 no cap, no gate", func(t *testing.T, g *Gates) {
		for range 100 {
			pass(t, g, one(0, 0))
		}
		if v := g.Views(); len(v) != 0 {
			t.Errorf("gates: %+v", v)
		}
	})
	run("case 128 the wait ends", func(t *testing.T, g *Gates) {
		defer pass(t, g, one(1, 20)).Release()
		r := <-start(func() (*Permit, error) { return g.Acquire(t.Context(), time.Second, one(1, 20)) })
		e := refused(t, r.err, SemaphoreTimeout)
		if r.after != time.Second || e.Status() != 429 || e.Type() != "account_semaphore_capacity" {
			t.Errorf("after %s: %+v", r.after, e)
		}
	})
	run("case 129 a second release is none", func(t *testing.T, g *Gates) {
		a, b := pass(t, g, one(2, 0)), pass(t, g, one(2, 0))
		a.Release()
		a.Release()
		a.Release()
		if n := g.Running(account); n != 1 {
			t.Errorf("%d run", n)
		}
		b.Release()
	})
	run("case 130 blocked, then reset", func(t *testing.T, g *Gates) {
		p := pass(t, g, one(2, 20))
		g.Block(account, 50*time.Millisecond)
		next := start(func() (*Permit, error) { return g.Acquire(t.Context(), 0, one(2, 20)) })
		synctest.Wait()
		if n := queued(g, account); n != 1 {
			t.Fatalf("%d wait", n)
		}
		g.Reset(func(k Key) bool { return k.Provider == "acme" })
		_ = refused(t, (<-next).err, SemaphoreReset)
		if v := g.Views(); len(v) != 1 || v[0].Running != 1 || v[0].Limit != 2 || v[0].Blocked != 0 {
			t.Errorf("views: %+v", v)
		}
		p.Release()
	})
	run("blocked until it ends", func(t *testing.T, g *Gates) {
		g.Block(account, 2*time.Second)
		g.Block(account, time.Second) // the shorter one changes nothing
		r := <-start(func() (*Permit, error) { return g.Acquire(t.Context(), 0, one(1, 20)) })
		if r.err != nil || r.after != 2*time.Second {
			t.Errorf("after %s: %v", r.after, r.err)
		}
		r.got.Release()
	})
	run("a combo's gate opens 50 ms later", func(t *testing.T, g *Gates) {
		need := Need{Key{Level: Combo, Account: "c:1"}, 3, Unbounded}
		g.Block(need.Key, time.Second)
		r := <-start(func() (*Permit, error) { return g.Acquire(t.Context(), 0, need) })
		if r.err != nil || r.after != 1050*time.Millisecond {
			t.Errorf("after %s: %v", r.after, r.err)
		}
		r.got.Release()
	})
	run("who cannot wait for the block's end is told at once", func(t *testing.T, g *Gates) {
		p := pass(t, g, one(1, 20))
		waiting := start(func() (*Permit, error) { return g.Acquire(t.Context(), 5*time.Second, one(1, 20)) })
		synctest.Wait()
		g.Block(account, time.Hour)
		r := <-waiting
		if e := refused(t, r.err, SemaphoreTimeout); r.after != 0 || e.RetryAfter != time.Hour || !e.Elsewhere {
			t.Errorf("after %s: %+v", r.after, e)
		}
		_, err := g.Acquire(t.Context(), 5*time.Second, one(1, 20))
		if e := refused(t, err, SemaphoreTimeout); e.RetryAfter != time.Hour {
			t.Errorf("a new one: %+v", e)
		}
		p.Release()
	})
	run("the queue is full", func(t *testing.T, g *Gates) {
		p := pass(t, g, one(1, 1))
		waiting := start(func() (*Permit, error) { return g.Acquire(t.Context(), 0, one(1, 1)) })
		synctest.Wait()
		_, err := g.Acquire(t.Context(), 0, one(1, 1))
		_ = refused(t, err, SemaphoreQueueFull)
		p.Release()
		(<-waiting).got.Release()
	})
	run("case 71 depth 0 never waits", func(t *testing.T, g *Gates) {
		p := pass(t, g, one(1, 0))
		_, err := g.Acquire(t.Context(), 0, one(1, 0))
		_ = refused(t, err, SemaphoreQueueFull)
		p.Release()
	})
	run("an ended request is not queued", func(t *testing.T, g *Gates) {
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("the client left")
		cancel(gone)
		if _, err := g.Acquire(ctx, 0, one(1, 20)); !errors.Is(err, gone) {
			t.Errorf("ended with %v", err)
		}
		if len(g.gates) != 0 {
			t.Error("a gate was made for it")
		}
	})
	run("a waiting request that ends gives its reason", func(t *testing.T, g *Gates) {
		p := pass(t, g, one(1, 20))
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("the client left")
		r := start(func() (*Permit, error) { return g.Acquire(ctx, 0, one(1, 20)) })
		synctest.Wait()
		cancel(gone)
		if err := (<-r).err; !errors.Is(err, gone) {
			t.Errorf("ended with %v", err)
		}
		p.Release()
		if len(g.gates) != 0 {
			t.Errorf("left behind: %d gates", len(g.gates))
		}
	})
	run("a key given twice has the stricter cap", func(t *testing.T, g *Gates) {
		p := pass(t, g, one(5, 0), one(1, 0), one(0, 0))
		_, err := g.Acquire(t.Context(), 0, one(5, 0), one(1, 0))
		_ = refused(t, err, SemaphoreQueueFull)
		p.Release()
	})
}

func TestComposite(t *testing.T) {
	run := func(name string, f func(t *testing.T, g *Gates)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, NewGates()) })
		})
	}
	take := func(t *testing.T, g *Gates, c Caps, conn, model string) *Permit {
		t.Helper()
		p, err := g.Composite(t.Context(), c, "zai", conn, model)
		if err != nil {
			t.Error(err)
		}
		return p
	}
	run("the stricter of account and model holds", func(t *testing.T, g *Gates) {
		c := Caps{Account: 4, Models: map[string]int{"glm-5": 1, "glm-4.7": 3}, Depth: 20}
		a := take(t, g, c, "a", "glm-5")
		second := start(func() (*Permit, error) { return g.Composite(t.Context(), c, "zai", "a", "glm-5") })
		synctest.Wait()
		held := []*Permit{take(t, g, c, "a", "glm-4.7"), take(t, g, c, "a", "zai/glm-5"), take(t, g, c, "a", "glm-4.7")}
		fifth := start(func() (*Permit, error) { return g.Composite(t.Context(), c, "zai", "a", "other") })
		synctest.Wait()
		if n := g.Running(AccountKey("zai", "a")); n != 4 {
			t.Errorf("%d run, and a waiting one must hold nothing", n)
		}
		a.Release()
		p := <-second
		if p.err != nil {
			t.Fatal(p.err)
		}
		select {
		case <-fifth:
			t.Error("the fifth overtook")
		default:
		}
		p.got.Release()
		(<-fifth).got.Release()
		for _, p := range held {
			p.Release()
		}
		if len(g.gates) != 0 {
			t.Errorf("%d gates are left", len(g.gates))
		}
	})
	run("a full account does not stop another one behind the same global gate", func(t *testing.T, g *Gates) {
		c := Caps{Global: 3, Account: 1, Depth: 20}
		a := take(t, g, c, "a", "m")
		waits := start(func() (*Permit, error) { return g.Composite(t.Context(), c, "zai", "a", "m") })
		synctest.Wait()
		b := take(t, g, c, "b", "m")
		a.Release()
		(<-waits).got.Release()
		b.Release()
	})
	run("the oldest comes first wherever it waits", func(t *testing.T, g *Gates) {
		c := Caps{Account: 2, Models: map[string]int{"x": 1}, Depth: 20}
		x, y := take(t, g, c, "a", "x"), take(t, g, c, "a", "y")
		order := make(chan string, 3)
		var all sync.WaitGroup
		defer all.Wait()
		for _, model := range []string{"x", "z", "x"} {
			all.Go(func() {
				p := take(t, g, c, "a", model)
				order <- model
				pause(t, time.Second)
				p.Release()
			})
			synctest.Wait()
		}
		x.Release()
		if got := <-order; got != "x" {
			t.Errorf("%s came first", got)
		}
		y.Release()
		if a, b := <-order, <-order; a != "z" || b != "x" {
			t.Errorf("then %s and %s", a, b)
		}
	})
	run("depth 0 is unlimited (ruling 5)", func(t *testing.T, g *Gates) {
		c := Caps{Account: 1}
		p := take(t, g, c, "a", "m")
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() { take(t, g, c, "a", "m").Release() })
		}
		synctest.Wait()
		p.Release()
		all.Wait()
	})
	run("twenty wait for an account", func(t *testing.T, g *Gates) {
		s := settings.Defaults()
		c := CapsFor(&s, "zai", 1, Overrides{})
		p := take(t, g, c, "a", "m")
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { take(t, g, c, "a", "m").Release() })
		}
		synctest.Wait()
		_, err := g.Composite(t.Context(), c, "zai", "a", "m")
		_ = refused(t, err, SemaphoreQueueFull)
		p.Release()
		all.Wait()
	})
}
