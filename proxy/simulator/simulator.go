// Package simulator is a scriptable fake provider that speaks the three wire
// dialects, for the demo and for tests.
package simulator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"breakwater/resilience/clock"
)

// Options sets up a Server. The zero value is ready for use.
type Options struct {
	// Clock dates headers, ids and records; nil is the system clock. Waits
	// always pass in real time.
	Clock clock.Clock
	// Default answers inference requests for which nothing is scripted. The
	// zero Step is Auto.
	Default Step
	// Models are the ids that the models list offers; nil is a short list of
	// well-known names.
	Models []string
	// Keep is how many requests each account remembers, the newest; zero is
	// 1000, negative none.
	Keep int
	// KeepBody is how many bytes of a request body are remembered; zero is
	// the whole body, negative none.
	KeepBody int
	// Encoders are the content codings that can be asked for besides gzip:
	// Brotli and Zstd. Package compress has both.
	Encoders map[Encoding]func(io.Writer) Encoder
}

// maxBody bounds what is read of one request body, in bytes.
const maxBody = 256 << 20

// defaultAccount serves requests that name no account.
const defaultAccount = "default"

// keyPrefix begins the credentials that name their account.
const keyPrefix = "sk-sim-"

// Server is the fake provider. It implements http.Handler and may be served
// by any HTTP server; Start brings its own. All methods are safe for
// concurrent use.
type Server struct {
	opts Options
	seq  atomic.Int64

	mu       sync.Mutex
	accounts map[string]*Account
	order    []*Account
	keys     map[string]*Account
	http     *http.Server
	base     string
	done     chan struct{} // closed when the listener's loop has ended
	unwatch  func() bool   // stops the watch over Start's context
	closed   bool

	closing chan struct{} // closed by Close: every wait ends
	active  sync.WaitGroup
}

// New returns a server that is not listening yet.
func New(opts Options) *Server {
	if opts.Clock == nil {
		opts.Clock = clock.System{}
	}
	if opts.Default.Kind == "" {
		opts.Default = Auto()
	}
	if opts.Models == nil {
		opts.Models = []string{"claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "gpt-5.1", "gpt-5.1-codex"}
	}
	if opts.Keep == 0 {
		opts.Keep = 1000
	}
	return &Server{
		opts:     opts,
		accounts: make(map[string]*Account),
		keys:     make(map[string]*Account),
		closing:  make(chan struct{}),
	}
}

// Start listens on addr, a loopback address; empty means 127.0.0.1 and a free
// port. It returns when connections are accepted. Close ends it; so does the
// end of ctx.
func (s *Server) Start(ctx context.Context, addr string) error {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("simulator: listen on %s: %w", addr, err)
	}
	if err := s.Serve(ln); err != nil {
		return errors.Join(err, ln.Close())
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	s.mu.Lock()
	s.unwatch = stop
	s.mu.Unlock()
	return nil
}

// Serve accepts connections of ln in the background until Close, which also
// closes ln. A server serves one listener in its life.
func (s *Server) Serve(ln net.Listener) error {
	if err := speaksAll(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.http != nil {
		return errors.New("simulator: already started or closed")
	}
	s.base = "http://" + ln.Addr().String()
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute, MaxHeaderBytes: 4 << 20}
	s.done = make(chan struct{})
	srv, done := s.http, s.done
	go func() {
		defer close(done)
		_ = srv.Serve(ln) // ends with ErrServerClosed, or with ln
	}()
	return nil
}

// Close stops listening, cuts every connection and returns when no request is
// being served any more. Closing twice is fine.
func (s *Server) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	srv, done, unwatch := s.http, s.done, s.unwatch
	s.mu.Unlock()
	if first {
		close(s.closing)
	}
	if unwatch != nil {
		unwatch()
	}
	var err error
	if srv != nil {
		err = srv.Close()
		<-done
	}
	s.active.Wait()
	return err
}

// BaseURL is where the server listens, without a path: http://127.0.0.1:PORT.
// It is empty before Start.
func (s *Server) BaseURL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.base
}

// Account returns the account of that name, which is made when it is new.
func (s *Server) Account(name string) *Account {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.account(name)
}

func (s *Server) account(name string) *Account {
	a := s.accounts[name]
	if a == nil {
		a = &Account{srv: s, name: name}
		s.accounts[name] = a
		s.order = append(s.order, a)
	}
	return a
}

// Accounts returns all accounts in the order in which they appeared.
func (s *Server) Accounts() []*Account {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Account(nil), s.order...)
}

// Reset forgets scripts, faults, records and counters of every account.
func (s *Server) Reset() {
	for _, a := range s.Accounts() {
		a.Reset()
	}
}

// ServeHTTP answers as the provider, or as the control interface below
// /__sim/.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	s.active.Add(1)
	s.mu.Unlock()
	defer s.active.Done()
	if strings.HasPrefix(r.URL.Path, controlPrefix) {
		s.control(w, r)
		return
	}
	s.provide(w, r)
}

// provide serves one request of the provider's own interface.
func (s *Server) provide(w http.ResponseWriter, r *http.Request) {
	at := s.opts.Clock.Now()
	name, path := splitAccount(r.URL.Path)
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	q := parseRequest(r, path, body)
	q.seq, q.now = s.seq.Add(1), at
	acc, allowed := s.pick(name, credential(r.Header))
	q.account = acc.name
	if err != nil {
		q.broken = "the request body could not be read: " + err.Error()
	}
	p := acc.begin(q, r)
	// The server ends the context as soon as the client's connection closes.
	stop := context.AfterFunc(r.Context(), func() { acc.cancelled(p, s.opts.Clock.Now()) })
	step := s.choose(acc, q, allowed)
	o := &out{w: w, rc: http.NewResponseController(w), closing: s.closing, opts: s.opts}
	err = s.play(r.Context(), o, q, step)
	stop()
	acc.end(p, ending{
		step: step, status: o.status, bytes: o.sent, at: s.opts.Clock.Now(),
		left: errors.Is(err, errLeft), broken: err != nil || step.Break != nil,
	})
	if errors.Is(err, errAbort) || errors.Is(err, errLeft) {
		o.abort(errors.Is(err, errReset))
	}
}

// choose decides how q is answered: a wrong key, then the fault, then the
// script, then what the route answers by itself.
func (s *Server) choose(a *Account, q *request, allowed bool) Step {
	if !allowed {
		return Status(http.StatusUnauthorized)
	}
	if st, ok := a.next(q); ok {
		return st
	}
	if sub := a.subscription(); sub != nil {
		if st, ok := sub.step(q, s.opts.Default); ok {
			return st
		}
	}
	if q.route == RouteInference {
		return s.opts.Default
	}
	return Step{Kind: KindAuto}
}

// pick finds the account of a request by its path prefix, then by its
// credential. The second result is false when the account does not take the
// credential.
func (s *Server) pick(name, key string) (*Account, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var a *Account
	switch byKey := s.keys[key]; {
	case name != "":
		a = s.account(name)
	case byKey != nil:
		a = byKey
	case strings.HasPrefix(key, keyPrefix) && len(key) > len(keyPrefix):
		a = s.account(strings.TrimPrefix(key, keyPrefix))
	default:
		a = s.account(defaultAccount)
	}
	return a, !a.strict || s.keys[key] == a
}

// credential returns the key a request came with, from x-api-key or from
// Authorization.
func credential(h http.Header) string {
	if k := h.Get("X-Api-Key"); k != "" {
		return k
	}
	scheme, tok, ok := strings.Cut(h.Get("Authorization"), " ")
	if ok && strings.EqualFold(scheme, "bearer") {
		return strings.TrimSpace(tok)
	}
	return ""
}

// splitAccount takes the account prefix /a/NAME off a path.
func splitAccount(path string) (name, rest string) {
	after, ok := strings.CutPrefix(path, "/a/")
	if !ok {
		return "", path
	}
	name, rest, _ = strings.Cut(after, "/")
	return name, "/" + rest
}

func accountPath(name string) string { return "/a/" + url.PathEscape(name) }
