package proxy

import (
	"context"
	"strings"
	"time"

	"breakwater/proxy/control"
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/breaker"
	"breakwater/resilience/combo"
)

// leg is one way to answer a request: a connection and the model's name there.
type leg struct {
	route *control.Route
	model string
	// target is the combo's target that the connection stands for, nil outside
	// combos; sameNext tells that the combo's next one has the same provider.
	target   *combo.Target
	sameNext bool
	// tried tells that an attempt was made, barred that it was kept from one at
	// the last moment, after a wait.
	tried, barred bool
	// begun lifts the combo's limit on the time until the answer begins.
	begun func()
}

func (l *leg) candidate() resilience.Candidate {
	return resilience.Candidate{Conn: l.route.Conn, Model: l.model}
}

// visit takes the gates and the turn of a leg and tries it. The engine is asked
// after the waits: what happened meanwhile counts. barred is why it was not
// tried in the end. Everything taken is given back on every path (P60).
func (x *exchange) visit(ctx context.Context, l *leg) (v verdict, barred *resilience.Exclusion) {
	permit, slot, v := x.turn(ctx, l)
	if slot == nil {
		return v, nil
	}
	defer permit.Release()
	defer slot.Release()
	a, barred := x.s.svc.Engine().Begin(l.candidate())
	if barred != nil {
		x.skip(l.route, *barred)
		return tryNext, barred
	}
	a.Route(breaker.Route{Combo: l.target != nil, NextSameProvider: l.sameNext})
	l.tried = true
	x.combo.count(l)
	return x.try(ctx, a, l, slot.Limit(x.startLimit(l.route))), nil
}

// turn waits until the composite gate and then the connection's queue let the
// request through (guide §4, §5). A nil slot means that they did not: a budget
// of ours is over, which is nobody's failure (case P11), or the client has
// left. Probes neither count nor queue.
func (x *exchange) turn(ctx context.Context, l *leg) (*admission.Permit, *admission.Slot, verdict) {
	if x.rt.probe {
		return nil, &admission.Slot{}, tryNext
	}
	svc, id := x.s.svc, l.route.Record.ID
	permit, err := svc.Gates().Composite(ctx, svc.Caps(l.route), l.route.Provider.ID, id, l.model)
	if err != nil {
		return nil, nil, x.heldBack(l, err)
	}
	slot, err := svc.Queues().Acquire(ctx, x.call(l))
	if err != nil {
		permit.Release()
		return nil, nil, x.heldBack(l, err)
	}
	return permit, slot, tryNext
}

// call is the leg as the admission queue knows it.
func (x *exchange) call(l *leg) admission.Call {
	c := admission.Call{Connection: l.route.Record.ID, Model: l.model}
	if x.body.Model != l.model {
		c.Alias = x.body.Model
	}
	return c
}

// heldBack records why a gate or queue did not let the request through.
func (x *exchange) heldBack(l *leg, err error) verdict {
	if x.r.Context().Err() != nil {
		x.step(control.Step{Kind: control.StepLeft, Model: l.model}, l.route)
		x.finish(statusClientLeft, resultLeft)
		return ended
	}
	reason, wait := combo.CodeTargetTimeout, time.Duration(0)
	if local, ok := admission.Local(err); ok {
		x.local = local
		reason, wait = strings.ToLower(string(local.Code)), local.RetryAfter
	}
	x.step(control.Step{Kind: control.StepSkipped, Reason: reason, Model: l.model, Until: untilStep(wait)}, l.route)
	return tryNext
}
