package scenario

import (
	"context"
	"errors"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/resilience/clock"
)

// The demo's panel seeds its connections once, breaks them by name, and moves
// the clock; what is wrong changes nothing.
func TestDemoPanel(t *testing.T) {
	k := Start(t)
	ctx := context.Background()
	base := clock.NewFake(T0)
	fast := clock.NewFast(base)
	p := simulator.NewPanel(k.Sim, fast)
	for range 2 { // a second start finds what the first has made
		if err := p.Seed(ctx, k.Facade()); err != nil {
			t.Fatal(err)
		}
	}
	snap, err := k.Facade().Snapshot(ctx)
	if err != nil || len(snap.Connections) != 2 {
		t.Fatalf("%d connections, %v", len(snap.Connections), err)
	}
	a, b := snap.Connections[0], snap.Connections[1]
	if a.Provider == b.Provider {
		t.Error("both connections share a breaker: its opening would leave nobody to answer")
	}
	speed := 10.0
	d, err := p.Apply(control.DemoPatch{
		Faults: []control.Fault{{ConnectionID: a.ID, Kind: "rate_limit", RetryAfterSeconds: 60, Count: 1}}, Speed: &speed, AdvanceMs: 6000,
	})
	if err != nil || d.Speed != 10 || d.Faults[0].Kind != "rate_limit" || d.Faults[1].Kind != "none" {
		t.Fatalf("%+v, %v", d, err)
	}
	if got := fast.Now().Sub(T0); got != 6*time.Second {
		t.Errorf("the clock moved by %v", got)
	}
	base.Advance(time.Second)
	if got := fast.Now().Sub(T0); got != 16*time.Second {
		t.Errorf("after one more second the clock shows %v", got)
	}
	if got := fast.Real(T0.Add(26 * time.Second)).Sub(T0); got != 2*time.Second {
		t.Errorf("26 s of the demo come at %v of the real clock", got)
	}
	if ans := k.Post("/v1/messages", Messages); ans.Status != 200 || k.Last().ConnectionName != b.Name {
		t.Errorf("got %d by %s", ans.Status, k.Last().ConnectionName)
	}
	if got := p.Demo().Faults[0].Kind; got != "none" {
		t.Errorf("a fault for one request is still %s", got)
	}
	zero := 0.0
	for name, bad := range map[string]control.DemoPatch{
		"unknown connection": {Faults: []control.Fault{{ConnectionID: "x", Kind: "none"}}, AdvanceMs: 1000},
		"unknown fault":      {Faults: []control.Fault{{ConnectionID: a.ID, Kind: "earthquake"}}, AdvanceMs: 1000},
		"a clock that stops": {Speed: &zero},
		"a clock run back":   {AdvanceMs: -1},
	} {
		before := fast.Now()
		var invalid *control.InvalidError
		if _, err := p.Apply(bad); !errors.As(err, &invalid) || !fast.Now().Equal(before) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
