package proxy

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"breakwater/proxy/attempt"
	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/proxy/exchange"
	"breakwater/proxy/history"
	"breakwater/proxy/refusal"
	"breakwater/proxy/upstream"
	"breakwater/resilience/lease"
)

// The headers of a lease in the spelling that HTTP gives them: any other is
// respelt at each look.
var (
	ownerHeader      = http.CanonicalHeaderKey(lease.OwnerHeader)
	generationHeader = http.CanonicalHeaderKey(lease.GenerationHeader)
)

// inference answers a request for a model: it is taken in and admitted here, and
// brought to its answer by the exchange. A connection that must not end as if
// the answer were whole is aborted here, and nowhere else.
func (s *Server) inference(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.garbage.enter()
		defer s.garbage.leave()
		req := &exchange.Request{
			Request: attempt.Request{
				Method: r.Method, Header: r.Header, Query: r.URL.RawQuery, Dialect: rt.dialect, Path: rt.path, Probe: rt.probe,
				Profile: dialect.DefaultProfile(), Via: via(r.Header),
			},
			URLPath: r.URL.Path, Began: time.Now(),
		}
		if s.svc.Config().ClientProfile {
			req.Profile = dialect.ProfileOf(r.Header.Get)
		}
		ctx := r.Context()
		out := exchange.NewResponse(w, s.limits.Write, func() bool { return ctx.Err() != nil })
		if s.exchanger.Serve(ctx, req, out, func() *refusal.Notice { return s.admit(w, r, req) }) {
			out.Flush()
			panic(http.ErrAbortHandler) // net/http would end it as a whole answer, empty or torn
		}
	})
}

// admit checks the key and the pause and reads the body.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, req *exchange.Request) (n *refusal.Notice) {
	var err error
	if req.Grant, err = s.grant(r); err != nil {
		return new(refusal.Key(err))
	}
	if req.Body, n = s.intake(w, r); n != nil {
		return n
	}
	model := req.Body.Model
	switch {
	case s.svc.HoldsSecret(model):
		req.Body.Model = "" // the log would keep it
		return new(refusal.SecretModel())
	case !req.Grant.AllowsModel(model):
		return new(refusal.Model(model))
	}
	h := r.Header
	req.Hold, err = s.svc.Hold(r.Context(), req.Grant, h.Get(ownerHeader), h.Get(generationHeader), h.Get(exchange.HeaderPin), model)
	if e, ok := errors.AsType[*control.LeaseError](err); ok {
		return new(refusal.Lease(e))
	}
	switch {
	case req.Via > maxVia:
		return new(refusal.Loop())
	case s.svc.Paused():
		return new(refusal.Paused())
	}
	return nil
}

// maxVia is how many Breakwaters of one machine may stand in a row.
const maxVia = 3

// via is how many Breakwaters of this machine the request has passed.
func via(h http.Header) int {
	n, err := strconv.Atoi(h.Get(upstream.ViaHeader))
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// product is the service as attempts and exchanges see it.
type product struct {
	*control.Service
	server *Server
}

// Admits implements exchange.Connections.
func (p product) Admits(h http.Header) func(*control.Route) bool { return p.server.admits(h) }

// Subscription implements attempt.Services.
func (p product) Subscription(r *control.Route, q control.ClaudeAsk) attempt.Subscription {
	if call := p.OpenClaude(r, q); call != nil {
		return call
	}
	return nil
}

// exchange puts together what brings requests to their answers.
func (s *Server) newExchanger() *exchange.Exchanger {
	p := product{s.svc, s}
	return &exchange.Exchanger{
		Attempts: attempt.Caller{Upstream: s.up, Services: p, Limits: s.limits.upstream(), Own: s.own},
		Engine:   s.svc.Engine(), Connections: p, Combos: p, Admission: p, Sessions: p, Settings: p, Records: p,
		Egress: s.egress, Slow: s.svc.Slow(), History: history.New(p.Now), Meter: s.meter, Clock: p, Limits: s.limits.client(), Log: s.log,
	}
}

const (
	// egressTTL is how long the address by which a connection leaves counts as
	// known (guide §7).
	egressTTL = 5 * time.Minute
	// probeTimeout bounds one question for it.
	probeTimeout = 10 * time.Second
)

// egress finds out by which address the connections leave: the outbound proxy's
// where there is one, else what a probe says, if the user named one. Requests
// never wait for a probe.
type egress struct {
	svc *control.Service
	up  *upstream.Client
	log *slog.Logger

	probe func(url string) (string, error)
	stop  context.CancelFunc
	asked sync.WaitGroup
}

func newEgress(svc *control.Service, up *upstream.Client, log *slog.Logger) *egress {
	base, stop := context.WithCancel(context.Background())
	return &egress{svc: svc, up: up, log: log, stop: stop, probe: func(url string) (string, error) {
		ctx, cancel := context.WithTimeout(base, probeTimeout)
		defer cancel()
		return up.PublicAddress(ctx, url)
	}}
}

// close ends a probe that is under way.
func (e *egress) close() {
	e.stop()
	e.asked.Wait()
}

// Known returns by which address the connection leaves, empty while that is
// not known.
func (e *egress) Known(r *control.Route) string {
	if seen := r.Use.Egress.Load(); e.fresh(seen, r, e.svc.Now()) {
		return seen.Address
	}
	return ""
}

// fresh reports whether what was seen still holds.
func (e *egress) fresh(seen *control.Egress, r *control.Route, now time.Time) bool {
	if seen == nil || seen.BaseURL != r.BaseURL() || seen.Proxy != r.Record.ProxyURL || seen.ProbeURL != e.svc.EgressProbeURL() {
		return false
	}
	age := now.Sub(seen.At)
	return age >= 0 && age < egressTTL
}

// Look finds out by which address the connection leaves, unless that is known.
func (e *egress) Look(r *control.Route) {
	now, seen := e.svc.Now(), r.Use.Egress.Load()
	if e.fresh(seen, r, now) {
		return
	}
	next := &control.Egress{At: now, BaseURL: r.BaseURL(), Proxy: r.Record.ProxyURL, ProbeURL: e.svc.EgressProbeURL()}
	way, err := e.up.WayTo(next.BaseURL, next.Proxy)
	next.Address = way.Proxy
	if !r.Use.Egress.CompareAndSwap(seen, next) {
		return // another request looks already
	}
	switch {
	case err != nil, way.Local:
	case next.Address != "":
		e.svc.Engine().SetEgress(r.Conn, next.Address, now)
	case next.ProbeURL != "":
		e.asked.Go(func() { e.ask(r, next) })
	}
}

// ask probes. An answer that comes too late to be the newest is dropped.
func (e *egress) ask(r *control.Route, placeholder *control.Egress) {
	found := *placeholder
	var err error
	if found.Address, err = e.probe(found.ProbeURL); err != nil {
		e.log.Debug("the egress address is not known", "connection", r.Record.ID, "error", err)
		return
	}
	if r.Use.Egress.CompareAndSwap(placeholder, &found) {
		e.svc.Engine().SetEgress(r.Conn, found.Address, found.At)
	}
}
