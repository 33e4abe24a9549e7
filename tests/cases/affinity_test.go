package cases

import (
	"net/http"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/resilience/affinity"
	"breakwater/tests/scenario"
)

// affine pins sessions for an hour.
func affine(t *testing.T, k *scenario.Kit) {
	t.Helper()
	if _, err := k.Facade().EditGuide(t.Context(), control.GuidePatch{SessionAffinityTTLMs: new(int64(3_600_000))}); err != nil {
		t.Fatal(err)
	}
}

// TestSessionsThroughTheProxy is session affinity seen by a client.
func TestSessionsThroughTheProxy(t *testing.T) {
	turn := func(k *scenario.Kit, session string) string {
		return k.Post("/v1/messages", scenario.Messages, "X-Session-Id", session).From()
	}
	t.Run("case 112 the same connection twice", func(t *testing.T) {
		k := scenario.Start(t)
		k.Pair()
		affine(t, k)
		first := map[string]string{}
		for _, s := range []string{"s1", "s2", "s1", "s2", "s1"} {
			if from := turn(k, s); first[s] == "" {
				first[s] = from
			} else if from != first[s] {
				t.Errorf("%s moved from %s to %s", s, first[s], from)
			}
		}
		if first["s1"] == first["s2"] { // the one used least recently is taken
			t.Errorf("both sessions sit on %s", first["s1"])
		}
	})
	t.Run("case 113 no pin at TTL 0", func(t *testing.T) {
		k := scenario.Start(t)
		k.Pair()
		if turn(k, "s1") != "alpha" || turn(k, "s2") != "alpha" || k.Product.Service.Affinity().Len() != 0 {
			t.Errorf("%d pins", k.Product.Service.Affinity().Len())
		}
	})
	t.Run("case 122 session headers stay here", func(t *testing.T) {
		k := scenario.Start(t)
		alpha, _ := k.Pair()
		affine(t, k)
		k.Post("/v1/messages", scenario.Messages, "X-Session-Id", "a", "X-Codex-Session-Id", "b", "X-Omniroute-Session", "c")
		h := alpha.Requests()[0].Header
		for _, name := range affinity.Own {
			if v := h.Get(name); v != "" {
				t.Errorf("%s: %s went upstream", name, v)
			}
		}
		if _, ok := k.Product.Service.Affinity().Lookup(k.Clock.Now(), time.Hour, "demo", affinity.Key(http.Header{"X-Codex-Session-Id": {"b"}}.Get, affinity.Body{})); !ok {
			t.Error("x-codex-session-id does not win")
		}
	})
	t.Run("P62 a session leaves an exhausted account and its pin follows", func(t *testing.T) {
		k := scenario.Start(t)
		alpha, _ := k.Pair()
		affine(t, k)
		if from := turn(k, "s1"); from != "alpha" {
			t.Fatalf("the session begins on %q", from)
		}
		alpha.Script(simulator.Status(429).WithHeader("Retry-After", "3600"))
		for range 2 {
			if from := turn(k, "s1"); from != "beta" {
				t.Errorf("served by %q", from)
			}
		}
		k.Clock.Advance(61 * time.Minute)
		alpha.Script(simulator.OK().Always())
		if from := turn(k, "s1"); from == "" {
			t.Error("refused")
		}
	})
}

// TestSessionsSurviveARestart keeps pins in the database: a session finds its
// account again after a restart, in spite of what the order says by then.
func TestSessionsSurviveARestart(t *testing.T) {
	k := scenario.Start(t)
	k.Pair()
	affine(t, k)
	alpha, beta := k.Connection("alpha").ID, k.Connection("beta").ID
	both := []affinity.Candidate{{ID: alpha, Priority: 1}, {ID: beta, Priority: 2}}
	choose := func(session string) affinity.Choice {
		s := k.Product.Service
		c := s.Affinity().Select(s.Now(), s.AffinityTTL(), "demo", session, "", both)
		s.Affinity().Pin(s.Now(), s.AffinityTTL(), "demo", session, c.ID)
		return c
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
