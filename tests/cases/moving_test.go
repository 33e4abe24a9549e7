package cases

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"breakwater/proxy/control"
	"breakwater/tests/scenario"
)

// A conversation whose reasoning one account made goes on at another (ruling 61).
func TestAConversationMoves(t *testing.T) {
	const (
		responses = `{"model":"gpt-5","stream":true,"input":[{"type":"message","role":"user","content":"hi"},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAAB-alpha-1"},` +
			`{"type":"function_call","id":"fc_1","call_id":"c1","name":"run","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"done"}]}`
		repairedResponses = `{"model":"gpt-5","stream":true,"input":[{"type":"message","role":"user","content":"hi"},` +
			`{"type":"function_call","call_id":"c1","name":"run","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"done"}]}`
		past = `{"model":"claude-x","max_tokens":32,"stream":true,"thinking":{"type":"adaptive"},"messages":[{"role":"user","content":"hi"},` +
			`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"gAAAAB-alpha-1"},{"type":"text","text":"ho"}]},{"role":"user","content":"and"}]}`
		repairedPast = `{"model":"claude-x","max_tokens":32,"stream":true,"thinking":{"type":"adaptive"},"messages":[{"role":"user","content":"hi"},` +
			`{"role":"assistant","content":[{"type":"text","text":"ho"}]},{"role":"user","content":"and"}]}`
		redacted = `{"model":"claude-x","max_tokens":32,"messages":[{"role":"user","content":"hi"},` +
			`{"role":"assistant","content":[{"type":"redacted_thinking","data":"gAAAAB-alpha-1"}]},{"role":"user","content":[{"type":"text","text":"and"}]}]}`
		repairedRedacted = `{"model":"claude-x","max_tokens":32,"messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"text","text":"and"}]}]}`
		open             = `{"model":"claude-x","max_tokens":32,"stream":true,"thinking":{"type":"enabled","budget_tokens":1024},"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},` +
			`"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"gAAAAB-alpha-1"},{"type":"tool_use","id":"t1","name":"run","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"done"}]}]}`
		repairedOpen = `{"model":"claude-x","max_tokens":32,"stream":true,"thinking":{"type":"disabled"},` +
			`"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"run","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"done"}]}]}`
	)
	plain := func(text string, status int) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, _ string) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}
	}
	for _, tt := range []struct {
		name, path, provider, body, repaired string
		refusal                              func(w http.ResponseWriter, kind string)
		unseen                               bool // the turn before was not seen
	}{
		{name: "case Q18", path: "/v1/responses", provider: "openai", body: responses, repaired: repairedResponses},
		{name: "case Q18 code null", path: "/v1/responses", provider: "openai", body: responses, repaired: repairedResponses, refusal: func(w http.ResponseWriter, kind string) {
			w.WriteHeader(400)
			_, _ = io.WriteString(w, refusalText(kind, "null"))
		}},
		{name: "case Q18 one answer", path: "/v1/responses", provider: "openai", body: scenario.NoStream(responses), repaired: scenario.NoStream(repairedResponses)},
		{name: "case Q18 made before the start", path: "/v1/responses", provider: "openai", body: responses, repaired: repairedResponses, unseen: true},
		{
			name: "case Q18 a relay with another status, code and shape", path: "/v1/responses", provider: "custom", body: responses, repaired: repairedResponses,
			refusal: plain(`{"error":{"message":"upstream error: {\"detail\":\"Encrypted content could not be decrypted or parsed.\"}","type":"upstream_error","code":502}}`, 502),
		},
		{
			name: "case Q18 as an event of a 200 answer", path: "/v1/responses", provider: "openai", body: responses, repaired: repairedResponses,
			refusal: func(w http.ResponseWriter, kind string) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\","+refusalText(kind, "null")[1:]+"}\n\n")
			},
		},
		{name: "case Q19", path: "/v1/messages", provider: "anthropic", body: past, repaired: repairedPast},
		{name: "case Q19 redacted thinking alone in its message", path: "/v1/messages", provider: "anthropic", body: redacted, repaired: repairedRedacted},
		{name: "case Q19 in an open tool cycle", path: "/v1/messages", provider: "anthropic", body: open, repaired: repairedOpen},
		{
			name: "case Q19 a relay that writes words only", path: "/v1/messages", provider: "custom", body: past, repaired: repairedPast,
			refusal: plain("bad response status code 400: Invalid signature in thinking block", 400),
		},
		{
			name: "case Q19 words about modified blocks", path: "/v1/messages", provider: "anthropic", body: past, repaired: repairedPast,
			refusal: plain("{\"error\":{\"message\":\"messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.\"}}", 400),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := scenario.Start(t)
			alpha, beta := newSealer(k, "alpha", tt.provider), newSealer(k, "beta", tt.provider)
			beta.refusal = tt.refusal
			if !tt.unseen {
				first := strings.Replace(scenario.Messages, "m1", "claude-x", 1)
				if tt.path == "/v1/responses" {
					first = strings.Replace(scenario.Responses, "m1", "gpt-5", 1)
				}
				if a := k.Post(tt.path, first); a.From() != "alpha" {
					t.Fatalf("the first turn: %d %s", a.Status, a.Body)
				}
			}
			alpha.limited(1)
			a := k.Post(tt.path, tt.body)
			if a.Status != 200 || a.Err != nil || a.From() != "beta" {
				t.Fatalf("got %d, %v: %s", a.Status, a.Err, a.Body)
			}
			calls := beta.calls()
			if len(calls) != 2 || string(calls[0]) != tt.body || string(calls[1]) != tt.repaired {
				t.Fatalf("beta was sent %q", calls)
			}
			row := k.Last()
			if lines, items := repairs(row); lines != 1 || items != 1 {
				t.Errorf("the trace: %+v", row.Trace)
			}
			if c := k.Connection("beta"); c.State != "serving" || k.CoolsFor("beta") != 0 || c.BackoffLevel != 0 {
				t.Errorf("beta has a penalty: %+v", c)
			}
			// The next turn of the session is repaired before it is sent.
			if a := k.Post(tt.path, tt.body); a.From() != "beta" || len(beta.calls()) != 3 || string(beta.calls()[2]) != tt.repaired {
				t.Errorf("the next turn: %d, calls %q", a.Status, beta.calls())
			}
			if lines, items := repairs(k.Last()); lines != 1 || items != 1 {
				t.Error("the next turn's trace does not say so")
			}
		})
	}
	t.Run("case Q18 switched off, the client gets the refusal", func(t *testing.T) {
		k := scenario.Start(t)
		failover(t, k, `{"moveHistory":false}`)
		alpha, beta := newSealer(k, "alpha", "openai"), newSealer(k, "beta", "openai")
		alpha.limited(1)
		if a := k.Post("/v1/responses", responses); a.Status != 400 || len(beta.calls()) != 1 {
			t.Errorf("got %d after %d calls", a.Status, len(beta.calls()))
		}
	})
	t.Run("case Q18 back at its owner, the conversation is whole", func(t *testing.T) {
		k := scenario.Start(t)
		alpha, beta := newSealer(k, "alpha", "openai"), newSealer(k, "beta", "openai")
		k.Post("/v1/responses", strings.Replace(scenario.Responses, "m1", "gpt-5", 1))
		alpha.limited(1)
		k.Post("/v1/responses", responses)
		k.Clock.Advance(31e9)
		both := strings.Replace(responses, `{"type":"reasoning"`, `{"type":"reasoning","id":"rs_9","summary":[],"encrypted_content":"gAAAAB-beta-1"},{"type":"reasoning"`, 1)
		if a := k.Post("/v1/responses", both); a.From() != "alpha" {
			t.Fatalf("got %d %s", a.Status, a.Body)
		}
		calls := alpha.calls()
		if last := string(calls[len(calls)-1]); !strings.Contains(last, "alpha-1") || strings.Contains(last, "beta-1") || len(beta.calls()) != 2 {
			t.Errorf("alpha was sent %s", last)
		}
	})
	t.Run("case Q18 an account whose own reasoning is refused", func(t *testing.T) {
		k := scenario.Start(t)
		alpha := newSealer(k, "alpha", "openai") // the only one: its organisation has changed
		a := k.Post("/v1/responses", strings.ReplaceAll(responses, "alpha-1", "old-1"))
		if a.Status != 200 || len(alpha.calls()) != 2 {
			t.Errorf("got %d after %d calls: %s", a.Status, len(alpha.calls()), a.Body)
		}
	})
	t.Run("case Q18 what stays refused is asked once more only", func(t *testing.T) {
		k := scenario.Start(t)
		alpha := newSealer(k, "alpha", "openai")
		alpha.refusal = nil
		body := strings.Replace(responses, `"output":"done"`, `"output":[{"type":"x","data":"none of theirs"}]`, 1)
		if a := k.Post("/v1/responses", strings.ReplaceAll(body, "alpha-1", "old-1")); a.Status != 400 || len(alpha.calls()) != 2 {
			t.Errorf("got %d after %d calls: %s", a.Status, len(alpha.calls()), a.Body)
		}
	})
}

// Encrypted compaction is history: it stays in the request, which goes to its
// owner only (ruling 61).
func TestCompactedHistoryStaysWithItsOwner(t *testing.T) {
	const body = `{"model":"gpt-5","stream":true,"input":[{"type":"compaction","id":"cmp_1","encrypted_content":"gAAAAB-alpha-1-compact"},{"type":"message","role":"user","content":"hi"}]}`
	start := func(t *testing.T, provider string) (k *scenario.Kit, alpha, beta *sealer) {
		k = scenario.Start(t)
		alpha, beta = newSealer(k, "alpha", provider), newSealer(k, "beta", provider)
		alpha.compacts = true
		if a := k.Post("/v1/responses", strings.Replace(scenario.Responses, "m1", "gpt-5", 1)); a.From() != "alpha" {
			t.Fatalf("the first turn: %d %s", a.Status, a.Body)
		}
		return k, alpha, beta
	}
	t.Run("case Q19 its owner rests", func(t *testing.T) {
		k, alpha, beta := start(t, "openai")
		alpha.limited(1)
		a := k.Post("/v1/responses", body)
		if a.Status == 200 || len(beta.calls()) != 0 || !strings.Contains(string(alpha.calls()[1]), "compact") {
			t.Fatalf("got %d after %d calls to beta: %s", a.Status, len(beta.calls()), a.Body)
		}
		found := false
		for _, s := range k.Last().Trace {
			found = found || s.Kind == control.StepSkipped && s.ConnectionName == "beta" && s.Reason == "compacted_history"
		}
		if !found {
			t.Errorf("the trace: %+v", k.Last().Trace)
		}
		k.Clock.Advance(31e9)
		if a := k.Post("/v1/responses", body); a.From() != "alpha" {
			t.Errorf("afterwards %d %s", a.Status, a.Body)
		}
	})
	t.Run("case Q19 moveCompacted sends it on as it is", func(t *testing.T) {
		k, alpha, beta := start(t, "openai")
		failover(t, k, `{"moveCompacted":true}`)
		alpha.limited(1)
		k.Post("/v1/responses", body)
		if calls := beta.calls(); len(calls) != 1 || string(calls[0]) != body {
			t.Errorf("beta was sent %q", calls)
		}
	})
	t.Run("case Q19 an unknown owner is found", func(t *testing.T) {
		k, _, beta := start(t, "openai")
		unknown := strings.Replace(body, "alpha-1-compact", "beta-0-compact", 1)
		if a := k.Post("/v1/responses", unknown); a.From() != "beta" || string(beta.calls()[0]) != unknown {
			t.Fatalf("got %d %s", a.Status, a.Body)
		}
		if a := k.Post("/v1/responses", unknown); a.From() != "beta" || len(k.Last().Trace) != 2 {
			t.Errorf("got %d %s, trace %+v", a.Status, a.Body, k.Last().Trace)
		}
	})
	t.Run("case Q19 reasoning beside it goes, it stays", func(t *testing.T) {
		k, alpha, _ := start(t, "openai")
		mixed := strings.Replace(body, `{"type":"message"`, `{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"gAAAAB-old-1"},{"type":"message"`, 1)
		if a := k.Post("/v1/responses", mixed); a.From() != "alpha" || string(alpha.calls()[len(alpha.calls())-1]) != body {
			t.Errorf("got %d %s, sent %q", a.Status, a.Body, alpha.calls())
		}
	})
	t.Run("case Q19 an owner that is gone holds nobody back", func(t *testing.T) {
		k, _, beta := start(t, "openai")
		if err := k.Facade().DeleteConnection(t.Context(), k.Connection("alpha").ID); err != nil {
			t.Fatal(err)
		}
		if a := k.Post("/v1/responses", body); a.Status != 400 || len(beta.calls()) != 1 {
			t.Errorf("got %d after %d calls: %s", a.Status, len(beta.calls()), a.Body)
		}
	})
}
