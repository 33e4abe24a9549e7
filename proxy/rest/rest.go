// Package rest serves the management API over the facade.
package rest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"sync"
	"time"

	"breakwater/proxy/control"
)

const (
	// MaxBody is the largest request body in bytes; a longer one gets a 413.
	MaxBody = 1 << 20
	// TestTimeout is how long a connection test may take (sheet §2.11).
	TestTimeout = 30 * time.Second
	jsonMedia   = "application/json"
)

// Options is what the API is built on.
type Options struct {
	// Facade is what the routes show and change.
	Facade control.Facade
	// Events serves GET /api/events; nil leaves the route out of service.
	Events http.Handler
	// Token returns the management token. While it is nil or returns an empty
	// string nobody is let in.
	Token func() string
	// Key judges an API key for the scope manage; its errors are those of
	// control.Service.Authorize. Nil knows no keys.
	Key func(presented ...string) error
	// WhileKey returns a context that ends when none of the presented keys has
	// the scope manage any more; nil lets a stream outlive its key.
	WhileKey func(ctx context.Context, presented ...string) (context.Context, context.CancelFunc)
	// Metrics serves GET /metrics; nil leaves the route out of service.
	Metrics http.Handler
	// Leases serves the clients' exclusive leases; nil refuses them.
	Leases Leases
	// Version counts the changes of state, so that an answer is encoded once for
	// all who read it in the same state; nil encodes it for each.
	Version func() uint64
	// Log gets failures, never a credential; nil discards them.
	Log *slog.Logger
	// Now is the real clock; nil means time.Now.
	Now func() time.Time
	// BodyWait is how long the body of a request may take; 0 means BodyWait.
	BodyWait time.Duration
}

// api holds what the handlers share.
type api struct {
	facade  control.Facade
	events  http.Handler
	figures http.Handler
	leases  Leases
	log     *slog.Logger
	now     func() time.Time
	started time.Time
	auth    *authority
	while   func(context.Context, ...string) (context.Context, context.CancelFunc)
	health  healthCache
	answers *answers
	// bodyWait is how long the body of a request may take.
	bodyWait time.Duration
	mux      *http.ServeMux
	// document is made at the first question and kept.
	document func() map[string]any
}

// New returns the handler of /metrics and of everything below /api but
// /api/hello and the model requests.
// The Host and Origin guard stands in front of it. It authenticates before it
// looks at the path, so a stranger cannot tell which routes exist.
func New(o Options) http.Handler { return newAPI(o) }

func newAPI(o Options) *api {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.BodyWait == 0 {
		o.BodyWait = BodyWait
	}
	a := &api{
		facade: o.Facade, events: o.Events, leases: o.Leases, figures: o.Metrics, log: o.Log, now: o.Now, started: o.Now(), while: o.WhileKey, bodyWait: o.BodyWait,
		auth: newAuthority(o.Token, o.Key, o.Log, o.Now), mux: http.NewServeMux(),
		document: sync.OnceValue(Document), answers: newAnswers(o.Version, o.Now),
	}
	for _, rt := range routes {
		a.mux.HandleFunc(rt.Method+" "+rt.Path, a.handle(rt))
	}
	return a
}

// ServeHTTP answers one management request.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	a.expect(w, r)
	// The mux would redirect an unclean path, to strangers too.
	clean := path.Clean(r.URL.Path) == r.URL.Path
	if _, pattern := a.mux.Handler(r); pattern == "" || !clean {
		a.unrouted(w, r)
		return
	}
	a.mux.ServeHTTP(w, r)
}

// unrouted answers what no route takes: 404, or 405 with the allowed methods.
func (a *api) unrouted(w http.ResponseWriter, r *http.Request) {
	if err := a.auth.check(r); err != nil {
		a.fail(w, r, err)
		return
	}
	// The mux knows which methods the path has; its own answer is plain text.
	probe := headerOnly{}
	h, _ := a.mux.Handler(r)
	h.ServeHTTP(probe, r)
	if allow := probe.Header().Get("Allow"); allow != "" {
		w.Header().Set("Allow", allow)
		a.fail(w, r, errMethod)
		return
	}
	a.fail(w, r, errNoRoute)
}

// headerOnly is a ResponseWriter that keeps nothing but the headers.
type headerOnly http.Header

func (h headerOnly) Header() http.Header         { return http.Header(h) }
func (h headerOnly) Write(p []byte) (int, error) { return len(p), nil }
func (h headerOnly) WriteHeader(int)             {}

// handle wraps a route's function: credential, content type, answer.
func (a *api) handle(rt Route) http.HandlerFunc {
	if rt.Client {
		return func(w http.ResponseWriter, r *http.Request) { rt.raw(a, w, r) }
	}
	shared := rt.shared()
	return func(w http.ResponseWriter, r *http.Request) {
		if !rt.Public {
			if err := a.auth.check(r); err != nil {
				a.fail(w, r, err)
				return
			}
		}
		if err := checkContentType(r); err != nil {
			a.fail(w, r, err)
			return
		}
		if err := takeBody(r); err != nil {
			a.fail(w, r, err)
			return
		}
		if rt.raw != nil {
			rt.raw(a, w, r)
			return
		}
		if shared {
			a.serveShared(w, r, func(r *http.Request) (encoded, error) { return a.encodeAnswer(rt.handler(a, r)) })
			return
		}
		if isWrite(r.Method) {
			defer a.answers.wrote()
		}
		status, body, err := rt.handler(a, r)
		if err != nil {
			a.fail(w, r, err)
			return
		}
		a.write(w, r, status, body)
	}
}

// encodeAnswer makes an answer of what a handler returns.
func (a *api) encodeAnswer(status int, body any, err error) (encoded, error) {
	if err != nil {
		return encoded{}, err
	}
	data, err := json.Marshal(body)
	if err != nil {
		return encoded{}, fmt.Errorf("encode the answer: %w", err)
	}
	out := encoded{status: status, media: jsonMedia, data: append(data, '\n')}
	if t, ok := body.(interface{ etag() string }); ok {
		out.tag = t.etag()
	} else {
		out.tag = tagOf(data)
	}
	return out, nil
}

// serveShared sends an answer that is encoded once for all who ask for it now.
func (a *api) serveShared(w http.ResponseWriter, r *http.Request, encode func(*http.Request) (encoded, error)) {
	out, err := a.answers.get(r.Context(), r.URL.Path+"?"+r.URL.RawQuery, func(ctx context.Context) (encoded, error) {
		return encode(r.WithContext(ctx))
	})
	if err != nil {
		a.fail(w, r, err)
		return
	}
	h := w.Header()
	if out.tag != "" {
		h.Set("ETag", out.tag)
		if unchanged(r, out.tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	h.Set("Content-Type", out.media)
	w.WriteHeader(out.status)
	if _, err := w.Write(out.data); err != nil {
		a.log.DebugContext(r.Context(), "answer not sent", "path", r.URL.Path, "error", err)
	}
}

// write sends a JSON answer.
func (a *api) write(w http.ResponseWriter, r *http.Request, status int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		a.log.ErrorContext(r.Context(), "answer not encoded", "path", r.URL.Path, "error", err)
		status, data = http.StatusInternalServerError, []byte(`{"error":{"code":"INTERNAL","message":"Internal error"}}`)
	}
	if t, ok := body.(interface{ etag() string }); ok {
		w.Header().Set("ETag", t.etag())
	}
	w.Header().Set("Content-Type", jsonMedia)
	if status >= http.StatusBadRequest {
		hurry(r)
	}
	w.WriteHeader(status)
	if _, err := w.Write(append(data, '\n')); err != nil {
		a.log.DebugContext(r.Context(), "answer not sent", "path", r.URL.Path, "error", err)
	}
}

// snapshot returns the present state with lists that are never null.
func (a *api) snapshot(ctx context.Context) (control.Snapshot, error) {
	s, err := a.facade.Snapshot(ctx)
	s.Connections = list(s.Connections)
	s.Breakers = list(s.Breakers)
	s.Combos = list(s.Combos)
	return s, err
}

// list returns v, or an empty list in place of nil, which JSON shows as null.
func list[T any](v []T) []T {
	if v == nil {
		return []T{}
	}
	return v
}

// correlation returns an id that joins an error answer to its log line.
func correlation() string { return rand.Text()[:16] }
