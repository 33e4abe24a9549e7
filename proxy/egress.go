package proxy

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/upstream"
)

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
