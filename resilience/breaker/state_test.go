package breaker

import (
	"testing"
	"time"

	"breakwater/resilience/outcome"
)

// in brings a breaker with thresholds 2 and 4 into a state.
func in(t *testing.T, s State) *rig {
	r := newRig(t, Options{FailureThreshold: 4, DegradationThreshold: 2, ResetTimeout: 10 * time.Second, MaxBackoffMultiplier: 4, BackoffEscalationCount: 1})
	switch s {
	case Degraded:
		r.fails(3)
	case Open:
		r.fails(4)
	case HalfOpen:
		r.fails(4)
		r.clock.Advance(10 * time.Second)
	case Closed:
	}
	r.wantState(s)
	return r
}

// TestStateTable walks every (state, event) pair of sheet §1.6.
func TestStateTable(t *testing.T) {
	type event string
	const (
		failure   event = "failure"
		threshold event = "failures to the threshold"
		success   event = "success"
		test      event = "connection test"
		reset     event = "reset"
		quiet     event = "quiet for 10 s, read"
		quieter   event = "quiet for 40 s, read"
		goodProbe event = "probe succeeds"
		badProbe  event = "probe fails"
		lostProbe event = "probe proves nothing"
	)
	apply := func(r *rig, e event) {
		now := r.clock.Now()
		switch e {
		case failure:
			r.fails(1)
		case threshold:
			r.fails(4)
		case success:
			r.succeed()
		case test:
			r.TestPassed(now)
		case reset:
			r.Reset(now)
		case quiet:
			r.clock.Advance(10 * time.Second)
		case quieter:
			r.clock.Advance(40 * time.Second)
		default:
			p, _ := r.Acquire(now)
			r.Report(now, p, map[event]outcome.Class{goodProbe: outcome.Success, badProbe: outcome.Failure, lostProbe: outcome.Neutral}[e], outcome.KindNone)
		}
	}
	for _, c := range []struct {
		from     State
		event    event
		to       State
		failures int
		reason   string // "" with no transition expected
	}{
		{Closed, failure, Closed, 1, ""},
		{Closed, threshold, Open, 4, ""},
		{Closed, success, Closed, 0, ""},
		{Closed, test, Closed, 0, ""},
		{Closed, reset, Closed, 0, "manual-reset"},
		{Closed, quieter, Closed, 0, ""},
		{Closed, goodProbe, Closed, 0, ""}, // ordinary traffic: no probe is taken
		{Closed, badProbe, Closed, 1, ""},
		{Closed, lostProbe, Closed, 0, ""},

		{Degraded, failure, Open, 4, ""},
		{Degraded, success, Closed, 2, "recovery"},
		{Degraded, test, Closed, 0, "connection-test"},
		{Degraded, reset, Closed, 0, "manual-reset"},
		{Degraded, quiet, Degraded, 3, ""},
		{Degraded, quieter, Closed, 0, "degraded-decay"},
		{Degraded, goodProbe, Closed, 2, "recovery"},
		{Degraded, badProbe, Open, 4, ""},
		{Degraded, lostProbe, Degraded, 3, ""},

		{Open, failure, Open, 5, ""},
		{Open, success, Closed, 0, "success-recovery"},
		{Open, test, Open, 4, ""},
		{Open, reset, Closed, 0, "manual-reset"},
		{Open, quiet, HalfOpen, 4, "timeout-elapsed"},
		{Open, goodProbe, Open, 4, ""}, // none is given
		{Open, badProbe, Open, 4, ""},
		{Open, lostProbe, Open, 4, ""},

		{HalfOpen, failure, Open, 5, "probe-failed (cycle 1)"},
		{HalfOpen, success, Closed, 0, "probe-success"},
		{HalfOpen, test, HalfOpen, 4, ""},
		{HalfOpen, reset, Closed, 0, "manual-reset"},
		{HalfOpen, quieter, HalfOpen, 4, ""},
		{HalfOpen, goodProbe, Closed, 0, "probe-success"},
		{HalfOpen, badProbe, Open, 5, "probe-failed (cycle 1)"},
		{HalfOpen, lostProbe, HalfOpen, 4, ""},
	} {
		t.Run(c.from.String()+" "+string(c.event), func(t *testing.T) {
			r := in(t, c.from)
			before := len(r.status().History)
			apply(r, c.event)
			s := r.status()
			if s.State != c.to || s.Failures != c.failures {
				t.Fatalf("-> %s with %d failures, want %s with %d", s.State, s.Failures, c.to, c.failures)
			}
			if c.from != c.to && s.State != HalfOpen && s.State != Open && r.Clean() != (s.Failures == 0) {
				t.Errorf("clean = %v with %d failures", r.Clean(), s.Failures)
			}
			if c.reason == "" && c.from == c.to && len(s.History) != before {
				t.Errorf("a transition %+v was written", s.History[len(s.History)-1])
			}
			if c.reason != "" && r.lastReason() != c.reason {
				t.Errorf("reason = %q, want %q", r.lastReason(), c.reason)
			}
		})
	}
}

func TestReasonsAndHistory(t *testing.T) {
	r := newRig(t, Options{FailureThreshold: 4, DegradationThreshold: 2, ResetTimeout: 10 * time.Second})
	r.fails(2)
	if r.lastReason() != "elevated-failures (2/4)" {
		t.Errorf("reason = %q", r.lastReason())
	}
	r.fail(outcome.KindTransient)
	r.fail(outcome.KindTransient)
	if r.lastReason() != "kind:transient" {
		t.Errorf("reason = %q", r.lastReason())
	}
	if got := r.status().KindFailures[outcome.KindTransient]; got != 2 {
		t.Errorf("transient failures = %d", got)
	}
	for range 30 {
		r.Reset(r.clock.Now())
	}
	if h := r.status().History; len(h) != 20 || h[0].Reason != "manual-reset" {
		t.Errorf("history holds %d entries, the oldest %q", len(h), h[0].Reason)
	}
	if n := len(r.notes); n < 32 {
		t.Errorf("%d notes for 32 transitions", n)
	}
}

func TestReportIsGuarded(t *testing.T) {
	now := func(r *rig) time.Time { return r.clock.Now() }
	t.Run("case 38 a success does nothing to OPEN", func(t *testing.T) {
		r := newRig(t, Options{FailureThreshold: 1, ResetTimeout: time.Minute})
		p, _ := r.Acquire(now(r))
		r.fails(1)
		if r.Report(now(r), p, outcome.Success, outcome.KindNone) {
			t.Error("the success counted")
		}
		r.wantState(Open)
		if n := r.status().Failures; n != 1 {
			t.Errorf("failures = %d", n)
		}
	})
	t.Run("case 42 OPEN is never extended", func(t *testing.T) {
		r := newRig(t, Options{FailureThreshold: 1, ResetTimeout: time.Minute})
		r.fails(1)
		r.wantRetryAfter(time.Minute)
		r.clock.Advance(10 * time.Second)
		if r.Report(now(r), Permit{}, outcome.Failure, outcome.KindNone) {
			t.Error("the failure counted")
		}
		r.wantRetryAfter(50 * time.Second)
	})
	t.Run("an attempt begun before the outage says nothing in HALF_OPEN", func(t *testing.T) {
		for _, class := range []outcome.Class{outcome.Success, outcome.Failure} {
			r := in(t, Closed)
			old, _ := r.Acquire(now(r))
			r.fails(4)
			r.clock.Advance(10 * time.Second)
			r.wantState(HalfOpen)
			r.Report(now(r), old, class, outcome.KindNone)
			r.wantState(HalfOpen)
		}
	})
}

func TestProbeLease(t *testing.T) {
	probe := func(t *testing.T) (*rig, Permit) {
		r := in(t, HalfOpen)
		p, v := r.Acquire(r.clock.Now())
		if !p.Probe() || !v.Allowed {
			t.Fatal("no probe was given")
		}
		return r, p
	}
	t.Run("P22 a hanging probe loses its lease after one reset time", func(t *testing.T) {
		r, old := probe(t)
		r.clock.Advance(9 * time.Second)
		if _, v := r.Acquire(r.clock.Now()); v.Allowed {
			t.Fatal("a second probe was let through")
		}
		r.wantRetryAfter(time.Second)
		r.clock.Advance(time.Second)
		fresh, v := r.Acquire(r.clock.Now())
		if !v.Allowed || !fresh.Probe() {
			t.Fatal("the lease did not end")
		}
		for _, class := range []outcome.Class{outcome.Success, outcome.Failure, outcome.Neutral} {
			r.Report(r.clock.Now(), old, class, outcome.KindNone)
			r.wantState(HalfOpen)
			if v := r.Check(r.clock.Now()); v.Allowed {
				t.Fatal("a late result of the old probe gave its place back")
			}
		}
		r.Report(r.clock.Now(), fresh, outcome.Success, outcome.KindNone)
		r.wantState(Closed)
		r.Report(r.clock.Now(), old, outcome.Failure, outcome.KindNone)
		if n := r.status().Failures; n != 0 {
			t.Errorf("a late failure counted: %d", n)
		}
	})
	t.Run("P22 a probe whose client leaves is given back", func(t *testing.T) {
		r, p := probe(t)
		r.Report(r.clock.Now(), p, outcome.Neutral, outcome.KindNone)
		if v := r.Check(r.clock.Now()); !v.Allowed {
			t.Error("the probe did not come back")
		}
	})
	t.Run("a permit of ordinary traffic gives no probe back", func(t *testing.T) {
		r, _ := probe(t)
		r.Report(r.clock.Now(), Permit{}, outcome.Neutral, outcome.KindNone)
		if v := r.Check(r.clock.Now()); v.Allowed {
			t.Error("a probe appeared")
		}
	})
	t.Run("a probe given back after the allowance was lowered", func(t *testing.T) {
		r := newRig(t, Options{FailureThreshold: 1, HalfOpenRequests: 2, ResetTimeout: 10 * time.Second})
		r.fails(1)
		r.clock.Advance(10 * time.Second)
		p, _ := r.Acquire(r.clock.Now())
		r.Configure(Options{HalfOpenRequests: 1})
		r.Report(r.clock.Now(), p, outcome.Neutral, outcome.KindNone)
		if n := r.lease.allowance; n != 1 {
			t.Errorf("allowance = %d", n)
		}
	})
	t.Run("a clock step does not stretch OPEN", func(t *testing.T) {
		r := in(t, Open)
		r.clock.Advance(-3 * time.Hour)
		if v := r.Check(r.clock.Now()); v.Until.Sub(r.clock.Now()) != 10*time.Second {
			t.Errorf("open for %s", v.Until.Sub(r.clock.Now()))
		}
	})
	t.Run("several probes", func(t *testing.T) {
		r := newRig(t, Options{FailureThreshold: 1, HalfOpenRequests: 2, ResetTimeout: 10 * time.Second})
		r.fails(1)
		r.clock.Advance(10 * time.Second)
		a, _ := r.Acquire(r.clock.Now())
		r.clock.Advance(time.Second)
		b, v := r.Acquire(r.clock.Now())
		if !v.Allowed {
			t.Fatal("the second probe was refused")
		}
		r.wantRetryAfter(9 * time.Second)
		r.Report(r.clock.Now(), a, outcome.Neutral, outcome.KindNone)
		r.Report(r.clock.Now(), b, outcome.Success, outcome.KindNone)
		r.wantState(Closed)
	})
}

func TestRestore(t *testing.T) {
	restore := func(t *testing.T, s Saved) *rig {
		r := newRig(t, Options{FailureThreshold: 4, DegradationThreshold: 2, ResetTimeout: 10 * time.Second})
		r.Restore(r.clock.Now(), s)
		return r
	}
	t.Run("OPEN keeps its end", func(t *testing.T) {
		r := restore(t, Saved{State: Open, Failures: 4, LastFailure: t0.Add(-4 * time.Second), Cycles: 1})
		r.wantRetryAfter(6 * time.Second)
	})
	t.Run("OPEN that has run out is HALF_OPEN", func(t *testing.T) {
		restore(t, Saved{State: Open, Failures: 4, LastFailure: t0.Add(-time.Hour)}).wantState(HalfOpen)
		restore(t, Saved{State: Open, Failures: 4}).wantState(HalfOpen)
	})
	t.Run("HALF_OPEN has its full allowance", func(t *testing.T) {
		r := restore(t, Saved{State: HalfOpen, Failures: 4, LastFailure: t0})
		if p, _ := r.Acquire(t0); !p.Probe() {
			t.Error("no probe was given")
		}
	})
	t.Run("DEGRADED without a time is CLOSED", func(t *testing.T) {
		restore(t, Saved{State: Degraded, Failures: 3}).wantState(Closed)
	})
	t.Run("unsound figures are corrected", func(t *testing.T) {
		r := restore(t, Saved{
			State: Open, Failures: -1, Cycles: -3, LastFailure: t0.Add(48 * time.Hour), LastKind: "odd",
			KindFailures: map[outcome.Kind]int{"odd": 3, outcome.KindTransient: 2, outcome.KindRateLimit: -1},
		})
		s := r.status()
		if s.Failures != 0 || s.Cycles != 0 || s.LastKind != outcome.KindNone || len(s.KindFailures) != 1 {
			t.Errorf("restored %+v", s.Saved)
		}
		r.wantRetryAfter(10 * time.Second)
	})
	t.Run("names", func(t *testing.T) {
		for _, s := range []State{Closed, Degraded, Open, HalfOpen} {
			if got, ok := ParseState(s.String()); !ok || got != s {
				t.Errorf("%s reads as %s", s, got)
			}
		}
		if _, ok := ParseState("AJAR"); ok {
			t.Error("an unknown state was read")
		}
	})
}

func TestCounts(t *testing.T) {
	fail := func(status int) outcome.Outcome {
		return outcome.Outcome{Class: outcome.Failure, Scope: outcome.ScopeConnection, Status: status}
	}
	with := func(o outcome.Outcome, edit func(*outcome.Outcome)) outcome.Outcome { edit(&o); return o }
	combo, sameNext := Route{Combo: true}, Route{Combo: true, NextSameProvider: true}
	neutral := outcome.Outcome{Class: outcome.Neutral, Status: 502, Reason: outcome.ReasonClientGone}
	request := func(o *outcome.Outcome) { o.Scope = outcome.ScopeRequest }
	local := func(o *outcome.Outcome) { o.Scope = outcome.ScopeLocal }
	skip := func(o *outcome.Outcome) { o.SkipBreaker = true }
	proxyDown := with(fail(502), func(o *outcome.Outcome) { o.Scope, o.Network = outcome.ScopeLocal, true })

	for _, c := range []struct {
		name  string
		o     outcome.Outcome
		route Route
		want  bool
	}{
		{"case 18 client abort with a 502", neutral, Route{}, false},
		{"case 19 bad gateway", fail(502), Route{}, true},
		{"case 20 live test", fail(502), Route{LiveTest: true}, false},
		{"case 21 status 502", fail(502), Route{}, true},
		{"case 21 status 429", fail(429), Route{}, false},
		{"case 22 outbound proxy unreachable", proxyDown, Route{}, false},
		{"case 22 local queue", with(fail(503), local), Route{}, false},
		{"case 23 plain 502", fail(502), Route{}, true},
		{"case 23 plain 503", fail(503), Route{}, true},
		{"case 29 combo 429", fail(429), combo, false},
		{"case 30 combo 408", fail(408), combo, true},
		{"case 30 combo 500", fail(500), combo, true},
		{"case 30 combo 502", fail(502), combo, true},
		{"case 30 combo 503", fail(503), combo, true},
		{"case 30 combo 504", fail(504), combo, true},
		{"case 31 same provider next 408", fail(408), sameNext, false},
		{"case 31 same provider next 429", fail(429), sameNext, false},
		{"case 31 same provider next 500", fail(500), sameNext, false},
		{"case 31 same provider next 503", fail(503), sameNext, false},
		{"case 32 breaker skipped", with(fail(502), skip), combo, false},
		{"case 33 request scoped", with(fail(502), request), combo, false},
		{"case 34 same provider next, proxy unreachable", proxyDown, sameNext, true},
		{"case 35 and the breaker skipped", with(proxyDown, skip), sameNext, false},
		{"case 35 and a good status", with(proxyDown, func(o *outcome.Outcome) { o.Status = 200 }), sameNext, false},
		{"case 35 and a 429", with(proxyDown, func(o *outcome.Outcome) { o.Status = 429 }), sameNext, false},
		{"case 35 and not ready in time", with(proxyDown, func(o *outcome.Outcome) { o.Class = outcome.Neutral }), sameNext, false},
		{"case 36 stream ended early", with(fail(502), func(o *outcome.Outcome) { o.Reason = outcome.ReasonTruncated }), combo, true},
		{"case 36 with an abort", neutral, combo, false},
		{"case 36 with the breaker skipped", with(fail(502), skip), combo, false},
		{"case 36 request scoped", with(fail(502), request), combo, false},
		{"combo, this machine's fault", with(fail(502), local), combo, false},
		{"case 45 not a provider failure: 401", fail(401), Route{}, false},
		{"case 45 403", fail(403), Route{}, false},
		{"case 45 400", fail(400), Route{}, false},
		{"case 45 404", fail(404), Route{}, false},
		{"case 45 200", fail(200), Route{}, false},
		{"case 45 408", fail(408), Route{}, true},
		{"case 45 504", fail(504), Route{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Counts(c.o, c.route); got != c.want {
				t.Errorf("counts = %v, want %v", got, c.want)
			}
		})
	}
}

func TestOnce(t *testing.T) {
	var o Once
	if !o.Allow(t0, 5*time.Second) || o.Allow(t0.Add(4*time.Second), 5*time.Second) {
		t.Error("the second event within the span passed")
	}
	if !o.Allow(t0.Add(5*time.Second), 5*time.Second) {
		t.Error("the event after the span did not pass")
	}
	if !o.Allow(t0.Add(-3*time.Hour), 5*time.Second) {
		t.Error("a clock step silenced it")
	}
	o.Reset()
	if !o.Allow(t0.Add(-3*time.Hour), 5*time.Second) {
		t.Error("reset did not let the next event through")
	}
}
