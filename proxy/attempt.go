package proxy

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"breakwater/proxy/catalog"
	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/proxy/upstream"
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// exchange is one client request on its way to an answer.
type exchange struct {
	s      *Server
	out    *output
	r      *http.Request
	rt     route
	body   dialect.Body
	client dialect.Profile
	grant  control.Grant // of the client's key
	hold   *control.Hold // the lease it runs under, nil for most
	began  time.Time
	act    control.Activity
	// failures are the attempts that failed before the commit point.
	failures []resilience.Failure
	// local is the last refusal of a gate or queue of ours.
	local *admission.Error
	// served tells that a target has answered in full.
	served bool
	// passed are the connections that were not asked at all.
	passed []control.Passed
	// fenced is the last target that turned out to be another owner's.
	fenced *control.LeaseError
	// more tells that further targets follow the present one.
	more bool
	// session ties the request to those before it.
	session session
	// combo is the walk through a combo's targets, nil for a single model.
	combo *comboWalk
	// side is the request that this one is a part of, nil for a client's own:
	// members of a fusion panel and steps of a pipeline have one.
	side *exchange
}

// verdict is what an attempt means for the attempt loop.
type verdict uint8

const (
	tryNext verdict = iota // nothing was sent; another target may answer
	again                  // nothing was sent; the same target may answer
	ended                  // the client has its answer, or is gone
	resume                 // Claude's lane or limit reset took the answer: the same target, as if it had not been
)

// run answers the request: by a combo when the model's name is one, and by the
// connections that offer the model otherwise.
func (x *exchange) run() {
	if c, ok := x.s.svc.Combo(x.body.Model); ok {
		x.runCombo(c)
		return
	}
	x.runDirect()
}

// try sends the request to one target, within that time until its answer begins
// if it is positive, and again to the same one where
// recovery is switched on and the answer broke off before the client saw any
// of it. The attempt's permit goes back on every path.
func (x *exchange) try(ctx context.Context, a *resilience.Attempt, l *leg, within time.Duration) verdict {
	defer a.Release()
	r := l.route
	r.Use.InFlight.Add(1)
	defer r.Use.InFlight.Add(-1)
	r.Use.LastUsed.Store(time.Now().UnixMilli())
	x.s.svc.MarkUse()
	x.s.egress.look(r)
	t := &attempt{
		x: x, ctx: ctx, leg: l, permit: a, route: r, model: l.model, began: time.Now(),
		recovery: x.s.svc.InForce().StreamRecovery,
	}
	t.reopening = resilience.Reopening{Enabled: t.recovery.Enabled, Probe: x.rt.probe}
	t.until = limitOf(t.began, within)
	for {
		v := t.once() //nolint:contextcheck // the exchange holds the request and its context
		switch {
		case v == resume:
			t.began = time.Now()
			continue
		case v == tryNext && t.kept != nil && !x.more:
			return t.kept.deliver()
		case v != again:
			return v
		}
		t.reopening.Made++
		t.usage, t.mended = dialect.Usage{}, ""
	}
}

// once makes one call and relays its answer.
func (t *attempt) once() verdict {
	if v, over := t.prepare(); over {
		return v
	}
	ctx, cancel := context.WithCancelCause(t.ctx)
	defer cancel(nil)
	t.ahead = t.x.s.up.Ahead()
	t.watch = newWatch(t.x.startLimit(t.route), t.until, cancel)
	defer t.watch.stop()
	res, err := t.send(ctx, t.bodyFor())
	if err != nil {
		return t.broke(ctx, err)
	}
	defer func() { _ = res.Body.Close() }() // the answer was read or given up
	t.heard(res)
	if v, taken := t.intercept(res); taken {
		return v
	}
	if v, taken := t.renew(res); taken {
		return v
	}
	if res.StatusCode >= 300 {
		return t.refused(ctx, res)
	}
	return t.answer(ctx, res)
}

// within returns a context for what is done between two calls: the limit holds
// there, too.
func (t *attempt) within() (context.Context, context.CancelFunc) {
	if t.until.at.IsZero() {
		return t.ctx, func() {}
	}
	return context.WithDeadlineCause(t.ctx, t.until.at, t.until.cause())
}

// bodyFor is the request as this target gets it.
func (t *attempt) bodyFor() []byte {
	e := dialect.Edit{System: t.handoff(), MaxTools: t.maxTools()}
	if e.Empty() {
		return t.x.body.WithModel(t.model)
	}
	raw, err := t.x.rt.dialect.Apply(t.x.body.Raw, e)
	if err != nil {
		return t.x.body.WithModel(t.model)
	}
	body, err := dialect.ReadBody(raw)
	if err != nil {
		return t.x.body.WithModel(t.model)
	}
	return body.WithModel(t.model)
}

// send calls the target with this body.
func (t *attempt) send(ctx context.Context, body []byte) (*http.Response, error) {
	x, r := t.x, t.route
	if err := x.s.svc.Fence(ctx, x.hold, r, t.model); err != nil {
		return nil, err
	}
	ep, _ := r.Endpoint(x.rt.dialect)
	return x.s.up.Do(ctx, upstream.Call{
		Method: x.r.Method, Dialect: x.rt.dialect, BaseURL: ep.URL, Path: x.rt.path, Query: x.r.URL.RawQuery,
		Header: x.r.Header, Own: x.s.own, Body: body,
		Auth: authFor(r, ep), Credential: r.Credential(), Key: t.key, Proxy: r.Proxy(), Via: x.via(), Last: t.last(), UserAgent: r.Record.UserAgent,
	})
}

// via is how many Breakwaters of this machine the request has passed.
func (x *exchange) via() int {
	told := x.r.Header.Get(upstream.ViaHeader)
	if told == "" {
		return 0
	}
	n, err := strconv.Atoi(told)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

func isEventStream(res *http.Response) bool {
	return strings.HasPrefix(strings.ToLower(res.Header.Get("Content-Type")), eventStream)
}

// authFor returns the header in which the connection's key travels: pasted
// OAuth tokens are always Bearer tokens.
func authFor(r *control.Route, ep catalog.Endpoint) catalog.Auth {
	if c := r.Credential(); c == catalog.TokenCredential || c == catalog.OAuthCredential {
		return catalog.Bearer
	}
	return ep.Auth
}

// since returns how long ago the request came in.
func (x *exchange) since() int64 { return time.Since(x.began).Milliseconds() }

// step adds a line to the decision trace.
func (x *exchange) step(s control.Step, r *control.Route) {
	s.OffsetMs = x.since()
	if r != nil {
		s.ConnectionID, s.ConnectionName, s.Provider = r.Record.ID, r.Record.Name, r.Provider.ID
	}
	x.act.Trace = append(x.act.Trace, s)
}

func (x *exchange) skip(r *control.Route, e resilience.Exclusion) {
	x.step(control.Step{
		Kind: control.StepSkipped, Reason: string(e.Reason), Model: e.Model, Until: x.s.svc.Real(e.Until),
	}, r)
}

// finish writes the activity row.
func (x *exchange) finish(status int, result string) {
	if x.side != nil {
		return // the client's request is recorded, not its parts
	}
	a := &x.act
	a.Status, a.Result = status, result
	a.DurationMs, a.ResponseBytes = x.since(), x.out.bytes()
	x.s.meter.Request(a.Dialect, a.Result, time.Duration(a.FirstOutputMs)*time.Millisecond)
	x.s.svc.Finished(*a)
}

// attempt is one try of an exchange at one target.
type attempt struct {
	x      *exchange
	ctx    context.Context
	until  limit // on the time until the answer begins, over all calls
	leg    *leg
	permit *resilience.Attempt
	route  *control.Route
	model  string
	began  time.Time
	watch  *watch
	code   string // of the last failure of a stream
	usage  dialect.Usage
	mended string        // what the client's form of the answer needed
	ttfb   time.Duration // until the answer's headers, 0: none came
	// recovery holds the switches, reopening how often they were made use of.
	recovery  settings.StreamRecovery
	reopening resilience.Reopening
	trimmed   bool                // asked again with fewer tools
	claude    *control.ClaudeCall // nil: no Claude subscription
	key       string              // the credential that is sent
	renewed   bool                // the login was refreshed for this attempt
	kept      *relay              // an earlier try that had begun to say something
	ahead     time.Duration       // of the wall clock when the present call began
}

// fail reports a failure before the commit point and says how to go on.
func (t *attempt) fail(o outcome.Outcome, header http.Header, body []byte) verdict {
	x := t.x
	if x.rt.probe {
		// Probes say nothing about a connection (ruling 38, case P42), but a
		// broken one should not answer for the rest.
		o.Class = outcome.Neutral
	}
	effect, o := t.report(t.clean(o), header, body)
	x.step(control.Step{
		Kind: control.StepFailed, Reason: string(o.Reason), Status: o.Status, Model: t.model,
		DurationMs: time.Since(t.began).Milliseconds(), Until: x.s.svc.Real(effect.Until),
	}, t.route)
	x.act.FailedOver = true
	f := resilience.Failure{
		Connection: t.route.Record.ID, Name: t.route.Record.Name, Provider: t.route.Provider.ID, Model: t.model,
		Outcome: o, Until: effect.Until, Code: t.code, Header: t.scrubHeader(header), Body: t.scrub(body),
		PerModelQuota: t.route.PerModelQuota(), Passthrough: t.route.Credential() == catalog.PassthroughCredential,
	}
	t.leave(o)
	if x.combo.ends(&f) {
		x.forward(f, false)
		return ended
	}
	x.failures = append(x.failures, f)
	return tryNext
}

// gone ends an exchange whose client has left: nobody is to blame, and nobody
// is there to be told.
func (t *attempt) gone() verdict {
	t.x.s.meter.Attempt(t.route.Provider.ID, outcome.Neutral)
	t.x.step(control.Step{Kind: control.StepLeft, Model: t.model, DurationMs: time.Since(t.began).Milliseconds()}, t.route)
	t.credit()
	t.x.finish(statusClientLeft, resultLeft)
	return ended
}

// How a request is recorded whose client went away. One that has closed its own
// side only looks the same: to net/http, and to us, as nothing tells the two
// apart before a write.
const (
	statusClientLeft = 499
	resultLeft       = "client_left"
)

// answered ends an exchange that got a whole answer.
func (t *attempt) answered(status int) verdict {
	x := t.x
	if !x.rt.probe {
		t.permit.Report(outcome.Outcome{Class: outcome.Success, Status: status})
	}
	t.route.Use.Served.Add(1)
	t.counted(outcome.Outcome{Class: outcome.Success})
	t.seat()
	x.served = true
	x.combo.served(t)
	t.credit()
	x.step(control.Step{
		Kind: control.StepAnswered, Status: status, Model: t.model, Reason: t.mended, DurationMs: time.Since(t.began).Milliseconds(),
	}, t.route)
	x.finish(status, "answered")
	return ended
}

// credit names the connection that answered and what it cost.
func (t *attempt) credit() {
	a, u := &t.x.act, &t.usage
	a.Usage = control.Usage{
		InputTokens: u.Input, OutputTokens: u.Output, CacheReadTokens: u.CacheRead, CacheWriteTokens: u.CacheWrite,
		ReasoningTokens: u.Reasoning, StopReason: string(t.scrub([]byte(u.Stop))),
	}
	a.ConnectionID, a.ConnectionName, a.Provider = t.route.Record.ID, t.route.Record.Name, t.route.Provider.ID
	a.EgressIP = t.x.s.egress.known(t.route)
}
