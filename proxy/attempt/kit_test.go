package attempt

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/catalog"
	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/proxy/upstream"
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/classify"
	"breakwater/resilience/claude"
	"breakwater/resilience/quota"
	"breakwater/resilience/settings"
)

// piece is what an upstream sends after a while: bytes, or an error.
type piece struct {
	after time.Duration
	text  string
	err   error
}

// call is how an upstream answers one call.
type call struct {
	after  time.Duration // until the headers
	err    error         // in place of an answer
	status int           // 200 when it is 0
	header http.Header
	body   []piece
}

// events is an answer of an event stream that ends by itself.
func events(text ...string) call { return labelled(eventStream, text...) }

// document is an answer of one JSON document.
func document(text ...string) call { return labelled("application/json", text...) }

func labelled(kind string, text ...string) call {
	c := call{header: http.Header{"Content-Type": {kind}}}
	for _, t := range text {
		c.body = append(c.body, piece{text: t})
	}
	return c
}

// then adds to the body.
func (c call) then(p ...piece) call { c.body = append(c.body, p...); return c }

// refusal is an answer with an error status.
func refusal(status int, body string) call {
	c := document(body)
	c.status = status
	return c
}

// body reads the pieces as they come, until the call is cancelled.
type body struct {
	ctx  context.Context
	list []piece
}

func (b *body) Read(p []byte) (int, error) {
	if len(b.list) == 0 {
		return 0, io.EOF
	}
	next := &b.list[0]
	if err := admission.Sleep(b.ctx, next.after); err != nil {
		return 0, err
	}
	next.after = 0
	if next.err != nil {
		return 0, next.err
	}
	n := copy(p, next.text)
	if next.text = next.text[n:]; next.text == "" {
		b.list = b.list[1:]
	}
	return n, nil
}

func (b *body) Close() error { return nil }

// rig is a Caller over a scripted upstream.
type rig struct {
	Caller
	calls    []call
	sent     []upstream.Call
	asleep   bool // the machine slept during the first call
	settings settings.Settings
	fence    error
	bearer   func(ctx context.Context) (string, error)
	renew    func() (string, error)
	lane     *lane
	limits   *quota.ToolLimits
	route    *control.Route
	req      *Request
	target   Target
	client   *client
	steps    []string
	heads    int // answers seen
}

// newRig is a rig whose upstream answers the calls in turn; the last repeats.
func newRig(t testing.TB, d dialect.Dialect, body string, calls ...call) *rig {
	t.Helper()
	b, err := dialect.ReadBody([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	k := &rig{calls: calls, settings: settings.Defaults(), limits: quota.NewToolLimits(""), client: &client{header: http.Header{}}, route: &control.Route{Use: &control.Use{}}}
	k.settings.StreamRecovery.Enabled = false
	k.Caller = Caller{Upstream: k, Services: k, Limits: guideLimits, Own: func(string) bool { return false }}
	k.route.Record.ID, k.route.Record.Name, k.route.Provider.ID = "a", "A", "p"
	k.req = &Request{Method: http.MethodPost, Header: http.Header{}, Dialect: d, Path: "/x", Body: b, Profile: dialect.DefaultProfile()}
	k.target = Target{
		Route: k.route, Model: "m", Start: time.Minute, Header: http.Header{"X-Selected": {"a"}},
		Broken: func() []byte { return []byte("event: error\ndata: broke\n\n") },
	}
	return k
}

// passthrough makes the login the client's own.
func (k *rig) passthrough(token string) {
	k.route.Record.Credential = string(catalog.PassthroughCredential)
	k.req.Header.Set("Authorization", "Bearer "+token)
}

// run makes the attempt.
func (k *rig) run(ctx context.Context) Result {
	k.client.gone = func() bool { return ctx.Err() != nil }
	return k.Caller.Do(ctx, k.req, k.target, k.client, k)
}

// Do implements Upstream.
func (k *rig) Do(ctx context.Context, c upstream.Call) (*http.Response, error) {
	k.sent = append(k.sent, c)
	next := k.calls[min(len(k.sent), len(k.calls))-1]
	if err := admission.Sleep(ctx, next.after); err != nil {
		return nil, err
	}
	if next.err != nil {
		return nil, next.err
	}
	if next.status == 0 {
		next.status = http.StatusOK
	}
	h := next.header.Clone()
	if h == nil {
		h = http.Header{}
	}
	list := append([]piece(nil), next.body...)
	return &http.Response{StatusCode: next.status, Header: h, Body: &body{ctx, list}, ContentLength: -1}, nil
}

// Ahead implements Upstream.
func (k *rig) Ahead() time.Duration { return 0 }

// SleptSince implements Upstream.
func (k *rig) SleptSince(time.Duration) bool { return k.asleep && len(k.sent) == 1 }

// InForce implements Services.
func (k *rig) InForce() *settings.Settings { return &k.settings }

// Judge implements Services.
func (k *rig) Judge(r *control.Route, model string) classify.Input {
	return classify.Input{Now: time.Now(), Provider: r.Provider.ID, Model: model, Connection: r.Record.ID}
}

// Fence implements Services.
func (k *rig) Fence(context.Context, *control.Hold, *control.Route, string) error { return k.fence }

// Bearer implements Services.
func (k *rig) Bearer(ctx context.Context, _ *control.Route) (string, error) { return k.bearer(ctx) }

// Renew implements Services.
func (k *rig) Renew(context.Context, *control.Route, string) (string, error) { return k.renew() }

// Subscription implements Services.
func (k *rig) Subscription(_ *control.Route, q control.ClaudeAsk) Subscription {
	if k.lane == nil {
		return nil
	}
	k.lane.bearers = append(k.lane.bearers, q.Bearer)
	return k.lane
}

// ToolLimits implements Services.
func (k *rig) ToolLimits() *quota.ToolLimits { return k.limits }

// Now implements Services.
func (k *rig) Now() time.Time { return time.Now() }

// Step implements Observer.
func (k *rig) Step(s control.Step) {
	text := string(s.Kind) + ":" + s.Reason
	if s.Status > 0 {
		text += ":" + strconv.Itoa(s.Status)
	}
	k.steps = append(k.steps, text)
}

// Answered implements Observer.
func (k *rig) Answered(int, http.Header) { k.heads++ }

// client is where an answer goes.
type client struct {
	header  http.Header
	status  int
	heads   int
	body    strings.Builder
	last    bool // the last bytes were marked as such
	flushed bool
	begun   bool
	room    int // bytes after which it is gone; 0: endless
	gone    func() bool
}

// Head implements Client.
func (c *client) Head(status int, fill func(http.Header)) {
	c.heads++
	c.status = status
	fill(c.header)
}

// Write implements Client.
func (c *client) Write(p []byte) bool {
	if c.gone() || c.room > 0 && c.body.Len()+len(p) > c.room {
		return false
	}
	c.body.Write(p)
	return true
}

// Last implements Client.
func (c *client) Last(p []byte) bool { c.last = true; return c.Write(p) }

// Flush implements Client.
func (c *client) Flush() { c.flushed = true }

// Begun implements Client.
func (c *client) Begun() bool { return c.begun || c.heads > 0 }

// Gone implements Client.
func (c *client) Gone() bool { return c.gone() }

// lane is a scripted subscription.
type lane struct {
	answers []claude.Decision // one an answer; none: pass
	reset   claude.Decision
	result  string
	off     bool
	bearers []string
	waited  time.Duration
}

// Header implements Subscription.
func (l *lane) Header() (name, value string, send bool) { return "X-Lane", "on", true }

// Answer implements Subscription.
func (l *lane) Answer(int, map[string][]string) (d claude.Decision) {
	if len(l.answers) > 0 {
		d, l.answers = l.answers[0], l.answers[1:]
	}
	return d
}

// AskReset implements Subscription.
func (l *lane) AskReset(context.Context) claude.Decision { return l.reset }

// ResetOutcome implements Subscription.
func (l *lane) ResetOutcome() (string, *time.Time) { return l.result, nil }

// LaneUntil implements Subscription.
func (l *lane) LaneUntil() *time.Time { return nil }

// Wait implements Subscription.
func (l *lane) Wait(ctx context.Context, d time.Duration) {
	l.waited += d
	_ = admission.Sleep(ctx, d) // the attempt looks at ctx itself
}

// Stands implements Subscription.
func (l *lane) Stands() bool { return !l.off }

// SetBearer implements Subscription.
func (l *lane) SetBearer(bearer string) { l.bearers = append(l.bearers, bearer) }

// expired is the error of a login beyond refreshing, whatever it is compared with.
type expired struct{}

func (expired) Error() string { return "expired" }
func (expired) Is(error) bool { return true }
func tokens(list ...string) func() (string, error) {
	return func() (string, error) {
		if len(list) == 0 {
			return "", errors.New("the token endpoint does not answer")
		}
		next := list[0]
		list = list[1:]
		return next, nil
	}
}

var (
	_ Upstream     = (*rig)(nil)
	_ Services     = (*rig)(nil)
	_ Observer     = (*rig)(nil)
	_ Client       = (*client)(nil)
	_ Subscription = (*lane)(nil)
	_              = resilience.CodeEarlyEOF
)
