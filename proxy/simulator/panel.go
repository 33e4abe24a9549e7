package simulator

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"breakwater/proxy/control"
	"breakwater/resilience/clock"
)

// demoConnections are the two simulated connections that the demo begins with,
// in routing order: the first one is there to fail.
var demoConnections = []struct{ name, provider, account string }{
	{"Harbour A", "demo", "harbour-a"},
	{"Harbour B", "demo-oauth", "harbour-b"},
}

// Panel is the demo's fault panel: it breaks the simulated connections and
// moves the demo's clock.
type Panel struct {
	srv   *Server
	clock *clock.Fast

	mu    sync.Mutex
	bound []binding
}

type binding struct{ connection, account string }

// NewPanel returns the panel of a simulator whose product runs on the clock.
func NewPanel(srv *Server, c *clock.Fast) *Panel { return &Panel{srv: srv, clock: c} }

// Seed makes sure that the demo's connections exist and point at the running
// simulator, whose port is another one at every start.
func (p *Panel) Seed(ctx context.Context, f control.Facade) error {
	snap, err := f.Snapshot(ctx)
	if err != nil {
		return err
	}
	for _, d := range demoConnections {
		account := p.srv.Account(d.account)
		url := account.BaseURL()
		i := slices.IndexFunc(snap.Connections, func(c control.Connection) bool { return c.Provider == d.provider })
		var c control.Connection
		if i >= 0 {
			key := account.Key() // another port is another place, for which the key is given again
			c, err = f.EditConnection(ctx, snap.Connections[i].ID, control.ConnectionPatch{BaseURL: &url, APIKey: &key})
		} else {
			c, err = f.AddConnection(ctx, control.ConnectionInput{
				Provider: d.provider, Name: d.name, APIKey: account.Key(), BaseURL: url,
			})
		}
		if err != nil {
			return fmt.Errorf("demo connection %s: %w", d.name, err)
		}
		p.mu.Lock()
		p.bound = append(p.bound, binding{c.ID, d.account})
		p.mu.Unlock()
	}
	return nil
}

// Demo returns the panel's present state.
func (p *Panel) Demo() control.Demo {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := control.Demo{Faults: []control.Fault{}, Kinds: slices.Clone(FaultKinds), Speed: p.clock.Speed()}
	for _, b := range p.bound {
		f := p.srv.Account(b.account).CurrentFault()
		if f.Kind == "" {
			f.Kind = FaultNone
		}
		d.Faults = append(d.Faults, control.Fault{
			ConnectionID: b.connection, Kind: f.Kind, RetryAfterSeconds: f.RetryAfterSeconds, Count: f.Count,
		})
	}
	return d
}

// maxSpeed bounds the demo's clock.
const maxSpeed = 1000

// Apply changes faults and clock; an error leaves everything as it was.
func (p *Panel) Apply(patch control.DemoPatch) (control.Demo, error) {
	if patch.Speed != nil && (*patch.Speed < 1 || *patch.Speed > maxSpeed) {
		return control.Demo{}, control.Invalid("speed", "1 to %d", maxSpeed)
	}
	if patch.AdvanceMs < 0 || patch.AdvanceMs > int64(30*24*time.Hour/time.Millisecond) {
		return control.Demo{}, control.Invalid("advanceMs", "0 to 30 days")
	}
	for _, f := range patch.Faults {
		if _, ok := p.account(f.ConnectionID); !ok {
			return control.Demo{}, control.Invalid("faults", "%q is no simulated connection", f.ConnectionID)
		}
		if err := (Fault{f.Kind, f.RetryAfterSeconds, f.Count}).Validate(); err != nil {
			return control.Demo{}, control.Invalid("faults", "%v", err)
		}
	}
	for _, f := range patch.Faults {
		a, _ := p.account(f.ConnectionID)
		if err := a.Fault(Fault{f.Kind, f.RetryAfterSeconds, f.Count}); err != nil {
			return control.Demo{}, control.Invalid("faults", "%v", err)
		}
	}
	if patch.Speed != nil {
		p.clock.SetSpeed(*patch.Speed)
	}
	p.clock.Advance(time.Duration(patch.AdvanceMs) * time.Millisecond)
	return p.Demo(), nil
}

func (p *Panel) account(connection string) (*Account, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.bound, func(b binding) bool { return b.connection == connection })
	if i < 0 {
		return nil, false
	}
	return p.srv.Account(p.bound[i].account), true
}
