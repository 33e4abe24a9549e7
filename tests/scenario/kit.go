// Package scenario runs the whole product, except its desktop, against
// simulated providers: real sockets, a real database file, a clock that the
// test moves.
package scenario

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"breakwater/db"
	"breakwater/proxy"
	"breakwater/proxy/control"
	"breakwater/proxy/drill"
	"breakwater/proxy/simulator"
	"breakwater/proxy/simulator/compress"
	"breakwater/proxy/upstream"
	"breakwater/resilience/clock"
)

// T0 is when every scenario begins: a Wednesday.
var T0 = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// encoders are the content codings of the simulated providers besides gzip.
var encoders = map[simulator.Encoding]func(io.Writer) simulator.Encoder{
	simulator.Brotli: compress.Brotli, simulator.Zstd: compress.Zstd,
}

// Kit is a running product with its simulated providers.
type Kit struct {
	testing.TB
	Sim     *simulator.Server
	Clock   *clock.Fake
	Product *proxy.Product
	Store   *db.Store
	URL     string
	Token   string
	Log     *Log
	Limits  proxy.Limits
	// Upstream are the options of the connections to providers.
	Upstream upstream.Options

	fast *clock.Fast // in place of Clock
	dir  string
	left *remains
	keys int // how many connections have been added
	stop func()

	sent     int64      // requests posted
	finished chan int64 // ids of finished requests, as they end
	newest   int64      // the highest id seen
}

// Start runs a product with an empty data directory.
func Start(t testing.TB) *Kit { return StartWith(t, proxy.DefaultLimits()) }

// StartWith is Start with other waits for upstreams. Requests do not wait for
// resting connections unless the limits give them patience: most scenarios are
// about what the client is told, and their clock stands still.
func StartWith(t testing.TB, limits proxy.Limits) *Kit {
	return startKit(t, limits, upstream.Options{})
}

// StartBehind is Start with other ways to the upstreams.
func StartBehind(t testing.TB, o upstream.Options) *Kit {
	return startKit(t, proxy.DefaultLimits(), o)
}

func startKit(t testing.TB, limits proxy.Limits, o upstream.Options) *Kit {
	t.Helper()
	if limits.Patience == 0 {
		limits.Patience = -1
	}
	return run(&Kit{TB: t, Sim: simulator.New(simulator.Options{Encoders: encoders}), Clock: clock.NewFake(T0), Log: &Log{}, Limits: limits, Upstream: o, dir: folder(t)})
}

// StartFast is Start with a clock, the simulator's too, that runs at a multiple
// of real speed: for waits that the product spends by itself. There is no Clock
// to set.
func StartFast(t testing.TB, speed float64) *Kit {
	t.Helper()
	fast := clock.NewFast(clock.System{})
	fast.SetSpeed(speed)
	limits := proxy.DefaultLimits()
	limits.Patience = -1
	return run(&Kit{TB: t, Sim: simulator.New(simulator.Options{Clock: fast, Encoders: encoders}), fast: fast, Log: &Log{}, Limits: limits, dir: folder(t)})
}

func run(k *Kit) *Kit {
	t := k.TB
	t.Helper()
	k.left = newRemains(k.dir)
	if err := k.Sim.Start(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		k.left.leave(k)
		k.stop()
		if err := k.Sim.Close(); err != nil {
			t.Error(err)
		}
	})
	k.start()
	return k
}

// real is the core's time as real time: the scenario's clock stands still, so
// a deadline lies as far ahead of now as it lies ahead of the clock.
func (k *Kit) real(t time.Time) time.Time {
	if k.fast != nil {
		return k.fast.Real(t)
	}
	return time.Now().Add(t.Sub(k.Clock.Now()))
}

// core is the clock that the product runs on.
func (k *Kit) core() clock.Clock {
	if k.fast != nil {
		return k.fast
	}
	return k.Clock
}

func (k *Kit) start() {
	k.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	log := slog.New(slog.NewTextHandler(k.Log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	store, err := db.Open(ctx, db.Options{Dir: k.dir, Log: log})
	k.must(err)
	secrets, err := db.OpenSecrets(ctx, k.dir, db.SecretsOptions{Backend: db.FileSecrets, Log: log})
	k.must(err)
	token, err := control.Token(secrets)
	k.must(err)
	listeners, err := proxy.Listen(ctx, 0)
	k.must(err)
	k.URL, k.Token, k.Store = "http://"+listeners[0].Addr().String(), token, store
	p, err := proxy.Assemble(ctx, proxy.Parts{
		Store: store, Secrets: secrets, Token: token, Endpoint: k.URL, Version: "test", Log: log,
		Limits: k.Limits, Upstream: k.Upstream, Clock: k.core(), Real: k.real, Drill: drill.Run, Quit: cancel,
	})
	k.must(err)
	k.Product = p
	events, err := p.Service.Subscribe(ctx)
	k.must(err)
	k.finished = make(chan int64, 1<<16)
	go func(out chan<- int64) {
		for e := range events {
			k.left.event(e)
			if e.Type == control.EventActivity {
				out <- e.Activity.ID
			}
		}
	}(k.finished)
	served := make(chan error, 1)
	go func() { served <- p.Server.Serve(ctx, listeners...) }()
	k.stop = func() {
		cancel()
		if err := <-served; err != nil {
			k.Error(err)
		}
		p.Close()
		if err := store.Close(); err != nil {
			k.Error(err)
		}
	}
}

func (k *Kit) must(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

// Restart ends the product and starts it again with the same data.
func (k *Kit) Restart() {
	k.Helper()
	k.stop()
	http.DefaultClient.CloseIdleConnections()
	k.start()
}

// Facade returns the facade of the running product.
func (k *Kit) Facade() control.Facade { return k.Product.Service }

// Add adds a connection that the simulated account of the same name answers.
// The provider is "demo" (figures of an API key) or "demo-oauth".
func (k *Kit) Add(name, provider string, more ...func(*control.ConnectionInput)) control.Connection {
	k.Helper()
	a := k.Sim.Account(name)
	in := control.ConnectionInput{Provider: provider, Name: name, APIKey: Key(k.keys), BaseURL: a.BaseURL()}
	k.keys++
	for _, m := range more {
		m(&in)
	}
	c, err := k.Facade().AddConnection(context.Background(), in)
	k.must(err)
	return c
}

// Pair adds the connections alpha, which is tried first, and beta, of one
// provider.
func (k *Kit) Pair() (alpha, beta *simulator.Account) {
	k.Helper()
	k.Add("alpha", "demo")
	k.Add("beta", "demo")
	return k.Sim.Account("alpha"), k.Sim.Account("beta")
}

// Connection returns the present state of a connection.
func (k *Kit) Connection(name string) control.Connection {
	k.Helper()
	snap, err := k.Facade().Snapshot(context.Background())
	k.must(err)
	for _, c := range snap.Connections {
		if c.Name == name {
			return c
		}
	}
	k.Fatalf("there is no connection %q", name)
	return control.Connection{}
}

// CoolsFor returns how long a connection still cools by the scenario's clock,
// rounded to a tenth of a second.
func (k *Kit) CoolsFor(name string) time.Duration {
	k.Helper()
	c := k.Connection(name)
	if c.RateLimitedUntil == nil {
		return 0
	}
	return time.Until(*c.RateLimitedUntil).Round(100 * time.Millisecond)
}

// Breaker returns the breaker of a provider.
func (k *Kit) Breaker(provider string) control.Breaker {
	k.Helper()
	snap, err := k.Facade().Snapshot(context.Background())
	k.must(err)
	for _, b := range snap.Breakers {
		if b.Provider == provider {
			return b
		}
	}
	k.Fatalf("there is no breaker of %q", provider)
	return control.Breaker{}
}

// Last returns the newest row of the activity log, once every request that was
// posted has its row. Requests that get none (probes, refused hosts) must not
// have gone before.
func (k *Kit) Last() control.Activity {
	k.Helper()
	for k.newest < k.sent {
		select {
		case id := <-k.finished:
			k.newest = max(k.newest, id)
		case <-time.After(10 * time.Second):
			k.Fatalf("%d requests were sent, %d are in the log", k.sent, k.newest)
		}
	}
	ctx := context.Background()
	k.must(k.Store.Flush(ctx))
	rows, err := k.Facade().Activity(ctx, control.ActivityQuery{Limit: 1})
	k.must(err)
	if len(rows) == 0 {
		k.Fatal("the activity log is empty")
	}
	return rows[0]
}

// Answer is what a client got.
type Answer struct {
	Status int
	Header http.Header
	Body   string
	Err    error // how reading the body ended, nil for a clean end
}

// Bodies of small requests of the three dialects, for streams.
const (
	Messages  = `{"model":"m1","max_tokens":32,"stream":true,"messages":[{"role":"user","content":"hi"}]}`
	Chat      = `{"model":"m1","stream":true,"messages":[{"role":"user","content":"hi"}]}`
	Responses = `{"model":"m1","stream":true,"input":"hi"}`
)

// NoStream returns the request without its stream switch.
func NoStream(body string) string { return strings.Replace(body, `"stream":true,`, "", 1) }

// Post sends a request as a client that nobody knows, headers given as name
// and value in turn.
func (k *Kit) Post(path, body string, headers ...string) Answer {
	k.Helper()
	k.sent++
	return k.Do(http.MethodPost, path, body, headers...)
}

// Do is Post with any method.
func (k *Kit) Do(method, path, body string, headers ...string) Answer {
	k.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, k.URL+path, strings.NewReader(body))
	k.must(err)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		if headers[i] == "Content-Type" {
			req.Header.Del("Content-Type")
		}
		req.Header.Add(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req) //nolint:bodyclose // read closes it
	if err != nil {
		return Answer{Err: err}
	}
	a := read(res)
	k.left.answer(method, path, a)
	return a
}

// read takes an answer whole.
func read(res *http.Response) Answer {
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	return Answer{Status: res.StatusCode, Header: res.Header, Body: string(raw), Err: err}
}

// From tells which simulated account wrote the answer.
func (a Answer) From() string {
	for _, name := range []string{"alpha", "beta", "gamma"} {
		if strings.Contains(a.Body, name) {
			return name
		}
	}
	return ""
}

// ErrorMessage returns the message of an error answer of any dialect.
func (a Answer) ErrorMessage() string {
	var e struct{ Error struct{ Message string } }
	_ = json.Unmarshal([]byte(a.Body), &e) // an answer that is no error has no message
	return e.Error.Message
}

// Dial opens a raw connection to the proxy, for clients that misbehave.
func (k *Kit) Dial() net.Conn {
	k.Helper()
	c, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", strings.TrimPrefix(k.URL, "http://"))
	k.must(err)
	k.Cleanup(func() { _ = c.Close() })
	return c
}

// Log keeps what the product logs, at the most talkative level.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends to the log.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns everything logged so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Until waits until something holds that happens beside the test.
func (k *Kit) Until(what string, ok func() bool) {
	k.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(10 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			k.Fatalf("waited in vain for %s", what)
		}
	}
}
