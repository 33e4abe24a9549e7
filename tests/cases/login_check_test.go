package cases

import (
	"encoding/json"
	"testing"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// Settings sheet §1, credentialHealthCheck: stored logins are looked at in the
// background, with the connection's own test and nothing else.
func TestLoginCheck(t *testing.T) {
	start := func(t *testing.T, refresh string) (*scenario.Kit, *simulator.Account) {
		k := scenario.StartFast(t, 60)
		if _, err := k.Facade().EditResilience(t.Context(), json.RawMessage(`{"credentialHealthCheck":{"intervalMinutes":1}}`)); err != nil {
			t.Fatal(err)
		}
		_, a := subscribed(k, "alpha", free, loggedIn(k, "", refresh))
		return k, a
	}
	t.Run("an expired login is known before a request meets it", func(t *testing.T) {
		k, a := start(t, "refresh-of-yesterday")
		k.Until("alpha is expired", func() bool { return k.Connection("alpha").State == control.StateExpired })
		wantStory(t, a, "refresh refused")
	})
	t.Run("a login that is due is refreshed, and the provider asked as a test does", func(t *testing.T) {
		k, a := start(t, simulator.FirstRefreshToken)
		k.Until("the provider is asked", func() bool { return len(a.Requests()) >= 2 })
		rs := a.Requests()
		if rs[0].Answer != "refreshed" || rs[1].Method != "GET" || rs[1].Path[len(rs[1].Path)-len("/models"):] != "/models" {
			t.Errorf("asked %s, then %s %s", rs[0].Answer, rs[1].Method, rs[1].Path)
		}
		untouched(t, k, "alpha")
	})
	t.Run("keys are left alone", func(t *testing.T) {
		k, _ := start(t, simulator.FirstRefreshToken)
		k.Add("beta", "demo")
		k.Until("alpha is asked twice", func() bool { return len(k.Sim.Account("alpha").Requests()) >= 3 })
		if n := len(k.Sim.Account("beta").Requests()); n != 0 {
			t.Errorf("beta was asked %d times", n)
		}
	})
}
