package cases

import (
	"net/http"
	"strings"
	"testing"

	"breakwater/proxy/control"
	"breakwater/tests/scenario"
)

// A connection whose stored key is gone says so everywhere, and is asked for
// nothing until the key is typed again.
func TestLostKey(t *testing.T) {
	k := scenario.Start(t)
	k.Pair()
	k.LoseKey("alpha")
	auth := []string{"Authorization", "Bearer " + k.Token}
	alpha := k.Connection("alpha")
	if alpha.State != control.StateKeyMissing || alpha.HasSecret || alpha.Until != nil {
		t.Errorf("alpha is %s until %v", alpha.State, alpha.Until)
	}
	snap, err := k.Facade().Snapshot(t.Context())
	if err != nil || snap.Health != control.HealthTrouble {
		t.Errorf("the whole is %s, %v", snap.Health, err)
	}
	t.Run("the test says what is missing", func(t *testing.T) {
		a := k.Do(http.MethodPost, "/api/providers/"+alpha.ID+"/test", "", auth...)
		if a.Status != http.StatusOK || !strings.Contains(a.Body, `"valid":false`) || !strings.Contains(a.Body, "type it again") || !strings.Contains(a.Body, `"key_missing"`) {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
	t.Run("requests pass it over and say why", func(t *testing.T) {
		combo := k.Do(http.MethodPost, "/api/combos", `{"name":"both","models":["alpha/m1","beta/m1"]}`, auth...)
		if combo.Status != http.StatusCreated {
			t.Fatalf("no combo: %d %s", combo.Status, combo.Body)
		}
		for _, model := range []string{"m1", "both"} {
			a := k.Post("/v1/messages", strings.Replace(scenario.Messages, `"m1"`, `"`+model+`"`, 1))
			if a.Status != http.StatusOK || a.From() != "beta" {
				t.Fatalf("%s: got %d from %q: %s", model, a.Status, a.From(), a.Body)
			}
			if s := k.Last().Trace[0]; s.Kind != control.StepSkipped || s.Reason != "key_missing" || s.ConnectionName != "alpha" {
				t.Errorf("%s: the trace begins with %+v", model, s)
			}
		}
		a := k.Post("/v1/messages", strings.Replace(scenario.Messages, `"m1"`, `"alpha/m1"`, 1))
		if a.Status != http.StatusBadRequest || !strings.Contains(a.ErrorMessage(), "The key of alpha is missing") {
			t.Errorf("alone: got %d %s", a.Status, a.Body)
		}
		if n := len(k.Sim.Account("alpha").Requests()); n != 0 {
			t.Errorf("%d requests went out without a key", n)
		}
	})
	t.Run("the rest of it can be edited", func(t *testing.T) {
		a := k.Do(http.MethodPatch, "/api/providers/"+alpha.ID, `{"priority":3}`, auth...)
		if a.Status != http.StatusOK {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
	t.Run("a new key mends it", func(t *testing.T) {
		a := k.Do(http.MethodPatch, "/api/providers/"+alpha.ID, `{"apiKey":"sk-sim-alpha-new"}`, auth...)
		if a.Status != http.StatusOK || k.Connection("alpha").State != control.StateServing {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
}

// A server that needs no key misses none.
func TestNoKeyNeeded(t *testing.T) {
	k := scenario.Start(t)
	k.Add("alpha", "custom", func(in *control.ConnectionInput) { in.APIKey, in.Credential = "", "none" })
	k.Restart()
	if c := k.Connection("alpha"); c.State != control.StateServing {
		t.Errorf("it is %s", c.State)
	}
	if a := k.Post("/v1/messages", scenario.Messages); a.Status != http.StatusOK {
		t.Errorf("got %d %s", a.Status, a.Body)
	}
}
