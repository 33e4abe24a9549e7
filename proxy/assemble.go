package proxy

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/events"
	"breakwater/proxy/metrics"
	"breakwater/proxy/rest"
	"breakwater/proxy/upstream"
	"breakwater/resilience/clock"
	"breakwater/resilience/settings"
)

// Parts are what the product is put together from.
type Parts struct {
	Store    control.Store
	Secrets  control.Secrets
	Token    string // the management token
	Endpoint string // where clients reach the proxy
	Version  string
	Log      *slog.Logger
	Env      settings.Lookup // seeds the resilience settings
	// Limits replace the waits that the settings name; zero leaves them.
	Limits Limits
	// Upstream are the options of the connections to providers.
	Upstream upstream.Options
	// Clock is the core's time, Real converts it to real time; nil is the
	// system's clock.
	Clock clock.Clock
	Real  func(time.Time) time.Time
	Panel control.Panel
	Drill func(ctx context.Context, t control.Twin) (control.DrillReport, error)
	Quit  func()
	// PaceGC lets the proxy pace the process's garbage collector.
	PaceGC bool
	// GiveBack lets it return free memory to the system when the traffic rests.
	GiveBack bool
}

// Product is the running service behind one endpoint.
type Product struct {
	Service *control.Service
	Server  *Server

	events *events.Handler
	up     *upstream.Client
}

// Assemble loads what is stored and puts the service, its API and the proxy
// together. Nothing listens yet; Close ends what Assemble began.
func Assemble(ctx context.Context, p Parts) (*Product, error) {
	if p.Clock == nil {
		p.Clock = clock.System{}
	}
	env := p.Env
	if env == nil {
		env = func(string) string { return "" }
	}
	up := upstream.New(connections(p.Upstream, settings.Seeded(env).Timeouts))
	svc, err := control.New(ctx, control.Config{
		Store: p.Store, Secrets: p.Secrets, Log: p.Log, Version: p.Version, Endpoint: p.Endpoint,
		Clock: p.Clock, Real: p.Real, Env: p.Env, Tester: Check(up), ModelLister: Lister(up), SideCall: SideCaller(up, p.Version), Proxies: up.Keep, Roots: up.Roots, Panel: p.Panel, Drill: p.Drill, Quit: p.Quit,
	})
	if err != nil {
		return nil, fmt.Errorf("start the service: %w", err)
	}
	if p.Limits == (Limits{}) {
		p.Limits = LimitsOf(svc.InForce().Timeouts)
	}
	stream, meter := events.New(svc, p.Log), metrics.NewMeter()
	api := rest.New(rest.Options{
		Facade: svc, Events: stream, Metrics: metrics.Handler(meter, svc), Leases: svc, Token: func() string { return p.Token }, Log: p.Log,
		Version: svc.Version,
		Key: func(presented ...string) error {
			_, err := svc.Authorize(control.ScopeManage, presented...)
			return err
		},
		WhileKey: func(ctx context.Context, presented ...string) (context.Context, context.CancelFunc) {
			return svc.WhileAuthorized(ctx, control.ScopeManage, presented...)
		},
	})
	server := New(Options{Service: svc, Upstream: up, API: api, Token: p.Token, Log: p.Log, Limits: p.Limits, Meter: meter, PaceGC: p.PaceGC, GiveBack: p.GiveBack}) //nolint:contextcheck // it outlives the start
	// Event streams have no end of their own to wait for.
	server.http.RegisterOnShutdown(stream.Close)
	return &Product{Service: svc, Server: server, events: stream, up: up}, nil
}

// Close ends the event streams and the service.
func (p *Product) Close() {
	p.events.Close()
	p.Server.Close()
	p.Service.Close()
	p.up.Close()
}
