package proxy

import (
	"maps"
	"net/http"
	"strconv"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/proxy/refusal"
	"breakwater/resilience"
)

// asked is what the answers of ours to this request depend on.
func (x *exchange) asked() *refusal.Request {
	return &refusal.Request{
		Dialect: x.rt.dialect, Client: x.client, Model: x.body.Model, Leases: x.grant.Leases, Selected: x.selected(), Now: time.Now(),
	}
}

// selected is the connection that was used last.
func (x *exchange) selected() string {
	if f := x.lastFailure(); f != nil && x.act.ConnectionID == "" {
		return f.Connection
	}
	return x.act.ConnectionID
}

func (x *exchange) lastFailure() *resilience.Failure { return resilience.Last(x.failures) }

// refuse answers with an error of our own.
func (x *exchange) refuse(n refusal.Notice) { x.reply(x.asked().Answer(n)) }

// reply ends the exchange with an error. A client that waits in a stream already
// cannot be given a status any more: it gets the error as an event, or a cut.
func (x *exchange) reply(a refusal.Answer) {
	result := "failed"
	if !a.Forwarded {
		result = "refused"
		x.step(control.Step{Kind: control.StepRefused, Status: a.Status, Reason: a.Code, Until: control.RealTime(a.Until)}, nil)
	}
	x.out.quiet()
	if x.out.begun() {
		if len(a.Event) > 0 {
			x.out.write(a.Event)
		}
		x.finish(a.Status, result)
		panic(http.ErrAbortHandler)
	}
	x.out.head(a.Status, func(h http.Header) {
		maps.Copy(h, a.Header)
		h.Set("Content-Length", strconv.Itoa(len(a.Body)))
	})
	x.out.write(a.Body)
	x.finish(a.Status, result)
}

// noConnection refuses a request for which there is no connection at all.
func (x *exchange) noConnection(passed []control.Passed) refusal.Notice {
	if e := x.leaseContention(resilience.Plan{}); e != nil {
		return refusal.Lease(e)
	}
	var skipped []refusal.Skipped
	for _, p := range passed {
		skipped = append(skipped, refusal.Skipped{Name: p.Route.Record.Name, Reason: string(p.Reason)})
	}
	var all []refusal.Connection
	for _, r := range x.s.svc.Routes() {
		c := refusal.Connection{Name: r.Record.Name}
		for _, d := range r.Dialects() {
			c.Dialects = append(c.Dialects, dialect.Name(d))
		}
		all = append(all, c)
	}
	return x.asked().NoConnection(skipped, all)
}

// unserved decides how a request ends that no connection answered.
func (x *exchange) unserved(plan resilience.Plan) refusal.Notice {
	x.act.FailedOver = false
	q := x.asked()
	u := refusal.Unserved{Failures: x.failures, Excluded: plan.Excluded, Local: x.local, RefreshWait: x.refreshWait(), Lease: x.leaseContention(plan)}
	u.Wait, u.Waits = x.nextTry(plan)
	for _, s := range x.act.Trace {
		if s.Kind == control.StepSkipped {
			u.Skipped = append(u.Skipped, refusal.Skipped{Name: s.ConnectionName, Reason: s.Reason})
		}
	}
	n := q.Unserved(&u)
	if n.Exhausted && x.r.Context().Err() == nil {
		x.s.svc.Warn(control.Alert{Kind: control.AlertNothingLeft, Dialect: string(x.rt.dialect), Until: untilStep(u.Wait)})
	}
	return n
}

// nextTry is how long it takes until the first of the connections may be tried
// again.
func (x *exchange) nextTry(plan resilience.Plan) (time.Duration, bool) {
	return x.asked().NextTry(plan.Excluded, x.failures, x.s.svc.Real)
}

// refreshWait is when the login of the last failure is refreshed again.
func (x *exchange) refreshWait() time.Duration {
	if f := x.lastFailure(); f != nil && f.Code == resilience.CodeLoginNotRefreshed {
		if r, ok := x.s.svc.Route(f.Connection); ok {
			return x.s.svc.RefreshPause(r)
		}
	}
	return time.Second
}

func untilStep(wait time.Duration) *time.Time {
	if wait <= 0 {
		return nil
	}
	return control.RealTime(time.Now().Add(wait))
}
