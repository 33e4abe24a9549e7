package exchange

import (
	"net/http"

	"breakwater/proxy/attempt"
	"breakwater/proxy/catalog"
	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/proxy/refusal"
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/hint"
	"breakwater/resilience/outcome"
)

// settle books the result of an attempt with the engine, the connection's queue,
// the session and the figures, and says whether the request has ended.
func (r *run) settle(p plan, c *candidate, a *resilience.Attempt, res attempt.Result, more bool) *ending {
	r.observeSilence(c, res)
	switch res.End {
	case attempt.Answered:
		return r.answered(p, c, a, res)
	case attempt.Broken:
		return r.broken(c, a, res)
	case attempt.Left:
		r.count(p, c, res, outcome.Neutral)
		r.step(control.Step{Kind: control.StepLeft, Model: c.model, DurationMs: res.Took.Milliseconds()}, c.route)
		r.credit(c.route, res.Usage)
		return &ending{result: resultLeft, status: statusClientLeft}
	case attempt.Refused:
		return r.notSent(c, res)
	case attempt.Failed:
	}
	return r.failed(p, c, a, res, more)
}

// answered books a whole answer.
func (r *run) answered(p plan, c *candidate, a *resilience.Attempt, res attempt.Result) *ending {
	if !r.req.Probe {
		a.Report(outcome.Outcome{Class: outcome.Success, Status: res.Status})
	}
	c.route.Use.Served.Add(1)
	r.count(p, c, res, outcome.Success)
	r.seat(c)
	p.served(r, c)
	r.credit(c.route, res.Usage)
	r.step(control.Step{Kind: control.StepAnswered, Status: res.Status, Model: c.model, Reason: res.Mended, DurationMs: res.Took.Milliseconds()}, c.route)
	return &ending{result: resultAnswered, status: res.Status}
}

// broken books an answer that broke off after the client saw a part of it.
func (r *run) broken(c *candidate, a *resilience.Attempt, res attempt.Result) *ending {
	o := res.Outcome
	effect := a.Report(o)
	if o.Class == outcome.Failure {
		c.route.Use.Failed.Add(1)
	}
	r.Meter.Attempt(c.route.Provider.ID, o.Class)
	r.credit(c.route, res.Usage)
	r.step(control.Step{
		Kind: control.StepCut, Reason: string(o.Reason), Status: o.Status, Model: c.model,
		DurationMs: res.Took.Milliseconds(), Until: r.Clock.Real(effect.Until),
	}, c.route)
	return &ending{result: resultTruncated, status: http.StatusOK}
}

// notSent books an attempt that a local rule ended before anything was sent. A
// connection that has just become another owner's is passed over; any other
// reason of a lease is the request's own.
func (r *run) notSent(c *candidate, res attempt.Result) *ending {
	switch e := res.Fence; {
	case e == nil: // switched off meanwhile, which the trace says
		return nil
	case e.Code != control.LeaseCapacity && e.Code != control.LeaseConnMismatch:
		return r.refuse(refusal.Lease(e))
	default:
		r.step(control.Step{Kind: control.StepSkipped, Reason: string(exclusion.Leased), Model: c.model}, c.route)
		r.fenced = e
		return nil
	}
}

// failed books a failure before the commit point. What the answer had begun with
// is delivered when no other target follows that may have more to offer (case
// 176).
func (r *run) failed(p plan, c *candidate, a *resilience.Attempt, res attempt.Result, more bool) *ending {
	effect, o := r.report(p, c, a, res)
	r.step(control.Step{
		Kind: control.StepFailed, Reason: string(o.Reason), Status: o.Status, Model: c.model,
		DurationMs: res.Took.Milliseconds(), Until: r.Clock.Real(effect.Until),
	}, c.route)
	r.failedOver = true
	r.leave(c, o)
	f := resilience.Failure{
		Connection: c.route.Record.ID, Name: c.route.Record.Name, Provider: c.route.Provider.ID, Model: c.model,
		Outcome: o, Until: effect.Until, Code: res.Code, Header: res.Header, Body: res.Body,
		PerModelQuota: c.route.PerModelQuota(), Passthrough: c.route.Credential() == catalog.PassthroughCredential,
	}
	if p.ends(&f) {
		return r.forward(&f, false)
	}
	r.failures = append(r.failures, f)
	if res.Kept == nil || more {
		return nil
	}
	r.credit(c.route, res.Usage)
	if !res.Kept.Deliver() {
		return r.left(c.route, c.model)
	}
	return &ending{result: resultTruncated, status: http.StatusOK}
}

// credit names the connection whose answer the client sees, and what it cost.
func (r *run) credit(route *control.Route, u dialect.Usage) {
	by := &r.answeredBy
	by.id, by.name, by.provider, by.egress = route.Record.ID, route.Record.Name, route.Provider.ID, r.Egress.Known(route)
	r.usage = u
}

// report tells the engine, the connection's queue and the figures how the
// attempt failed. The engine comes first: whoever the queue turns away looks at
// what it decided (P12). A long wait that the provider states for one model
// locks that model and leaves the queue alone (guide §5).
func (r *run) report(p plan, c *candidate, a *resilience.Attempt, res attempt.Result) (resilience.Effect, outcome.Outcome) {
	o, queues, id := res.Outcome, r.Admission.Queues(), c.route.Record.ID
	said := admission.Answer{Status: o.Status, Header: res.Header, Body: res.Body, Now: r.Clock.Now()}
	if o.RestatedFrom > 0 {
		said.Status = o.RestatedFrom
	}
	learns := res.Header != nil && !r.req.Probe && queues.Protected(id)
	if learns && o.Class == outcome.Failure {
		if lock := queues.Locks(r.call(c), said); lock > 0 {
			o.Scope, o.Cooldown, o.UsedHint, o.HintSource = outcome.ScopeModel, lock, true, hint.SourceRetryInfo
		}
	}
	effect := a.Report(o)
	if o.Class == outcome.Failure {
		c.route.Use.Failed.Add(1)
	}
	r.count(p, c, res, o.Class)
	if learns {
		queues.Learn(r.call(c), said)
	}
	if effect.Cooldown > 0 {
		queues.TurnAway(id, effect.Cooldown)
	}
	return effect, o
}

// count feeds the figures that later choices are made by: the latency signal
// (guide §2) and what a combo knows of its targets.
func (r *run) count(p plan, c *candidate, res attempt.Result, class outcome.Class) {
	r.Meter.Attempt(c.route.Provider.ID, class)
	if class == outcome.Neutral || r.req.Probe {
		return
	}
	ok := class == outcome.Success
	r.Combos.Latency().Record(r.Clock.Now(), c.route.Record.ID, c.model, res.TTFB, !ok)
	p.count(r, c, res.TTFB, ok)
}
