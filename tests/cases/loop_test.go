package cases

import (
	"errors"
	"strings"
	"testing"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// A connection that leads back to this proxy is refused when it is made.
func TestConnectionToOurselvesIsRefused(t *testing.T) {
	k := scenario.Start(t)
	port := k.URL[strings.LastIndex(k.URL, ":"):]
	for _, base := range []string{k.URL + "/v1", "http://localhost" + port, "http://[::1]" + port + "/v1"} {
		_, err := k.Facade().AddConnection(t.Context(), control.ConnectionInput{Provider: "custom", Name: "self", APIKey: "k", BaseURL: base})
		var invalid *control.InvalidError
		if !errors.As(err, &invalid) || invalid.Fields[0].Field != "baseUrl" {
			t.Errorf("%s: %v", base, err)
		}
	}
	c := k.Add("alpha", "demo")
	if _, err := k.Facade().EditConnection(t.Context(), c.ID, control.ConnectionPatch{BaseURL: &k.URL}); err == nil {
		t.Error("an edit to our own address was taken")
	}
}

// Two proxies that point at each other end the circle after a few steps.
func TestCircleOfProxiesEnds(t *testing.T) {
	a, b := scenario.Start(t), scenario.Start(t)
	point := func(from, to *scenario.Kit) {
		if _, err := from.Facade().AddConnection(t.Context(), control.ConnectionInput{Provider: "custom", Name: "other", APIKey: "k", BaseURL: to.URL + "/v1"}); err != nil {
			t.Fatal(err)
		}
	}
	point(a, b)
	point(b, a)
	ans := a.Post("/v1/messages", scenario.Messages)
	if ans.Status < 400 || !strings.Contains(a.Last().Result, "refused") {
		t.Errorf("got %d %s", ans.Status, ans.Body)
	}
	rows, err := b.Facade().Activity(t.Context(), control.ActivityQuery{Limit: 100})
	if err != nil || len(rows) > 4 {
		t.Errorf("the other proxy saw %d requests, %v", len(rows), err)
	}
	// One proxy behind another is no circle.
	front := scenario.Start(t)
	point(front, b)
	b.Add("alpha", "demo")
	if ans := front.Post("/v1/messages", strings.Replace(scenario.Messages, `"m1"`, `"other/alpha/m1"`, 1)); ans.Status != 200 || ans.From() != "alpha" {
		t.Errorf("a proxy behind a proxy: %d %s", ans.Status, ans.Body)
	}
}

// An answer that says nothing is answered by the next connection, as a
// document as well as a stream; the last one's is handed on.
func TestEmptyDocumentsMoveOn(t *testing.T) {
	for path, tt := range map[string]struct{ request, empty, legit string }{
		"/v1/messages": {
			scenario.Messages, `{"type":"message","content":[],"stop_reason":"end_turn"}`,
			`{"type":"message","content":[],"stop_reason":"max_tokens"}`,
		},
		"/v1/chat/completions": {
			scenario.Chat, `{"choices":[{"message":{"role":"assistant","content":""},"finish_reason":"stop"}]}`,
			`{"choices":[{"message":{"role":"assistant","content":null},"finish_reason":"length"}]}`,
		},
		"/v1/responses": {
			scenario.Responses, `{"object":"response","status":"completed","output":[]}`,
			`{"object":"response","status":"incomplete","output":[]}`,
		},
	} {
		t.Run(path, func(t *testing.T) {
			k := scenario.Start(t)
			alpha, beta := k.Pair()
			alpha.Script(simulator.Raw("application/json", tt.empty))
			if a := k.Post(path, scenario.NoStream(tt.request)); a.From() != "beta" {
				t.Errorf("got %d %s", a.Status, a.Body)
			}
			alpha.Script(simulator.Raw("application/json", tt.legit))
			if a := k.Post(path, scenario.NoStream(tt.request)); a.Body != tt.legit {
				t.Errorf("case P30: got %d %s", a.Status, a.Body)
			}
			alpha.Script(simulator.Raw("application/json", tt.empty))
			beta.Script(simulator.Raw("application/json", tt.empty))
			if a := k.Post(path, scenario.NoStream(tt.request)); a.Status != 200 || a.Body != tt.empty {
				t.Errorf("nobody has more to say: got %d %s", a.Status, a.Body)
			}
		})
	}
}
