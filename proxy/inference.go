package proxy

import (
	"errors"
	"net/http"
	"strconv"
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
