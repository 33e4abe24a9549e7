package exchange

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/refusal"
	"breakwater/proxy/upstream"
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/combo"
	"breakwater/resilience/exclusion"
)

// refusal is what the answers of ours to this request depend on.
func (r *run) refusal() *refusal.Request {
	q := &refusal.Request{
		Dialect: r.req.Dialect, Client: r.req.Profile, Model: r.sent.Body.Model, Leases: r.req.Grant.Leases, Relayed: r.req.Via > 0,
		Selected: r.answeredBy.id, Now: time.Now(),
	}
	if f := resilience.Last(r.failures); f != nil && q.Selected == "" {
		q.Selected = f.Connection
	}
	return q
}

// refuse ends the request with an error of our own.
func (r *run) refuse(n refusal.Notice) *ending { return r.answer(r.refusal().Answer(n)) }

func (r *run) answer(a refusal.Answer) *ending {
	if a.Forwarded {
		return &ending{result: resultFailed, status: a.Status, answer: &a}
	}
	return &ending{result: resultRefused, status: a.Status, answer: &a}
}

// forward ends the request with an upstream's refusal as it came; untouched
// keeps even the headers that make the client stop (ruling 42).
func (r *run) forward(f *resilience.Failure, untouched bool) *ending {
	by := &r.answeredBy
	by.id, by.name, by.provider, by.egress = f.Connection, f.Name, f.Provider, ""
	if route, ok := r.Connections.Route(f.Connection); ok {
		by.egress = r.Egress.Known(route)
	}
	r.failedOver = len(r.failures) > 0
	handed := *f
	if f.Answered() {
		h := http.Header{}
		upstream.CopyAnswerHeader(h, f.Header)
		handed.Header = h
	}
	return r.answer(r.refusal().Forward(&handed, untouched))
}

// noConnection refuses a request for which there is no connection at all.
func (r *run) noConnection() refusal.Notice {
	var skipped []refusal.Skipped
	for _, p := range r.passed {
		skipped = append(skipped, refusal.Skipped{Name: p.Route.Record.Name, Reason: string(p.Reason)})
	}
	var all []refusal.Connection
	for _, route := range r.Connections.Routes() {
		all = append(all, refusal.Connection{Name: route.Record.Name, Dialects: route.Speaks()})
	}
	return r.refusal().NoConnection(skipped, all)
}

// unserved ends a request for a single model that no connection answered.
func (r *run) unserved(ctx context.Context, now resilience.Plan) *ending {
	r.failedOver = false
	u := refusal.Unserved{
		Failures: r.failures, Excluded: now.Excluded, Local: r.local, RefreshWait: r.refreshWait(), Lease: r.leaseContention(ctx, now),
	}
	u.Wait, u.Waits = r.nextTry(now)
	for _, s := range r.trace {
		if s.Kind == control.StepSkipped {
			u.Skipped = append(u.Skipped, refusal.Skipped{Name: s.ConnectionName, Reason: s.Reason})
		}
	}
	n := r.refusal().Unserved(&u)
	if n.Exhausted && !r.to.Gone() {
		r.Records.Warn(control.Alert{Kind: control.AlertNothingLeft, Dialect: string(r.req.Dialect.Traits().Name), Until: untilAfter(u.Wait)})
	}
	return r.refuse(n)
}

// mends are the connections that only the user can mend, when nothing else
// excludes those of the request (ruling 71); nil otherwise, or when that is
// switched off.
func (r *run) mends(excluded []resilience.Exclusion, candidates int) []refusal.Mend {
	if r.req.Probe || len(excluded) < candidates || !r.Settings.InForce().Failover.FinalErrors || !resilience.OnlyUserMends(excluded) {
		return nil
	}
	var list []refusal.Mend
	for _, e := range excluded {
		m, ok := resilience.MendingOf(e.Exclusion)
		route, known := r.Connections.Route(e.Conn.ID())
		if ok && known {
			list = append(list, refusal.Mend{Name: route.Record.Name, Mending: m, Status: r.Engine.ConnectionStatus(e.Conn).ErrorCode})
		}
	}
	for _, p := range r.passed {
		if p.Reason == exclusion.KeyMissing {
			list = append(list, refusal.Mend{Name: p.Route.Record.Name, Mending: resilience.MendMissing})
		}
	}
	return list
}

// final ends a request that no wait can mend.
func (r *run) final(mends []refusal.Mend) *ending {
	r.failedOver = false
	if !r.to.Gone() {
		r.Records.Warn(control.Alert{Kind: control.AlertNothingLeft, Dialect: string(r.req.Dialect.Traits().Name), Combo: r.combo})
	}
	return r.refuse(r.refusal().UserAction(mends))
}

// nextTry is how long it takes until the first of the connections may be tried
// again.
func (r *run) nextTry(now resilience.Plan) (time.Duration, bool) {
	return r.refusal().NextTry(now.Excluded, r.failures, r.Clock.Real)
}

// refreshWait is when the login of the last failure is refreshed again.
func (r *run) refreshWait() time.Duration {
	if f := resilience.Last(r.failures); f != nil && f.Code == resilience.CodeLoginNotRefreshed {
		if route, ok := r.Connections.Route(f.Connection); ok {
			return r.Connections.RefreshPause(route)
		}
	}
	return time.Second
}

// leaseContention reports whether a request under a lease was not served because
// other owners hold what could serve it.
func (r *run) leaseContention(ctx context.Context, now resilience.Plan) *control.LeaseError {
	if r.req.Hold == nil || len(r.failures) > 0 {
		return nil
	}
	if r.fenced != nil {
		return r.fenced
	}
	return r.Connections.Unserved(ctx, r.req.Hold, now, r.passed, r.sent.Body.Model)
}

func untilAfter(wait time.Duration) *time.Time {
	if wait <= 0 {
		return nil
	}
	return control.RealTime(time.Now().Add(wait))
}

// giveUp ends a request for a combo that no target answered.
func (p *comboPlan) giveUp(_ context.Context, r *run) ending {
	if end := r.stranded(p.pass.unasked); end != nil {
		return *end
	}
	c := p.unserved(r)
	if !r.to.Gone() && p.leads(r) {
		wait, _ := c.NextTry()
		r.Records.Warn(control.Alert{Kind: control.AlertNothingLeft, Dialect: string(r.req.Dialect.Traits().Name), Combo: p.combo.Name, Until: untilAfter(wait)})
	}
	r.failedOver = false
	if r.opinion != nil {
		return *r.forward(&r.opinion.first, false)
	}
	if f := resilience.ForwardableFromCombo(r.failures, p.pass.Stop); f != nil {
		return *r.forward(f, false)
	}
	if line := c.ExclusionLog(); line != "" && p.combo.Strategy == combo.Weighted {
		r.Log.Warn(line, "combo", p.combo.Name) //nolint:sloglint // the guide gives the line
	}
	return *r.answer(r.refusal().Combo(c))
}

// unserved is how the request went.
func (p *comboPlan) unserved(r *run) *refusal.Combo {
	now := r.Clock.Now()
	c := &refusal.Combo{
		Name: p.combo.Name, Stop: p.pass.Stop, Attempts: r.attempts, Sent: p.pass.Sent, Refusal: p.refusal,
		Failures: r.failures, Excluded: p.pass.excluded, Local: r.local, Now: now,
		Before: admission.BeforeDispatch(now, p.pass.unasked, r.spent, p.waiting()), Mends: p.mends,
	}
	if p.plan != nil {
		c.Planned, c.PoolSize = true, len(p.plan.Order)+len(p.plan.LastResort)
	}
	return c
}

// leads reports whether the combo leads to any connection. One that does not is
// misnamed and not out of connections, which its answer says: no notification.
func (p *comboPlan) leads(r *run) bool {
	return slices.ContainsFunc(p.targets(), r.Connections.Leads)
}

// targets are those of the plan, and those that kept it from being made.
func (p *comboPlan) targets() []*combo.Target {
	targets := slices.Clone(p.order())
	if p.refusal != nil {
		for _, e := range p.refusal.Excluded {
			targets = append(targets, e.Target)
		}
	}
	return targets
}

// passthroughLimits remember how limits of passthrough connections were reported, so
// that the next request gets the same answer while the connection rests.
type passthroughLimits struct {
	mu   sync.Mutex
	last map[string]resilience.Failure // by connection
}

func (w *passthroughLimits) put(f resilience.Failure) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		w.last = map[string]resilience.Failure{}
	}
	w.last[f.Connection] = f
}

func (w *passthroughLimits) get(e resilience.Exclusion) (resilience.Failure, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f, ok := w.last[e.Conn.ID()]
	return f, ok && e.Reason == exclusion.Cooling && !e.Until.IsZero() && !e.Until.After(f.Until)
}

// Lift implements control.WaitMemory: whatever may lift the cooldown of such a limit
// makes the way in which it was reported a thing of the past.
func (w *passthroughLimits) Lift(l *control.Lifting) {
	switch l.Event {
	case control.WaitsCleared, control.KeyChanged, control.UsageProved, control.CoolingOff, control.ConnectionGone:
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, r := range l.Routes {
			delete(w.last, r.Record.ID)
		}
	case control.ListRead, control.TokenGenerated, control.BreakersReset, control.ModelsUnlocked, control.AddressChanged: // the cooldown stays
	}
}

// Show implements control.WaitMemory: such a limit is seen as its cooldown.
func (*passthroughLimits) Show(*control.Route, *control.Connection) {}

// Waits returns what the exchanger remembers of waits.
func (e *Exchanger) Waits() control.WaitMemory { return &e.passthrough }

// passthroughLimit returns the original refusal when nothing is left but the limit of the
// client's own subscription and it lasts (ruling 42).
func (r *run) passthroughLimit(now resilience.Plan) *resilience.Failure {
	if wait, waits := r.nextTry(now); !waits || !resilience.ForwardsWall(wait) {
		return nil
	}
	found, ok := resilience.SubscriptionWalls(r.failures)
	for _, f := range found {
		r.passthrough.put(*f)
	}
	switch {
	case !ok:
		return nil
	case len(found) > 0:
		return found[len(found)-1]
	}
	for _, e := range now.Excluded {
		if f, ok := r.passthrough.get(e); ok {
			h := http.Header(f.Header).Clone()
			h.Del("Retry-After") // it counted from another moment
			f.Header = h
			return &f
		}
	}
	return nil
}
