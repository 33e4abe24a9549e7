package cases

import (
	"strings"
	"testing"

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
