package cases

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

const unifiedStatus = "Anthropic-Ratelimit-Unified-Status"

// subscriber adds a connection that forwards the client's own Claude login.
func subscriber(k *scenario.Kit) *simulator.Account {
	const login = "sk-ant-oat01-test"
	k.Add("alpha", "claude", func(in *control.ConnectionInput) { in.Credential, in.APIKey = "passthrough", "" })
	return k.Sim.Account("alpha").SetKeys(login)
}

// asClaude sends a request with a Claude login of its own.
func asClaude(k *scenario.Kit, body string) scenario.Answer {
	k.Helper()
	return k.Post("/v1/messages", strings.Replace(body, `"m1"`, `"claude-x"`, 1), claudeCode, "s", "Authorization", "Bearer sk-ant-oat01-test")
}

// Ruling 42: the limit of the client's own subscription is told in the
// provider's words when it lasts; else the client is only asked to wait.
func TestWallOfASubscription(t *testing.T) {
	wall := func(d time.Duration) simulator.Step {
		reset := strconv.FormatInt(scenario.T0.Add(d).Unix(), 10)
		return simulator.Status(429).WithHeader(unifiedStatus, "rejected").
			WithHeader("Anthropic-Ratelimit-Unified-Reset", reset).
			WithHeader("Anthropic-Ratelimit-Unified-Representative-Claim", "five_hour").
			WithHeader("Anthropic-Ratelimit-Unified-5h-Status", "rejected").
			WithHeader("Anthropic-Ratelimit-Unified-5h-Reset", reset)
	}
	t.Run("it lasts", func(t *testing.T) {
		k := scenario.Start(t)
		alpha := subscriber(k)
		alpha.Script(wall(2 * time.Hour))
		first := asClaude(k, scenario.Messages)
		second := asClaude(k, scenario.Messages) // answered from memory
		for _, a := range []scenario.Answer{first, second} {
			if a.Status != 429 || a.Header.Get(unifiedStatus) != "rejected" || !strings.Contains(a.Body, "rate_limit_error") {
				t.Errorf("got %d %v %s", a.Status, a.Header, a.Body)
			}
		}
		if n := len(alpha.Requests()); n != 1 {
			t.Errorf("%d requests went out", n)
		}
	})
	t.Run("another connection answers", func(t *testing.T) {
		k := scenario.Start(t)
		subscriber(k).Script(wall(2 * time.Hour))
		k.Add("beta", "demo")
		if a := asClaude(k, scenario.Messages); a.Status != 200 || a.From() != "beta" {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
	t.Run("it ends soon", func(t *testing.T) {
		k := scenario.Start(t)
		subscriber(k).Script(wall(5 * time.Minute))
		for range 2 {
			a := asClaude(k, scenario.Messages)
			if a.Status != 429 || a.Header.Get(unifiedStatus) != "" || a.Header.Get("Retry-After") != "59" {
				t.Errorf("got %d %v %s", a.Status, a.Header, a.Body)
			}
		}
	})
	t.Run("a connection with a key", func(t *testing.T) {
		k := scenario.Start(t)
		k.Add("alpha", "demo")
		k.Sim.Account("alpha").Script(wall(2 * time.Hour))
		a := k.Post("/v1/messages", scenario.Messages, claudeCode, "s")
		if a.Status != 429 || a.Header.Get(unifiedStatus) != "" || a.Header.Get("Retry-After") != "59" {
			t.Errorf("got %d %v %s", a.Status, a.Header, a.Body)
		}
	})
}

// Ruling 43: a refused login is the client's own affair only if it is its own.
func TestRefusedLogin(t *testing.T) {
	for _, status := range []int{401, 403} {
		refusal := simulator.Status(status).WithError(simulator.Error{Type: "authentication_error", Message: "OAuth token has expired."})
		k := scenario.Start(t)
		subscriber(k).Script(refusal)
		if a := asClaude(k, scenario.Messages); a.Status != status || !strings.Contains(a.Body, "OAuth token has expired.") {
			t.Errorf("passthrough: got %d %s", a.Status, a.Body)
		}
		k = scenario.Start(t)
		k.Add("alpha", "demo")
		k.Sim.Account("alpha").Script(refusal)
		if a := k.Post("/v1/messages", scenario.Messages); a.Status != 502 || strings.Contains(a.Body, "expired.") || !strings.Contains(a.Body, `"api_error"`) {
			t.Errorf("with a key: got %d %s", a.Status, a.Body)
		}
	}
}

// A status that hides what a failure is reaches the client corrected, with the
// wait that belongs to it (guide §7).
func TestRestatedStatus(t *testing.T) {
	for client, want := range map[string]string{claudeCode: "59", "X-Nobody": "60"} {
		k := scenario.Start(t)
		k.Add("alpha", "agentrouter", func(in *control.ConnectionInput) { in.Models = []string{"*"} })
		k.Sim.Account("alpha").Script(simulator.Status(403).WithBody("application/json", `{"error":{"message":"用户额度不足"}}`))
		a := k.Post("/v1/messages", scenario.Messages, client, "s")
		if a.Status != 429 || a.Header.Get("Retry-After") != want || !strings.Contains(a.Body, "rate_limit_error") {
			t.Errorf("%s: got %d, Retry-After %q: %s", client, a.Status, a.Header.Get("Retry-After"), a.Body)
		}
	}
}

// A probe's refusal is handed on, without what makes the client give up.
func TestRefusedProbe(t *testing.T) {
	k := scenario.Start(t)
	k.Add("alpha", "demo")
	k.Sim.Account("alpha").Script(simulator.Status(429).WithRetryAfter(time.Hour).WithHeader("X-Should-Retry", "false").
		WithUnified(simulator.UnifiedLimit{Status: "allowed", ResetIn: simulator.Duration(time.Hour)}).
		For(simulator.When{Route: simulator.RouteAny}))
	a := k.Post("/v1/messages/count_tokens", scenario.NoStream(scenario.Messages), claudeCode, "s")
	if a.Status != 429 || a.Header.Get("Retry-After") != "59" || a.Header.Get("X-Should-Retry") != "" || a.Header.Get(unifiedStatus) != "" || a.Header.Get("Request-Id") == "" {
		t.Errorf("got %d %v %s", a.Status, a.Header, a.Body)
	}
}

// Codex waits as long as the words of an event say when it reads a stream
// already.
func TestCodexIsToldToWaitInItsStream(t *testing.T) {
	k := scenario.StartWith(t, holdSoon())
	k.Add("alpha", "demo")
	k.Sim.Account("alpha").Script(simulator.Status(429).WithRetryAfter(20 * time.Second).Delayed(150 * time.Millisecond))
	a := k.Post("/v1/responses", scenario.Responses, "Originator", "codex_exec")
	if a.Status != 200 || a.Err == nil || !strings.Contains(a.Body, `"rate_limit_exceeded"`) || !strings.Contains(a.Body, "try again in 20s") {
		t.Errorf("got %d, %v: %s", a.Status, a.Err, a.Body)
	}
}
