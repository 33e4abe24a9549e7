package cases

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// tokenEndpoint is every call of an account's token endpoint.
var tokenEndpoint = simulator.When{Route: simulator.RouteOther}

// threeLogins are connections with a stored login each, all refreshed at the
// token endpoint of alpha, which turns everybody away.
func threeLogins(t *testing.T, patch string) (*scenario.Kit, *simulator.Account) {
	t.Helper()
	k := scenario.StartFast(t, 60)
	if _, err := k.Facade().EditResilience(t.Context(), json.RawMessage(patch)); err != nil {
		t.Fatal(err)
	}
	_, alpha := subscribed(k, "alpha", free, loggedIn(k, "", simulator.FirstRefreshToken))
	for _, name := range []string{"beta", "gamma"} {
		subscribed(k, name, free, loggedIn(k, "", simulator.FirstRefreshToken))
	}
	alpha.Script(simulator.Status(429).For(tokenEndpoint).Always())
	return k, alpha
}

// refreshes is how often the account's token endpoint was asked.
func refreshes(a *simulator.Account) (n int) {
	for _, r := range a.Requests() {
		if strings.HasSuffix(r.Path, "/oauth/token") {
			n++
		}
	}
	return n
}

// wantShut looks at how often the token endpoint was asked, and whether the
// breaker of the last connection is open after so many failures.
func wantShut(t *testing.T, k *scenario.Kit, alpha *simulator.Account, asked, failures int) {
	t.Helper()
	if n := refreshes(alpha); n != asked {
		t.Errorf("the endpoint was asked %d times, want %d", n, asked)
	}
	if r := k.Connection("gamma").LoginRefresh; r == nil || r.State != "OPEN" || int(r.Failures) != failures {
		t.Errorf("gamma shows %+v", r)
	}
}

// Claude sheet §3.5: the breaker around the refresh, tokenRefreshBreaker.
func TestRefreshGuard(t *testing.T) {
	t.Run("scope provider: after two failures nobody's login is refreshed", func(t *testing.T) {
		k, alpha := threeLogins(t, `{"tokenRefreshBreaker":{"failureThreshold":2,"cooldownMs":86400000}}`)
		got := k.Post("/v1/messages", scenario.Messages)
		if got.Status != 502 || !strings.Contains(got.Body, "login_not_refreshed") {
			t.Errorf("got %d %s", got.Status, got.Body)
		}
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { k.Do("POST", "/v1/messages", scenario.Messages) })
		}
		all.Wait()
		if n := refreshes(alpha); n != 2 {
			t.Errorf("the endpoint was asked %d times, want 2", n)
		}
		for _, name := range []string{"alpha", "beta", "gamma"} {
			c := k.Connection(name)
			if r := c.LoginRefresh; r == nil || r.State != "OPEN" || r.Failures != 2 || r.FailureThreshold != 2 || r.Until == nil {
				t.Errorf("%s shows %+v", name, r)
			}
			if c.State != control.StateServing {
				t.Errorf("%s is %s: nothing is learned of the connection", name, c.State)
			}
		}
		if !strings.Contains(k.Log.String(), "logins are not refreshed for a while") {
			t.Error("nobody was warned")
		}
	})
	t.Run("scope connection: each has its own", func(t *testing.T) {
		k, alpha := threeLogins(t, `{"tokenRefreshBreaker":{"scope":"connection","failureThreshold":1,"cooldownMs":86400000}}`)
		k.Post("/v1/messages", scenario.Messages)
		k.Post("/v1/messages", scenario.Messages)
		wantShut(t, k, alpha, 3, 1) // once a connection
	})
	t.Run("at the end of the cooldown one refresh tries, and its failure shuts it again", func(t *testing.T) {
		k, alpha := threeLogins(t, `{"tokenRefreshBreaker":{"failureThreshold":2,"cooldownMs":60000}}`)
		k.Post("/v1/messages", scenario.Messages)
		k.Until("the cooldown is over", func() bool { return k.Connection("gamma").LoginRefresh.State == "HALF_OPEN" })
		k.Post("/v1/messages", scenario.Messages)
		wantShut(t, k, alpha, 3, 3) // two, and one
	})
	t.Run("a person's test tries at once, and its success lets everybody through", func(t *testing.T) {
		k, alpha := threeLogins(t, `{"tokenRefreshBreaker":{"failureThreshold":2,"cooldownMs":86400000}}`)
		k.Post("/v1/messages", scenario.Messages)
		alpha.Script()
		if res, err := k.Facade().TestConnection(context.Background(), k.Connection("gamma").ID); err != nil || res.Diagnosis.Type == "token_expired" {
			t.Errorf("the test says %+v, %v", res, err)
		}
		for _, name := range []string{"beta", "gamma"} {
			if r := k.Connection(name).LoginRefresh; r != nil && r.State != "CLOSED" {
				t.Errorf("%s shows %+v", name, r)
			}
		}
		if got := k.Post("/v1/messages", scenario.Messages); got.Status != 200 {
			t.Errorf("got %d %s", got.Status, got.Body)
		}
	})
	t.Run("a login that is refused says nothing of the others", func(t *testing.T) {
		k, alpha := threeLogins(t, `{"tokenRefreshBreaker":{"failureThreshold":1}}`)
		alpha.Script(simulator.Status(400).WithBody("application/json", `{"error":"invalid_grant"}`).For(tokenEndpoint))
		if got := k.Post("/v1/messages", scenario.Messages); got.Status != 200 || refreshes(alpha) != 2 {
			t.Errorf("got %d %s after %d refreshes", got.Status, got.Body, refreshes(alpha))
		}
	})
	t.Run("resetting the breakers closes it", func(t *testing.T) {
		k, _ := threeLogins(t, `{"tokenRefreshBreaker":{"failureThreshold":2}}`)
		k.Post("/v1/messages", scenario.Messages)
		if _, err := k.Facade().ResetBreakers(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := k.Connection("gamma").LoginRefresh; r != nil {
			t.Errorf("gamma shows %+v", r)
		}
	})
	t.Run("so does resetting that of its provider, and of no other", func(t *testing.T) {
		k, _ := threeLogins(t, `{"tokenRefreshBreaker":{"failureThreshold":2}}`)
		k.Post("/v1/messages", scenario.Messages)
		for _, provider := range []string{"openai", k.Connection("gamma").Provider} {
			if _, err := k.Facade().ResetBreaker(t.Context(), provider); err != nil {
				t.Fatal(err)
			}
			if r := k.Connection("gamma").LoginRefresh; (r != nil) != (provider == "openai") {
				t.Errorf("after that of %s gamma shows %+v", provider, r)
			}
		}
	})
}
