package attempt

import (
	"context"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"breakwater/proxy/catalog"
	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/proxy/scrub"
	"breakwater/proxy/sse"
	"breakwater/proxy/upstream"
	"breakwater/resilience"
	"breakwater/resilience/claude"
	"breakwater/resilience/combo"
	"breakwater/resilience/settings"
	"breakwater/resilience/watchdog"
)

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
	trimmed   bool          // asked again with fewer tools
	repeats   int           // of requests whose connection was lost
	sent      []byte        // the body of the present call
	taken     dialect.Taken // what was taken out of it, of others
	repairs   int           // calls that followed a refusal of reasoning
	claude    Subscription  // nil: no Claude subscription
	key       string        // the credential that is sent
	renewed   bool          // the login was refreshed for this attempt
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
			out.Repairs, out.Removed = a.repairs, a.taken.Items
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
	if a.claude != nil {
		if out, taken := a.intercept(ctx, res); taken {
			return out
		}
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		if out, taken := a.renew(ctx, res); taken {
			return out
		}
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
	var last http.Header
	if a.claude != nil {
		last = a.subscriptionHeader()
	}
	ep, _ := r.Endpoint(req.Dialect)
	return a.Upstream.Do(ctx, upstream.Call{
		Method: req.Method, Dialect: req.Dialect, BaseURL: ep.URL, Path: req.Path, Query: req.Query,
		Header: req.Header, Own: a.Own, Body: body,
		Auth: AuthOf(r, ep), Credential: r.Credential(), Key: a.key, Proxy: r.Proxy(), Via: req.Via,
		Last: last, UserAgent: r.Record.UserAgent, Repeated: a.repeated,
	})
}

// repeated records that a request goes out once more because the connection
// that had carried it was lost, which counts against no connection (ruling 67).
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

// Gone reports whether the client has left, or the attempt is not waited for any
// more. The end of a combo's limit on a target ends ctx as well, but is no reason
// to stop.
func Gone(ctx context.Context, c Client) bool {
	return c.Gone() || ctx.Err() != nil && !combo.TimedOut(context.Cause(ctx))
}

func (a *attempt) gone(ctx context.Context) bool { return Gone(ctx, a.client) }

// answered is the result of a whole answer.
func (a *attempt) answered(status int) callResult {
	return callResult{Result: Result{End: Answered, Status: status}}
}

// left is the result when the client has gone away.
func (a *attempt) left() callResult { return callResult{Result: Result{End: Left}} }

// secret is what the attempt proves itself with: the upstream knows it and may
// repeat it.
func (a *attempt) secret() string {
	if a.target.Route.Credential() == catalog.PassthroughCredential {
		return upstream.Bearer(a.req.Header)
	}
	return a.key
}

// scrub takes the credential out of an error's text.
func (a *attempt) scrub(text []byte) []byte { return scrub.Text(text, a.secret()) }

// head sends the answer's headers: the commit point. A length of -1 leaves the
// upstream's in place.
func (a *attempt) head(res *http.Response, length int) {
	a.begins()
	a.client.Head(res.StatusCode, func(h http.Header) {
		upstream.CopyAnswerHeader(h, res.Header)
		scrub.Answer(h, a.secret())
		maps.Copy(h, a.target.Header)
		switch {
		case isEventStream(res):
			StreamHeader(h)
			h.Del("Content-Length") // it may end otherwise than the upstream meant
		case length >= 0:
			h.Set("Content-Length", strconv.Itoa(length))
		}
	})
}

// StreamHeader keeps what lies between us and the client from buffering.
func StreamHeader(h http.Header) {
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
}

// answer relays an answer with a good status. Its first bytes decide what it
// is, whatever its label says (ruling 60); until they come the label decides
// how long to wait.
func (a *attempt) answer(ctx context.Context, res *http.Response) callResult {
	pool, labelled := &documents, isEventStream(res)
	if labelled {
		pool = &chunks
		a.deadlines.accepted(a.budgets())
	} else {
		a.deadlines.accepted(watchdog.Budgets{Idle: a.Limits.Body})
	}
	bufp := pool.Get().(*[]byte)
	defer pool.Put(bufp)
	buf := *bufp
	form, n, err := a.firstBytes(res, buf)
	events := form == sse.Events || labelled && (form == sse.Other || form == sse.Undecided)
	switch {
	case events && a.req.Body.Stream:
		if !labelled {
			a.deadlines.accepted(a.budgets())
		}
		a.relabel(res, eventStream)
		return a.relay(ctx, res, buf, n, err)
	case events && !a.req.Probe:
		return a.collected(ctx, res, buf, n, err)
	case a.req.Body.Stream && form == sse.JSON:
		return a.restreamed(ctx, res, buf[:n], err)
	case labelled:
		whole := documents.Get().(*[]byte)
		defer documents.Put(whole)
		n = copy(*whole, buf[:n])
		buf = *whole
	}
	return a.document(ctx, res, buf, n, err)
}

const eventStream = "text/event-stream"

// relabel gives an answer the type that it has, unless it is labelled so
// already: clients choose their parser by it.
func (a *attempt) relabel(res *http.Response, kind string) {
	if !strings.HasPrefix(strings.ToLower(res.Header.Get("Content-Type")), kind) {
		res.Header.Set("Content-Type", kind)
	}
}

// firstBytes reads until the beginning of the body says what it is. Blanks do
// not fill the buffer: some servers send them while they are busy. What would
// hide the first event or the document from a parser is dropped.
func (a *attempt) firstBytes(res *http.Response, buf []byte) (form sse.Form, n int, err error) {
	for err == nil {
		var m int
		m, err = res.Body.Read(buf[n:])
		n += m
		at := 0
		if form, at = sse.FormOf(buf[:n]); form != sse.Undecided {
			if sse.Hides(buf[:at]) || form == sse.JSON && at > 0 {
				n = copy(buf, buf[at:n])
				res.Header.Del("Content-Length")
			}
			return form, n, err
		}
		a.deadlines.read(readInfo{})
		if n == len(buf) {
			n = copy(buf, buf[at:n])
			res.Header.Del("Content-Length")
		}
	}
	return form, n, err
}

// maxTools is how many tools this target's provider takes, 0 when the request
// has no more (guide, "Detección dinámica del límite de herramientas"). The
// usual limit is that of the OpenAI APIs; an Anthropic request is only cut once
// its provider has refused one for it.
func (a *attempt) maxTools() int {
	if a.req.Body.Tools == 0 {
		return 0
	}
	limits, provider, now := a.Services.ToolLimits(), a.target.Route.Provider.ID, a.Services.Now()
	limit := limits.Limit(provider, now)
	if a.req.Body.Tools <= limit || !a.req.Dialect.Traits().ToolLimit && !limits.Learned(provider, now) {
		return 0
	}
	return limit
}

// fit is the body as this target gets it: without reasoning of others that it is
// known to refuse.
func (a *attempt) fit(raw []byte) []byte {
	if a.target.History == nil {
		return raw
	}
	out, taken := a.target.History.Fit(raw)
	if taken.Expanded && !a.taken.Expanded {
		a.watch.Step(control.Step{Kind: control.StepRepaired, Reason: control.HistoryExpanded, Model: a.target.Model})
	}
	if taken.Items > 0 && taken.Items != a.taken.Items || taken.Disabled && !a.taken.Disabled && taken.Items == 0 {
		a.watch.Step(control.Step{Kind: control.StepRepaired, Reason: control.ReasoningRemoved, Count: taken.Items, Model: a.target.Model})
	}
	a.taken = taken
	return out
}

// learn records that the target accepted what it was sent. Counting tokens is
// no proof: nothing is read for it.
func (a *attempt) learn(r *Result) {
	if h := a.target.History; h != nil && r.End == Answered && r.Status == http.StatusOK && !a.req.Probe {
		h.Answered(a.sent)
	}
}
