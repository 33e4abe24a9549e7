package cases

import (
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/resilience/affinity"
	"breakwater/tests/scenario"
)

// TestSessionsSurviveARestart keeps pins in the database: a session finds its
// account again after a restart, in spite of what the order says by then.
func TestSessionsSurviveARestart(t *testing.T) {
	k := scenario.Start(t)
	k.Pair()
	if _, err := k.Facade().EditGuide(t.Context(), control.GuidePatch{SessionAffinityTTLMs: new(int64(3_600_000))}); err != nil {
		t.Fatal(err)
	}
	alpha, beta := k.Connection("alpha").ID, k.Connection("beta").ID
	both := []affinity.Candidate{{ID: alpha, Priority: 1}, {ID: beta, Priority: 2}}
	choose := func(session string) affinity.Choice {
		s := k.Product.Service
		return s.Affinity().Select(s.Now(), s.AffinityTTL(), "demo", session, "", both)
	}
	if c := choose("one"); c.ID != alpha || c.Pinned {
		t.Fatalf("%+v", c)
	}
	if c := choose("two"); c.ID != beta {
		t.Fatalf("%+v", c)
	}
	k.Restart()
	if ttl := k.Product.Service.AffinityTTL(); ttl != time.Hour {
		t.Fatalf("TTL %s", ttl)
	}
	k.Clock.Advance(59 * time.Minute)
	if c := choose("two"); c.ID != beta || !c.Pinned {
		t.Errorf("after a restart: %+v", c)
	}
	k.Clock.Advance(59 * time.Minute)
	k.Restart() // the use before it counts, the pin of "one" has expired
	if n := k.Product.Service.Affinity().Len(); n != 1 {
		t.Errorf("%d pins", n)
	}
	if c := choose("two"); c.ID != beta || !c.Pinned {
		t.Errorf("after use: %+v", c)
	}
	if err := k.Facade().DeleteConnection(t.Context(), beta); err != nil {
		t.Fatal(err)
	}
	k.Restart()
	if pins, err := k.Store.Pins(t.Context()); err != nil || len(pins) != 0 {
		t.Errorf("pins to a removed connection stay: %+v, %v", pins, err)
	}
}
