package cases

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// loggedIn is a Claude connection with a stored login: these tokens, refreshed
// at the account's own token endpoint.
func loggedIn(k *scenario.Kit, access, refresh string) func(*control.ConnectionInput) {
	return func(in *control.ConnectionInput) {
		in.Provider, in.Credential, in.APIKey, in.RefreshToken = "claude", "oauth", access, refresh
		in.ClientID = "test-client"
		in.TokenURL = strings.TrimSuffix(k.Sim.Account("alpha").BaseURL(), "/v1") + "/v1/oauth/token"
	}
}

// free is a subscription far from its wall.
var free = simulator.Subscription{Free: 1 << 30}

func tokensSent(a *simulator.Account) string {
	var out []string
	for _, r := range a.Requests() {
		if r.Route == simulator.RouteInference {
			out = append(out, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		}
	}
	return strings.Join(out, " ")
}

func count(a *simulator.Account, answer string) (n int) {
	for _, line := range story(a) {
		if line == answer {
			n++
		}
	}
	return n
}

// Table O of the Claude sheet.
func TestStoredLogin(t *testing.T) {
	t.Run("O1 one refresh for everybody", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		_, a := subscribed(k, "alpha", free, loggedIn(k, "", simulator.FirstRefreshToken))
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if got := k.Do(http.MethodPost, "/v1/messages", scenario.Messages); got.Status != 200 {
					t.Errorf("got %d %s", got.Status, got.Body)
				}
			})
		}
		all.Wait()
		if n := count(a, "refreshed"); n != 1 {
			t.Errorf("%d refreshes", n)
		}
		first := a.Requests()[0]
		if got := string(first.Body); got != "client_id=test-client&grant_type=refresh_token&refresh_token="+simulator.FirstRefreshToken {
			t.Errorf("asked with %s", got)
		}
		if kind := first.Header.Get("Content-Type"); kind != "application/x-www-form-urlencoded" || first.Header.Get("Authorization") != "" {
			t.Errorf("asked as %s with %q", kind, first.Header.Get("Authorization"))
		}
		// What was refreshed outlives the program.
		k.Restart()
		k.Post("/v1/messages", scenario.Messages)
		want := simulator.AccessToken("alpha", 1)
		if got := strings.Fields(tokensSent(a)); got[len(got)-1] != want || count(a, "refreshed") != 1 {
			t.Errorf("after a restart it sent %s after %d refreshes", got[len(got)-1], count(a, "refreshed"))
		}
	})
	t.Run("O3 who holds the old token gets the new one without a call", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		c, a := subscribed(k, "alpha", free, loggedIn(k, "sk-ant-oat01-old", simulator.FirstRefreshToken))
		svc := k.Product.Service
		r, _ := svc.Route(c.ID)
		for range 2 {
			got, err := svc.Renew(t.Context(), r, "sk-ant-oat01-old")
			if err != nil || got != simulator.AccessToken("alpha", 1) {
				t.Errorf("got %q, %v", got, err)
			}
		}
		if n := count(a, "refreshed"); n != 1 {
			t.Errorf("%d refreshes", n)
		}
	})
	t.Run("O4 a login beyond refreshing expires, and its refresh token is kept", func(t *testing.T) {
		k := scenario.Start(t)
		_, a := subscribed(k, "alpha", free, loggedIn(k, "sk-ant-oat01-old", "refresh-of-yesterday"))
		a.Script(simulator.Status(401))
		if got := k.Post("/v1/messages", scenario.Messages); got.Status != 502 {
			t.Errorf("got %d %s", got.Status, got.Body)
		}
		wantStory(t, a, "status 401", "refresh refused")
		if c := k.Connection("alpha"); c.State != control.StateExpired || !c.HasSecret {
			t.Errorf("alpha is %s", c.State)
		}
		k.Restart()
		k.Clock.Advance(5 * time.Minute)
		a.Script(simulator.Status(401))
		k.Post("/v1/messages", scenario.Messages)
		wantStory(t, a, "status 401", "refresh refused", "status 401", "refresh refused")
		if n := strings.Count(string(a.Requests()[3].Body), "refresh-of-yesterday"); n != 1 {
			t.Errorf("asked with %s", a.Requests()[3].Body)
		}
	})
	t.Run("O5 a token endpoint that fails is asked three times, and nothing is learned", func(t *testing.T) {
		k := scenario.StartFast(t, 60)
		_, a := subscribed(k, "alpha", free, loggedIn(k, "", simulator.FirstRefreshToken))
		k.Add("beta", "demo")
		a.Script(simulator.Status(503).For(simulator.When{Route: simulator.RouteOther}).Always())
		if got := k.Post("/v1/messages", scenario.Messages); got.From() != "beta" {
			t.Errorf("got %d from %s", got.Status, got.From())
		}
		rs := a.Requests()
		if len(rs) != 3 {
			t.Fatalf("asked %d times", len(rs))
		}
		if d1, d2 := rs[1].At.Sub(rs[0].At), rs[2].At.Sub(rs[1].At); d1 < time.Second || d2 < 2*time.Second {
			t.Errorf("asked again after %s and %s", d1, d2)
		}
		if c := k.Connection("alpha"); c.State != control.StateServing {
			t.Errorf("alpha is %s", c.State)
		}
		// The endpoint rests too.
		k.Post("/v1/messages", scenario.Messages)
		if n := len(a.Requests()); n != 3 {
			t.Errorf("asked %d times", n)
		}
	})
	t.Run("O5 and with nobody else the client hears what it is", func(t *testing.T) {
		k := scenario.StartFast(t, 60)
		_, a := subscribed(k, "alpha", free, loggedIn(k, "", simulator.FirstRefreshToken))
		a.Script(simulator.Status(503).For(simulator.When{Route: simulator.RouteOther}).Repeat(3))
		got := k.Post("/v1/messages", scenario.Messages)
		if got.Status != 502 || got.Header.Get("Retry-After") == "" || !strings.Contains(got.Body, "login_not_refreshed") {
			t.Errorf("got %d %s", got.Status, got.Body)
		}
		// A person's test tries again at once.
		id := k.Connection("alpha").ID
		if err := k.Facade().ClearCooldown(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if got := k.Post("/v1/messages", scenario.Messages); got.Status != 200 {
			t.Errorf("afterwards: %d %s", got.Status, got.Body)
		}
	})
	t.Run("O6 a refused refresh is no harm while the access token lives", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		soon := time.Now().Add(3 * time.Minute).UnixMilli()
		_, a := subscribed(k, "alpha", free, loggedIn(k, `{"accessToken":"sk-ant-oat01-old","refreshToken":"refresh-of-yesterday","expiresAt":`+itoa(int(soon))+`}`, ""))
		if got := k.Post("/v1/messages", scenario.Messages); got.Status != 200 {
			t.Errorf("got %d", got.Status)
		}
		wantStory(t, a, "refresh refused", "at full speed")
		untouched(t, k, "alpha")
		if !strings.Contains(k.Log.String(), "a login was not refreshed") {
			t.Error("nobody was warned")
		}
	})
	t.Run("O7 a token that the provider refuses is refreshed, and the request repeated", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		_, a := subscribed(k, "alpha", free, loggedIn(k, "sk-ant-oat01-old", simulator.FirstRefreshToken))
		a.Script(simulator.Status(401))
		if got := k.Post("/v1/messages", scenario.Messages); got.Status != 200 {
			t.Errorf("got %d", got.Status)
		}
		wantStory(t, a, "status 401", "refreshed", "at full speed")
		if got := tokensSent(a); got != "sk-ant-oat01-old "+simulator.AccessToken("alpha", 1) {
			t.Errorf("sent %s", got)
		}
		untouched(t, k, "alpha")
		if s := steps(k.Last()); s != "lane login_refreshed, answered" {
			t.Errorf("the story is %s", s)
		}
	})
	t.Run("O8 refused twice is no loop", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		_, a := subscribed(k, "alpha", free, loggedIn(k, "sk-ant-oat01-old", simulator.FirstRefreshToken))
		a.Script(simulator.Status(401).Always())
		// Ruling 43: a 401 would log the user out.
		if got := k.Post("/v1/messages", scenario.Messages); got.Status != 502 || !strings.Contains(got.ErrorMessage(), "401") {
			t.Errorf("got %d %s", got.Status, got.Body)
		}
		wantStory(t, a, "status 401", "refreshed", "status 401")
	})
	t.Run("O9 three retries of an expired login, over a restart too", func(t *testing.T) {
		k := scenario.Start(t)
		_, a := subscribed(k, "alpha", free, loggedIn(k, "", "refresh-of-yesterday"))
		k.Post("/v1/messages", scenario.Messages)
		for _, wait := range []time.Duration{5, 10, 20} {
			k.Post("/v1/messages", scenario.Messages) // too early
			k.Clock.Advance(wait * time.Minute)
			k.Post("/v1/messages", scenario.Messages)
			k.Restart()
		}
		k.Clock.Advance(24 * time.Hour)
		k.Post("/v1/messages", scenario.Messages)
		if n := count(a, "refresh refused"); n != 4 {
			t.Errorf("the endpoint was asked %d times, want 1 and 3", n)
		}
		if c := k.Connection("alpha"); c.State != control.StateExpired || c.Until != nil {
			t.Errorf("alpha is %s until %v", c.State, c.Until)
		}
	})
	t.Run("O10 an expired connection whose token works is active again", func(t *testing.T) {
		k := scenario.Start(t)
		_, a := subscribed(k, "alpha", free, loggedIn(k, "sk-ant-oat01-old", "refresh-of-yesterday"))
		a.Script(simulator.Status(401))
		k.Post("/v1/messages", scenario.Messages)
		k.Clock.Advance(5 * time.Minute)
		if got := k.Post("/v1/messages", scenario.Messages); got.Status != 200 {
			t.Errorf("got %d", got.Status)
		}
		wantStory(t, a, "status 401", "refresh refused", "at full speed")
		if c := k.Connection("alpha"); c.State != control.StateServing || c.BackoffLevel != 0 {
			t.Errorf("alpha is %s", c.State)
		}
	})
	t.Run("O11 a login needs its refresh token", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		_, err := k.Facade().AddConnection(t.Context(), control.ConnectionInput{Provider: "claude", Credential: "oauth", APIKey: "sk-ant-oat01-x"})
		if err == nil || !strings.Contains(err.Error(), "missing_refresh_token") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("O12 a client's own login is never refreshed", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		_, a := subscribed(k, "alpha", free, own)
		const body = `{"type":"error","error":{"type":"authentication_error","message":"OAuth token has expired."}}`
		a.Script(simulator.Status(401).WithBody("application/json", body))
		if got := ask(k); got.Status != 401 || got.Body != body {
			t.Errorf("got %d %s", got.Status, got.Body)
		}
		wantStory(t, a, "status 401")
	})
	t.Run("O14 the headers of a call", func(t *testing.T) {
		const betas = "claude-code-20250219,interleaved-thinking-2025-05-14"
		k := scenario.StartFast(t, 1)
		_, a := subscribed(k, "alpha", free, loggedIn(k, "sk-ant-oat01-old", simulator.FirstRefreshToken))
		for _, sent := range []string{betas, betas + ",oauth-2025-04-20"} {
			k.Post("/v1/messages?beta=true", scenario.Messages, "X-Api-Key", "local", "Anthropic-Beta", sent, "Anthropic-Version", "2023-06-01")
		}
		for _, r := range a.Requests() {
			h := r.Header
			if len(h.Values("Authorization")) != 1 || h.Get("X-Api-Key") != "" || len(h.Values("Anthropic-Version")) != 1 ||
				strings.Join(h.Values("Anthropic-Beta"), "|") != betas+",oauth-2025-04-20" || r.Query != "beta=true" {
				t.Errorf("%v", h)
			}
		}
	})
	t.Run("X15 the lane goes on over a refresh", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		_, a := subscribed(k, "alpha", walled, loggedIn(k, "sk-ant-oat01-old", simulator.FirstRefreshToken), lowPriority)
		k.Post("/v1/messages", scenario.Messages)
		a.Script(simulator.Status(401))
		if got := k.Post("/v1/messages", scenario.Messages); got.Status != 200 {
			t.Errorf("got %d", got.Status)
		}
		wantStory(t, a, "the wall", "slow lane: served", "slow status 401", "refreshed", "slow lane: served")
	})
	t.Run("a pasted token is sent as it is, and never refreshed", func(t *testing.T) {
		k := scenario.StartFast(t, 1)
		_, a := subscribed(k, "alpha", walled, pasted, lowPriority)
		k.Post("/v1/messages", scenario.Messages)
		wantStory(t, a, "the wall", "slow lane: served")
		if got := tokensSent(a); got != "sk-ant-oat01-pasted sk-ant-oat01-pasted" {
			t.Errorf("sent %s", got)
		}
	})
}

// The refresh goes on when the first caller leaves.
func TestRefreshSurvivesItsFirstCaller(t *testing.T) {
	k := scenario.StartFast(t, 1)
	c, a := subscribed(k, "alpha", free, loggedIn(k, "", simulator.FirstRefreshToken))
	release := make(chan struct{})
	a.Script(simulator.Status(200).WithBody("application/json", `{"access_token":"sk-ant-oat01-held","refresh_token":"r","expires_in":3600}`).
		HoldAfter(simulator.BeforeHeaders, release).For(simulator.When{Route: simulator.RouteOther}))
	conn := k.Dial()
	if _, err := conn.Write([]byte("POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: " +
		itoa(len(scenario.Messages)) + "\r\n\r\n" + scenario.Messages)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Await(t.Context(), func(rs []simulator.Request) bool { return len(rs) == 1 }); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	k.Until("the caller is gone", func() bool { return k.Connection("alpha").InFlight == 0 })
	close(release)
	svc := k.Product.Service
	r, _ := svc.Route(c.ID)
	if got, err := svc.Bearer(t.Context(), r); err != nil || got != "sk-ant-oat01-held" {
		t.Errorf("got %q, %v", got, err)
	}
	if n := len(a.Requests()); n != 1 {
		t.Errorf("%d calls", n)
	}
}
