package cases

import (
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// Ruling 66: a wait that a provider states sets a cooldown and a pause of the
// queue; what puts the connection back into routing lifts both.
func TestAStatedWaitIsLiftedWhole(t *testing.T) {
	text := func(s string) simulator.Step {
		return simulator.Status(429).WithBody("application/json", `{"error":{"message":"`+s+`","type":"rate_limit_error"}}`)
	}
	refusals := map[string]simulator.Step{
		"in words":        text("Rate limit reached. Please try again in 20 minutes."),
		"in other words":  text("Too many requests, retry after 1200 seconds"),
		"in a header":     simulator.Status(429).WithHeader("Retry-After", "1200"),
		"in both":         text("Please try again in 20m").WithHeader("Retry-After", "1200"),
		"with no time":    text("slow down"),
		"as a stated cap": text("Limit: 2 requests per minute"),
	}
	events := map[string]func(k *scenario.Kit, id string) error{
		"clear": func(k *scenario.Kit, id string) error { return k.Facade().ClearCooldown(t.Context(), id) },
		"new key": func(k *scenario.Kit, id string) error {
			_, err := k.Facade().EditConnection(t.Context(), id, control.ConnectionPatch{APIKey: new("another-key")})
			return err
		},
		"never cool": func(k *scenario.Kit, id string) error {
			_, err := k.Facade().EditConnection(t.Context(), id, control.ConnectionPatch{DisableCooling: new(true)})
			return err
		},
	}
	for said, refusal := range refusals {
		for event, happen := range events {
			if said == "as a stated cap" && event == "never cool" {
				continue // the spacing is a learned limit, which that switch leaves
			}
			t.Run("ruling 66 "+said+", "+event, func(t *testing.T) {
				k := scenario.Start(t)
				c := k.Add("alpha", "demo")
				k.Sim.Account("alpha").Script(refusal)
				if a := k.Post("/v1/messages", scenario.Messages); a.Status != 429 {
					t.Fatalf("%d: %s", a.Status, a.Body)
				}
				if s := k.Connection("alpha"); s.State == control.StateServing && event != "never cool" && said != "as a stated cap" {
					t.Errorf("before, alpha is %s", s.State)
				}
				if err := happen(k, c.ID); err != nil {
					t.Fatal(err)
				}
				if s := k.Connection("alpha"); s.State != control.StateServing {
					t.Errorf("afterwards alpha is %s: %+v", s.State, s.Waits)
				}
				began := time.Now()
				if a := k.Post("/v1/messages", scenario.Messages); a.Status != 200 || time.Since(began) > 10*time.Second {
					t.Errorf("afterwards: %d after %s: %s", a.Status, time.Since(began), a.Body)
				}
			})
		}
	}
}
