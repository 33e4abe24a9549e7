// Package drill plays fault drills: a twin of a combo in memory, with providers
// that fail as they are told to.
package drill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"breakwater/proxy"
	"breakwater/proxy/catalog"
	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/proxy/simulator"
	"breakwater/proxy/upstream"
	"breakwater/resilience/clock"
)

// speed is how much faster the twin's clock runs than the real one, so that a
// wait of a minute takes a third of a second.
const speed = 200

// limits are the twin's waits for its providers, in real time: a stall is given
// up after two minutes of the twin's.
func limits() proxy.Limits {
	l := proxy.DefaultLimits()
	const short = 2 * time.Minute / speed // what is asked is in memory: a sound answer takes a few milliseconds
	l.Headers, l.Readiness, l.ReadinessMax, l.Stall, l.Idle, l.Body = short, short, short, short, short, short
	l.Heartbeat = 0
	return l
}

// drill is one under way.
type drill struct {
	twin    control.Twin
	clock   *clock.Fast
	store   *store
	sim     *simulator.Server
	svc     *control.Service
	handler http.Handler
	report  control.DrillReport
}

// Run plays a drill and reports it. It ends early, with an error, when ctx does.
func Run(ctx context.Context, t control.Twin) (report control.DrillReport, err error) {
	d := &drill{twin: t, clock: clock.NewFast(clock.System{}), sim: simulator.New(simulator.Options{Keep: -1, Default: simulator.OK("All is well.")})}
	d.clock.SetSpeed(speed)
	w := newWire()
	if err := d.sim.Serve(w); err != nil {
		return report, fmt.Errorf("start the drill's providers: %w", err)
	}
	defer func() { _ = d.sim.Close() }() // nobody is left to be told
	for i := range d.twin.Connections {
		d.adapt(&d.twin.Connections[i])
	}
	d.store = newStore(d.twin)
	log := slog.New(slog.DiscardHandler)
	d.svc, err = control.New(ctx, control.Config{
		Store: d.store, Secrets: secrets{}, Log: log, Version: "drill", Endpoint: "http://127.0.0.1", Clock: d.clock, Env: t.Env,
	})
	if err != nil {
		return report, fmt.Errorf("make the twin: %w", err)
	}
	defer d.svc.Close()
	if _, err := d.svc.EditSettings(ctx, control.SettingsPatch{RequireAPIKey: new(false), EgressProbeURL: new("")}); err != nil {
		return report, fmt.Errorf("make the twin: %w", err)
	}
	up := upstream.New(upstream.Options{Dial: w.dial, Proxy: straight})
	defer up.Close()
	server := proxy.New(proxy.Options{Service: d.svc, Upstream: up, Log: log, Limits: limits()}) //nolint:contextcheck // it has a context of its own
	defer server.Close()
	d.handler = server.Handler()
	return d.run(ctx)
}

// adapt points a twin at its simulated provider, with a made-up token in the
// place of a login that is renewed or the client's own.
func (d *drill) adapt(r *control.ConnectionRecord) {
	r.BaseURL = d.sim.Account(r.ID).BaseURL()
	r.TokenURL, r.ProxyURL = "", ""
	if r.Credential == string(catalog.PassthroughCredential) || r.Credential == string(catalog.OAuthCredential) {
		r.Credential = string(catalog.TokenCredential)
	}
}

func (d *drill) run(ctx context.Context) (control.DrillReport, error) {
	d.report = control.DrillReport{
		StartedAt: d.clock.Now().Round(0), Model: d.twin.Model, Requests: []control.DrillRound{}, Connections: []control.DrillConnection{},
	}
	speaks, ok := d.dialect()
	if !ok {
		return d.report, control.Invalid("combo", "none of its targets leads to a connection")
	}
	d.report.Dialect = string(speaks.Traits().Name)
	for n := 1; n <= d.twin.Request.Requests; n++ {
		if n > 1 {
			d.clock.Advance(time.Duration(d.twin.Request.Spacing) * time.Millisecond)
		}
		if err := d.fail(n); err != nil {
			return d.report, err
		}
		if err := d.round(ctx, speaks); err != nil {
			return d.report, err
		}
	}
	return d.report, d.conclude(ctx)
}

// dialect is the one that most of the targets speak, the first of equals.
func (d *drill) dialect() (best dialect.Dialect, ok bool) {
	most := 0
	for _, x := range dialect.All {
		n := 0
		for _, id := range d.twin.Targets {
			if r, ok := d.svc.Route(id); ok && slices.Contains(r.Speaks(), x) {
				n++
			}
		}
		if n > most {
			most, best = n, x
		}
	}
	return best, most > 0
}

// fail sets the faults that the nth request meets.
func (d *drill) fail(n int) error {
	for _, id := range d.twin.Targets {
		now := simulator.Fault{Kind: simulator.FaultNone}
		for _, f := range d.twin.Request.Faults {
			if f.ConnectionID == id && n >= f.From && (f.To == 0 || n <= f.To) {
				now = simulator.Fault{Kind: f.Kind, RetryAfterSeconds: f.RetryAfterSeconds}
			}
		}
		if err := d.sim.Account(id).Fault(now); err != nil {
			return fmt.Errorf("set a fault: %w", err)
		}
	}
	return nil
}

// round sends one request and notes what came of it.
func (d *drill) round(ctx context.Context, speaks dialect.Dialect) error {
	before, err := d.svc.Snapshot(ctx)
	if err != nil {
		return err
	}
	round := control.DrillRound{At: d.clock.Now().Round(0)}
	d.send(ctx, speaks)
	if err := ctx.Err(); err != nil {
		return err
	}
	after, err := d.svc.Snapshot(ctx)
	if err != nil {
		return err
	}
	rows := d.store.take()
	if len(rows) == 0 {
		return errors.New("a request of the drill has no end")
	}
	round.Activity = stretched(rows[len(rows)-1], round.At)
	round.Moves = moves(before, after)
	if round.Activity.Result == "answered" {
		d.report.Answered++
	} else {
		d.report.Failed++
	}
	d.report.Requests = append(d.report.Requests, round)
	return nil
}

// send sends a small streaming request, as an unknown client would.
func (d *drill) send(ctx context.Context, speaks dialect.Dialect) {
	body := speaks.Ask(dialect.Question{Model: d.twin.Model, Words: "Say that all is well.", Stream: true})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/v1"+speaks.Traits().Routes[0].Path, bytes.NewReader(body))
	if err != nil {
		return // the address is a constant
	}
	req.RemoteAddr = "127.0.0.1:1"
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "breakwater-drill")
	if v := speaks.Traits().Version; v.Name != "" {
		req.Header.Set(v.Name, v.Value())
	}
	defer func() {
		if v := recover(); v != nil && v != http.ErrAbortHandler { //nolint:errorlint // it is that very value
			panic(v)
		} // a cut answer is one of the things a drill shows
	}()
	d.handler.ServeHTTP(&reader{header: http.Header{}}, req)
}

// conclude notes how the twins are at the end.
func (d *drill) conclude(ctx context.Context) error {
	end, err := d.svc.Snapshot(ctx)
	if err != nil {
		return err
	}
	for _, id := range d.twin.Targets {
		for _, c := range end.Connections {
			if c.ID == id {
				d.report.Connections = append(d.report.Connections, control.DrillConnection{
					ID: id, Name: c.Name, Provider: c.Provider, State: c.State, Until: c.Until, Served: c.Served, Failed: c.Failed,
				})
			}
		}
	}
	return nil
}
