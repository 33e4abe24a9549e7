package proxy

import (
	"context"
	"time"

	"breakwater/proxy/control"
	"breakwater/resilience"
	"breakwater/resilience/admission"
)

// waitFor decides whether a request for a single model waits until the first of
// its resting connections is back (waitForCooldown).
func (x *exchange) waitFor(resting []resilience.Exclusion, spent admission.Spent) admission.Decision {
	if x.rt.probe || x.s.limits.Patience < 0 {
		return admission.Decision{Why: admission.WaitsOff}
	}
	spent.Client = x.patience()
	return resilience.Waiting{
		Now: x.s.svc.Now(), Resting: resting, Failures: x.failures, Spent: spent, Longest: x.s.limits.Patience,
	}.Decide(x.s.svc.InForce().WaitForCooldown)
}

// patience is how long the client can still be held: without end in a stream,
// which is kept alive, and up to its profile's limit otherwise (ruling 45).
func (x *exchange) patience() time.Duration {
	if x.body.Stream && x.s.limits.Heartbeat > 0 {
		return 0
	}
	return max(x.s.limits.held(x.client)-time.Since(x.began), 1)
}

// pauseStep is how often a waiting request looks at the clock: the wait is one
// of the core's time, which a sleeping machine or the demo moves at once.
const pauseStep = 250 * time.Millisecond

// pause waits as decided. It reports false, with the exchange ended, when the
// client left meanwhile. Nothing is held during the wait.
func (x *exchange) pause(d admission.Decision) bool {
	svc := x.s.svc
	end := svc.Now().Add(max(d.For-admission.WaitMargin, 0))
	x.step(control.Step{Kind: control.StepWaited, Reason: d.Reason, DurationMs: d.For.Milliseconds(), Until: svc.Real(end)}, nil)
	if x.sleepUntil(x.r.Context(), end) && admission.Sleep(x.r.Context(), admission.WaitMargin) == nil {
		return true
	}
	x.step(control.Step{Kind: control.StepLeft}, nil)
	x.finish(statusClientLeft, resultLeft)
	return false
}

// sleepUntil sleeps until the core's clock shows end, and reports whether ctx
// let it.
func (x *exchange) sleepUntil(ctx context.Context, end time.Time) bool {
	for {
		left := end.Sub(x.s.svc.Now())
		if left <= 0 {
			return true
		}
		if admission.Sleep(ctx, min(left, pauseStep)) != nil {
			return false
		}
	}
}
