package classify

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

func TestTerminalStates(t *testing.T) {
	for _, c := range []struct {
		name     string
		got      outcome.Outcome
		terminal outcome.Terminal
	}{
		{"401 of a key", cfe(401, "", 0, "acme"), outcome.Expired},
		{"401 of an account", cfe(401, "", 0, "codex"), outcome.Expired},
		{"401 of a web session", cfe(401, "", 0, "perplexity-web", auth(AuthCookie)), outcome.NotTerminal},
		{"401 about the token itself", cfe(401, "Invalid authentication credentials provided", 0, "openai"), outcome.NotTerminal},
		{"401 about a model", cfe(401, "Model X is not supported", 0, "codex"), outcome.NotTerminal},
		{"401 of a closed account (ruling 12)", cfe(401, "account_deactivated", 0, "openai"), outcome.Banned},
		{"401 with a phrase of the user's own", cfe(401, "Error: API key REVOKED today", 0, "openai", with(func(o *Options) { o.BannedSignals = []string{" ", "api key revoked"} })), outcome.Banned},
		{"401 without it", cfe(401, "Error: API key revoked today", 0, "openai"), outcome.Expired},
		{"a phrase too long to be one", cfe(401, strings.Repeat("x", 201), 0, "openai", with(func(o *Options) { o.BannedSignals = []string{strings.Repeat("x", 201)} })), outcome.Expired},
		{"402", cfe(402, "", 0, "acme"), outcome.CreditsExhausted},
		{"402 where models count", cfe(402, "", 0, "gemini", perModel, model("m")), outcome.NotTerminal},
		{"money out where models count", cfe(429, "out of credits", 0, "gemini", perModel, model("m")), outcome.CreditsExhausted},
		{"money out at the user's own endpoint", cfe(402, "out of credits", 0, "custom", model("m")), outcome.NotTerminal},
		{"quota of a key in loose words", cfe(429, "credit_balance_too_low", 0, "openai"), outcome.NotTerminal},
		{"403 of an account (ruling 62)", cfe(403, "", 0, "codex"), outcome.NotTerminal},
		{"403 of an account with words", cfe(403, "no", 0, "codex"), outcome.NotTerminal},
		{"403 of a key", cfe(403, "", 0, "acme"), outcome.NotTerminal},
		{"403 about a project", cfe(403, "API has not been used in project 1", 0, "antigravity"), outcome.NotTerminal},
		{"403 about a place", cfe(403, "location is not supported", 0, "antigravity"), outcome.NotTerminal},
		{"403 of the edge", cfe(403, "error-1010", 0, "codex"), outcome.NotTerminal},
		{"refused request", cfe(403, "Request not allowed", 0, "claude"), outcome.NotTerminal},
		{"the client's own credential, refused", cfe(401, "", 0, "claude", auth(AuthPassthrough)), outcome.NotTerminal},
		{"the client's own credential, forbidden", cfe(403, "", 0, "claude", auth(AuthPassthrough)), outcome.NotTerminal},
		{"500", cfe(500, "", 0, "acme"), outcome.NotTerminal},
		{"429", cfe(429, "", 0, "acme"), outcome.NotTerminal},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.got.Terminal != c.terminal || c.got.Class != outcome.Failure || !c.got.Fallback {
				t.Errorf("got %q from %+v", c.got.Terminal, c.got)
			}
		})
	}
}

func TestClientsOwnCredential(t *testing.T) {
	for _, body := range []string{"account has been disabled", "your credit balance is too low"} {
		o := cfe(400, body, 0, "claude", auth(AuthPassthrough))
		if o.Permanent || o.CreditsExhausted || o.Cooldown > 5*time.Second || o.Terminal != outcome.NotTerminal || !o.Fallback {
			t.Errorf("%s: %+v", body, o)
		}
	}
}

func TestRequestRejected(t *testing.T) {
	for n, want := range []time.Duration{minutes(5), minutes(15), minutes(45), minutes(60), minutes(60)} {
		t.Run(fmt.Sprintf("ruling 13 refusal %d", n+1), func(t *testing.T) {
			in := input(403, "Request not allowed", 3, "claude", model("m"))
			in.Rejections = n
			o := Response(in)
			failure(outcome.ReasonRequestRejected, want, -1).check(t, o)
			if o.Scope != outcome.ScopeModel || o.Terminal != outcome.NotTerminal || o.Status != 403 {
				t.Errorf("got %+v", o)
			}
		})
	}
	t.Run("ruling 13 no model known", func(t *testing.T) {
		if o := cfe(403, "Request not allowed", 0, "claude"); o.Scope != outcome.ScopeConnection || o.Cooldown != minutes(5) {
			t.Errorf("got %+v", o)
		}
	})
}

func TestScope(t *testing.T) {
	const missing = "The model `m` does not exist"
	windows := func(five, seven, family string) option {
		return func(in *Input) {
			for name, status := range map[string]string{"5h": five, "7d": seven, "7d_oi": family} {
				header("anthropic-ratelimit-unified-"+name+"-status", status)(in)
				header("anthropic-ratelimit-unified-"+name+"-reset", fmt.Sprint(t0.Unix()+7200))(in)
			}
		}
	}
	m := model("m")
	for _, c := range []struct {
		name     string
		got      outcome.Outcome
		scope    outcome.Scope
		cooldown time.Duration
	}{
		{"rate limit of an account", cfe(429, "", 0, "acme", m), outcome.ScopeConnection, 3 * time.Second},
		{"rate limit where models count", cfe(429, "", 0, "gemini", perModel, m), outcome.ScopeModel, 3 * time.Second},
		{"the connection's rung is not the model's", cfe(429, "", 3, "gemini", perModel, m), outcome.ScopeModel, 3 * time.Second},
		{"no model known", cfe(429, "", 0, "gemini", perModel), outcome.ScopeConnection, 3 * time.Second},
		{"server fault where models count", cfe(503, "", 0, "gemini", perModel, m), outcome.ScopeModel, 3 * time.Second},
		{"a bare 500 locks nothing", cfe(500, "", 0, "gemini", perModel, m), outcome.ScopeModel, 0},
		{"402 where models count", cfe(402, "", 0, "gemini", perModel, m), outcome.ScopeModel, 0},
		{"403 where models count", cfe(403, "no", 0, "ollama-cloud", perModel, m), outcome.ScopeModel, 3 * time.Second},
		{"410 where models count", cfe(410, "gone", 0, "nvidia", perModel, m), outcome.ScopeModel, 3 * time.Second},
		{"401 is the connection's everywhere", cfe(401, "Invalid credentials", 0, "gemini", perModel, m), outcome.ScopeConnection, 0},
		{"quota in a 400 where models count", cfe(400, "too many requests", 0, "gemini", perModel, m), outcome.ScopeModel, 3 * time.Second},
		{"421 where models count", cfe(421, "", 0, "gemini", perModel, m), outcome.ScopeConnection, 3 * time.Second},
		{"service not running where models count", cfe(503, "", 0, "gemini", perModel, m, header("x-omni-fallback-hint", "connection_cooldown")), outcome.ScopeConnection, 5 * time.Second},
		{"missing model anywhere", cfe(404, missing, 0, "acme", m), outcome.ScopeModel, minutes(2)},
		{"missing model by code", cfe(404, `{"error":{"code":"model_not_found"}}`, 0, "acme", m), outcome.ScopeModel, minutes(2)},
		{"missing model, named only", cfe(404, `{"error":{"message":"nothing called M here"}}`, 0, "acme", m), outcome.ScopeModel, minutes(2)},
		{"missing model on this machine", cfe(404, "404 page", 0, "ollama-local", m, profile(settings.Profile{Name: settings.Local, BaseCooldown: 2 * time.Second, MaxBackoffSteps: 3})), outcome.ScopeModel, 5 * time.Second},
		{"missing model beside this machine", cfe(404, "404 page", 0, "acme", m, func(in *Input) { in.LocalURL = true }), outcome.ScopeModel, 5 * time.Second},
		{"missing page", cfe(404, "<h1>nothing here</h1>", 0, "acme", model("mistral-large")), outcome.ScopeConnection, minutes(2)},
		{"retired model", cfe(404, missing+" and is no longer available", 0, "acme", m), outcome.ScopeModel, day},
		{"retired model, 410 of an account", cfe(410, "model m was retired", 0, "acme", m), outcome.ScopeModel, day},
		{"moved endpoint", cfe(404, "this endpoint has moved", 0, "acme", m), outcome.ScopeConnection, day},
		{"claude's quota is the account's", cfe(429, "", 0, "claude", m), outcome.ScopeConnection, 5 * time.Second},
		{"claude's faults are the model's", cfe(529, "", 0, "claude", m), outcome.ScopeModel, 5 * time.Second},
		{"C3 an account window", cfe(429, "", 0, "claude", m, windows("rejected", "allowed", "allowed")), outcome.ScopeConnection, 2 * time.Hour},
		{"C7 a family's window with a wait", cfe(429, "", 0, "claude", m, windows("allowed", "allowed", "rejected"), header("Retry-After", "120")), outcome.ScopeModel, minutes(2)},
		{"C8 a family's window alone", cfe(429, "", 0, "claude", m, windows("allowed", "allowed", "rejected")), outcome.ScopeModel, 5 * time.Second},
		{"C14 count_tokens at the wall", cfe(429, "", 0, "claude", m, windows("allowed", "rejected", "allowed")), outcome.ScopeConnection, 2 * time.Hour},
		{"outgoing address", cfe(429, "", 0, "opencode", m, perModel), outcome.ScopeEgress, 3 * time.Second},
		{"outgoing address, other status", cfe(503, "", 0, "opencode", m, perModel), outcome.ScopeModel, 3 * time.Second},
		{"outgoing address, never cooled", cfe(429, "", 0, "opencode", m, perModel, noCooling), outcome.ScopeModel, 3 * time.Second},
		{"outgoing address, switched off", cfe(429, "", 0, "opencode", m, with(func(o *Options) { o.Egress = EgressProviders("off") })), outcome.ScopeConnection, 3 * time.Second},
		{"outgoing address under an operator rule", cfe(429, "", 0, "opencode", m, rules(Rule{Status: 429, Scope: outcome.ScopeConnection, Cooldown: minutes(9)})), outcome.ScopeEgress, minutes(9)},
		{"a terminal state is the connection's", cfe(429, "out of credits", 0, "gemini", perModel, m), outcome.ScopeConnection, minutes(2)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.got.Scope != c.scope || c.got.Cooldown != c.cooldown {
				t.Errorf("got scope %d for %v, want %d for %v\n%+v", c.got.Scope, c.got.Cooldown, c.scope, c.cooldown, c.got)
			}
			if c.scope == outcome.ScopeModel && c.got.SetsLevel {
				t.Errorf("a lock of a model moves the connection's ladder: %+v", c.got)
			}
		})
	}
}

func TestEgressProviders(t *testing.T) {
	for env, want := range map[string]string{
		"": "opencode opencode-zen opencode-go opencode-cli", "none": "", " OFF ": "", "false": "", "0": "",
		"opencode-go, opencode": "opencode-go opencode", "acme,opencode": "opencode", "acme": "",
	} {
		t.Run("ruling 17 "+env, func(t *testing.T) {
			got := EgressProviders(env)
			if got == nil || strings.Join(got, " ") != want {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestAuthCategories(t *testing.T) {
	for a, want := range map[Auth]bool{AuthByProfile: true, AuthKey: false, AuthOAuth: true, AuthCookie: true, AuthNone: true, AuthPassthrough: true} {
		f := &facts{Input: Input{Auth: a, Profile: oauthProfile}}
		if f.oauth() != want {
			t.Errorf("%q counts as oauth: %v", a, f.oauth())
		}
	}
	if f := (&facts{Input: Input{Profile: apiKeyProfile}}); f.oauth() {
		t.Error("a key counts as oauth")
	}
}

func TestProviderZone(t *testing.T) {
	o := cfe(429, "Usage limit reached. Your limit will reset at 2030-01-02 12:04:05", 0, "glm")
	hinted(outcome.ReasonRateLimit, time.Hour).check(t, o)
	o = cfe(429, "Usage limit reached. Your limit will reset at 2030-01-02 04:04:05", 0, "acme")
	hinted(outcome.ReasonRateLimit, time.Hour).check(t, o)
}

func TestHeaderValue(t *testing.T) {
	h := map[string][]string{"X-A": {"", " "}, "x-a": {"", "low"}, "X-a": {"mixed"}, "x-b": nil}
	if got := headerValue(h, "X-A"); got != "mixed" {
		t.Errorf("got %q, the first key in order that has a value should win", got)
	}
	if got := headerValue(h, "x-b") + headerValue(h, "x-c") + headerValue(nil, "x"); got != "" {
		t.Errorf("got %q", got)
	}
}
