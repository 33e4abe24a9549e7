package exchange

import (
	"context"
	"net/http"
	"strings"
	"time"

	"breakwater/proxy/attempt"
	"breakwater/proxy/control"
	"breakwater/proxy/refusal"
	"breakwater/resilience/admission"
	"breakwater/resilience/combo"
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
	use := c.route.Use
	use.InFlight.Add(1)
	defer use.InFlight.Add(-1)
	use.LastUsed.Store(time.Now().UnixMilli())
	r.Records.MarkUse()
	r.Egress.Look(c.route)
	to := attempt.Target{
		Route: c.route, Model: c.model, More: more, Header: http.Header{refusal.HeaderSelected: {c.route.Record.ID}},
		Start: r.startLimit(c.route, more), Begins: c.step.begins, History: r.historyAt(c),
		Broken: func() []byte { return r.refusal().BrokenStream(c.route.Record.Name) },
	}
	to.Within = slot.Limit(to.Start)
	p.ask(r, c, &to)
	client := &committed{Client: r.to}
	defer func() {
		if fault := recover(); fault != nil {
			r.fault(fault)
			res = attempt.Faulted(client.done)
		}
	}()
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
