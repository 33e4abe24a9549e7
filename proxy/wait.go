package proxy

import (
	"context"
	"time"

	"breakwater/proxy/control"
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/outcome"
)

// waitFor decides whether a request for a single model waits until the first of
// its resting connections is back (waitForCooldown). An open breaker is told to
// the client at once (guide §1), and a server that nobody runs is not waited
// for.
func (x *exchange) waitFor(resting []resilience.Exclusion, spent admission.Spent) admission.Decision {
	if x.rt.probe || x.s.limits.Patience < 0 {
		return admission.Decision{Why: admission.WaitsOff}
	}
	var first time.Duration
	for _, e := range resting {
		left := e.Until.Sub(x.s.svc.Now())
		if !waitable(e.Reason) || left <= 0 || x.unreachable(e.Conn) {
			continue
		}
		if first == 0 || left < first {
			first = left
		}
	}
	if x.isBack() {
		first = admission.WaitMargin
	} else if first > 0 {
		first += admission.WaitMargin
	}
	if p := x.s.limits.Patience; p > 0 && first > p {
		return admission.Decision{For: first, Why: admission.TooLong}
	}
	spent.Client = x.patience()
	return admission.DecideDirect(first, spent, x.s.svc.InForce().WaitForCooldown)
}

// isBack reports whether a connection that failed in this request may be tried
// again by now.
func (x *exchange) isBack() bool {
	now := x.s.svc.Now()
	for i := range x.failures {
		if f := &x.failures[i]; !f.until.IsZero() && !f.until.After(now) && !f.outcome.Network {
			return true
		}
	}
	return false
}

func waitable(s resilience.Skip) bool {
	return s == resilience.SkipCooling || s == resilience.SkipModelLocked || s == resilience.SkipProviderCooldown
}

// unreachable reports whether the connection's last word in this request was
// none at all.
func (x *exchange) unreachable(c *resilience.Conn) bool {
	for i := range x.failures {
		if f := &x.failures[i]; f.route.Conn == c && f.outcome.Network {
			return true
		}
	}
	return false
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

// holdOf says what keeps a target back in the words that the waits of combos
// know (combos sheet §3).
func (x *exchange) holdOf(e resilience.Exclusion) admission.Hold {
	h := admission.Hold{Reason: "auth_error", Left: e.Until.Sub(x.s.svc.Now())}
	switch e.Reason {
	case resilience.SkipBreakerOpen, resilience.SkipProbing:
		h.Reason = admission.CircuitOpen
	case resilience.SkipProviderCooldown:
		h.Reason = "transient"
	case resilience.SkipCooling:
		h.Reason = transientWord(x.s.svc.Engine().ConnectionStatus(e.Conn).Reason)
	case resilience.SkipModelLocked:
		for _, l := range x.s.svc.Engine().ConnectionStatus(e.Conn).Lockouts {
			if l.Model == e.Model {
				h.Reason = transientWord(outcome.Reason(l.Reason))
			}
		}
	}
	return h
}

// transientWord maps the classifier's reasons to those of the waits: what is
// busy or broken passes, what is used up or forbidden does not.
func transientWord(r outcome.Reason) string {
	switch r {
	case outcome.ReasonConcurrencyLimited:
		return "rate_limited"
	case outcome.ReasonModelCapacity:
		return "overloaded"
	case outcome.ReasonNetwork, outcome.ReasonTruncated, outcome.ReasonServiceNotRunning, outcome.ReasonStreamStall:
		return "transient"
	}
	return string(r)
}
