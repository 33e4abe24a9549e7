package cases

import (
	"strings"
	"testing"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// A combo's target is asked again by its lane before the combo goes on to the
// next one.
func TestClaudeLaneInCombos(t *testing.T) {
	team := func(t *testing.T, more ...func(*control.ConnectionInput)) (*scenario.Kit, *simulator.Account, *simulator.Account) {
		k := scenario.StartFast(t, 1)
		c, a := subscribed(k, "alpha", walled, append(more, own)...)
		d := k.Add("beta", "demo")
		in := control.ComboInput{Name: "team", Steps: []control.ComboStep{
			{Model: "claude/claude-x", Connection: c.ID}, {Model: "demo/m-beta", Connection: d.ID},
		}}
		if _, err := k.Facade().AddCombo(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		return k, a, k.Sim.Account("beta")
	}
	body := strings.Replace(scenario.Messages, `"m1"`, `"team"`, 1)
	t.Run("X9 the lane on", func(t *testing.T) {
		k, a, b := team(t, lowPriority)
		if got := k.Post("/v1/messages", body, "Authorization", "Bearer "+oat); got.Status != 200 || got.From() != "alpha" {
			t.Errorf("got %d from %s: %s", got.Status, got.From(), got.Body)
		}
		wantStory(t, a, "the wall", "slow lane: served")
		if n := len(b.Requests()); n != 0 {
			t.Errorf("beta was asked %d times", n)
		}
		untouched(t, k, "alpha")
	})
	t.Run("X9 the lane off", func(t *testing.T) {
		k, a, _ := team(t)
		if got := k.Post("/v1/messages", body, "Authorization", "Bearer "+oat); got.Status != 200 || got.From() != "beta" {
			t.Errorf("got %d from %s: %s", got.Status, got.From(), got.Body)
		}
		wantStory(t, a, "the wall")
	})
}

// A reset-aware combo with a TTL has the windows asked for behind the request
// that finds them unknown; the answer's own headers then are young enough.
func TestResetAwareCombosAskForUsage(t *testing.T) {
	k := scenario.StartFast(t, 1)
	c, a := subscribed(k, "alpha", simulator.Subscription{Free: 100}, pasted)
	in := control.ComboInput{
		Name: "team", Strategy: "reset-aware", Config: map[string]any{"resetAwareQuotaCacheTtlMs": 300_000.0},
		Steps: []control.ComboStep{{Model: "claude/claude-x", Connection: c.ID}, {Model: "claude/claude-y", Connection: c.ID}},
	}
	if _, err := k.Facade().AddCombo(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := k.Post("/v1/messages", strings.Replace(scenario.Messages, `"m1"`, `"team"`, 1)); got.Status != 200 || got.From() != "alpha" {
			t.Fatalf("got %d from %s: %s", got.Status, got.From(), got.Body)
		}
	}
	seen, err := a.Await(t.Context(), func(rs []simulator.Request) bool { return len(rs) == 3 })
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, r := range seen {
		if r.Answer == "usage" {
			n++
			if r.Header.Get("Authorization") != "Bearer sk-ant-oat01-pasted" {
				t.Errorf("asked with %v", r.Header)
			}
		}
	}
	if n != 1 {
		t.Errorf("the windows were asked for %d times", n)
	}
}
