package exchange

import (
	"context"
	"slices"
	"strings"
	"time"

	"breakwater/proxy/attempt"
	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/proxy/history"
	"breakwater/proxy/refusal"
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/breaker"
	"breakwater/resilience/combo"
	"breakwater/resilience/exclusion"
)

// run is one walk through a plan: the client's own, or one of those that fusion
// and pipeline make on its behalf. It belongs to one goroutine.
type run struct {
	*exchange
	sent *attempt.Request // the request as the plan has changed it
	to   attempt.Client

	trace    []control.Step
	failures []resilience.Failure // of the present pass, before the commit point
	local    *admission.Error     // the last refusal of a gate or queue of ours
	passed   []control.Passed     // connections that were not considered at all
	fenced   *control.LeaseError  // of the last target that turned out to be another owner's
	spent    admission.Spent      // on waits
	attempts []refusal.Attempt    // that were sent
	opinion  *opinion             // a refusal that is not believed alone, nil for none

	talk       *history.Conversation // see conversation
	combo      string                // the combo that the model's name stands for
	failedOver bool
	unpinned   *candidate // whose pin its failure has ended
	usage      dialect.Usage
	// answeredBy is whose answer or refusal the client sees.
	answeredBy struct{ id, name, provider, egress string }
}

func (x *exchange) newRun() *run { return &run{exchange: x, sent: &x.req.Request, to: x.out} }

// candidate is one way to answer a request: a connection and the model's name
// there.
type candidate struct {
	route *control.Route
	model string
	step  *step
	// tried tells that an attempt was made, barred that it was kept from one at
	// the last moment, after a wait.
	tried, barred bool
}

func (c *candidate) engine() resilience.Candidate {
	return resilience.Candidate{Conn: c.route.Conn, Model: c.model}
}

// step is one step of a plan: a model, or a target of a combo.
type step struct {
	target *combo.Target // nil for a single model
	// nextSameProvider tells that the next step has the same provider: some
	// failures are then left to it.
	nextSameProvider bool
	// follows tells that further steps come after this one.
	follows bool
	// begins lifts the limit on the time until the answer begins; nil: none.
	begins func()
}

// plan says on which targets a request is tried, and what becomes of it when
// none of them answers. A single model is a plan of one step.
type plan interface {
	// begin takes what the whole request needs; release gives it back. It may end
	// the request.
	begin(ctx context.Context, r *run) (release func(), end *ending)
	// dispatch makes the passes over the steps; nil means that none answered.
	dispatch(ctx context.Context, r *run) *ending
	// wait decides whether the request waits and is dispatched again.
	wait(r *run) admission.Decision
	// resume prepares the next dispatch after a wait.
	resume(r *run)
	// giveUp is how the request ends that no target answered.
	giveUp(ctx context.Context, r *run) ending
	// end is called once, however the request ended.
	end(r *run)

	// full reports whether the request has used up its attempts; sending is
	// called before each.
	full(r *run) bool
	sending()
	// ends reports whether a failure ends the request: no other target would
	// answer better.
	ends(f *resilience.Failure) bool
	// served is called with the candidate that answered, count with every one
	// that was asked.
	served(r *run, c *candidate)
	count(r *run, c *candidate, ttfb time.Duration, ok bool)
	// target completes what an attempt is asked to do.
	ask(r *run, c *candidate, to *attempt.Target)
}

// carryOut carries a plan out: passes over its steps and, when all that failed
// rest for a short while only, waits, during which nothing is held.
func (r *run) carryOut(ctx context.Context, p plan) ending {
	defer p.end(r)
	if end := r.stranded(nil); end != nil {
		return *end
	}
	release, end := p.begin(ctx, r)
	if end != nil {
		return *end
	}
	defer release()
	for {
		if end := p.dispatch(ctx, r); end != nil {
			return *end
		}
		d := p.wait(r)
		if !d.Wait {
			return p.giveUp(ctx, r)
		}
		if !r.pause(ctx, d) {
			return *r.left(nil, "")
		}
		r.spent.Add(d.For)
		p.resume(r)
	}
}

// split sorts candidates into those that may be tried now and those that may
// not.
func (r *run) split(all []*candidate) resilience.Plan {
	list := make([]resilience.Candidate, len(all))
	for i, c := range all {
		list[i] = c.engine()
	}
	plan := r.Engine.Plan(list)
	r.keepHome(&plan)
	if len(plan.Targets) > 1 && (r.Slow.Any() || r.opinions.some.Load()) {
		r.demote(all, plan.Targets)
	}
	if !r.Settings.InForce().QuotaPreflight.Enabled || r.req.Probe {
		return plan
	}
	plan.Targets = slices.DeleteFunc(plan.Targets, func(t resilience.Target) bool {
		until, blocked := r.Connections.QuotaCutoff(candidateOf(all, t.Conn).route, t.Model)
		if blocked {
			plan.Excluded = append(plan.Excluded, resilience.Exclusion{
				Candidate: t, Exclusion: exclusion.Exclusion{Reason: exclusion.Quota, Until: until},
			})
		}
		return blocked
	})
	return plan
}

func exclusionsOf(list []resilience.Exclusion) (out []exclusion.Exclusion) {
	for _, e := range list {
		out = append(out, e.Exclusion)
	}
	return out
}

func candidateOf(all []*candidate, c *resilience.Conn) *candidate {
	for _, one := range all {
		if one.route.Conn == c {
			return one
		}
	}
	return nil
}

// sweep tries the plan's targets until one answers, and then those that were
// excluded when it was made and are back by now: an attempt may take long. What
// turns out to be excluded meanwhile is added to the plan.
func (r *run) sweep(ctx context.Context, p plan, all []*candidate, now *resilience.Plan) *ending {
	resting := slices.Clone(now.Excluded)
	for left := now.Targets; len(left) > 0 && !p.full(r); {
		i := r.choose(left)
		c := candidateOf(all, left[i].Conn)
		left = slices.Delete(left, i, i+1)
		end, barred := r.visit(ctx, p, c, len(left) > 0 || c.step.follows)
		if end != nil {
			return end
		}
		if barred != nil {
			now.Excluded = append(now.Excluded, *barred)
			if !c.barred {
				c.barred, resting = true, append(resting, *barred)
			}
		}
		if len(left) == 0 {
			left, resting = r.back(all, resting, now)
		}
	}
	return nil
}

// back takes those out of the plan's exclusions that can be tried by now; each
// of resting comes back at most once.
func (r *run) back(all []*candidate, resting []resilience.Exclusion, plan *resilience.Plan) (back []resilience.Target, still []resilience.Exclusion) {
	if len(resting) == 0 {
		return nil, nil
	}
	again := make([]*candidate, len(resting))
	for i, e := range resting {
		again[i] = candidateOf(all, e.Conn)
	}
	now := r.split(again)
	plan.Excluded = slices.DeleteFunc(plan.Excluded, func(e resilience.Exclusion) bool {
		return slices.ContainsFunc(now.Targets, func(t resilience.Target) bool { return t.Conn == e.Conn })
	})
	return now.Targets, now.Excluded
}

// visit takes the gates and the queue slot of a candidate and makes an attempt.
// The engine is asked after the waits: what happened meanwhile counts. barred is
// why no attempt was made in the end. Everything taken is given back on every
// path (P60).
func (r *run) visit(ctx context.Context, p plan, c *candidate, more bool) (end *ending, barred *resilience.Exclusion) {
	permit, slot, end := r.admit(ctx, c)
	if slot == nil {
		return end, nil
	}
	defer permit.Release()
	defer slot.Release()
	a, barred := r.Engine.Begin(c.engine())
	if barred != nil {
		r.skip(c.route, *barred)
		return nil, barred
	}
	defer a.Release()
	a.Route(breaker.Route{Combo: c.step.target != nil, NextSameProvider: c.step.nextSameProvider})
	c.tried = true
	p.sending()
	r.attempts = append(r.attempts, refusal.Attempt{Provider: c.route.Provider.ID, Model: c.model})
	return r.settle(p, c, a, r.attempt(ctx, p, c, more, slot), more), nil
}

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
	if r.opinion != nil {
		return *r.forward(&r.opinion.first, false)
	}
	if f := resilience.Forwardable(r.failures); f != nil {
		return *r.forward(f, false)
	}
	if end := r.stranded(exclusionsOf(p.now.Excluded)); end != nil {
		return *end
	}
	if f := r.passthroughLimit(p.now); f != nil {
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
