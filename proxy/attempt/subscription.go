package attempt

import (
	"context"
	"net/http"
	"time"

	"breakwater/proxy/catalog"
	"breakwater/proxy/control"
	"breakwater/proxy/upstream"
	"breakwater/resilience/claude"
)

// openSubscription begins what follows a request on a Claude subscription.
func (a *attempt) openSubscription() {
	a.claude = a.Services.Subscription(a.target.Route, control.ClaudeAsk{
		Bearer: a.bearer(), CountTokens: a.req.Probe, OwnLane: a.req.Header.Get(claude.LaneHeader) != "",
	})
}

// bearer is the token that the upstream will see, empty for API keys.
func (a *attempt) bearer() string {
	switch a.target.Route.Credential() {
	case catalog.PassthroughCredential:
		return upstream.Bearer(a.req.Header)
	case catalog.TokenCredential, catalog.OAuthCredential:
		return a.key
	}
	return ""
}

// subscriptionHeader are the headers that are set after all others.
func (a *attempt) subscriptionHeader() http.Header {
	name, value, send := a.claude.Header()
	if !send {
		return nil
	}
	h := http.Header{}
	h.Set(name, value)
	return h
}

// intercept asks the lane and the limit reset what the answer means, before it
// is judged. When taken is true the answer cools nothing and counts as no
// failure.
func (a *attempt) intercept(ctx context.Context, res *http.Response) (out callResult, taken bool) {
	d := a.claude.Answer(res.StatusCode, res.Header)
	if d.Action == claude.AskReset {
		a.deadlines.stop()
		upstream.ErrorBody(res) // the answer may yet have to go its normal way
		d = a.askReset(ctx, res.StatusCode)
	}
	if d.Action == claude.End {
		a.laneStep("lane_ended:"+string(d.Reason), res.StatusCode, 0, nil)
	}
	if !d.Intercepted() {
		return callResult{}, false
	}
	a.deadlines.stop()      // the wait is not the upstream's
	upstream.ErrorBody(res) // so that the connection can be used again
	return a.waitInLane(ctx, d, res.StatusCode), true
}

// askReset drives the limit reset and traces how it went.
func (a *attempt) askReset(ctx context.Context, status int) claude.Decision {
	began := time.Now()
	within, stop := a.bounded(ctx)
	defer stop()
	d := a.claude.AskReset(within)
	if result, next := a.claude.ResetOutcome(); result != "" {
		a.laneStep("limit_reset:"+result, status, time.Since(began), next)
	}
	return d
}

// waitInLane waits as long as the decision says, after which the connection is
// asked again unless the user switched it off meanwhile.
func (a *attempt) waitInLane(ctx context.Context, d claude.Decision, status int) callResult {
	began := time.Now()
	if d.Delay > 0 {
		a.begins() // the wait is bounded by the lane, and by nothing else
	}
	a.claude.Wait(ctx, d.Delay)
	switch d.Via {
	case claude.ViaAccepted:
		a.laneStep("lane_entered", status, 0, a.claude.LaneUntil())
	case claude.ViaBusy, claude.ViaCapacity:
		a.laneStep(string(d.Via), status, time.Since(began), nil)
	case claude.ViaReset, claude.ViaNone: // traced by the reset itself
	}
	switch {
	case ctx.Err() != nil:
		return a.noAnswer(ctx, context.Cause(ctx))
	case !a.claude.Stands():
		a.watch.Step(control.Step{Kind: control.StepSkipped, Reason: "off", Model: a.target.Model})
		return callResult{Result: Result{End: Refused}}
	}
	return callResult{next: unchanged}
}

// laneStep adds a step of the lane to the decision trace.
func (a *attempt) laneStep(what string, status int, took time.Duration, until *time.Time) {
	a.watch.Step(control.Step{
		Kind: control.StepLane, Reason: what, Status: status, Model: a.target.Model, DurationMs: took.Milliseconds(), Until: until,
	})
}
