package cases

import (
	"encoding/json"
	"strings"
	"testing"

	"breakwater/proxy"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// What no wait can mend is told at once, in a status on which the client stops,
// and again at every further request without asking anybody (ruling 71).
func TestWhatOnlyTheUserMendsIsFinal(t *testing.T) {
	claudeCode := []string{"X-Claude-Code-Session-Id", "s-1"}
	codex := []string{"Originator", "codex_exec"}
	key := simulator.Status(401).WithError(simulator.Error{Type: "authentication_error", Message: "invalid x-api-key"})
	credit := simulator.Status(402).WithError(simulator.Error{Message: "payment required"})
	busy := simulator.Status(429).WithError(simulator.Error{Message: "slow down"})
	for _, tt := range []struct {
		name    string
		headers []string
		alpha   simulator.Step
		beta    simulator.Step
		status  int
		words   string
	}{
		{"Claude Code, two keys", claudeCode, key, key, 402, "the keys of alpha and beta were refused (401). Check them in Breakwater."},
		{"Codex, two keys", codex, key, key, 400, "the keys of alpha and beta were refused (401)"},
		{"an unknown client", nil, key, key, 502, "the keys of alpha and beta were refused (401)"},
		{"a key and credit", claudeCode, key, credit, 402, "the key of alpha was refused (401); beta has no credit left"},
		{"one of them only rests", claudeCode, key, busy, 429, "first is back in"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := scenario.StartWith(t, impatient())
			alpha, beta := k.Pair()
			alpha.Script(tt.alpha)
			beta.Script(tt.beta)
			for range 2 {
				a := k.Post("/v1/messages", scenario.Messages, tt.headers...)
				if a.Status != tt.status || !strings.Contains(a.Body, tt.words) {
					t.Fatalf("got %d %s", a.Status, a.Body)
				}
				if final := tt.status != 429; final && (a.Header.Get("Retry-After") != "" || !strings.Contains(a.Body, "user_action_required")) {
					t.Errorf("got %v %s", a.Header, a.Body)
				}
			}
			if n := len(alpha.Requests()); n != 1 {
				t.Errorf("alpha was asked %d times", n)
			}
		})
	}
	t.Run("switched off, the client is told to come back", func(t *testing.T) {
		k := scenario.StartWith(t, impatient())
		if _, err := k.Facade().EditResilience(t.Context(), json.RawMessage(`{"failover":{"finalErrors":false}}`)); err != nil {
			t.Fatal(err)
		}
		alpha, beta := k.Pair()
		alpha.Script(key)
		beta.Script(key)
		k.Post("/v1/messages", scenario.Messages, claudeCode...)
		if a := k.Post("/v1/messages", scenario.Messages, claudeCode...); a.Status != 429 || strings.Contains(a.Body, "user_action_required") {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
	t.Run("a key that was mended serves at once", func(t *testing.T) {
		k := scenario.StartWith(t, impatient())
		alpha, beta := k.Pair()
		alpha.Script(key)
		beta.Script(key)
		k.Post("/v1/messages", scenario.Messages, claudeCode...)
		if err := k.Facade().ClearCooldown(t.Context(), k.Connection("alpha").ID); err != nil {
			t.Fatal(err)
		}
		if _, err := k.Facade().TestConnection(t.Context(), k.Connection("alpha").ID); err != nil {
			t.Fatal(err)
		}
		if a := k.Post("/v1/messages", scenario.Messages, claudeCode...); a.Status != 200 {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
}

// impatient never waits for a connection that rests.
func impatient() proxy.Limits {
	l := proxy.DefaultLimits()
	l.Patience = -1
	return l
}
