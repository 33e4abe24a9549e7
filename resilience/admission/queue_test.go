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
			{ID: "alpha", Provider: "gemini", APIKey: true, Active: true},
			{ID: "beta", Provider: "gemini", APIKey: true, Active: true},
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
		b := waitFor(t, q, call)
		pause(t, 5*time.Second)
		if limit := a.Limit(0); limit <= 5*time.Second {
			t.Errorf("A was cut after %s", limit)
		}
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
