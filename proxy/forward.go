package proxy

import (
	"net/http"
	"sync"

	"breakwater/proxy/upstream"
	"breakwater/resilience"
	"breakwater/resilience/exclusion"
)

// forward passes an upstream's refusal to the client as it came; untouched keeps
// even the headers that make the client stop (ruling 42).
func (x *exchange) forward(f resilience.Failure, untouched bool) {
	x.act.ConnectionID, x.act.ConnectionName, x.act.Provider, x.act.EgressIP = f.Connection, f.Name, f.Provider, ""
	if r, ok := x.s.svc.Route(f.Connection); ok {
		x.act.EgressIP = x.s.egress.known(r)
	}
	x.act.FailedOver = len(x.failures) > 0
	if f.Answered() {
		h := http.Header{}
		upstream.CopyAnswerHeader(h, f.Header)
		f.Header = h
	}
	x.reply(x.asked().Forward(&f, untouched))
}

// walls remembers how the limits of passthrough connections were reported, so
// that the next request gets the same answer while the connection rests.
type walls struct {
	mu   sync.Mutex
	last map[string]resilience.Failure // by connection
}

func (w *walls) put(f resilience.Failure) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		w.last = map[string]resilience.Failure{}
	}
	w.last[f.Connection] = f
}

func (w *walls) get(e resilience.Exclusion) (resilience.Failure, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f, ok := w.last[e.Conn.ID()]
	return f, ok && e.Reason == exclusion.Cooling && !e.Until.IsZero() && !e.Until.After(f.Until)
}

// wall returns the original refusal when nothing is left but the limit of the
// client's own subscription and it lasts (ruling 42).
func (x *exchange) wall(plan resilience.Plan) *resilience.Failure {
	if wait, waits := x.nextTry(plan); !waits || !resilience.ForwardsWall(wait) {
		return nil
	}
	found, ok := resilience.SubscriptionWalls(x.failures)
	for _, f := range found {
		x.s.walls.put(*f)
	}
	switch {
	case !ok:
		return nil
	case len(found) > 0:
		return found[len(found)-1]
	}
	for _, e := range plan.Excluded {
		if f, ok := x.s.walls.get(e); ok {
			h := http.Header(f.Header).Clone()
			h.Del("Retry-After") // it counted from another moment
			f.Header = h
			return &f
		}
	}
	return nil
}
