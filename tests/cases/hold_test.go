package cases

import (
	"strings"
	"testing"
	"time"

	"breakwater/proxy"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// holdSoon makes clients wait for headers only a moment.
func holdSoon() proxy.Limits {
	l := proxy.DefaultLimits()
	l.Hold, l.Heartbeat = 60*time.Millisecond, 30*time.Millisecond
	return l
}

// A client that waits longer than it stands gets its headers and signs of life
// in the form that it counts as such, then the whole answer of whoever answers
// (ruling 45).
func TestWaitingClientsAreKeptAlive(t *testing.T) {
	for _, tt := range []struct{ name, path, body, header, value, sign string }{
		{"Claude Code", "/v1/messages", scenario.Messages, claudeCode, "s", "event: ping"},
		{"Codex", "/v1/responses", scenario.Responses, "Originator", "codex_exec", "event: keepalive"},
		{"opencode", "/v1/chat/completions", scenario.Chat, "X-Session-Affinity", "s", ": waiting"},
		{"nobody knows it", "/v1/chat/completions", scenario.Chat, "User-Agent", "x", ": waiting"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := scenario.StartWith(t, holdSoon())
			alpha, _ := k.Pair()
			// The first connection lets everybody wait and then fails: the
			// second still answers, on the stream that has begun.
			alpha.Script(simulator.Status(503).Delayed(200 * time.Millisecond))
			a := k.Post(tt.path, tt.body, tt.header, tt.value)
			if a.Status != 200 || a.Err != nil || a.From() != "beta" {
				t.Fatalf("got %d, %v: %s", a.Status, a.Err, a.Body)
			}
			if !strings.HasPrefix(a.Body, tt.sign) || strings.Count(a.Body, tt.sign) < 2 {
				t.Errorf("the stream begins with %.200q", a.Body)
			}
			if ct := a.Header.Get("Content-Type"); ct != "text/event-stream" {
				t.Errorf("content type %q", ct)
			}
			if last := k.Last(); last.Result != "answered" || !last.FailedOver {
				t.Errorf("recorded as %s, failed over %v", last.Result, last.FailedOver)
			}
		})
	}
}

// When nobody answers after the signs of life have begun, the failure is never
// a clean end.
func TestFailureAfterSignsOfLife(t *testing.T) {
	for _, tt := range []struct {
		name, header string
		event        bool
	}{{"unknown client gets an error event", "X-Nobody", true}, {"Claude Code is cut", claudeCode, false}} {
		t.Run(tt.name, func(t *testing.T) {
			k := scenario.StartWith(t, holdSoon())
			k.Add("alpha", "demo")
			k.Sim.Account("alpha").Script(simulator.Status(500).Delayed(150 * time.Millisecond))
			a := k.Post("/v1/messages", scenario.Messages, tt.header, "s")
			if a.Status != 200 || a.Err == nil || strings.Contains(a.Body, "event: error") != tt.event {
				t.Errorf("got %d, %v: %s", a.Status, a.Err, a.Body)
			}
			if last := k.Last(); last.Result != "refused" {
				t.Errorf("recorded as %s", last.Result)
			}
		})
	}
}

// Before that, a failure still is a status, and an answer keeps its headers.
func TestAnswersBeforeTheHoldEndsKeepTheirStatus(t *testing.T) {
	k := scenario.StartWith(t, holdSoon())
	k.Add("alpha", "demo")
	if a := k.Post("/v1/messages", scenario.Messages); a.Status != 200 || strings.Contains(a.Body, "waiting") || a.Header.Get("Request-Id") == "" {
		t.Errorf("got %d %v %s", a.Status, a.Header, a.Body)
	}
	k.Sim.Account("alpha").Script(simulator.Status(500))
	if a := k.Post("/v1/messages", scenario.Messages); a.Status != 502 {
		t.Errorf("got %d %s", a.Status, a.Body)
	}
	// A request without a stream has no form in which to be kept alive.
	k2 := scenario.StartWith(t, holdSoon())
	k2.Add("alpha", "demo")
	k2.Sim.Account("alpha").Script(simulator.Status(500).Delayed(150 * time.Millisecond))
	if a := k2.Post("/v1/messages", scenario.NoStream(scenario.Messages)); a.Status != 502 {
		t.Errorf("without a stream: got %d %s", a.Status, a.Body)
	}
}
