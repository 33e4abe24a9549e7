package lockout

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestProperties drives a set with arbitrary events and clock steps.
func TestProperties(t *testing.T) {
	models := []string{"a", "b", "gpt-5-spark", "gpt-5"}
	rapid.Check(t, func(rt *rapid.T) {
		s := NewSet(rapid.SampledFrom([]string{"openai", "codex", "agy"}).Draw(rt, "provider"))
		r := Rules{Base: 5 * time.Second, Max: 10 * time.Minute, Steps: rapid.IntRange(0, 10).Draw(rt, "steps"), HasSteps: true, ResetAfter: 30 * time.Second}
		now := t0
		rt.Repeat(map[string]func(*rapid.T){
			"": func(rt *rapid.T) {
				for _, l := range s.Active(now) {
					if left := l.Until.Sub(now); l.Count < 1 || left <= 0 || left > max(r.Max, 30*day)+time.Second {
						rt.Fatalf("lock %+v with %s left", l, left)
					}
				}
			},
			"fail": func(rt *rapid.T) {
				f := Failure{
					Model:  rapid.SampledFrom(models).Draw(rt, "model"),
					Status: rapid.SampledFrom([]int{403, 404, 429, 503}).Draw(rt, "status"),
					Exact:  time.Duration(rapid.Int64Range(-1, int64(60*day)).Draw(rt, "exact")), Verified: rapid.Bool().Draw(rt, "verified"),
				}
				if rapid.Bool().Draw(rt, "guessed") {
					f.Exact = 0
				}
				fresh := !locked(&s, now.Sub(t0), f.Model)
				l, _ := s.Fail(now, f, r)
				if fresh && !f.Verified && l.span > r.Max {
					rt.Fatalf("a guess of %s passed the cap", l.span)
				}
				if !locked(&s, now.Sub(t0), f.Model) {
					rt.Fatal("a failure locked nothing")
				}
			},
			"reject":  func(rt *rapid.T) { s.Reject(now, rapid.SampledFrom(models).Draw(rt, "model")) },
			"cut":     func(rt *rapid.T) { s.Cut(now, rapid.SampledFrom(models).Draw(rt, "model")) },
			"succeed": func(rt *rapid.T) { s.Succeed(rapid.SampledFrom(models).Draw(rt, "model")) },
			"clear": func(rt *rapid.T) {
				model := rapid.SampledFrom(models).Draw(rt, "model")
				s.Clear(now, model)
				if locked(&s, now.Sub(t0), model) {
					rt.Fatal("still locked after a reset")
				}
			},
			"wait": func(rt *rapid.T) { now = now.Add(time.Duration(rapid.IntRange(0, 600).Draw(rt, "s")) * time.Second) },
			"step": func(rt *rapid.T) {
				now = now.Add(rapid.SampledFrom([]time.Duration{-3 * time.Hour, 3 * time.Hour, 10 * time.Hour}).Draw(rt, "by"))
			},
		})
		for range 40 { // successes always find the way out
			for _, model := range models {
				s.Succeed(model)
			}
		}
		if n := len(s.Active(now)); n != 0 {
			rt.Fatalf("%d locks outlive every success", n)
		}
	})
}
