package proxy

import (
	"context"
	"net/http"
	"time"

	"breakwater/proxy/catalog"
	"breakwater/proxy/control"
	"breakwater/proxy/upstream"
	"breakwater/resilience/claude"
)

// openClaude begins what follows a request on a Claude subscription.
func (t *attempt) openClaude() {
	if t.claude != nil || t.route.Provider.ID != claude.ProviderID {
		return
	}
	t.claude = t.x.s.svc.OpenClaude(t.route, control.ClaudeAsk{
		Bearer: t.bearer(), CountTokens: t.x.rt.probe, OwnLane: t.x.r.Header.Get(claude.LaneHeader) != "",
	})
}

// bearer is the token that the upstream will see, empty for API keys.
func (t *attempt) bearer() string {
	switch t.route.Credential() {
	case catalog.PassthroughCredential:
		return bearer(t.x.r.Header)
	case catalog.TokenCredential, catalog.OAuthCredential:
		return t.key
	}
	return ""
}

// startLimit is how long the upstream may take until its answer begins; Claude
// has a figure of its own (ruling 21).
func (x *exchange) startLimit(r *control.Route) time.Duration {
	if d := r.StartTimeout(); d > 0 {
		return d
	}
	return x.s.limits.Headers
}

// last are the headers that are set after all others.
func (t *attempt) last() http.Header {
	if t.claude == nil {
		return nil
	}
	name, value, send := t.claude.Header()
	if !send {
		return nil
	}
	h := http.Header{}
	h.Set(name, value)
	return h
}

// intercept asks the lane and the limit reset what the answer means, before it
// is judged. When taken is true nobody else may see the answer: it cools
// nothing and counts as no failure, and the verdict says how to go on.
func (t *attempt) intercept(res *http.Response) (v verdict, taken bool) {
	if t.claude == nil {
		return tryNext, false
	}
	d := t.claude.Answer(res.StatusCode, res.Header)
	if d.Action == claude.AskReset {
		t.watch.stop()
		upstream.ErrorBody(res) // the answer may yet have to go its normal way
		d = t.askReset(res.StatusCode)
	}
	if d.Action == claude.End {
		t.told("lane_ended:"+string(d.Reason), res.StatusCode, 0, nil)
	}
	if !d.Intercepted() {
		return tryNext, false
	}
	t.watch.stop()          // the wait is not the upstream's
	upstream.ErrorBody(res) // for the connection's sake; nobody looks at it
	return t.pause(d, res.StatusCode), true
}

// askReset drives the limit reset and tells how it went.
func (t *attempt) askReset(status int) claude.Decision {
	began := time.Now()
	ctx, stop := t.within()
	defer stop()
	d := t.claude.AskReset(ctx)
	if outcome, next := t.claude.ResetOutcome(); outcome != "" {
		t.told("limit_reset:"+outcome, status, time.Since(began), next)
	}
	return d
}

// pause waits as long as the decision says and returns whether the connection
// is asked again. The client is kept alive meanwhile like any that waits.
func (t *attempt) pause(d claude.Decision, status int) verdict {
	began := time.Now()
	if d.Delay > 0 {
		t.begins() // the wait is bounded by the lane, and by nothing else
	}
	t.claude.Wait(t.ctx, d.Delay)
	switch d.Via {
	case claude.ViaAccepted:
		t.told("lane_entered", status, 0, t.claude.LaneUntil())
	case claude.ViaBusy, claude.ViaCapacity:
		t.told(string(d.Via), status, time.Since(began), nil)
	case claude.ViaReset, claude.ViaNone: // told by the reset itself
	}
	switch {
	case t.ctx.Err() != nil:
		return t.broke(t.ctx, context.Cause(t.ctx))
	case !t.claude.Stands():
		t.x.step(control.Step{Kind: control.StepSkipped, Reason: "off", Model: t.model}, t.route)
		return tryNext
	}
	return resume
}

// told adds a step of the lane to the decision trace.
func (t *attempt) told(what string, status int, took time.Duration, until *time.Time) {
	t.x.step(control.Step{
		Kind: control.StepLane, Reason: what, Status: status, Model: t.model, DurationMs: took.Milliseconds(), Until: until,
	}, t.route)
}
