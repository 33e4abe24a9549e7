package admission

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"breakwater/resilience/settings"
)

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
				if limit := s.Limit(c.fetch); limit != c.want {
					t.Errorf("after %s", limit)
				}
				if e := refused(t, Expired(c.want), ExecutionTimeout); e.Status() != 504 {
					t.Errorf("%+v", e)
				}
			})
		})
	}
	t.Run("case 160 a negative override is refused", func(t *testing.T) {
		if _, p := ParseOverrides(map[string]any{"executionMaxWaitMs": -5.0}); len(p) != 1 {
			t.Errorf("problems: %v", p)
		}
	})
	t.Run("a connection without protection has none", func(t *testing.T) {
		if limit := (&Slot{}).Limit(time.Minute); limit != 0 {
			t.Errorf("after %s", limit)
		}
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
	run("a spacing longer than the wait refuses at once", func(t *testing.T) {
		q := queues("acme", func(q *settings.RequestQueue) { q.MinTimeBetweenRequestsMs, q.MaxWaitMs = 60_000, 30_000 }, Overrides{})
		send(t, q, call).Release()
		pause(t, 10*time.Second)
		r := <-waitFor(t, q, call)
		if e := refused(t, r.err, QueueTimeout); r.after != 0 || e.RetryAfter != 50*time.Second {
			t.Errorf("after %s: %+v", r.after, e)
		}
		pause(t, 20*time.Second)
		if r := <-waitFor(t, q, call); r.err != nil || r.after != 30*time.Second {
			t.Errorf("after %s: %v", r.after, r.err)
		}
	})
	run("a wait that just fits is waited", func(t *testing.T) {
		q := queues("acme", func(q *settings.RequestQueue) { q.MinTimeBetweenRequestsMs, q.MaxWaitMs = 30_000, 30_000 }, Overrides{})
		for range 20 { // whichever of two timers comes first
			r := <-waitFor(t, q, call)
			if r.err != nil {
				t.Fatalf("after %s: %v", r.after, r.err)
			}
			r.got.Release()
		}
	})
	run("a call that left in the moment of its turn uses up nothing", func(t *testing.T) {
		q := queues("acme", func(q *settings.RequestQueue) { q.ConcurrentRequests, q.RequestsPerMinute = 1, 2 }, Overrides{})
		first := send(t, q, call)
		ctx, leave := context.WithCancel(t.Context())
		gone := start(func() (*Slot, error) { return q.Acquire(ctx, call) })
		synctest.Wait()
		leave()
		first.Release()
		if r := <-gone; r.err == nil {
			t.Error("it was started")
		}
		send(t, q, call).Release()
	})
	run("nobody is overtaken, even when a timer is late", func(t *testing.T) {
		q := queues("acme", func(q *settings.RequestQueue) { q.MinTimeBetweenRequestsMs = 350 }, Overrides{})
		send(t, q, call).Release()
		older := waitFor(t, q, call)
		q.limiters[acme].timer.Stop()
		pause(t, time.Second)
		younger := waitFor(t, q, call)
		if r := <-older; r.err != nil || r.after != time.Second {
			t.Errorf("the older one after %s: %v", r.after, r.err)
		}
		if r := <-younger; r.err != nil || r.after != 350*ms {
			t.Errorf("the younger one after %s: %v", r.after, r.err)
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
