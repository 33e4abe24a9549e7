package cases

import (
	"strings"
	"testing"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// asks are a streamed and a plain request of each dialect.
var asks = []struct{ name, path, body string }{
	{"messages stream", "/v1/messages", scenario.Messages},
	{"messages", "/v1/messages", scenario.NoStream(scenario.Messages)},
	{"chat stream", "/v1/chat/completions", scenario.Chat},
	{"chat", "/v1/chat/completions", scenario.NoStream(scenario.Chat)},
	{"responses stream", "/v1/responses", scenario.Responses},
	{"responses", "/v1/responses", scenario.NoStream(scenario.Responses)},
}

// An upstream's 499 says that a gateway there took its client for gone. Ours is
// still there: another connection answers, and where there is none the client
// learns what happened, never that something was late or that it left itself.
func TestUpstreamSays499(t *testing.T) {
	for _, ask := range asks {
		t.Run(ask.name, func(t *testing.T) {
			k := scenario.Start(t)
			k.Add("alpha", "demo")
			k.Sim.Account("alpha").Script(simulator.Status(499), simulator.Status(499))
			a := k.Post(ask.path, ask.body)
			if a.Status != 502 || !strings.Contains(a.Body, "upstream_closed_request") || !strings.Contains(a.ErrorMessage(), "status 499") {
				t.Errorf("alone: %d %s", a.Status, a.Body)
			}
			row := k.Last()
			if row.Status != 502 || row.Result != "refused" || row.Trace[0].Status != 499 || row.Trace[0].Reason != "upstream_closed_request" {
				t.Errorf("it is recorded as %d %s, %+v", row.Status, row.Result, row.Trace)
			}
			k.Add("beta", "demo")
			if a := k.Post(ask.path, ask.body); a.Status != 200 || a.From() != "beta" {
				t.Errorf("beside another: %d %s", a.Status, a.Body)
			}
			if c := k.Connection("alpha"); c.State != "serving" || k.CoolsFor("alpha") != 0 {
				t.Errorf("alpha is %s", c.State)
			}
		})
	}
}

// Statuses that bring nothing, or that HTTP does not have, are broken answers:
// another connection serves the request, and no client gets them.
func TestStatusesThatAreNoAnswer(t *testing.T) {
	for _, line := range []string{
		"000 None", "001 One", "099 Almost", "101 Switching Protocols", "600 More", "999 Most", "-1 Less", "2000 Long",
		"204 No Content", "205 Reset Content", "304 Not Modified", "302 Found",
	} {
		t.Run(line, func(t *testing.T) {
			up := newNonsense(t)
			up.says = "HTTP/1.1 " + line + "\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\r\n"
			k := scenario.Start(t)
			odd := k.Add("odd", "demo-oauth", func(in *control.ConnectionInput) { in.BaseURL = up.url() })
			alone := k.Post("/v1/messages", scenario.Messages)
			if alone.Status != 502 && alone.Status != 429 {
				t.Errorf("alone: %d %v %s", alone.Status, alone.Err, alone.Body)
			}
			k.Add("alpha", "demo")
			for _, ask := range asks {
				rearm(t, k, odd.ID)
				n := up.spoken.Load()
				if a := k.Post(ask.path, ask.body); a.Status != 200 || a.From() != "alpha" {
					t.Errorf("%s: %d %v %s", ask.name, a.Status, a.Err, a.Body)
				}
				if up.spoken.Load() == n {
					t.Errorf("%s: it was not asked", ask.name)
				}
			}
		})
	}
}
