package exchange

import (
	"context"
	"net/http"
	"strings"
	"time"

	"breakwater/proxy/attempt"
	"breakwater/proxy/catalog"
	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/proxy/refusal"
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/combo"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/hint"
	"breakwater/resilience/outcome"
)

// admit waits until the composite gate and then the connection's queue let the
// request through (guide §4, §5). A nil slot means that they did not: a budget
// of ours is over, which is no connection's failure (case P11), or the client
// has left. Probes neither count nor queue.
func (r *run) admit(ctx context.Context, c *candidate) (*admission.Permit, *admission.Slot, *ending) {
	if r.req.Probe {
		return nil, &admission.Slot{}, nil
	}
	id := c.route.Record.ID
	permit, err := r.Admission.Gates().Composite(ctx, r.Admission.Caps(c.route), c.route.Provider.ID, id, c.model)
	if err != nil {
		return nil, nil, r.heldBack(ctx, c, err)
	}
	slot, err := r.Admission.Queues().Acquire(ctx, r.call(c))
	if err != nil {
		permit.Release()
		return nil, nil, r.heldBack(ctx, c, err)
	}
	return permit, slot, nil
}

// call is the candidate as the admission queue knows it.
func (r *run) call(c *candidate) admission.Call {
	call := admission.Call{Connection: c.route.Record.ID, Model: c.model}
	if r.sent.Body.Model != c.model {
		call.Alias = r.sent.Body.Model
	}
	return call
}

// heldBack records why a gate or queue did not let the request through.
func (r *run) heldBack(ctx context.Context, c *candidate, err error) *ending {
	if attempt.Gone(ctx, r.to) {
		return r.left(c.route, c.model)
	}
	reason, wait := combo.CodeTargetTimeout, time.Duration(0)
	if local, ok := admission.Local(err); ok {
		r.local = local
		reason, wait = strings.ToLower(string(local.Code)), local.RetryAfter
	}
	r.step(control.Step{Kind: control.StepSkipped, Reason: reason, Model: c.model, Until: untilAfter(wait)}, c.route)
	return nil
}

// attempt asks the candidate. A fault of our own ends the attempt like a failure
// that is not the upstream's: before the commit point another target is tried,
// after it the stream is cut.
func (r *run) attempt(ctx context.Context, p plan, c *candidate, more bool, slot *admission.Slot) (res attempt.Result) {
	client := &committed{Client: r.to}
	defer func() {
		if fault := recover(); fault != nil {
			r.fault(fault)
			res = attempt.Faulted(client.done)
		}
	}()
	use := c.route.Use
	use.InFlight.Add(1)
	defer use.InFlight.Add(-1)
	use.LastUsed.Store(time.Now().UnixMilli())
	r.Records.MarkUse()
	r.Egress.Look(c.route)
	to := attempt.Target{
		Route: c.route, Model: c.model, More: more, Header: http.Header{refusal.HeaderSelected: {c.route.Record.ID}},
		Start: r.startLimit(c.route, more), Begins: c.step.begins, History: r.historyAt(c),
		Recall: func() attempt.History { return recall(r, c) },
		Broken: func() []byte { return r.refusal().BrokenStream(c.route.Record.Name) },
	}
	to.Within = slot.Limit(to.Start)
	p.ask(r, c, &to)
	return r.Attempts.Do(ctx, r.sent, to, client, &observer{r: r, c: c})
}

// committed notes that an attempt's answer has begun: the commit point.
type committed struct {
	attempt.Client
	done bool
}

// Head implements attempt.Client.
func (c *committed) Head(status int, fill func(http.Header)) {
	c.done = true
	c.Client.Head(status, fill)
}

// observer follows an attempt for the trace and for what its answers teach.
type observer struct {
	r *run
	c *candidate
}

// Step implements attempt.Observer.
func (o *observer) Step(s control.Step) { o.r.step(s, o.c.route) }

// Answered implements attempt.Observer: what a good answer says about the
// provider's limits is learned from its headers; a bad one is learned from in
// full.
func (o *observer) Answered(status int, header http.Header) {
	r, id := o.r, o.c.route.Record.ID
	r.Records.SeeAnswer(o.c.route, header)
	if queues := r.Admission.Queues(); status < http.StatusMultipleChoices && queues.Protected(id) {
		queues.Learn(r.call(o.c), admission.Answer{Status: status, Header: header, Now: r.Clock.Now()})
	}
}

// settle books the result of an attempt with the engine, the connection's queue,
// the session and the figures, and says whether the request has ended.
func (r *run) settle(p plan, c *candidate, a *resilience.Attempt, res attempt.Result, more bool) *ending {
	if res.End != attempt.Answered || r.Slow.Any() {
		r.observeSilence(c, res)
	}
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
	r.pin(c)
	r.seat(c)
	if r.opinion != nil {
		r.opinions.overruled(r)
	}
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
	switch {
	case r.opinions.confirm(r, &f):
		return r.opinions.confirmed(r)
	case r.opinions.wanted(r, &f):
		r.opinions.ask(r, c, &f)
	case p.ends(&f):
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
// attempt failed. The engine comes first: requests that the queue turns away look at
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

// startLimit is how long the upstream may take until the headers of its answer;
// Claude has a figure of its own (ruling 21). A streamed request moves on from a
// silent target earlier, while another one serves.
func (r *run) startLimit(route *control.Route, more bool) time.Duration {
	limit := r.Limits.Headers
	if d := route.StartTimeout(); d > 0 {
		limit = d
	}
	if more && r.sent.Body.Stream {
		return r.silenceLimit(route, limit)
	}
	return limit
}
