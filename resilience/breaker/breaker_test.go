package breaker

import (
	"testing"
	"time"

	"breakwater/resilience/clock"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

var t0 = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// rig is a breaker with a clock of its own.
type rig struct {
	*Breaker
	t     *testing.T
	clock *clock.Fake
	notes []Transition
	saves []Saved
}

func newRig(t *testing.T, o Options) *rig {
	r := &rig{t: t, clock: clock.NewFake(t0)}
	r.Breaker = New(o, func(tr Transition, s Saved) {
		r.saves = append(r.saves, s)
		if tr.From != tr.To || tr.Reason != "" {
			r.notes = append(r.notes, tr)
		}
	})
	return r
}

func (r *rig) fail(kind outcome.Kind) { r.Failure(r.clock.Now(), kind) }

func (r *rig) fails(n int) {
	for range n {
		r.fail(outcome.KindNone)
	}
}

func (r *rig) succeed()       { r.Success(r.clock.Now()) }
func (r *rig) status() Status { return r.Status(r.clock.Now()) }

func (r *rig) wantState(want State) {
	r.t.Helper()
	if got := r.status().State; got != want {
		r.t.Fatalf("state = %s, want %s", got, want)
	}
}

func (r *rig) wantRetryAfter(want time.Duration) {
	r.t.Helper()
	if got := r.status().RetryAfter; got != want {
		r.t.Fatalf("retry after = %s, want %s", got, want)
	}
}

func (r *rig) wantKind(want outcome.Kind) {
	r.t.Helper()
	if got := r.status().LastKind; got != want {
		r.t.Fatalf("last kind = %q, want %q", got, want)
	}
}

func (r *rig) lastReason() string {
	r.t.Helper()
	h := r.status().History
	if len(h) == 0 {
		return ""
	}
	return h[len(h)-1].Reason
}

// profile returns the options of a class as the engine sets them.
func profile(name settings.ProfileName) Options {
	p := settings.Defaults().Profile(name)
	return Options{
		FailureThreshold: p.FailureThreshold, DegradationThreshold: p.DegradationThreshold, ResetTimeout: p.ResetTimeout,
		MaxBackoffMultiplier: p.MaxBackoffMultiplier, BackoffEscalationCount: p.BackoffEscalationCount,
	}
}

func holds(rate, quota time.Duration) map[outcome.Kind]time.Duration {
	m := map[outcome.Kind]time.Duration{}
	if rate != 0 {
		m[outcome.KindRateLimit] = rate
	}
	if quota != 0 {
		m[outcome.KindQuotaExhausted] = quota
	}
	return m
}

func TestFailureKinds(t *testing.T) {
	t.Run("case 1 threshold without kinds", func(t *testing.T) {
		r := newRig(t, Options{FailureThreshold: 2, ResetTimeout: 30 * time.Second})
		r.fails(2)
		r.wantState(Open)
		r.wantKind(outcome.KindNone)
		r.wantRetryAfter(30 * time.Second)
	})
	t.Run("case 2 rate limit hold", func(t *testing.T) {
		r := newRig(t, Options{FailureThreshold: 1, CooldownByKind: holds(time.Minute, time.Hour)})
		r.fail(outcome.KindRateLimit)
		r.wantState(Open)
		r.wantRetryAfter(time.Minute)
	})
	t.Run("case 3 quota hold", func(t *testing.T) {
		r := newRig(t, Options{FailureThreshold: 1, CooldownByKind: holds(time.Minute, time.Hour)})
		r.fail(outcome.KindQuotaExhausted)
		r.wantRetryAfter(time.Hour)
	})
	t.Run("case 4 kind without a hold", func(t *testing.T) {
		r := newRig(t, Options{FailureThreshold: 1, ResetTimeout: 45 * time.Second, CooldownByKind: holds(0, time.Hour)})
		r.fail(outcome.KindRateLimit)
		r.wantRetryAfter(45 * time.Second)
	})
	t.Run("case 5 failure without a kind", func(t *testing.T) {
		r := newRig(t, Options{FailureThreshold: 1, CooldownByKind: holds(time.Minute, time.Hour)})
		r.fail(outcome.KindNone)
		r.wantKind(outcome.KindNone)
		r.wantRetryAfter(30 * time.Second)
	})
	t.Run("case 6 classified as quota", func(t *testing.T) {
		r := newRig(t, Options{FailureThreshold: 1, ResetTimeout: time.Second, CooldownByKind: holds(0, 10*time.Minute)})
		r.fail(outcome.KindQuotaExhausted)
		r.wantState(Open)
		r.wantKind(outcome.KindQuotaExhausted)
		r.wantRetryAfter(10 * time.Minute)
	})
	t.Run("case 7 success applied to OPEN", func(t *testing.T) {
		r := newRig(t, Options{FailureThreshold: 1})
		r.fail(outcome.KindRateLimit)
		r.succeed()
		r.wantState(Closed)
		r.wantKind(outcome.KindNone)
		if got := r.lastReason(); got != "success-recovery" {
			t.Errorf("reason = %q", got)
		}
	})
	t.Run("case 8 reset forgets the kind", func(t *testing.T) {
		r := newRig(t, Options{FailureThreshold: 3})
		r.fail(outcome.KindRateLimit)
		r.Reset(r.clock.Now())
		r.wantKind(outcome.KindNone)
		if s := r.status(); s.Failures != 0 || !s.LastFailure.IsZero() || s.Cycles != 0 {
			t.Errorf("after reset: %+v", s.Saved)
		}
	})
	t.Run("case 11 an unknown kind counts as none", func(t *testing.T) {
		r := newRig(t, Options{FailureThreshold: 1})
		r.fail("made up")
		r.wantState(Open)
		r.wantKind(outcome.KindNone)
	})
	t.Run("case 12 a negative hold is ignored", func(t *testing.T) {
		r := newRig(t, Options{FailureThreshold: 1, CooldownByKind: holds(-5*time.Second, 0)})
		r.fail(outcome.KindRateLimit)
		r.wantRetryAfter(30 * time.Second)
	})
}

func TestOptionsMerge(t *testing.T) {
	t.Run("case 9 a patch adds holds", func(t *testing.T) {
		r := newRig(t, Options{FailureThreshold: 5})
		if n := len(r.Options().CooldownByKind); n != 0 {
			t.Fatalf("holds before = %d", n)
		}
		r.Configure(Options{CooldownByKind: holds(time.Minute, 0)})
		o := r.Options()
		if o.FailureThreshold != 5 || o.CooldownByKind[outcome.KindRateLimit] != time.Minute || len(o.CooldownByKind) != 1 {
			t.Errorf("options = %+v", o)
		}
	})
	t.Run("case 10 holds are merged key by key", func(t *testing.T) {
		r := newRig(t, Options{CooldownByKind: holds(0, time.Hour)})
		r.Configure(Options{CooldownByKind: holds(time.Minute, 0)})
		if got := r.Options().CooldownByKind; len(got) != 2 {
			t.Errorf("holds = %v", got)
		}
	})
	t.Run("a new threshold derives the degradation at 60 %", func(t *testing.T) {
		for threshold, want := range map[int]int{1: 1, 2: 2, 5: 3, 8: 5, 12: 8} {
			if got := DefaultOptions().Merge(Options{FailureThreshold: threshold}).DegradationThreshold; got != want {
				t.Errorf("threshold %d: degradation = %d, want %d", threshold, got, want)
			}
		}
	})
	t.Run("fewer probes clamp what is left of the allowance", func(t *testing.T) {
		r := newRig(t, Options{FailureThreshold: 1, HalfOpenRequests: 3})
		r.fails(1)
		r.clock.Advance(30 * time.Second)
		r.wantState(HalfOpen)
		r.Configure(Options{HalfOpenRequests: 1})
		first, v := r.Acquire(r.clock.Now())
		if !first.Probe() || !v.Allowed {
			t.Fatal("the first probe was refused")
		}
		if _, v := r.Acquire(r.clock.Now()); v.Allowed {
			t.Error("a second probe was let through")
		}
	})
}

func TestRecovery(t *testing.T) {
	t.Run("case 37 OPEN, HALF_OPEN on reading, CLOSED on success", func(t *testing.T) {
		r := newRig(t, Options{FailureThreshold: 1, ResetTimeout: 150 * time.Millisecond})
		r.fails(1)
		r.wantState(Open)
		r.clock.Advance(200 * time.Millisecond)
		r.wantState(HalfOpen)
		r.succeed()
		r.wantState(Closed)
		if n := r.status().Failures; n != 0 {
			t.Errorf("failures = %d", n)
		}
		if r.status().LastFailure.IsZero() {
			t.Error("a probe's success forgot the time of the last failure")
		}
	})
	t.Run("case 39 a success takes one failure back", func(t *testing.T) {
		r := newRig(t, Options{FailureThreshold: 3})
		r.fails(1)
		r.succeed()
		if n := r.status().Failures; n != 0 {
			t.Errorf("failures = %d", n)
		}
	})
	t.Run("case 50 thresholds of the classes", func(t *testing.T) {
		for _, c := range []struct {
			name             settings.ProfileName
			degrade, open    int
			reset            time.Duration
			straightFromHere bool
		}{
			{settings.OAuth, 5, 8, time.Minute, false},
			{settings.APIKey, 7, 12, 30 * time.Second, false},
			{settings.Local, 2, 2, 15 * time.Second, true},
		} {
			r := newRig(t, profile(c.name))
			r.fails(c.degrade - 1)
			r.wantState(Closed)
			r.fails(1)
			if c.straightFromHere { // OPEN is tested first
				r.wantState(Open)
			} else {
				r.wantState(Degraded)
				r.fails(c.open - c.degrade - 1)
				r.wantState(Degraded)
				r.fails(1)
				r.wantState(Open)
			}
			r.wantRetryAfter(c.reset)
		}
	})
	t.Run("case 51 a quiet DEGRADED breaker closes", func(t *testing.T) {
		r := newRig(t, profile(settings.APIKey))
		r.fails(7)
		r.clock.Advance(119 * time.Second)
		r.wantState(Degraded)
		r.clock.Advance(time.Second)
		r.wantState(Closed)
		if s := r.status(); s.Failures != 0 || r.lastReason() != "degraded-decay" {
			t.Errorf("failures %d, reason %q", s.Failures, r.lastReason())
		}
	})
	t.Run("one success closes a breaker that just degraded", func(t *testing.T) {
		r := newRig(t, profile(settings.APIKey))
		r.fails(7)
		r.succeed()
		r.wantState(Closed)
		if s := r.status(); s.Failures != 6 || r.lastReason() != "recovery" {
			t.Errorf("failures %d, reason %q", s.Failures, r.lastReason())
		}
	})
	t.Run("a good connection test closes DEGRADED only", func(t *testing.T) {
		r := newRig(t, profile(settings.APIKey))
		r.fails(7)
		r.TestPassed(r.clock.Now())
		r.wantState(Closed)
		r.fails(12)
		r.TestPassed(r.clock.Now())
		r.wantState(Open)
	})
}

func TestDecayWindow(t *testing.T) {
	for _, c := range []struct {
		name settings.ProfileName
		kind outcome.Kind
		want time.Duration
	}{
		{settings.OAuth, outcome.KindNone, 480 * time.Second},
		{settings.OAuth, outcome.KindTransient, 480 * time.Second},
		{settings.OAuth, outcome.KindRateLimit, 480 * time.Second},
		{settings.OAuth, outcome.KindQuotaExhausted, 28_800 * time.Second},
		{settings.APIKey, outcome.KindNone, 120 * time.Second},
		{settings.APIKey, outcome.KindRateLimit, 240 * time.Second},
		{settings.APIKey, outcome.KindQuotaExhausted, 14_400 * time.Second},
	} {
		o := profile(c.name)
		o.CooldownByKind = holds(time.Minute, time.Hour)
		r := newRig(t, o)
		for range o.DegradationThreshold {
			r.fail(c.kind)
		}
		r.wantState(Degraded)
		r.clock.Advance(c.want - time.Millisecond)
		r.wantState(Degraded)
		r.clock.Advance(time.Millisecond)
		r.wantState(Closed)
	}
}

func TestEscalation(t *testing.T) {
	second := func(n ...int) (d []time.Duration) {
		for _, s := range n {
			d = append(d, time.Duration(s)*time.Second)
		}
		return d
	}
	for name, want := range map[settings.ProfileName][]time.Duration{
		settings.OAuth:  second(60, 60, 60, 120, 240, 480, 480),
		settings.APIKey: second(30, 30, 30, 30, 60, 120, 120),
		settings.Local:  second(15, 15, 15, 15, 30, 60, 120, 240, 240),
	} {
		r := newRig(t, profile(name))
		r.fails(r.Options().FailureThreshold)
		for cycle, hold := range want {
			r.wantState(Open)
			if s := r.status(); s.Cycles != cycle || s.EffectiveResetTimeout != hold {
				t.Fatalf("%s: cycles %d, effective %s; want %d, %s", name, s.Cycles, s.EffectiveResetTimeout, cycle, hold)
			}
			r.wantRetryAfter(hold)
			r.clock.Advance(hold)
			r.wantState(HalfOpen)
			r.fails(1)
		}
	}
	t.Run("ruling 14: kind holds escalate alike", func(t *testing.T) {
		o := profile(settings.OAuth)
		o.CooldownByKind = holds(10*time.Second, 0)
		r := newRig(t, o)
		for range 8 {
			r.fail(outcome.KindRateLimit)
		}
		for _, hold := range second(10, 10, 10, 20, 40, 80, 80) {
			r.wantRetryAfter(hold)
			r.clock.Advance(hold)
			r.fail(outcome.KindRateLimit)
		}
	})
}

func TestKindThresholds(t *testing.T) {
	t.Run("immediate open", func(t *testing.T) {
		r := newRig(t, Options{KindThresholds: map[outcome.Kind]KindThreshold{outcome.KindQuotaExhausted: {ImmediateOpen: true}}})
		r.fail(outcome.KindRateLimit)
		r.wantState(Closed)
		r.fail(outcome.KindQuotaExhausted)
		r.wantState(Open)
		if r.lastReason() != "kind:quota_exhausted" {
			t.Errorf("reason = %q", r.lastReason())
		}
		if last := r.saves[len(r.saves)-1]; last.State != Open {
			t.Error("the early path did not store the state")
		}
	})
	t.Run("own threshold, and the failure threshold without one", func(t *testing.T) {
		for _, need := range []int{2, 0} {
			r := newRig(t, Options{KindThresholds: map[outcome.Kind]KindThreshold{outcome.KindTransient: {Threshold: need}}})
			want := need
			if want == 0 {
				want = 5
			}
			for i := 1; i < want; i++ {
				r.fail(outcome.KindTransient)
				if r.status().State == Open {
					t.Fatalf("open after %d of %d", i, want)
				}
			}
			r.fail(outcome.KindTransient)
			r.wantState(Open)
		}
	})
}
