package exchange

import (
	"context"
	"time"

	"breakwater/proxy/control"
	"breakwater/resilience/admission"
)

// patience is how long the client can still be held: without end in a stream,
// which is kept alive, and up to its profile's limit otherwise (ruling 45).
func (r *run) patience() time.Duration {
	if r.sent.Body.Stream && r.Limits.Heartbeat > 0 {
		return 0
	}
	return max(r.Limits.HoldFor(r.req.Profile)-time.Since(r.req.Began), 1)
}

// waits reports whether the request may wait at all.
func (r *run) waits() bool { return !r.req.Probe && r.Limits.Patience >= 0 && r.opinion == nil }

// pauseStep is how often a waiting request looks at the clock: the wait is one
// of the core's time, which a sleeping machine or the demo moves at once.
const pauseStep = 250 * time.Millisecond

// pause waits as decided, holding nothing, and reports whether the client stayed.
func (r *run) pause(ctx context.Context, d admission.Decision) bool {
	end := r.Clock.Now().Add(max(d.For-admission.WaitMargin, 0))
	r.step(control.Step{Kind: control.StepWaited, Reason: d.Reason, DurationMs: d.For.Milliseconds(), Until: r.Clock.Real(end)}, nil)
	return r.sleepUntil(ctx, end) && admission.Sleep(ctx, admission.WaitMargin) == nil
}

// sleep pauses by the core's clock, and reports whether the client stayed.
func (r *run) sleep(ctx context.Context, d time.Duration) bool {
	return r.sleepUntil(ctx, r.Clock.Now().Add(d))
}

func (r *run) sleepUntil(ctx context.Context, end time.Time) bool {
	for {
		left := end.Sub(r.Clock.Now())
		if left <= 0 {
			return true
		}
		if admission.Sleep(ctx, min(left, pauseStep)) != nil {
			return false
		}
	}
}

// left ends the request of a client that went away; the connection is that of
// the gate or queue it waited for, nil for none.
func (r *run) left(route *control.Route, model string) *ending {
	r.step(control.Step{Kind: control.StepLeft, Model: model}, route)
	return &ending{result: resultLeft, status: statusClientLeft}
}
