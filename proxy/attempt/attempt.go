package attempt

import (
	"context"
	"net/http"
	"strings"
	"time"

	"breakwater/proxy/catalog"
	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/proxy/upstream"
	"breakwater/resilience"
	"breakwater/resilience/claude"
	"breakwater/resilience/settings"
)

// Upstream sends calls to providers.
type Upstream interface {
	Do(ctx context.Context, call upstream.Call) (*http.Response, error)
	// Ahead and SleptSince tell whether this machine slept during a call.
	Ahead() time.Duration
	SleptSince(ahead time.Duration) bool
}

// Caller makes attempts. It is safe for concurrent use.
type Caller struct {
	Upstream Upstream
	Services Services
	Limits   Limits
	// Own reports whether a text holds a credential of this program, which no
	// provider may see (ruling 33).
	Own func(text string) bool
}

// attempt is one target being asked for one request: one call, and further ones
// to the same target where a rule allows them.
type attempt struct {
	Caller
	req    *Request
	target Target
	client Client
	watch  Observer

	began     time.Time
	until     limit // on the time until the answer begins, over all calls
	deadlines *deadlines
	code      string // of the last failure of a stream
	silent    bool   // a budget of ours ended a wait without any sign of the target
	usage     dialect.Usage
	ttfb      time.Duration
	mended    string // what the client's form of the answer needed
	// recovery holds the switches, reopening how often they were made use of.
	recovery  settings.StreamRecovery
	reopening resilience.Reopening
	trimmed   bool         // asked again with fewer tools
	repeats   int          // of requests whose connection was lost
	sent      []byte       // the body of the present call
	removed   int          // how much reasoning of others was taken out of it
	repairs   int          // calls that followed a refusal of reasoning
	claude    Subscription // nil: no Claude subscription
	key       string       // the credential that is sent
	renewed   bool         // the login was refreshed for this attempt
	kept      Kept
	ahead     time.Duration // of the wall clock when the present call began
}

// step is what one call means for the attempt.
type step uint8

const (
	over      step = iota // the result stands
	again                 // nothing reached the client; the same target may answer
	unchanged             // the lane, the limit reset or a new login: as if the call had not been
	repaired              // the target is asked again without the reasoning that it refused
)

// Do asks the target and relays its answer to the client. The same target is
// asked again where stream recovery is on and nothing reached the client, once
// after the machine slept, with fewer tools, with a new login, or without the
// reasoning of another account. ctx is the
// client's: when it ends, the client has left.
func (c Caller) Do(ctx context.Context, req *Request, to Target, client Client, watch Observer) Result {
	a := &attempt{
		Caller: c, req: req, target: to, client: client, watch: watch, began: time.Now(),
		recovery: c.Services.InForce().StreamRecovery,
	}
	a.reopening = resilience.Reopening{Enabled: a.recovery.Enabled, Probe: req.Probe}
	a.until = limitOf(a.began, to.Within)
	for {
		out := a.call(ctx)
		switch out.next {
		case over:
			out.Usage, out.TTFB, out.Took, out.Mended, out.Kept = a.usage, a.ttfb, time.Since(a.began), a.mended, a.kept
			out.Repeats = a.repeats
			out.Usage.Stop = string(a.scrub([]byte(a.usage.Stop)))
			out.Repairs, out.Removed = a.repairs, a.removed
			a.learn(&out.Result)
			return out.Result
		case unchanged:
			a.began = time.Now()
		case repaired:
			a.began = time.Now()
			a.usage, a.mended = dialect.Usage{}, ""
		case again:
			a.reopening.Made++
			a.usage, a.mended, a.silent = dialect.Usage{}, "", false
		}
	}
}

// callResult is what one call came to: the attempt's result, or another call.
type callResult struct {
	Result
	next step
}

// call makes one call and relays its answer.
func (a *attempt) call(ctx context.Context) callResult {
	if out, failed := a.prepare(ctx); failed {
		return out
	}
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	a.ahead = a.Upstream.Ahead()
	a.deadlines = newDeadlines(a.target.Start, a.until, cancel)
	defer a.deadlines.stop()
	a.sent = a.fit(a.bodyFor())
	res, err := a.send(call, a.sent)
	if err != nil {
		return a.noAnswer(ctx, err)
	}
	defer func() { _ = res.Body.Close() }() // the answer was read or given up
	a.ttfb = time.Since(a.began)
	a.watch.Answered(res.StatusCode, res.Header)
	if out, taken := a.intercept(ctx, res); taken {
		return out
	}
	if out, taken := a.renew(ctx, res); taken {
		return out
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return a.refused(ctx, res)
	}
	return a.answer(ctx, res)
}

// prepare finds the credential that the next call sends. Of a stored login that
// is the access token, refreshed if it is due; when there is none to be had,
// the attempt has failed.
func (a *attempt) prepare(ctx context.Context) (out callResult, failed bool) {
	if a.target.Route.Credential() == catalog.OAuthCredential {
		if out, failed = a.login(ctx); failed {
			return out, true
		}
	} else {
		a.key = a.target.Route.Key()
	}
	if a.claude == nil && a.target.Route.Provider.ID == claude.ProviderID {
		a.openSubscription()
	}
	return callResult{}, false
}

// send calls the target with this body.
func (a *attempt) send(ctx context.Context, body []byte) (*http.Response, error) {
	req, r := a.req, a.target.Route
	if err := a.Services.Fence(ctx, req.Hold, r, a.target.Model); err != nil {
		return nil, err
	}
	ep, _ := r.Endpoint(req.Dialect)
	return a.Upstream.Do(ctx, upstream.Call{
		Method: req.Method, Dialect: req.Dialect, BaseURL: ep.URL, Path: req.Path, Query: req.Query,
		Header: req.Header, Own: a.Own, Body: body,
		Auth: AuthOf(r, ep), Credential: r.Credential(), Key: a.key, Proxy: r.Proxy(), Via: req.Via,
		Last: a.subscriptionHeader(), UserAgent: r.Record.UserAgent, Repeated: a.repeated,
	})
}

// repeated records that a request goes out once more because the connection
// that had carried it was lost, which is held against nothing (ruling 67).
func (a *attempt) repeated(why upstream.Lost) {
	a.repeats++
	a.watch.Step(control.Step{Kind: control.StepRepeated, Reason: string(why), Model: a.target.Model})
}

// AuthOf returns the header in which the connection's key travels: pasted OAuth
// tokens are always Bearer tokens.
func AuthOf(r *control.Route, ep catalog.Endpoint) catalog.Auth {
	if c := r.Credential(); c == catalog.TokenCredential || c == catalog.OAuthCredential {
		return catalog.Bearer
	}
	return ep.Auth
}

// bodyFor is the request as this target gets it. An edit that the body does not
// allow is left out: the upstream then judges the request itself.
func (a *attempt) bodyFor() []byte {
	body, e := a.req.Body, dialect.Edit{System: a.target.System, MaxTools: a.maxTools()}
	if !e.Empty() {
		if raw, err := dialect.Apply(a.req.Dialect, body.Raw, e); err == nil {
			if edited, err := dialect.ReadBody(raw); err == nil {
				body = edited
			}
		}
	}
	return body.WithModel(a.target.Model)
}

func isEventStream(res *http.Response) bool {
	return strings.HasPrefix(strings.ToLower(res.Header.Get("Content-Type")), eventStream)
}

// begins lifts the limits on the time until the answer begins.
func (a *attempt) begins() {
	a.until = limit{}
	a.deadlines.lift()
	if a.target.Begins != nil {
		a.target.Begins()
	}
}

// bounded returns a context for what is done between two calls: the limit on
// the time until the answer begins holds there, too.
func (a *attempt) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.until.at.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, a.until.at, a.until.cause())
}
