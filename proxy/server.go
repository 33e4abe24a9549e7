// Package proxy is the loopback service that clients talk to: it listens, guards
// and admits.
package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/proxy/exchange"
	"breakwater/proxy/halfclose"
	"breakwater/proxy/metrics"
	"breakwater/proxy/refusal"
	"breakwater/proxy/upstream"
	"breakwater/resilience/lease"
)

// Options are what a Server is made of.
type Options struct {
	Service  *control.Service
	Upstream *upstream.Client
	// API serves the paths below /api/; it checks its own credential.
	API http.Handler
	// Token is the management token, which clients may use as their key.
	Token string
	Log   *slog.Logger
	// MaxBody is the largest request body in bytes; 0 means DefaultMaxBody.
	MaxBody int64
	// Meter counts what is done; nil counts unseen.
	Meter *metrics.Meter
	// Limits are the waits for upstreams; the zero value means DefaultLimits.
	Limits Limits
	// PaceGC lets the server pace the process's garbage collector.
	PaceGC bool
	// GiveBack lets the server return the process's free memory to the system
	// when the traffic rests.
	GiveBack bool
}

// Server answers the clients.
type Server struct {
	svc     *control.Service
	up      *upstream.Client
	token   string
	log     *slog.Logger
	maxBody int64
	limits  Limits
	http    *http.Server
	garbage *collector
	meter   *metrics.Meter
	egress  *egress

	exchanger   *exchange.Exchanger
	connections atomic.Int64 // of clients, open
}

// Figures of the listening side.
const (
	keepAliveTimeout = 2 * time.Minute
	maxRequestHeader = 1 << 20 // case P39: 40 KB of cookies pass, 2 MiB do not
	drainTimeout     = 5 * time.Second
	refusalWait      = 500 * time.Millisecond // for the body of a request that is refused unread
)

// New returns a server; Serve makes it answer.
func New(o Options) *Server {
	s := &Server{garbage: newCollector(o.PaceGC, o.GiveBack), svc: o.Service, up: o.Upstream, token: o.Token, log: o.Log, maxBody: o.MaxBody, limits: o.Limits}
	s.egress = newEgress(o.Service, o.Upstream, o.Log)
	if s.meter = o.Meter; s.meter == nil {
		s.meter = metrics.NewMeter()
	}
	if s.maxBody == 0 {
		s.maxBody = DefaultMaxBody
	}
	if s.limits == (Limits{}) {
		s.limits = DefaultLimits()
	}
	s.exchanger = s.newExchanger()
	s.svc.Remember(s.exchanger.Waits())
	s.http = &http.Server{
		Handler: s.attend(s.guard(s.routes(o.API))), ConnContext: withConn, ConnState: s.count,
		ReadHeaderTimeout: s.limits.Head, IdleTimeout: keepAliveTimeout,
		MaxHeaderBytes: maxRequestHeader, ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	return s
}

// Handler returns the whole service, for tests that bring their own listener.
func (s *Server) Handler() http.Handler { return s.http.Handler }

// Close ends what the server does beside answering.
func (s *Server) Close() { s.egress.close() }

// Serve answers on the listeners until ctx ends; then running answers get a
// few seconds to finish.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	failed := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { failed <- s.http.Serve(l) }()
	}
	select {
	case err := <-failed:
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return err
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	if err := s.http.Shutdown(drain); err != nil {
		return s.http.Close()
	}
	return nil
}

// routes is the table of what is served.
func (s *Server) routes(api http.Handler) http.Handler {
	mux := http.NewServeMux()
	if api != nil {
		mux.Handle("/api", api) // else a redirect to a page that is none
		mux.Handle("/api/", api)
		mux.Handle("/metrics", api)
	}
	hello := http.HandlerFunc(s.hello)
	mux.Handle("GET /api/hello", hello)
	mux.Handle("GET /{$}", hello)
	for _, prefix := range []string{"/v1", "/v1/v1", ""} {
		for _, d := range dialect.All {
			for _, r := range d.Traits().Routes {
				mux.Handle("POST "+prefix+r.Path, s.inference(route{dialect: d, path: r.Path, probe: r.Probe}))
				if r.Socket {
					mux.HandleFunc("GET "+prefix+r.Path, s.websocket)
				}
			}
		}
		mux.HandleFunc("GET "+prefix+"/models", s.models)
		mux.HandleFunc("GET "+prefix+"/models/{id...}", s.modelByID)
	}
	mux.HandleFunc("/", s.unknown)
	if api == nil {
		return mux
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		clean := path.Clean("/" + r.URL.Path)
		if strings.HasPrefix(clean+"/", "/api/") && clean != strings.TrimSuffix(r.URL.Path, "/") {
			api.ServeHTTP(w, r) // the mux would lead to another path, with a page
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// hello answers the clients' probes without a call to any upstream (case P46).
func (s *Server) hello(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodHead {
		return
	}
	writeJSON(w, map[string]string{"service": "breakwater", "status": "ok"})
}

// websocket sends Codex, which tries a WebSocket first, to POST at once
// (ruling 46). A client under a lease gets the sheet's code that its lease
// does not reach there (settings sheet §4.5).
func (s *Server) websocket(w http.ResponseWriter, r *http.Request) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		s.unknown(w, r)
		return
	}
	if r.Header.Get(lease.OwnerHeader) != "" || r.Header.Get(lease.GenerationHeader) != "" {
		s.plainError(w, r, http.StatusUpgradeRequired, control.LeaseUnsupportedTransport,
			"A lease covers requests over POST, not a WebSocket.")
		return
	}
	s.plainError(w, r, http.StatusUpgradeRequired, "use_post", "Breakwater serves "+r.URL.Path+" over POST, not over a WebSocket.")
}

// unknown answers paths that are not served.
func (s *Server) unknown(w http.ResponseWriter, r *http.Request) {
	s.plainError(w, r, http.StatusNotFound, "no_such_path",
		"Breakwater does not serve "+r.Method+" "+r.URL.Path+". It serves POST "+served()+", and GET /v1/models.")
}

// served lists the paths of the dialects.
func served() string {
	var paths []string
	for _, d := range dialect.All {
		for _, r := range d.Traits().Routes {
			paths = append(paths, "/v1"+r.Path)
		}
	}
	last := len(paths) - 1
	return strings.Join(paths[:last], ", ") + " and " + paths[last]
}

// plainError answers outside an exchange, in the dialect that the path or the
// headers suggest.
func (s *Server) plainError(w http.ResponseWriter, r *http.Request, status int, code, message string) {
	a := refusal.Outside(r.URL.Path, r.Header, status, code, message)
	maps.Copy(w.Header(), a.Header)
	if r.ContentLength != 0 { // net/http waits for a body that is not wanted
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(refusalWait)) // unsupported only without a socket
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // the client may have left
}

func writeJSON(w http.ResponseWriter, v any) {
	_ = json.NewEncoder(w).Encode(v) // the client may have left
}

// lookEvery is how often a client that closed only its sending side is looked
// at: when it leaves for good, no further sign of it comes.
const lookEvery = 20 * time.Millisecond

type connKey struct{}

// withConn keeps the connection with the context of its requests.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// keptConnections is how many connections of clients may stay open between two
// requests. One at rest holds some 20 KB for keepAliveTimeout: after a burst of
// thousands that is most of the program's memory.
const keptConnections = 256

// count follows the number of open connections.
func (s *Server) count(_ net.Conn, now http.ConnState) {
	switch now {
	case http.StateNew:
		s.connections.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.connections.Add(-1)
	case http.StateActive, http.StateIdle:
	}
}

// attend gives each request a context that ends when the client leaves. The one
// of net/http also ends when a client closes only its sending side, which still
// waits for its answer. Where too many connections are open, this one closes
// behind the answer.
func (s *Server) attend(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.connections.Load() > keptConnections {
			w.Header().Set("Connection", "close")
		}
		defer s.garbage.rest()
		ctx, end := context.WithCancel(context.WithoutCancel(r.Context()))
		defer end()
		conn, _ := r.Context().Value(connKey{}).(net.Conn) // none where a test brings no server
		p := &presence{Context: ctx, end: end, base: r.Context(), conn: conn}
		defer context.AfterFunc(r.Context(), p.watch)()
		next.ServeHTTP(w, r.WithContext(p))
	})
}

// presence is the context of a request: it lives while the client reads.
type presence struct {
	context.Context //nolint:containedctx // it is one

	end  context.CancelFunc
	base context.Context //nolint:containedctx // net/http's, which ends too early
	conn net.Conn
	once sync.Once
}

// Err is up to date as soon as net/http has noticed something: who looks at it
// after a failed read or write sees whether that was the client's doing.
func (p *presence) Err() error {
	if err := p.Context.Err(); err != nil {
		return err
	}
	if p.base.Err() != nil {
		p.once.Do(p.look)
	}
	return p.Context.Err()
}

func (p *presence) look() {
	if !halfclose.Reads(p.conn) {
		p.end()
	}
}

// watch ends the context once the client has left.
func (p *presence) watch() {
	if p.Err() != nil {
		return
	}
	again := time.NewTicker(lookEvery)
	defer again.Stop()
	for p.Context.Err() == nil {
		select {
		case <-p.Done():
		case <-again.C:
			p.look()
		}
	}
}
