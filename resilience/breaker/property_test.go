package breaker

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"breakwater/resilience/outcome"
)

// TestProperties drives a breaker with arbitrary events, clock steps of ±3 h
// and suspends of 10 h, and checks what must hold whatever happens.
func TestProperties(t *testing.T) {
	kinds := []outcome.Kind{outcome.KindNone, outcome.KindTransient, outcome.KindRateLimit, outcome.KindQuotaExhausted}
	rapid.Check(t, func(rt *rapid.T) {
		o := Options{
			FailureThreshold:       rapid.IntRange(1, 8).Draw(rt, "threshold"),
			DegradationThreshold:   rapid.IntRange(1, 8).Draw(rt, "degradation"),
			ResetTimeout:           time.Duration(rapid.IntRange(1, 60).Draw(rt, "reset")) * time.Second,
			HalfOpenRequests:       rapid.IntRange(1, 3).Draw(rt, "probes"),
			MaxBackoffMultiplier:   rapid.IntRange(1, 16).Draw(rt, "multiplier"),
			BackoffEscalationCount: rapid.IntRange(1, 4).Draw(rt, "escalation"),
			CooldownByKind:         holds(time.Minute, time.Hour),
		}
		r := newRig(t, o)
		ceiling := max(o.ResetTimeout, time.Hour)*time.Duration(o.MaxBackoffMultiplier) + time.Second
		var permits []Permit
		check := func() {
			s := r.status()
			if s.Failures < 0 || s.Cycles < 0 || s.RetryAfter < 0 {
				rt.Fatalf("negative figures: %+v", s)
			}
			if s.RetryAfter > ceiling {
				rt.Fatalf("retry after %s is past its ceiling %s", s.RetryAfter, ceiling)
			}
			if r.lease.allowance < 0 || s.State == HalfOpen && r.lease.allowance > o.HalfOpenRequests {
				rt.Fatalf("allowance %d of %d", r.lease.allowance, o.HalfOpenRequests)
			}
			if r.Clean() != (s.State == Closed && s.Failures == 0) {
				rt.Fatalf("clean = %v in %s with %d failures", r.Clean(), s.State, s.Failures)
			}
			if s.State == Open && s.Until.IsZero() {
				rt.Fatal("OPEN has no end")
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) { check() },
			"begin": func(*rapid.T) {
				if p, v := r.Acquire(r.clock.Now()); v.Allowed {
					permits = append(permits, p)
				}
			},
			"report": func(rt *rapid.T) {
				if len(permits) == 0 {
					return
				}
				i := rapid.IntRange(0, len(permits)-1).Draw(rt, "which")
				p, before := permits[i], r.status()
				stale := p.probe && p.generation != r.lease.generation
				class := rapid.SampledFrom([]outcome.Class{outcome.Neutral, outcome.Success, outcome.Failure}).Draw(rt, "class")
				r.Report(r.clock.Now(), p, class, rapid.SampledFrom(kinds).Draw(rt, "kind"))
				after := r.status()
				if stale && (after.State != before.State || after.Failures != before.Failures) {
					rt.Fatalf("a stale probe changed %+v to %+v", before.Saved, after.Saved)
				}
				if before.State == Open && after.LastFailure.After(before.LastFailure) {
					rt.Fatal("OPEN was extended")
				}
				permits = append(permits[:i], permits[i+1:]...)
			},
			"wait": func(rt *rapid.T) {
				r.clock.Advance(time.Duration(rapid.IntRange(0, 120_000).Draw(rt, "ms")) * time.Millisecond)
			},
			"step": func(rt *rapid.T) {
				r.clock.Advance(rapid.SampledFrom([]time.Duration{-3 * time.Hour, 3 * time.Hour, 10 * time.Hour}).Draw(rt, "by"))
			},
			"restart": func(*rapid.T) {
				saved := r.status().Saved
				r.Breaker = New(o, nil)
				r.Restore(r.clock.Now(), saved)
				permits = nil
			},
			"reset": func(*rapid.T) { r.Reset(r.clock.Now()) },
		})
		// Every exclusion has an end: waiting it out lets traffic through.
		if v := r.Check(r.clock.Now()); !v.Allowed {
			r.clock.Set(v.Until)
			if v := r.Check(r.clock.Now()); !v.Allowed {
				rt.Fatalf("still shut after its end: %+v", v)
			}
		}
	})
}
