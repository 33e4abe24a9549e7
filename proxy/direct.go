package proxy

import (
	"context"
	"slices"
	"strings"

	"breakwater/proxy/control"
	"breakwater/proxy/refusal"
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/exclusion"
)

// headerPin names one connection for a request for a single model (combos sheet
// §2.9): its id or its name.
const headerPin = "X-Omniroute-Connection"

// runDirect answers a request for a single model: the connections that offer it
// are tried in the user's order until one answers. When those that failed rest
// for a short while only, the request waits and goes on with them
// (waitForCooldown).
func (x *exchange) runDirect() {
	x.joinSession(false)
	choices, passed := x.s.svc.Choose(x.ask(x.body.Model))
	x.passed = passed
	choices = pinned(x.r.Header.Get(headerPin), choices)
	for _, p := range passed {
		x.step(control.Step{Kind: control.StepSkipped, Reason: string(p.Reason)}, p.Route)
	}
	if len(choices) == 0 {
		x.refuse(x.noConnection(passed))
		return
	}
	legs := legsOf(choices)
	var spent admission.Spent
	for {
		plan := x.plan(legs)
		for _, e := range plan.Excluded {
			x.skip(legOf(legs, e.Conn).route, e)
		}
		if x.sweep(x.r.Context(), legs, &plan) == ended {
			return
		}
		if e := x.leaseContention(plan); e != nil {
			x.refuse(refusal.Lease(e))
			return
		}
		resting := x.plan(legs).Excluded
		d := x.waitFor(resting, spent)
		if !d.Wait {
			if x.local != nil { // who was turned away from a queue hears what for
				plan.Excluded = resting
			}
			x.giveUp(plan)
			return
		}
		if !x.pause(d) {
			return
		}
		spent.Add(d.For)
		legs = slices.DeleteFunc(legs, func(l *leg) bool { return !x.rested(l, resting) })
		x.failures, x.local = nil, nil
	}
}

// rested reports whether a leg was put aside for a time, or turned away at a
// gate: it is worth a try after the wait.
func (x *exchange) rested(l *leg, resting []resilience.Exclusion) bool {
	if !l.tried {
		return true
	}
	return resilience.Cooled(x.failures, l.route.Record.ID) || slices.ContainsFunc(resting, func(e resilience.Exclusion) bool { return e.Conn == l.route.Conn })
}

// ask is what the request wants of a connection for a model.
func (x *exchange) ask(model string) control.Ask {
	return control.Ask{Dialect: x.rt.dialect, Model: model, Admits: x.s.admits(x.r.Header), Grant: x.grant, Hold: x.hold}
}

// pinned keeps the connection that the client named, if it named one.
func pinned(name string, choices []control.Choice) []control.Choice {
	if name == "" {
		return choices
	}
	return slices.DeleteFunc(choices, func(c control.Choice) bool {
		return c.Route.Record.ID != name && !strings.EqualFold(c.Route.Record.Name, name)
	})
}

func legsOf(choices []control.Choice) []*leg {
	all := make([]leg, len(choices))
	legs := make([]*leg, len(choices))
	for i, c := range choices {
		all[i] = leg{route: c.Route, model: c.Model}
		legs[i] = &all[i]
	}
	return legs
}

func legOf(legs []*leg, c *resilience.Conn) *leg {
	for _, l := range legs {
		if l.route.Conn == c {
			return l
		}
	}
	return nil
}

// plan sorts the legs into those that may be tried and those that may not.
func (x *exchange) plan(legs []*leg) resilience.Plan {
	cands := make([]resilience.Candidate, len(legs))
	for i, l := range legs {
		cands[i] = l.candidate()
	}
	return x.cutOff(legs, x.s.svc.Engine().Plan(cands))
}

// cutOff takes the targets out of a plan that have too little quota left.
func (x *exchange) cutOff(legs []*leg, plan resilience.Plan) resilience.Plan {
	if !x.s.svc.InForce().QuotaPreflight.Enabled || x.rt.probe {
		return plan
	}
	plan.Targets = slices.DeleteFunc(plan.Targets, func(t resilience.Target) bool {
		until, blocked := x.s.svc.QuotaCutoff(legOf(legs, t.Conn).route, t.Model)
		if blocked {
			plan.Excluded = append(plan.Excluded, resilience.Exclusion{
				Candidate: t, Exclusion: exclusion.Exclusion{Reason: exclusion.Quota, Until: until},
			})
		}
		return blocked
	})
	return plan
}

// sweep tries the plan's targets until one answers, and then those that were
// excluded when the plan was made and are back by now: a try may take long. What
// turns out to be excluded meanwhile is added to the plan.
func (x *exchange) sweep(ctx context.Context, legs []*leg, plan *resilience.Plan) verdict {
	resting := slices.Clone(plan.Excluded)
	for left := plan.Targets; len(left) > 0 && !x.combo.full(); {
		i := x.choose(left)
		l := legOf(legs, left[i].Conn)
		left = slices.Delete(left, i, i+1)
		x.more = len(left) > 0 || x.combo.follows(l.target)
		v, barred := x.visit(ctx, l)
		if barred != nil {
			plan.Excluded = append(plan.Excluded, *barred)
			if !l.barred {
				l.barred, resting = true, append(resting, *barred)
			}
		}
		if v == ended {
			return ended
		}
		if len(left) == 0 {
			left, resting = x.back(legs, resting, plan)
		}
	}
	return tryNext
}

// back takes those out of the plan's exclusions that can be tried by now; each
// of resting comes back at most once.
func (x *exchange) back(legs []*leg, resting []resilience.Exclusion, plan *resilience.Plan) (back []resilience.Target, still []resilience.Exclusion) {
	if len(resting) == 0 {
		return nil, nil
	}
	again := make([]*leg, len(resting))
	for i, e := range resting {
		again[i] = legOf(legs, e.Conn)
	}
	now := x.plan(again)
	plan.Excluded = slices.DeleteFunc(plan.Excluded, func(e resilience.Exclusion) bool {
		return slices.ContainsFunc(now.Targets, func(t resilience.Target) bool { return t.Conn == e.Conn })
	})
	return now.Targets, now.Excluded
}

// giveUp ends a request that no connection answered.
func (x *exchange) giveUp(plan resilience.Plan) {
	if x.emergency() {
		return
	}
	if f := resilience.Forwardable(x.failures); f != nil {
		x.forward(*f, false)
		return
	}
	if f := x.wall(plan); f != nil {
		x.forward(*f, true)
		return
	}
	x.refuse(x.unserved(plan))
}
