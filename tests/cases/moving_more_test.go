package cases

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/resilience/affinity"
	"breakwater/tests/scenario"
)

// moved is a Messages request whose last answer alpha made.
const moved = `{"model":"best","max_tokens":32,"thinking":{"type":"adaptive"},"messages":[{"role":"user","content":"hi"},` +
	`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"gAAAAB-alpha-1"},{"type":"text","text":"ho"}]},{"role":"user","content":"and"}]}`

// sealers are two accounts with a combo "best" over them.
func sealers(t *testing.T, strategy string, providers ...string) (k *scenario.Kit, alpha, beta *sealer) {
	t.Helper()
	k = scenario.Start(t)
	alpha, beta = newSealer(k, "alpha", providers[0]), newSealer(k, "beta", providers[len(providers)-1])
	in := control.ComboInput{Name: "best", Strategy: strategy}
	for i, n := range []string{"alpha", "beta"} {
		in.Steps = append(in.Steps, control.ComboStep{Model: providers[i%len(providers)] + "/" + modelOf(providers[i%len(providers)]), Connection: k.Connection(n).ID})
	}
	if _, err := k.Facade().AddCombo(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	return k, alpha, beta
}

func modelOf(provider string) string {
	switch provider {
	case "glm":
		return "glm-5"
	case "openai":
		return "gpt-5"
	}
	return "claude-x"
}

// A conversation moves within combos, too (ruling 61).
func TestAConversationMovesInCombos(t *testing.T) {
	first := strings.Replace(scenario.NoStream(scenario.Messages), "m1", "best", 1)
	for _, strategy := range []string{"priority", "context-relay", "round-robin", "lkgp", "fill-first", "cost-optimized"} {
		t.Run("case Q19 "+strategy, func(t *testing.T) {
			k, alpha, beta := sealers(t, strategy, "anthropic")
			if a := k.Post("/v1/messages", first); a.From() != "alpha" {
				t.Fatalf("the first turn: %d %s", a.Status, a.Body)
			}
			alpha.limited(1)
			for turn := 2; turn < 5; turn++ {
				if a := k.Post("/v1/messages", moved); a.Status != 200 || a.From() != "beta" {
					t.Fatalf("turn %d: %d %s", turn, a.Status, a.Body)
				}
			}
			calls := beta.calls()
			if len(calls) != 4 { // the first of them is refused
				t.Errorf("beta was asked %d times", len(calls))
			}
			for _, c := range calls[1:] {
				if bytes.Contains(c, []byte("alpha")) || !bytes.Contains(c, []byte(`"ho"`)) || bytes.Contains(c, []byte("disabled")) {
					t.Errorf("beta was sent %s", c)
				}
			}
		})
	}
	t.Run("another vendor's reasoning goes before it is refused", func(t *testing.T) {
		k, alpha, beta := sealers(t, "priority", "glm", "anthropic")
		k.Post("/v1/messages", first)
		alpha.limited(1)
		if a := k.Post("/v1/messages", moved); a.From() != "beta" || len(beta.calls()) != 1 || bytes.Contains(beta.calls()[0], []byte("alpha")) {
			t.Errorf("got %d %s, calls %s", a.Status, a.Body, beta.calls())
		}
		row := k.Last()
		if lines, items := repairs(row); lines != 1 || items != 1 {
			t.Errorf("the trace: %+v", row.Trace)
		}
	})
	t.Run("switched off, the combo ends with the refusal", func(t *testing.T) {
		k, alpha, beta := sealers(t, "priority", "anthropic")
		failover(t, k, `{"moveHistory":false}`)
		k.Post("/v1/messages", first)
		alpha.limited(1)
		if a := k.Post("/v1/messages", moved); a.Status == 200 || len(beta.calls()) != 1 || !bytes.Contains(beta.calls()[0], []byte("alpha-1")) {
			t.Errorf("got %d, calls %s", a.Status, beta.calls())
		}
	})
	t.Run("encrypted compaction stays with its owner", func(t *testing.T) {
		k, alpha, beta := sealers(t, "priority", "openai")
		alpha.compacts = true
		body := `{"model":"best","input":[{"type":"compaction","encrypted_content":"gAAAAB-alpha-1-compact"},{"role":"user","content":"hi"}]}`
		k.Post("/v1/responses", strings.Replace(scenario.Responses, "m1", "best", 1))
		alpha.limited(1)
		if a := k.Post("/v1/responses", body); a.Status == 200 || len(beta.calls()) != 0 || !strings.Contains(a.Body, "compacted_history") {
			t.Errorf("got %d after %d calls: %s", a.Status, len(beta.calls()), a.Body)
		}
		k.Clock.Advance(time.Minute)
		if a := k.Post("/v1/responses", body); a.From() != "alpha" {
			t.Errorf("afterwards %d %s", a.Status, a.Body)
		}
	})
}

// A pin follows the answers of its session (ruling 61).
func TestPinsFollowTheAnswers(t *testing.T) {
	start := func(t *testing.T) (k *scenario.Kit, alpha, beta *sealer, pin func() string) {
		k = scenario.Start(t)
		alpha, beta = newSealer(k, "alpha", "anthropic"), newSealer(k, "beta", "anthropic")
		affine(t, k)
		return k, alpha, beta, func() string {
			id, _ := k.Product.Service.Affinity().Lookup(k.Clock.Now(), time.Hour, "anthropic", affinity.Key(func(name string) string {
				return map[string]string{"x-session-id": "s"}[strings.ToLower(name)]
			}, affinity.Body{}))
			for _, name := range []string{"alpha", "beta"} {
				if k.Connection(name).ID == id {
					return name
				}
			}
			return id
		}
	}
	turn := func(k *scenario.Kit) scenario.Answer {
		return k.Post("/v1/messages", strings.Replace(scenario.Messages, "m1", "claude-x", 1), "X-Session-Id", "s")
	}
	t.Run("a whole answer writes and renews it", func(t *testing.T) {
		k, _, _, pin := start(t)
		for range 3 {
			if a := turn(k); a.From() != "alpha" || pin() != "alpha" {
				t.Fatalf("answered by %q, pinned to %q", a.From(), pin())
			}
			k.Clock.Advance(50 * time.Minute)
		}
	})
	t.Run("a stream that failed after output does not", func(t *testing.T) {
		k, alpha, _, pin := start(t)
		turn(k)
		alpha.torn = true
		k.Clock.Advance(50 * time.Minute)
		if a := turn(k); a.Err == nil && strings.Contains(a.Body, "message_stop") {
			t.Fatalf("it was whole: %s", a.Body)
		}
		k.Clock.Advance(11 * time.Minute)
		if got := pin(); got != "" {
			t.Errorf("renewed to %q", got)
		}
	})
	t.Run("an answer of another moves it", func(t *testing.T) {
		k, alpha, _, pin := start(t)
		turn(k)
		alpha.limited(1)
		if a := turn(k); a.From() != "beta" || pin() != "beta" {
			t.Errorf("answered by %q, pinned to %q", a.From(), pin())
		}
	})
	for _, switched := range []bool{true, false} {
		t.Run(fmt.Sprint("a refusal on the new account leaves it, moveHistory ", switched), func(t *testing.T) {
			k, alpha, beta, pin := start(t)
			failover(t, k, fmt.Sprintf(`{"moveHistory":%v}`, switched))
			turn(k)
			alpha.limited(1)
			beta.refusal = vendorRefusal
			body := strings.Replace(strings.Replace(moved, "best", "claude-x", 1), `"content":"and"`, `"content":[{"type":"tool_result","tool_use_id":"x","data":"of others"}]`, 1)
			if a := k.Post("/v1/messages", body, "X-Session-Id", "s"); a.Status != 400 {
				t.Fatalf("got %d %s", a.Status, a.Body)
			}
			if got := pin(); got != "alpha" {
				t.Errorf("pinned to %q", got)
			}
		})
	}
}

// A request that continues an answer which another account stores gets the
// conversation written out, or goes to that account (ruling 61).
func TestStoredAnswersMove(t *testing.T) {
	const second = `{"model":"gpt-5","previous_response_id":"resp_alpha_1","input":"and"}`
	first := strings.Replace(scenario.Responses, "m1", "gpt-5", 1)
	start := func(t *testing.T, first string) (k *scenario.Kit, alpha, beta *sealer) {
		k = scenario.Start(t)
		alpha, beta = newSealer(k, "alpha", "openai"), newSealer(k, "beta", "openai")
		if a := k.Post("/v1/responses", first); a.From() != "alpha" {
			t.Fatalf("the first turn: %d %s", a.Status, a.Body)
		}
		return k, alpha, beta
	}
	for name, first := range map[string]string{"a stream": first, "one answer": scenario.NoStream(first)} {
		t.Run("from known history, "+name, func(t *testing.T) {
			k, alpha, beta := start(t, first)
			alpha.limited(1)
			if a := k.Post("/v1/responses", second); a.Status != 200 || a.From() != "beta" {
				t.Fatalf("got %d %s", a.Status, a.Body)
			}
			calls := beta.calls()
			want := `{"model":"gpt-5","input":[{"role":"user","content":"hi"},{"type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"from alpha"}]},{"role":"user","content":"and"}]}`
			if last := string(calls[len(calls)-1]); last != want || len(calls) != 2 { // the reasoning is refused once
				t.Errorf("beta was sent %q", calls)
			}
			// What beta has stored is continued there, and by alpha once it serves.
			third := strings.Replace(second, "resp_alpha_1", "resp_beta_1", 1)
			if a := k.Post("/v1/responses", third); a.From() != "beta" || string(beta.calls()[2]) != third {
				t.Errorf("got %d %s, sent %q", a.Status, a.Body, beta.calls())
			}
			k.Clock.Advance(time.Minute)
			if a := k.Post("/v1/responses", third); a.From() != "alpha" || !bytes.Contains(alpha.calls()[2], []byte("from beta")) {
				t.Errorf("got %d %s, sent %q", a.Status, a.Body, alpha.calls())
			}
		})
	}
	t.Run("its owner is asked as it is", func(t *testing.T) {
		k, alpha, _ := start(t, first)
		if a := k.Post("/v1/responses", second); a.From() != "alpha" || string(alpha.calls()[1]) != second {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
	t.Run("unknown history goes to its owner only", func(t *testing.T) {
		// The first turn continued what nobody here has seen.
		k, alpha, beta := start(t, `{"model":"gpt-5","previous_response_id":"resp_old","input":"hi"}`)
		alpha.limited(1)
		if a := k.Post("/v1/responses", second); a.Status != 429 || len(beta.calls()) != 0 {
			t.Errorf("got %d after %d calls: %s", a.Status, len(beta.calls()), a.Body)
		}
		k.Clock.Advance(time.Minute)
		if a := k.Post("/v1/responses", second); a.From() != "alpha" {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
	t.Run("unknown history of an owner that is gone", func(t *testing.T) {
		k, _, beta := start(t, `{"model":"gpt-5","previous_response_id":"resp_old","input":"hi"}`)
		newSealer(k, "gamma", "openai")
		if err := k.Facade().DeleteConnection(t.Context(), k.Connection("alpha").ID); err != nil {
			t.Fatal(err)
		}
		if a := k.Post("/v1/responses", second); a.Status != 400 || !strings.Contains(a.Body, "previous_response_not_found") || len(beta.calls()) != 0 {
			t.Errorf("got %d after %d calls: %s", a.Status, len(beta.calls()), a.Body)
		}
	})
	t.Run("an answer that nobody knows is the provider's to judge", func(t *testing.T) {
		k, alpha, _ := start(t, first)
		unknown := strings.Replace(second, "resp_alpha_1", "resp_old", 1)
		if a := k.Post("/v1/responses", unknown); a.From() != "alpha" || string(alpha.calls()[1]) != unknown {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
	t.Run("what is not stored is not kept", func(t *testing.T) {
		k, alpha, beta := start(t, strings.Replace(first, `"stream"`, `"store":false,"stream"`, 1))
		alpha.limited(1)
		if a := k.Post("/v1/responses", second); a.From() != "beta" || string(beta.calls()[0]) != second {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
	t.Run("switched off, the request goes on as it is", func(t *testing.T) {
		k, alpha, beta := start(t, first)
		failover(t, k, `{"moveHistory":false}`)
		alpha.limited(1)
		if k.Post("/v1/responses", second); len(beta.calls()) != 1 || string(beta.calls()[0]) != second {
			t.Errorf("beta was sent %q", beta.calls())
		}
	})
}
