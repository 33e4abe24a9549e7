package cases

import (
	"slices"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// neverCool is a connection that stays in routing while it fails.
func neverCool(in *control.ConnectionInput) { in.DisableCooling = true }

// The breaker opens after the guide's number of counted failures, refuses
// without asking the upstream, and one probe closes it after the reset time.
func TestBreakerOpensAndOneProbeClosesIt(t *testing.T) {
	for _, tt := range []struct {
		provider        string
		degrades, opens int
		reset           time.Duration
	}{
		{"demo", 7, 12, 30 * time.Second},
		{"demo-oauth", 5, 8, 60 * time.Second},
	} {
		t.Run(tt.provider, func(t *testing.T) {
			k := scenario.Start(t)
			k.Add("alpha", tt.provider, neverCool)
			alpha := k.Sim.Account("alpha")
			alpha.Script(simulator.Status(503).Always())
			events, err := k.Facade().Subscribe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for n := 1; n <= tt.opens; n++ {
				if a := k.Post("/v1/messages", scenario.Messages); a.Status != 502 {
					t.Fatalf("failure %d: got %d %s", n, a.Status, a.Body)
				}
				want := "CLOSED"
				if n >= tt.degrades {
					want = "DEGRADED"
				}
				if n >= tt.opens {
					want = "OPEN"
				}
				if b := k.Breaker(tt.provider); b.State != want || b.FailureCount != n {
					t.Fatalf("after %d failures the breaker is %s with %d", n, b.State, b.FailureCount)
				}
				// A second failure within 5 s is the same one.
				if n == 1 {
					k.Post("/v1/messages", scenario.Messages)
					if b := k.Breaker(tt.provider); b.FailureCount != 1 {
						t.Fatalf("two failures at once counted as %d", b.FailureCount)
					}
				}
				k.Clock.Advance(6 * time.Second)
			}
			k.Clock.Advance(-6 * time.Second)
			asked := len(alpha.Requests())
			a := k.Post("/v1/messages", scenario.Messages)
			if a.Status != 503 || a.Header.Get("X-Omniroute-Provider-Breaker") != "open" || !strings.Contains(a.Body, "provider_circuit_open") {
				t.Errorf("an unknown client got %d %v %s", a.Status, a.Header, a.Body)
			}
			if a := k.Post("/v1/messages", scenario.Messages, claudeCode, "s"); a.Status != 429 || a.Header.Get("Retry-After") == "" {
				t.Errorf("Claude Code got %d %s", a.Status, a.Body)
			}
			if got := len(alpha.Requests()); got != asked {
				t.Errorf("%d requests passed the open breaker", got-asked)
			}
			if c := k.Connection("alpha"); c.State != control.StateOpen || c.Until == nil {
				t.Errorf("alpha is %s until %v", c.State, c.Until)
			}
			k.Clock.Advance(tt.reset)
			if b := k.Breaker(tt.provider); b.State != "HALF_OPEN" {
				t.Errorf("after the reset time the breaker is %s", b.State)
			}
			alpha.Script()
			if a := k.Post("/v1/messages", scenario.Messages); a.Status != 200 {
				t.Errorf("the probe got %d %s", a.Status, a.Body)
			}
			if b := k.Breaker(tt.provider); b.State != "CLOSED" {
				t.Errorf("after the probe the breaker is %s", b.State)
			}
			want := []control.AlertKind{control.AlertBreakerOpen, control.AlertBreakerClosed}
			if got := alerts(events, control.AlertBreakerClosed); !slices.Equal(got, want) {
				t.Errorf("alerts %v, want %v", got, want)
			}
		})
	}
}

// alerts reads the alerts up to the last kind, without those about a single
// request that nobody answered.
func alerts(events <-chan control.Event, last control.AlertKind) []control.AlertKind {
	var got []control.AlertKind
	timeout := time.After(10 * time.Second)
	for {
		select {
		case e := <-events:
			if e.Alert == nil || e.Alert.Kind == control.AlertNothingLeft {
				continue
			}
			got = append(got, e.Alert.Kind)
			if e.Alert.Kind == last {
				return got
			}
		case <-timeout:
			return got
		}
	}
}

// An open breaker survives a restart, and so does its count.
func TestBreakerSurvivesARestart(t *testing.T) {
	k := scenario.Start(t)
	k.Add("alpha", "demo-oauth", neverCool)
	alpha := k.Sim.Account("alpha")
	alpha.Script(simulator.Status(500).Always())
	for range 8 {
		k.Post("/v1/messages", scenario.Messages)
		k.Clock.Advance(6 * time.Second)
	}
	k.Restart()
	if b := k.Breaker("demo-oauth"); b.State != "OPEN" {
		t.Fatalf("after the restart the breaker is %s", b.State)
	}
	asked := len(alpha.Requests())
	if a := k.Post("/v1/messages", scenario.Messages); a.Status != 503 || len(alpha.Requests()) != asked {
		t.Errorf("got %d", a.Status)
	}
	if n, err := k.Facade().ResetBreakers(t.Context()); err != nil || n == 0 {
		t.Fatalf("reset: %d, %v", n, err)
	}
	k.Restart()
	if b := k.Breaker("demo-oauth"); b.State != "CLOSED" {
		t.Errorf("a reset did not survive the restart: %s", b.State)
	}
}

// Case P09: an operator's reset and a new key are ways out of a stated cooldown,
// and they last; what the provider has stated outlasts a connection test (ruling
// 66).
func TestWaysOutOfACooldown(t *testing.T) {
	out := map[string]func(t *testing.T, k *scenario.Kit, id string){
		"case P09 reset": func(t *testing.T, k *scenario.Kit, id string) {
			if err := k.Facade().ClearCooldown(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		},
		"case P09 new key": func(t *testing.T, k *scenario.Kit, id string) {
			if _, err := k.Facade().EditConnection(t.Context(), id, control.ConnectionPatch{APIKey: new("another-key")}); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, leave := range out {
		t.Run(name, func(t *testing.T) {
			k := scenario.Start(t)
			c := k.Add("alpha", "demo")
			alpha := k.Sim.Account("alpha")
			alpha.Script(simulator.Status(429).WithHeader("Retry-After", "561635"))
			k.Post("/v1/messages", scenario.Messages)
			k.Clock.Advance(time.Minute)
			a := k.Post("/v1/messages", scenario.Messages)
			if a.Status != 429 || !strings.Contains(a.ErrorMessage(), "local decision") || len(alpha.Requests()) != 1 {
				t.Fatalf("the local refusal: %d %s", a.Status, a.Body)
			}
			leave(t, k, c.ID)
			k.Restart()
			if a := k.Post("/v1/messages", scenario.Messages); a.Status != 200 {
				t.Errorf("afterwards: %d %s", a.Status, a.Body)
			}
		})
	}
}

// Case P09 as ruling 66 has it: a list of models says nothing about a reset that
// the provider has named.
func TestAStatedResetOutlastsATest(t *testing.T) {
	k := scenario.Start(t)
	c := k.Add("alpha", "demo")
	k.Sim.Account("alpha").Script(simulator.Status(429).WithHeader("Retry-After", "561635"))
	k.Post("/v1/messages", scenario.Messages)
	if res, err := k.Facade().TestConnection(t.Context(), c.ID); err != nil || !res.Valid {
		t.Fatalf("%+v, %v", res, err)
	}
	if s := k.Connection("alpha"); s.State != control.StateCooling {
		t.Errorf("alpha is %s", s.State)
	}
	if a := k.Post("/v1/messages", scenario.Messages); a.Status != 429 || !strings.Contains(a.ErrorMessage(), "local decision") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// A new key lifts a terminal state; a toggle takes effect at the next request
// and survives a restart.
func TestEditsTakeEffectAtOnce(t *testing.T) {
	k := scenario.Start(t)
	alpha, _ := k.Pair()
	id := k.Connection("alpha").ID
	alpha.Script(simulator.Status(401))
	k.Post("/v1/messages", scenario.Messages)
	if c := k.Connection("alpha"); c.State != control.StateExpired {
		t.Fatalf("alpha is %s", c.State)
	}
	key := alpha.Key()
	if _, err := k.Facade().EditConnection(t.Context(), id, control.ConnectionPatch{APIKey: &key}); err != nil {
		t.Fatal(err)
	}
	if a := k.Post("/v1/messages", scenario.Messages); a.From() != "alpha" {
		t.Errorf("with a new key: answered by %q", a.From())
	}
	off := false
	if _, err := k.Facade().EditConnection(t.Context(), id, control.ConnectionPatch{Active: &off}); err != nil {
		t.Fatal(err)
	}
	if a := k.Post("/v1/messages", scenario.Messages); a.From() != "beta" {
		t.Errorf("switched off: answered by %q", a.From())
	}
	k.Restart()
	if a := k.Post("/v1/messages", scenario.Messages); a.From() != "beta" || k.Connection("alpha").State != control.StateOff {
		t.Errorf("after the restart: answered by %q, alpha is %s", a.From(), k.Connection("alpha").State)
	}
}
