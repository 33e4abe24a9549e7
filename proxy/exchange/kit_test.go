package exchange

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"breakwater/proxy/attempt"
	"breakwater/proxy/catalog"
	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/proxy/history"
	"breakwater/proxy/refusal"
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/affinity"
	"breakwater/resilience/clock"
	"breakwater/resilience/combo"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
	"breakwater/resilience/slow"
)

// script is how a fake upstream answers an attempt.
type script func(ctx context.Context, to attempt.Target, client attempt.Client) attempt.Result

// rig is an Exchanger whose attempts follow scripts and whose product is kept
// in memory: no store, no listener, no upstream.
type rig struct {
	*Exchanger
	settings settings.Settings
	table    *affinity.Table
	seats    *affinity.Occupancy
	ttl      time.Duration
	gates    *admission.Gates
	queues   *admission.Queues
	caps     admission.Caps
	latency  *combo.Latency
	planner  combo.Planner
	combos   map[string]*combo.Combo
	routes   []*control.Route
	passed   []control.Passed
	cutoff   map[string]time.Time // connections with too little quota left
	headroom map[string]float64
	contends *control.LeaseError
	refresh  time.Duration
	log      bytes.Buffer
	planning func() // called when connections are chosen

	mu       sync.Mutex
	scripts  map[string][]script // by connection
	asked    []string            // "connection model", in order
	requests []*attempt.Request
	targets  []attempt.Target
	rows     []control.Activity
	alerts   []control.Alert
	metered  []string
	learned  int
	streams  int
}

// newRig is a rig with active connections of these names; "name@provider" gives
// the provider, "p" without one.
func newRig(names ...string) *rig {
	k := &rig{
		settings: settings.Defaults(), table: affinity.New(nil), seats: affinity.NewOccupancy(), gates: admission.NewGates(),
		queues: admission.NewQueues(), latency: combo.NewLatency(), combos: map[string]*combo.Combo{}, scripts: map[string][]script{},
		cutoff: map[string]time.Time{}, headroom: map[string]float64{}, refresh: 30 * time.Second,
	}
	k.settings.WaitForCooldown.Enabled = false
	k.Exchanger = &Exchanger{
		Attempts: k, Engine: resilience.New(resilience.Config{Clock: clock.System{}, Settings: k.settings}), Connections: k, Combos: k,
		Admission: k, Sessions: k, Settings: k, Records: k, Egress: k, Slow: new(slow.Table), History: history.New(k.Now), Meter: k, Clock: k,
		Limits: Limits{Headers: time.Minute, Write: time.Minute}, Log: slog.New(slog.NewTextHandler(&k.log, nil)),
	}
	k.planner = combo.Planner{Resolver: combo.Resolver{World: world{k}}, State: combo.NewState(), Rand: func() float64 { return 0 }}
	for _, name := range names {
		k.connect(name)
	}
	return k
}

// connect adds a connection.
func (k *rig) connect(name string, edit ...func(*control.Route)) *control.Route {
	id, provider, ok := strings.Cut(name, "@")
	if !ok {
		provider = "p"
	}
	r := &control.Route{Use: &control.Use{}}
	r.Record.ID, r.Record.Name, r.Record.Active, r.Record.Provider = id, strings.ToUpper(id), true, provider
	r.Provider.ID, r.Provider.Profile = provider, settings.APIKey
	for _, f := range edit {
		f(r)
	}
	r.Conn = k.Engine.Upsert(resilience.Connection{
		ID: id, Provider: provider, Profile: r.Provider.Profile, Active: true, Passthrough: r.Credential() == catalog.PassthroughCredential,
	})
	k.routes = append(k.routes, r)
	return r
}

// protect puts a connection behind an admission queue.
func (k *rig) protect(id, provider string) {
	k.queues.Configure(&k.settings, []admission.Conn{{ID: id, Provider: provider, APIKey: true, Active: true, Protect: true}})
}

// addCombo adds a combo over "provider/model" steps.
func (k *rig) addCombo(name string, strategy combo.Name, config map[string]any, steps ...string) *combo.Combo {
	c := combo.Combo{ID: name, Name: name, Strategy: strategy, Config: config}
	for _, s := range steps {
		c.Steps = append(c.Steps, combo.Step{Model: s})
	}
	c = c.Normalize(nil)
	k.combos[name] = &c
	return &c
}

// on sets how a connection answers, one script an attempt; the last repeats.
func (k *rig) on(id string, list ...script) { k.scripts[id] = list }

// Do implements Attempts.
func (k *rig) Do(ctx context.Context, req *attempt.Request, to attempt.Target, client attempt.Client, watch attempt.Observer) attempt.Result {
	k.mu.Lock()
	id := to.Route.Record.ID
	k.asked = append(k.asked, id+" "+to.Model)
	k.requests, k.targets = append(k.requests, req), append(k.targets, to)
	f := answers
	if list := k.scripts[id]; len(list) > 0 {
		f = list[0]
		if len(list) > 1 {
			k.scripts[id] = list[1:]
		}
	}
	k.mu.Unlock()
	res := f(ctx, to, client)
	if res.Header != nil || res.End == attempt.Answered {
		watch.Answered(res.Status, res.Header)
	}
	return res
}

const answerText = `{"content":[{"type":"text","text":"hello"}]}`

// answers gives a whole answer.
func answers(_ context.Context, to attempt.Target, client attempt.Client) attempt.Result {
	return says(answerText)(context.Background(), to, client)
}

func says(body string) script {
	return func(_ context.Context, to attempt.Target, client attempt.Client) attempt.Result {
		if to.Begins != nil {
			to.Begins()
		}
		client.Head(http.StatusOK, func(h http.Header) { h.Set("X-From", to.Route.Record.ID) })
		if !client.Write([]byte(body)) {
			return attempt.Result{End: attempt.Left}
		}
		return attempt.Result{End: attempt.Answered, Status: http.StatusOK, TTFB: time.Millisecond, Usage: dialect.Usage{Input: 3, Output: 5}}
	}
}

// fails is a refusal that came from the upstream.
func fails(status int, reason outcome.Reason, edit ...func(*attempt.Result)) script {
	return func(context.Context, attempt.Target, attempt.Client) attempt.Result {
		res := attempt.Result{
			End: attempt.Failed, Status: status, Header: http.Header{"X-Upstream": {"yes"}}, Body: []byte(`{"error":{"message":"no"}}`),
			Outcome: outcome.Outcome{Class: outcome.Failure, Scope: outcome.ScopeConnection, Reason: reason, Status: status, Fallback: true},
		}
		for _, f := range edit {
			f(&res)
		}
		return res
	}
}

func scoped(s outcome.Scope) func(*attempt.Result) {
	return func(r *attempt.Result) { r.Outcome.Scope = s }
}

func cooling(d time.Duration) func(*attempt.Result) {
	return func(r *attempt.Result) { r.Outcome.Cooldown, r.Outcome.UsedHint = d, true }
}

// overloaded is a failure of the server that leaves the connection usable.
var overloaded = fails(http.StatusServiceUnavailable, outcome.ReasonServerError, scoped(outcome.ScopeLocal))

// limited is a rate limit that ends after d.
func limited(d time.Duration) script {
	return fails(http.StatusTooManyRequests, outcome.ReasonRateLimit, cooling(d))
}

// breaks is an answer that broke off after its beginning.
func breaks(_ context.Context, _ attempt.Target, client attempt.Client) attempt.Result {
	client.Head(http.StatusOK, func(http.Header) {})
	client.Write([]byte("half"))
	return attempt.Result{End: attempt.Broken, Status: http.StatusOK, Outcome: outcome.Outcome{
		Class: outcome.Failure, Scope: outcome.ScopeConnection, Reason: outcome.ReasonNetwork,
	}}
}

// leaves is a client that went away during the attempt.
func leaves(context.Context, attempt.Target, attempt.Client) attempt.Result {
	return attempt.Result{End: attempt.Left}
}

// panics is a fault of ours before the answer began.
func panics(context.Context, attempt.Target, attempt.Client) attempt.Result { panic("a fault") }

// reply is what the client got.
type reply struct {
	header http.Header
	status int
	heads  int
	body   bytes.Buffer
	abort  bool
	gone   func() bool
	late   int // bytes written to a client that was known to be gone
}

func (w *reply) Header() http.Header { return w.header }
func (w *reply) WriteHeader(status int) {
	w.status = status
	w.heads++
}
func (w *reply) Flush() {}
func (w *reply) Write(p []byte) (int, error) {
	if w.gone() {
		w.late += len(p)
		return 0, io.ErrClosedPipe
	}
	return w.body.Write(p)
}

// code is the code of an error in the reply.
func (w *reply) code() string {
	var doc struct{ Error struct{ Code, Type string } }
	_ = json.Unmarshal(w.body.Bytes(), &doc) // an answer that is no error has no code
	return doc.Error.Code
}

const messages = `{"model":"m","messages":[{"role":"user","content":"hi"}]}`

// request is a client's request, in Anthropic's dialect.
func request(t testing.TB, body string, edit ...func(*Request)) *Request {
	t.Helper()
	b, err := dialect.ReadBody([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	req := &Request{URLPath: "/v1/messages", Began: time.Now(), Request: attempt.Request{
		Method: http.MethodPost, Header: http.Header{}, Dialect: dialect.Anthropic, Path: "/messages", Body: b, Profile: dialect.DefaultProfile(),
	}}
	for _, f := range edit {
		f(req)
	}
	return req
}

func header(name, value string) func(*Request) {
	return func(r *Request) { r.Header.Set(name, value) }
}

// serve lets the rig answer a request of a client that stays until ctx ends.
func (k *rig) serve(ctx context.Context, req *Request) *reply {
	w := &reply{header: http.Header{}, gone: func() bool { return ctx.Err() != nil }}
	return k.admitted(ctx, req, w, func() *refusal.Notice { return nil })
}

func (k *rig) admitted(ctx context.Context, req *Request, w *reply, admit func() *refusal.Notice) *reply {
	w.abort = k.Serve(ctx, req, NewResponse(w, k.Limits.Write, w.gone), admit)
	return w
}

// ask serves one more request and returns it with its row.
func (k *rig) ask(t testing.TB, body string, edit ...func(*Request)) (*reply, control.Activity) {
	t.Helper()
	w := k.serve(t.Context(), request(t, body, edit...))
	return w, k.row(t)
}

// row is the last row; every request so far must have exactly one.
func (k *rig) row(t testing.TB) control.Activity {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.rows) != len(k.metered) || len(k.rows) == 0 {
		t.Fatalf("%d rows, %d requests counted", len(k.rows), len(k.metered))
	}
	return k.rows[len(k.rows)-1]
}

// idle fails the test when something that was taken was not given back.
func (k *rig) idle(t interface{ Errorf(string, ...any) }) {
	for _, g := range k.gates.Views() {
		if g.Running > 0 || g.Queued > 0 {
			t.Errorf("gate %+v still has %d running, %d queued", g.Key, g.Running, g.Queued)
		}
	}
	for _, q := range k.queues.Views() {
		if q.Running > 0 || q.Queued > 0 {
			t.Errorf("queue %+v is not empty", q)
		}
	}
	for _, r := range k.routes {
		for _, e := range k.Engine.Plan([]resilience.Candidate{{Conn: r.Conn, Model: "m"}}).Excluded {
			if e.Reason == exclusion.Probing {
				t.Errorf("the probe of %s was not given back", r.Record.ID)
			}
		}
	}
	for _, r := range k.routes {
		if n := r.Use.InFlight.Load(); n != 0 {
			t.Errorf("%s has %d requests in flight", r.Record.ID, n)
		}
	}
	if k.streams != 0 {
		t.Errorf("%d streams are still counted", k.streams)
	}
}

// kinds are the steps of a row's trace.
func kinds(row control.Activity) string {
	var list []string
	for _, s := range row.Trace {
		text := string(s.Kind)
		if s.ConnectionID != "" {
			text += ":" + s.ConnectionID
		}
		list = append(list, text)
	}
	return strings.Join(list, " ")
}
