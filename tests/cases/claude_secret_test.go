package cases

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// The login of a client that is forwarded is nowhere but at its own provider:
// not in the database, the log, an event, an answer of the API or an export,
// and not at another host, whatever happens (ruling 34). Neither are the tokens
// of a stored login.
func TestForwardedLoginStaysWithItsProvider(t *testing.T) {
	k := scenario.StartFast(t, 1)
	c := &canaries{secrets: map[string]string{
		"the client's login": "sk-ant-oat" + rand.Text(), "the stored access token": "sk-ant-oat" + rand.Text(),
		"the refresh token": "refresh" + rand.Text(),
	}}
	bearer := c.secrets["the client's login"]
	conn, a := subscribed(k, "alpha", simulator.Subscription{Offer: "treatment", Reset: true}, own, lowPriority, autoReset)
	b, evil := k.Sim.Account("beta"), k.Sim.Account("evil")
	k.Add("beta", "demo")
	k.Add("stored", "claude", func(in *control.ConnectionInput) {
		in.Credential, in.APIKey, in.RefreshToken = "oauth", c.secrets["the stored access token"], c.secrets["the refresh token"]
	})
	events := recorder(t, k)
	echo := simulator.Error{Message: "Invalid bearer token " + bearer}
	away := simulator.Status(307).WithHeader("Location", evil.BaseURL()+"/messages")
	for _, st := range []simulator.Step{
		simulator.OK(), simulator.Status(400).WithError(echo), simulator.Status(401).WithError(echo), simulator.Status(429).WithError(echo),
		simulator.Status(500).WithError(echo), simulator.Status(302).WithHeader("Location", evil.BaseURL()+"/messages"), away,
		away.WithHeader("Location", "//"+strings.TrimPrefix(k.Sim.BaseURL(), "http://")+"/a/evil/v1/messages"), simulator.Reset(),
	} {
		if err := k.Facade().ClearCooldown(t.Context(), conn.ID); err != nil {
			t.Fatal(err)
		}
		a.Script(st)
		got := k.Post("/v1/messages", scenario.Messages, "Authorization", "Bearer "+bearer)
		c.look(t, "the answer to "+st.String(), got.Body)
	}
	// The lane, the reset and the windows, with side calls that are led astray.
	k.Post("/v1/messages", scenario.Messages, "Authorization", "Bearer "+bearer)
	if err := k.Facade().CheckLimitReset(t.Context(), conn.ID); err != nil {
		t.Fatal(err)
	}
	a.Subscribe(&simulator.Subscription{}).Script(away.For(simulator.When{Route: simulator.RouteOther}).Always())
	k.Post("/v1/messages", scenario.Messages, "Authorization", "Bearer "+bearer)

	for _, path := range []string{"/api/state", "/api/providers", "/api/activity?limit=100", "/api/export", "/api/settings", "/api/providers/" + conn.ID + "/usage"} {
		got := k.Do(http.MethodGet, path, "", "Authorization", "Bearer "+k.Token)
		c.look(t, path, got.Body)
	}
	sealed, err := k.Facade().Export(t.Context(), "a long passphrase")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(sealed)
	if err != nil {
		t.Fatal(err)
	}
	c.look(t, "a sealed export", string(raw))
	if err := k.Store.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	files(t, k, c)
	c.look(t, "the event stream", events())
	k.Restart()
	files(t, k, c)
	c.look(t, "the log", k.Log.String())

	if n := len(evil.Requests()); n != 0 {
		t.Errorf("the other host was asked %d times", n)
	}
	if len(b.Requests()) == 0 {
		t.Error("nothing failed over")
	}
	for _, r := range b.Requests() {
		h, err := json.Marshal(r.Header)
		if err != nil {
			t.Fatal(err)
		}
		c.look(t, "a request to another connection", string(h)+string(r.Body))
	}
	for _, r := range a.Requests() {
		if got := r.Header.Get("Authorization"); got != "Bearer "+bearer {
			t.Errorf("%s came with %q", r.Path, got)
		}
	}
}

// Codex logins are forwarded in the same way, and only to their own host.
func TestForwardedCodexLogin(t *testing.T) {
	const login = "eyJhbGciOiJSUzI1NiJ9.a-login.of-codex"
	k := scenario.StartFast(t, 1)
	a, b := k.Sim.Account("alpha"), k.Sim.Account("beta")
	k.Add("alpha", "codex", func(in *control.ConnectionInput) { in.Credential, in.APIKey = "passthrough", "" })
	k.Add("beta", "demo")
	a.Script(simulator.OK(), simulator.Status(500))
	for range 2 {
		k.Post("/v1/responses", scenario.Responses, "Authorization", "Bearer "+login, "Session-Id", "s", "X-Codex-Window-Id", "w")
	}
	for _, r := range a.Requests() {
		if r.Header.Get("Authorization") != "Bearer "+login || r.Header.Get("X-Codex-Window-Id") != "w" || r.Header.Get("Session-Id") != "s" {
			t.Errorf("sent %v", r.Header)
		}
	}
	if rs := b.Requests(); len(rs) != 1 || strings.Contains(rs[0].Header.Get("Authorization"), login) {
		t.Errorf("beta was asked %d times", len(rs))
	}
	_, err := k.Facade().AddConnection(t.Context(), control.ConnectionInput{
		Provider: "codex", Name: "elsewhere", Credential: "passthrough", BaseURL: "https://gateway.example.com/v1",
	})
	if err == nil || !strings.Contains(err.Error(), "own host") {
		t.Errorf("another host was taken: %v", err)
	}
}

// What Claude Code sends reaches the provider unchanged.
func TestClaudeCodeHeadersPassUnchanged(t *testing.T) {
	k := scenario.StartFast(t, 1)
	_, a := subscribed(k, "alpha", free, own)
	sent := map[string]string{
		"Authorization": "Bearer " + oat, "Anthropic-Beta": "claude-code-20250219,oauth-2025-04-20,fine-grained-tool-streaming-2025-05-14",
		"Anthropic-Version": "2023-06-01", "X-Claude-Code-Session-Id": "5f3c", "X-Claude-Code-Agent-Id": "a1",
		"X-Claude-Code-Parent-Agent-Id": "a0", "X-App": "cli", "User-Agent": "claude-cli/2.1.332 (external, sdk-cli)",
		"X-Stainless-Lang": "js", "X-Stainless-Timeout": "600", "Anthropic-Dangerous-Direct-Browser-Access": "true", "Anthropic-Something-New": "1",
	}
	var pairs []string
	for name, value := range sent {
		pairs = append(pairs, name, value)
	}
	k.Post("/v1/messages?beta=true", scenario.Messages, pairs...)
	r := a.Requests()[0]
	for name, value := range sent {
		if got := r.Header.Values(name); len(got) != 1 || got[0] != value {
			t.Errorf("%s arrived as %q", name, got)
		}
	}
	if r.Query != "beta=true" || string(r.Body) != scenario.Messages || r.Header.Get("X-Api-Key") != "" {
		t.Errorf("arrived as ?%s %s", r.Query, r.Body)
	}
}
