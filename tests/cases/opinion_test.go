package cases

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// A 400 that Breakwater does not know is not believed alone (ruling 55 d).
func TestSecondOpinion(t *testing.T) {
	refusal := func(typ, message string) simulator.Step {
		return simulator.Status(400).WithError(simulator.Error{Type: typ, Message: message})
	}
	unknown := refusal("invalid_request_error", "Zugriff nicht möglich")
	for _, tt := range []struct {
		name, path, body string
		alpha            simulator.Step
	}{
		{"Q05", "/v1/messages", scenario.Messages, refusal("invalid_request_error", "context_management: Extra inputs are not permitted")},
		{"Q05 an unknown beta", "/v1/messages", scenario.Messages, refusal("invalid_request_error", "Unexpected value(s) `foo-2026` for the `anthropic-beta` header")},
		{"Q05 chat", "/v1/chat/completions", scenario.Chat, refusal("invalid_request_error", "Unrecognized request argument supplied: reasoning_effort")},
		{"Q05 responses", "/v1/responses", scenario.Responses, refusal("invalid_request_error", "Unsupported value: 'minimal' is not available here")},
		{"Q06", "/v1/messages", scenario.Messages, unknown},
		{"Q06 chat", "/v1/chat/completions", scenario.Chat, unknown},
		{"Q06 whole answers", "/v1/messages", scenario.NoStream(scenario.Messages), unknown},
		{"Q06 another language", "/v1/messages", scenario.Messages, refusal("", "このリクエストは処理できません")},
	} {
		t.Run(tt.name+", another target serves it", func(t *testing.T) {
			k := scenario.Start(t)
			alpha, beta := k.Pair()
			alpha.Script(tt.alpha)
			if a := k.Post(tt.path, tt.body, "X-Session-Id", "s1"); a.Status != 200 || k.Last().ConnectionName != "beta" {
				t.Fatalf("got %d %s", a.Status, a.Body)
			}
			if c := k.Connection("alpha"); c.State != control.StateServing || c.RateLimitedUntil != nil || k.Breaker("demo").FailureCount != 0 {
				t.Errorf("alpha is %s until %v", c.State, c.RateLimitedUntil)
			}
			if trace := k.Last().Trace; len(trace) < 3 || trace[1].Kind != control.StepOpinion {
				t.Errorf("the trace is %+v", trace)
			}
			// The session asks alpha last for ten minutes; others begin with it.
			if k.Post(tt.path, tt.body, "X-Session-Id", "s1"); k.Last().ConnectionName != "beta" || len(k.Last().Trace) != 1 {
				t.Errorf("the next request went by %+v", k.Last().Trace)
			}
			alpha.Script()
			if k.Post(tt.path, tt.body, "X-Session-Id", "s2"); k.Last().ConnectionName != "alpha" {
				t.Errorf("another session went to %s", k.Last().ConnectionName)
			}
			k.Clock.Advance(10*time.Minute + time.Second)
			if k.Post(tt.path, tt.body, "X-Session-Id", "s1"); k.Last().ConnectionName != "alpha" {
				t.Errorf("after ten minutes the session went to %s", k.Last().ConnectionName)
			}
			if n := len(beta.Requests()); n != 2 {
				t.Errorf("beta was asked %d times", n)
			}
		})
	}
	t.Run("Q06 both refuse: the first refusal, and its repetition costs one call", func(t *testing.T) {
		k := scenario.Start(t)
		alpha, beta := k.Pair()
		third := k.Sim.Account("gamma")
		k.Add("gamma", "demo")
		alpha.Script(slices.Repeat([]simulator.Step{unknown}, 6)...)
		beta.Script(slices.Repeat([]simulator.Step{refusal("invalid_request_error", "Nein")}, 3)...)
		calls := func() int { return len(alpha.Requests()) + len(beta.Requests()) + len(third.Requests()) }
		for i, want := range []int{2, 3, 4} {
			a := k.Post("/v1/messages", scenario.Messages)
			if a.Status != 400 || !strings.Contains(a.Body, "Zugriff nicht möglich") || calls() != want {
				t.Fatalf("request %d got %d %s after %d calls", i, a.Status, a.Body, calls())
			}
		}
		other := strings.Replace(scenario.Messages, `"hi"`, `"ho"`, 1)
		if k.Post("/v1/messages", other); calls() != 6 {
			t.Errorf("another body: %d calls", calls())
		}
		k.Clock.Advance(time.Minute + time.Second)
		if k.Post("/v1/messages", scenario.Messages); calls() != 8 {
			t.Errorf("after a minute: %d calls", calls())
		}
		for _, name := range []string{"alpha", "beta"} {
			if c := k.Connection(name); c.State != control.StateServing {
				t.Errorf("%s is %s", name, c.State)
			}
		}
	})
	t.Run("a fault of the second target does not use the opinion up", func(t *testing.T) {
		k := scenario.Start(t)
		alpha, beta := k.Pair()
		k.Add("gamma", "demo")
		alpha.Script(unknown)
		beta.Script(simulator.Status(429))
		if k.Post("/v1/messages", scenario.Messages); k.Last().ConnectionName != "gamma" {
			t.Errorf("got %+v", k.Last().Trace)
		}
	})
	t.Run("nobody is left: the first refusal", func(t *testing.T) {
		k := scenario.Start(t)
		alpha, beta := k.Pair()
		alpha.Script(unknown)
		beta.Script(simulator.Status(503))
		if a := k.Post("/v1/messages", scenario.Messages); a.Status != 400 || !strings.Contains(a.Body, "Zugriff") {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
	for _, tt := range []struct {
		name, path, body, set string
		alpha                 simulator.Step
	}{
		{"switched off", "/v1/messages", scenario.Messages, `{"failover":{"secondOpinion":false}}`, unknown},
		{"a request that is wrong for everybody", "/v1/messages", scenario.Messages, `{"failover":{"secondOpinion":true}}`, refusal("invalid_request_error", "messages: roles must alternate")},
		{"account objects", "/v1/responses", `{"model":"m1","stream":true,"input":"hi","previous_response_id":"resp_1"}`, `{"failover":{"secondOpinion":true}}`, unknown},
	} {
		t.Run("none is asked: "+tt.name, func(t *testing.T) {
			k := scenario.Start(t)
			if _, err := k.Facade().EditResilience(t.Context(), json.RawMessage(tt.set)); err != nil {
				t.Fatal(err)
			}
			alpha, beta := k.Pair()
			alpha.Script(tt.alpha)
			if a := k.Post(tt.path, tt.body); a.Status != 400 || len(beta.Requests()) != 0 {
				t.Errorf("got %d %s, beta was asked %d times", a.Status, a.Body, len(beta.Requests()))
			}
		})
	}
	t.Run("in a combo, too, never a merged answer", func(t *testing.T) {
		p := newPool(t, scenario.Start(t), "priority", nil, "alpha", "beta", "gamma")
		p.Sim.Account("alpha").Script(unknown)
		p.Sim.Account("beta").Script(refusal("invalid_request_error", "Nein"))
		a := p.ask()
		if a.Status != 400 || !strings.Contains(a.Body, "Zugriff") || len(p.Sim.Account("gamma").Requests()) != 0 {
			t.Errorf("got %d %s, gamma was asked %d times", a.Status, a.Body, len(p.Sim.Account("gamma").Requests()))
		}
	})
}
