package proxy

import (
	"net/http"
	"strings"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/resilience"
	"breakwater/resilience/admission"
)

// visit waits for the target's turn in the admission queue and tries it. The
// engine is asked after the wait: what happened meanwhile counts.
func (x *exchange) visit(r *control.Route, t resilience.Target, plan *resilience.Plan) verdict {
	slot, v := x.turn(r, t.Model)
	if slot == nil {
		return v
	}
	defer slot.Release()
	a, barred := x.s.svc.Engine().Begin(t)
	if barred != nil {
		x.skip(r, *barred)
		plan.Excluded = append(plan.Excluded, *barred)
		return tryNext
	}
	return x.try(a, r, t.Model)
}

// turn waits until the connection's queue lets the request through (guide §4).
// A nil slot means that it did not: the queue's budget is over, which is our
// own limit and nobody's failure (case P11), or the client has left. Probes do
// not queue.
func (x *exchange) turn(r *control.Route, model string) (*admission.Slot, verdict) {
	if x.rt.probe {
		return &admission.Slot{}, tryNext
	}
	slot, err := x.s.svc.Queues().Acquire(x.r.Context(), admission.Call{Connection: r.Record.ID, Model: model})
	if err == nil {
		return slot, tryNext
	}
	local, ok := admission.Local(err)
	if !ok {
		x.step(control.Step{Kind: control.StepLeft, Model: model}, r)
		x.finish(statusClientLeft, "client_left")
		return nil, ended
	}
	x.step(control.Step{
		Kind: control.StepSkipped, Reason: strings.ToLower(string(local.Code)), Model: model, Until: untilStep(local.RetryAfter),
	}, r)
	x.queue = local
	return nil, tryNext
}

// queueFull refuses a request that found no turn anywhere.
func (x *exchange) queueFull() refusal {
	e := x.queue
	ref := dialect.Refusal{
		Status: e.Status(), Type: dialect.TypeFor(e.Status()), Code: string(e.Code),
		Message: "Breakwater: " + e.Message + ". This is a local limit, nothing was sent.",
	}
	if x.client.WaitStatus429 && ref.Status != http.StatusTooManyRequests {
		ref.Status, ref.Type = http.StatusTooManyRequests, "rate_limit_error"
	}
	return refusal{ref, max(e.RetryAfter, time.Second)}
}
