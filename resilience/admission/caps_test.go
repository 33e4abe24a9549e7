package admission

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"breakwater/resilience/settings"
)

func TestQuotaShare(t *testing.T) {
	run := func(name string, f func(t *testing.T, g *Gates)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, NewGates()) })
		})
	}
	share := Key{Level: Share, Account: "a"}
	run("case 131 requests to one account follow one another", func(t *testing.T, g *Gates) {
		first := g.QuotaShare(t.Context(), true, "a", 1, 0, 20)
		second := start(func() (*Permit, error) { return g.QuotaShare(t.Context(), true, "a", 1, 0, 20), nil })
		pause(t, time.Second)
		first.Release()
		if r := <-second; r.after != time.Second || len(r.got.gates) != 1 {
			t.Errorf("after %s", r.after)
		} else {
			r.got.Release()
		}
	})
	run("case 132 a busy account without a queue is used all the same", func(t *testing.T, g *Gates) {
		first := g.QuotaShare(t.Context(), true, "a", 1, 0, 0)
		open := g.QuotaShare(t.Context(), true, "a", 1, 0, 0)
		if n := g.Running(share); n != 1 {
			t.Errorf("%d slots are taken", n)
		}
		open.Release()
		first.Release()
		if n := g.Running(share); n != 0 {
			t.Errorf("%d slots are left", n)
		}
	})
	run("a wait that was too long goes on", func(t *testing.T, g *Gates) {
		defer g.QuotaShare(t.Context(), true, "a", 1, 0, 20).Release()
		r := <-start(func() (*Permit, error) { return g.QuotaShare(t.Context(), true, "a", 1, 2*time.Second, 20), nil })
		if r.after != 2*time.Second {
			t.Errorf("after %s", r.after)
		}
		r.got.Release()
	})
	for name, free := range map[string]func(g *Gates) *Permit{
		"case 133 no cap":        func(g *Gates) *Permit { return g.QuotaShare(t.Context(), true, "a", 0, 0, 20) },
		"case 133 no connection": func(g *Gates) *Permit { return g.QuotaShare(t.Context(), true, "", 1, 0, 20) },
		"case 133 switched off":  func(g *Gates) *Permit { return g.QuotaShare(t.Context(), false, "a", 1, 0, 20) },
	} {
		run(name, func(t *testing.T, g *Gates) {
			p := free(g)
			defer p.Release()
			if p == nil || len(g.gates) != 0 {
				t.Errorf("permit %v, %d gates", p, len(g.gates))
			}
		})
	}
}

func TestLimitsChangeWhileRunning(t *testing.T) {
	run := func(name string, f func(t *testing.T, g *Gates)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, NewGates()) })
		})
	}
	run("case P61 a lowered limit holds, a gone waiter never runs", func(t *testing.T, g *Gates) {
		var held []*Permit
		for range 4 {
			held = append(held, pass(t, g, one(4, 20)))
		}
		ctx, leave := context.WithCancel(t.Context())
		gone := start(func() (*Permit, error) { return g.Acquire(ctx, 0, one(4, 20)) })
		synctest.Wait()
		stays := start(func() (*Permit, error) { return g.Acquire(t.Context(), 0, one(4, 20)) })
		synctest.Wait()
		g.SetLimit(account, 1)
		leave()
		if r := <-gone; !errors.Is(r.err, context.Canceled) {
			t.Errorf("the gone one ended with %v", r.err)
		}
		for i, p := range held {
			select {
			case <-stays:
				t.Fatalf("let in with %d running", 4-i)
			default:
			}
			p.Release()
			synctest.Wait()
		}
		r := <-stays
		if r.err != nil || g.Running(account) != 1 {
			t.Errorf("%v, %d run", r.err, g.Running(account))
		}
		r.got.Release()
	})
	run("a raised limit lets the waiting ones in", func(t *testing.T, g *Gates) {
		p := pass(t, g, one(1, 20))
		var waits []<-chan result[*Permit]
		for range 3 {
			waits = append(waits, start(func() (*Permit, error) { return g.Acquire(t.Context(), 0, one(1, 20)) }))
		}
		synctest.Wait()
		g.SetLimit(account, 3)
		synctest.Wait()
		if n := g.Running(account); n != 3 {
			t.Errorf("%d run", n)
		}
		g.SetLimit(account, 0)
		for _, w := range waits {
			(<-w).got.Release()
		}
		p.Release()
	})
	run("the limit of the next request raises it too, the older go first", func(t *testing.T, g *Gates) {
		p := pass(t, g, one(1, 20))
		old := start(func() (*Permit, error) { return g.Acquire(t.Context(), 0, one(1, 20)) })
		synctest.Wait()
		young := start(func() (*Permit, error) { return g.Acquire(t.Context(), 0, one(2, 20)) })
		synctest.Wait()
		o := <-old
		select {
		case <-young:
			t.Error("the younger one is in")
		default:
		}
		p.Release()
		o.got.Release()
		(<-young).got.Release()
	})
	run("a limit set later counts those who came without one", func(t *testing.T, g *Gates) {
		a, b := pass(t, g, one(0, 20)), pass(t, g, one(0, 20))
		_, err := g.Acquire(t.Context(), 0, one(1, 0))
		_ = refused(t, err, SemaphoreQueueFull)
		a.Release()
		b.Release()
		pass(t, g, one(1, 0)).Release()
	})
}

// TestWalkingOverDeadKeys is the queue's part of case P18: a failed attempt
// gives everything back, and walking on uses up none of the waits.
func TestWalkingOverDeadKeys(t *testing.T) {
	t.Run("case P18 six connections, four dead", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g, q := NewGates(), NewQueues()
			s := settings.Defaults()
			s.RequestQueue.ConcurrentRequests = 1
			var conns []Conn
			for i := range 6 {
				conns = append(conns, Conn{ID: fmt.Sprint(i), Provider: "acme", APIKey: true, Active: true})
			}
			q.Configure(&s, conns)
			spent, tried := Spent{}, 0
			for _, c := range conns {
				served := func() bool {
					p, err := g.Composite(t.Context(), CapsFor(&s, "acme", 1, c.Overrides), "acme", c.ID, "m1")
					if err != nil {
						t.Fatal(err)
					}
					defer p.Release()
					slot, err := q.Acquire(t.Context(), Call{Connection: c.ID, Model: "m1"})
					if err != nil {
						t.Fatal(err)
					}
					defer slot.Release()
					tried++
					return tried == 5
				}()
				if served {
					break
				}
			}
			if tried != 5 || spent != (Spent{}) || len(g.gates) != 0 {
				t.Errorf("%d tried, %+v spent, %d gates left", tried, spent, len(g.gates))
			}
			for _, v := range q.Views() {
				if v.Running != 0 {
					t.Errorf("%s still runs", v.Key)
				}
			}
		})
	})
}

func TestCapsFor(t *testing.T) {
	s := settings.Defaults()
	s.RequestQueue.GlobalConcurrentRequests = 50
	n := func(v int64) *int64 { return &v }
	s.ProviderQuotaOverrides = map[string]settings.QuotaOverride{
		"nvidia-two": {Concurrency: n(8), ProviderConcurrency: n(4)}, "nvidia": {Concurrency: n(9)},
	}
	for _, c := range []struct {
		provider               string
		max                    int
		o                      Overrides
		wantProvider, wantConn int
	}{
		{"acme", 0, Overrides{}, 0, 0},
		{"acme", 4, Overrides{MaxConcurrent: n(2)}, 0, 2},
		{"acme", 2, Overrides{MaxConcurrent: n(0)}, 0, 2},
		{"acme", 0, Overrides{MaxConcurrent: n(3)}, 0, 3},
		{"nvidia", 0, Overrides{}, 9, 0},
		{"nvidia-two", 0, Overrides{}, 4, 0},
	} {
		got := CapsFor(&s, c.provider, c.max, c.o)
		if got.Global != 50 || got.Provider != c.wantProvider || got.Account != c.wantConn || got.Depth != 20 {
			t.Errorf("%s %d: %+v", c.provider, c.max, got)
		}
	}
	s.ProviderQuotaOverrides = nil
	if got := CapsFor(&s, "nvidia", 0, Overrides{}); got.Provider != 6 {
		t.Errorf("nvidia: %+v", got)
	}
}

func TestKeysAndErrors(t *testing.T) {
	for want, k := range map[string]Key{
		"global": {}, "zai": {Level: Provider, Provider: "zai"}, "zai:a": AccountKey("zai", "a"),
		"zai:a:model:glm-5": {Model, "zai", "a", "glm-5"}, "qsconn:a": {Level: Share, Account: "a"},
		"combo:fast:1": {Level: Combo, Account: "fast:1"},
	} {
		if got := k.String(); got != want {
			t.Errorf("%+v is %q", k, got)
		}
	}
	for code, want := range map[Code]struct {
		status int
		typ    string
	}{
		SemaphoreTimeout: {429, TypeSemaphore}, SemaphoreQueueFull: {429, TypeSemaphore}, SemaphoreReset: {429, TypeSemaphore},
		QueueFull: {429, TypeQueue}, QueueTimeout: {503, TypeQueue}, QueueWedged: {503, TypeQueue}, ExecutionTimeout: {504, TypeQueue},
	} {
		err := fmt.Errorf("attempt: %w", &Error{Code: code, Message: "m"})
		e, ok := Local(err)
		if !ok || e.Status() != want.status || e.Type() != want.typ || !errors.Is(err, &Error{Code: code}) {
			t.Errorf("%s: %+v", code, e)
		}
		if errors.Is(err, &Error{Code: "other"}) || e.Error() != string(code)+": m" {
			t.Errorf("%s: %v", code, err)
		}
	}
	if _, ok := Local(context.Canceled); ok {
		t.Error("a cancelled context is no refusal of ours")
	}
	(*Permit)(nil).Release()
	(*Slot)(nil).Release()
	(*Slot)(nil).Tokens(1)
}
