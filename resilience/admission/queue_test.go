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

// T0 of the field cases.
var t0 = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// queues returns queues for the connection alpha of provider, protected.
func queues(provider string, set func(q *settings.RequestQueue), o Overrides) *Queues {
	s := settings.Defaults()
	if set != nil {
		set(&s.RequestQueue)
	}
	q := NewQueues()
	q.Configure(&s, []Conn{{ID: "alpha", Provider: provider, APIKey: true, Active: true, Overrides: o}})
	return q
}

var call = Call{Connection: "alpha", Model: "m1"}

func (q *Queues) view(t *testing.T, key string) QueueView {
	t.Helper()
	for _, v := range q.Views() {
		if v.Key == key {
			return v
		}
	}
	t.Fatalf("no limiter %s in %+v", key, q.Views())
	return QueueView{}
}

// send takes a slot that must be free.
func send(t *testing.T, q *Queues, c Call) *Slot {
	t.Helper()
	r := <-start(func() (*Slot, error) { return q.Acquire(t.Context(), c) })
	if r.err != nil || r.after != 0 {
		t.Fatalf("after %s: %v", r.after, r.err)
	}
	return r.got
}

func waitFor(t *testing.T, q *Queues, c Call) <-chan result[*Slot] {
	t.Helper()
	r := start(func() (*Slot, error) { return q.Acquire(t.Context(), c) })
	synctest.Wait()
	return r
}

func TestDepthCases(t *testing.T) {
	for _, c := range []struct {
		name          string
		queued, depth int64
		want          bool
	}{
		{"case 141 no limit", 1000, 0, true},
		{"case 141 a negative one", 1000, -1, true},
		{"case 142 one", 1, 2, true},
		{"case 142 two", 2, 2, false},
		{"case 142 five", 5, 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := AdmitDepth(c.queued, c.depth); got != c.want {
				t.Errorf("admitted: %v", got)
			}
		})
	}
}

func TestQueueCases(t *testing.T) {
	run := func(name string, f func(t *testing.T)) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
	}
	one := func(q *settings.RequestQueue) { q.ConcurrentRequests = 1 }
	run("case 143 concurrency 1, depth 1", func(t *testing.T) {
		q := queues("acme", func(q *settings.RequestQueue) { q.ConcurrentRequests, q.MaxQueueDepth = 1, 1 }, Overrides{})
		first := send(t, q, call)
		second := waitFor(t, q, call)
		third := <-waitFor(t, q, call)
		if e := refused(t, third.err, QueueFull); third.after != 0 || e.Status() != 429 ||
			e.Message != "Breakwater's own queue for acme/m1: 1 requests wait already (maxQueueDepth)." {
			t.Errorf("after %s: %+v", third.after, e)
		}
		first.Release()
		(<-second).got.Release()
	})
	run("case 144 concurrency 1, no depth", func(t *testing.T) {
		q := queues("acme", one, Overrides{})
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				s, err := q.Acquire(t.Context(), call)
				if err != nil {
					t.Error(err)
				}
				pause(t, time.Second)
				s.Release()
			})
		}
		from := time.Now()
		all.Wait()
		if took := time.Since(from); took != 4*time.Second {
			t.Errorf("took %s", took)
		}
	})
	run("case 145 without protection nothing is limited", func(t *testing.T) {
		s := settings.Defaults()
		s.RequestQueue.ConcurrentRequests = 1
		q := NewQueues()
		q.Configure(&s, []Conn{{ID: "alpha", Provider: "claude", Active: true}})
		for range 5 {
			send(t, q, call).Tokens(1)
		}
		send(t, q, Call{Connection: "unknown"}).Release()
		if l := q.Learn(call, Answer{Status: 429, Now: t0}); len(q.Views()) != 0 || l.Pause != 0 {
			t.Errorf("limiters: %+v", q.Views())
		}
	})
	run("case 154 an abort in the queue", func(t *testing.T) {
		q := queues("acme", one, Overrides{})
		first := send(t, q, call)
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("the client left")
		waiting := start(func() (*Slot, error) { return q.Acquire(ctx, call) })
		synctest.Wait()
		cancel(gone)
		if r := <-waiting; !errors.Is(r.err, gone) {
			t.Errorf("ended with %v", r.err)
		}
		if _, err := q.Acquire(ctx, call); !errors.Is(err, gone) {
			t.Errorf("and at once with %v", err)
		}
		first.Release()
		if v := q.view(t, "acme:alpha"); v.Running != 0 || v.Queued != 0 {
			t.Errorf("left: %+v", v)
		}
	})
	run("case 155 a wedged queue is taken down", func(t *testing.T) {
		q := queues("acme", func(q *settings.RequestQueue) { q.ConcurrentRequests, q.MaxWaitMs = 1, 3_600_000 }, Overrides{})
		first := send(t, q, call)
		waiting := waitFor(t, q, call)
		q.mu.Lock()
		q.limiters["acme:alpha"].running = 0 // the end of the first one was lost
		q.mu.Unlock()
		for i := range 5 {
			if w := q.Sweep(); (len(w) > 0) != (i == 4) {
				t.Fatalf("sweep %d took down %v", i, w)
			}
			pause(t, SweepEvery)
		}
		e := refused(t, (<-waiting).err, QueueWedged)
		if e.Status() != 503 {
			t.Errorf("%+v", e)
		}
		first.Release()
		send(t, q, call).Release()
	})
	run("case 156 a provider's window", func(t *testing.T) {
		s := settings.Defaults()
		n := int64(3)
		s.ProviderQuotaOverrides = map[string]settings.QuotaOverride{"gemini": {RPM: &n}}
		s.RequestQueue.MaxWaitMs = 120_000
		q := NewQueues()
		q.Configure(&s, []Conn{
			{ID: "alpha", Provider: "gemini", APIKey: true, Active: true}, {ID: "beta", Provider: "gemini", APIKey: true, Active: true},
			{ID: "gamma", Provider: "acme", APIKey: true, Active: true},
		})
		for _, model := range []string{"m1", "m2", "m1"} { // one window for all models
			send(t, q, Call{Connection: "alpha", Model: model}).Release()
		}
		fourth := waitFor(t, q, call)
		send(t, q, Call{Connection: "beta", Model: "m1"}).Release()
		for range 10 {
			send(t, q, Call{Connection: "gamma", Model: "m1"}).Release()
		}
		if r := <-fourth; r.err != nil || r.after != time.Minute {
			t.Errorf("after %s: %v", r.after, r.err)
		}
	})
	run("case 156 nvidia has one of its own", func(t *testing.T) {
		q := queues("nvidia", nil, Overrides{})
		for range 40 {
			send(t, q, call).Release()
		}
		r := <-waitFor(t, q, call) // the default budget ends before the window
		if e := refused(t, r.err, QueueTimeout); r.after != 0 || e.RetryAfter != time.Minute || !e.Elsewhere {
			t.Errorf("after %s: %+v", r.after, e)
		}
	})
	run("case 157 the budget is over", func(t *testing.T) {
		q := queues("acme", one, Overrides{})
		first := send(t, q, call)
		waiting := waitFor(t, q, call)
		pause(t, 20*time.Second)
		short := waitFor(t, q, call) // its own budget runs until 50 s
		r := <-waiting
		e := refused(t, r.err, QueueTimeout)
		if r.after != 30*time.Second || e.Status() != 503 || e.Elsewhere ||
			e.Message != "Breakwater's own queue for acme/m1: its turn did not come within 30s (maxWaitMs)." {
			t.Errorf("after %s: %+v", r.after, e)
		}
		first.Release()
		if r := <-short; r.err != nil || r.after != 10*time.Second {
			t.Errorf("the other one after %s: %v", r.after, r.err)
		}
	})
	run("case P11 the wait's budget does not cut what runs", func(t *testing.T) {
		q := queues("acme", func(q *settings.RequestQueue) { q.ConcurrentRequests, q.MaxWaitMs = 1, 1000 }, Overrides{})
		a := send(t, q, call)
		ctx, lift, stop := a.Bound(t.Context(), 0)
		b := waitFor(t, q, call)
		pause(t, 5*time.Second)
		if ctx.Err() != nil {
			t.Errorf("A was cut: %v", context.Cause(ctx))
		}
		lift()
		stop()
		a.Release()
		if r := <-b; r.after != time.Second {
			t.Errorf("B ended after %s", r.after)
		} else if e := refused(t, r.err, QueueTimeout); e.Type() != "local_queue_capacity" {
			t.Errorf("%+v", e)
		}
		if v := q.view(t, "acme:alpha"); v.Running != 0 {
			t.Errorf("B runs: %+v", v)
		}
	})
	run("case P12 a limit of hours empties the queue", func(t *testing.T) {
		q := queues("acme", one, Overrides{})
		a := send(t, q, call)
		var waiting []<-chan result[*Slot]
		for range 5 {
			waiting = append(waiting, waitFor(t, q, call))
		}
		q.Learn(call, Answer{Status: 429, Header: map[string][]string{"Retry-After": {"7200"}}, Now: t0})
		for _, w := range waiting {
			r := <-w
			if e := refused(t, r.err, QueueTimeout); r.after != 0 || e.RetryAfter != 2*time.Hour || !e.Elsewhere {
				t.Errorf("after %s: %+v", r.after, e)
			}
		}
		a.Release()
		send(t, q, call).Release() // nothing is paused: the connection is cooled elsewhere
	})
	run("case P61 as for the gates", func(t *testing.T) {
		s := settings.Defaults()
		conns := []Conn{{ID: "alpha", Provider: "acme", APIKey: true, Active: true}}
		s.RequestQueue.ConcurrentRequests = 4
		q := NewQueues()
		q.Configure(&s, conns)
		var held []*Slot
		for range 4 {
			held = append(held, send(t, q, call))
		}
		ctx, leave := context.WithCancel(t.Context())
		gone := start(func() (*Slot, error) { return q.Acquire(ctx, call) })
		synctest.Wait()
		stays := waitFor(t, q, call)
		s.RequestQueue.ConcurrentRequests = 1
		q.Configure(&s, conns)
		leave()
		if r := <-gone; !errors.Is(r.err, context.Canceled) {
			t.Errorf("ended with %v", r.err)
		}
		for i, h := range held {
			select {
			case <-stays:
				t.Fatalf("started with %d running", 4-i)
			default:
			}
			h.Release()
			synctest.Wait()
		}
		(<-stays).got.Release()
	})
}

func TestExecutionCases(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	for _, c := range []struct {
		name  string
		o     *int64
		fetch time.Duration
		want  time.Duration
	}{
		{"case 160 the default", nil, 0, 600 * time.Second},
		{"case 160 an override of 0 is ignored", n(0), 0, 600 * time.Second},
		{"an override", n(1000), 0, time.Second},
		{"raised to the time of the first answer", n(1000), time.Minute, time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := queues("acme", nil, Overrides{ExecutionMaxWaitMs: c.o})
				s := send(t, q, call)
				defer s.Release()
				ctx, _, stop := s.Bound(t.Context(), c.fetch)
				defer stop()
				from := time.Now()
				<-ctx.Done()
				if e := refused(t, context.Cause(ctx), ExecutionTimeout); time.Since(from) != c.want || e.Status() != 504 {
					t.Errorf("after %s: %+v", time.Since(from), e)
				}
			})
		})
	}
	t.Run("case 160 a negative override is refused", func(t *testing.T) {
		if _, p := ParseOverrides(map[string]any{"executionMaxWaitMs": -5.0}); len(p) != 1 {
			t.Errorf("problems: %v", p)
		}
	})
	t.Run("an answer that has begun is not cut", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := send(t, queues("acme", nil, Overrides{}), call)
			ctx, lift, stop := s.Bound(t.Context(), 0)
			lift()
			pause(t, time.Hour)
			if ctx.Err() != nil {
				t.Errorf("cut: %v", context.Cause(ctx))
			}
			stop()
			if ctx.Err() == nil {
				t.Error("not released")
			}
			none, lift, stop := (&Slot{}).Bound(t.Context(), 0)
			lift()
			stop()
			if none.Err() == nil {
				t.Error("not released either")
			}
		})
	})
}

func TestProtectionCases(t *testing.T) {
	key := Conn{ID: "k", Provider: "acme", APIKey: true, Active: true}
	explicit := Conn{ID: "x", Provider: "claude", Active: true, Protect: true}
	resolve := func(stored, env string) settings.Settings {
		s, _ := settings.Resolve([]byte(`{"requestQueue":{"autoEnableApiKeyProviders":`+stored+`}}`), nil, func(name string) string {
			if name == "RATE_LIMIT_AUTO_ENABLE" {
				return env
			}
			return ""
		})
		return s
	}
	t.Run("case 146 the environment wins", func(t *testing.T) {
		for stored, env := range map[string]string{"true": "false", "false": "true"} {
			s := resolve(stored, env)
			q := NewQueues()
			q.Configure(&s, []Conn{key})
			if got := q.Protected("k"); got != (env == "true") {
				t.Errorf("stored %s, env %s: %v", stored, env, got)
			}
		}
	})
	t.Run("case 147 the net off and on", func(t *testing.T) {
		q := NewQueues()
		for _, on := range []string{"true", "false", "true"} {
			s := resolve(on, "")
			q.Configure(&s, []Conn{key, explicit})
			if q.Protected("k") != (on == "true") || !q.Protected("x") {
				t.Errorf("net %s: key %v, explicit %v", on, q.Protected("k"), q.Protected("x"))
			}
			if n := len(q.Views()); (n == 2) != (on == "true") {
				t.Errorf("net %s: %d limiters", on, n)
			}
		}
	})
	t.Run("case 61 there is no opting out", func(t *testing.T) {
		off := key
		off.Protect = false
		if !off.Protected(true) || off.Protected(false) {
			t.Error("an active key connection is covered by the net, and by nothing else")
		}
		idle := key
		idle.Active = false
		if idle.Protected(true) || !explicit.Protected(false) {
			t.Error("the net covers active ones only; explicit protection always holds")
		}
	})
	t.Run("who waits goes on when protection ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := resolve("true", "")
			s.RequestQueue.ConcurrentRequests = 1
			q := NewQueues()
			q.Configure(&s, []Conn{{ID: "alpha", Provider: "acme", APIKey: true, Active: true}})
			first := send(t, q, call)
			waiting := waitFor(t, q, call)
			q.Configure(&s, nil)
			r := <-waiting
			if r.err != nil || r.after != 0 || len(q.Views()) != 0 {
				t.Errorf("after %s: %v, %+v", r.after, r.err, q.Views())
			}
			r.got.Release()
			first.Release()
		})
	})
}

func TestRates(t *testing.T) {
	run := func(name string, f func(t *testing.T)) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
	}
	run("spacing", func(t *testing.T) {
		q := queues("acme", func(q *settings.RequestQueue) { q.MinTimeBetweenRequestsMs = 350 }, Overrides{})
		send(t, q, call).Release()
		second, third := waitFor(t, q, call), waitFor(t, q, call)
		if r := <-second; r.err != nil || r.after != 350*ms {
			t.Errorf("second after %s: %v", r.after, r.err)
		}
		if r := <-third; r.err != nil || r.after != 700*ms {
			t.Errorf("third after %s: %v", r.after, r.err)
		}
	})
	run("requests a minute", func(t *testing.T) {
		q := queues("acme", func(q *settings.RequestQueue) { q.RequestsPerMinute, q.MaxWaitMs = 2, 90_000 }, Overrides{})
		send(t, q, call).Release()
		pause(t, 40*time.Second)
		send(t, q, call).Release()
		third, fourth := waitFor(t, q, call), waitFor(t, q, call)
		if r := <-third; r.err != nil || r.after != 20*time.Second {
			t.Errorf("third after %s: %v", r.after, r.err)
		}
		if r := <-fourth; r.err != nil || r.after != time.Minute {
			t.Errorf("fourth after %s: %v", r.after, r.err)
		}
	})
	run("tokens a minute and a day, requests a day", func(t *testing.T) {
		n := func(v int64) *int64 { return &v }
		q := queues("acme", nil, Overrides{TPM: n(1000), TPD: n(1500), RPD: n(3)})
		s := send(t, q, call)
		s.Tokens(1000)
		s.Release()
		r := <-waitFor(t, q, call)
		if e := refused(t, r.err, QueueTimeout); e.RetryAfter != time.Minute || !e.Elsewhere {
			t.Errorf("%+v", e)
		}
		pause(t, time.Minute)
		s = send(t, q, call)
		s.Tokens(600)
		s.Release()
		if e := refused(t, (<-waitFor(t, q, call)).err, QueueTimeout); e.RetryAfter != 24*time.Hour-time.Minute {
			t.Errorf("%+v", e)
		}
		pause(t, 24*time.Hour)
		for range 3 {
			send(t, q, call).Release()
		}
		if e := refused(t, (<-waitFor(t, q, call)).err, QueueTimeout); e.RetryAfter != 24*time.Hour {
			t.Errorf("%+v", e)
		}
	})
	run("the preset called cautious", func(t *testing.T) {
		q := queues("acme", func(q *settings.RequestQueue) { *q = settings.Cautious(*q) }, Overrides{})
		var held []*Slot
		for range 6 {
			r := <-waitFor(t, q, call)
			held = append(held, r.got)
		}
		seventh := waitFor(t, q, call)
		pause(t, 10*time.Second)
		held[0].Release()
		if r := <-seventh; r.err != nil || r.after != 10*time.Second {
			t.Errorf("after %s: %v", r.after, r.err)
		}
	})
}

func TestRulesFor(t *testing.T) {
	s := settings.Defaults()
	n := func(v int64) *int64 { return &v }
	if got := RulesFor(&s, "acme", Overrides{}); got != (Rules{MaxWait: 30 * time.Second, Execution: 10 * time.Minute}) {
		t.Errorf("ruling 39: %+v", got)
	}
	s.RequestQueue = settings.Cautious(s.RequestQueue)
	o := Overrides{RPM: n(0), MinTimeMs: n(0), MaxConcurrent: n(0), MaxWaitMs: n(0), ExecutionMaxWaitMs: n(0)}
	if got := RulesFor(&s, "acme", o); got != (Rules{MaxWait: 30 * time.Second, Execution: 10 * time.Minute}) {
		t.Errorf("0 is no limit: %+v", got)
	}
	o = Overrides{RPM: n(7), MinTimeMs: n(8), MaxConcurrent: n(9), MaxWaitMs: n(10), ExecutionMaxWaitMs: n(11), TPM: n(12), TPD: n(13), RPD: n(14)}
	want := Rules{
		PerMinute: 7, Spacing: 8 * ms, Concurrent: 9, MaxWait: 10 * ms, Execution: 11 * ms, TokensPerMinute: 12, TokensPerDay: 13, PerDay: 14, OwnPace: true,
	}
	if got := RulesFor(&s, "maxai", o); got != want {
		t.Errorf("overrides: %+v", got)
	}
	for provider, want := range map[string]time.Duration{"zai-web": time.Minute, "maxai": 5 * time.Minute, "mx": 5 * time.Minute, "acme": 30 * time.Second} {
		if got := RulesFor(&s, provider, Overrides{}); got.MaxWait != want {
			t.Errorf("%s waits %s", provider, got.MaxWait)
		}
	}
}
