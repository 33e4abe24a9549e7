package exchange

import (
	"context"
	"slices"
	"strings"
	"time"

	"breakwater/proxy/attempt"
	"breakwater/proxy/control"
	"breakwater/proxy/refusal"
	"breakwater/resilience"
	"breakwater/resilience/admission"
)

// HeaderPin names one connection for a request for a single model (combos sheet
// §2.9): its id or its name.
const HeaderPin = "X-Omniroute-Connection"

// single is the plan of a request for a single model: one step, whose candidates
// are the connections that offer the model, in the user's order.
type single struct {
	step
	candidates []*candidate
	now        resilience.Plan // of the last pass
	resting    []resilience.Exclusion
	mends      []refusal.Mend // what only the user can mend
}

// singlePlan finds the connections that offer the model.
func (r *run) singlePlan() *single {
	r.joinSession(false)
	choices, passed := r.Connections.Choose(r.ask(r.sent.Body.Model))
	r.passed = passed
	for _, p := range passed {
		r.step(control.Step{Kind: control.StepSkipped, Reason: string(p.Reason)}, p.Route)
	}
	p := &single{}
	p.candidates = candidatesOf(pinned(r.req.Header.Get(HeaderPin), choices), &p.step)
	return p
}

// ask is what the request wants of a connection for a model.
func (r *run) ask(model string) control.Ask {
	return control.Ask{Dialect: r.req.Dialect, Model: model, Admits: r.Connections.Admits(r.req.Header), Grant: r.req.Grant, Hold: r.req.Hold}
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

func candidatesOf(choices []control.Choice, s *step) []*candidate {
	all := make([]candidate, len(choices))
	list := make([]*candidate, len(choices))
	for i, c := range choices {
		all[i] = candidate{route: c.Route, model: c.Model, step: s}
		list[i] = &all[i]
	}
	return list
}

func (p *single) begin(ctx context.Context, r *run) (func(), *ending) {
	if len(p.candidates) > 0 {
		return func() {}, nil
	}
	if e := r.leaseContention(ctx, resilience.Plan{}); e != nil {
		return nil, r.refuse(refusal.Lease(e))
	}
	return nil, r.refuse(r.noConnection())
}

func (p *single) dispatch(ctx context.Context, r *run) *ending {
	p.now = r.split(p.candidates)
	for _, e := range p.now.Excluded {
		r.skip(candidateOf(p.candidates, e.Conn).route, e)
	}
	if end := r.sweep(ctx, p, p.candidates, &p.now); end != nil {
		return end
	}
	if e := r.leaseContention(ctx, p.now); e != nil {
		return r.refuse(refusal.Lease(e))
	}
	p.resting = r.split(p.candidates).Excluded
	return nil
}

func (p *single) wait(r *run) admission.Decision {
	p.mends = r.mends(p.resting, len(p.candidates))
	if !r.waits() || p.mends != nil {
		return admission.Decision{Why: admission.WaitsOff}
	}
	spent := r.spent
	spent.Client = r.patience()
	return resilience.Waiting{
		Now: r.Clock.Now(), Resting: p.resting, Failures: r.failures, Spent: spent, Longest: r.Limits.Patience,
	}.Decide(r.Settings.InForce().WaitForCooldown)
}

// resume keeps the candidates that were put aside for a time, or turned away at
// a gate: they are worth an attempt after the wait.
func (p *single) resume(r *run) {
	p.candidates = slices.DeleteFunc(p.candidates, func(c *candidate) bool {
		return c.tried && !resilience.Cooled(r.failures, c.route.Record.ID) &&
			!slices.ContainsFunc(p.resting, func(e resilience.Exclusion) bool { return e.Conn == c.route.Conn })
	})
	r.failures, r.local = nil, nil
}

func (p *single) giveUp(ctx context.Context, r *run) ending {
	if r.local != nil { // who was turned away from a queue is given that reason
		p.now.Excluded = p.resting
	}
	if end := r.emergency(ctx); end != nil {
		return *end
	}
	if f := resilience.Forwardable(r.failures); f != nil {
		return *r.forward(f, false)
	}
	if f := r.wall(p.now); f != nil {
		return *r.forward(f, true)
	}
	if p.mends != nil && r.local == nil {
		return *r.final(p.mends)
	}
	return *r.unserved(ctx, p.now)
}

func (p *single) ends(f *resilience.Failure) bool { return resilience.EndsRequest(f) }

func (p *single) ask(_ *run, _ *candidate, to *attempt.Target) {
	to.Checks = resilience.ChecksFor(false, to.More)
}

// full is never: every connection is asked once.
func (p *single) full(*run) bool { return false }

func (p *single) sending() {}

func (p *single) served(*run, *candidate) {}

func (p *single) count(*run, *candidate, time.Duration, bool) {}

func (p *single) end(*run) {}
