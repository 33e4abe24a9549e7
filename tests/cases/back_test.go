package cases

import (
	"cmp"
	"net/http"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// A connection that rested when a request began serves it all the same when it
// is back before the others have failed: a try may take long.
func TestWhoeverIsBackServes(t *testing.T) {
	for _, strategy := range []string{"", "priority", "fill-first"} {
		t.Run(cmp.Or(strategy, "one model"), func(t *testing.T) {
			limits := patient()
			limits.Patience = -1 // no wait helps
			k := scenario.StartWith(t, limits)
			body := scenario.NoStream(scenario.Messages)
			if strategy == "" {
				k.Pair()
			} else {
				newPool(t, k, strategy, map[string]any{"maxRetries": 0.0, "fallbackDelayMs": 0.0}, "alpha", "beta")
				body = strings.Replace(body, "m1", "best", 1)
			}
			alpha, beta := k.Sim.Account("alpha"), k.Sim.Account("beta")
			alpha.Script(simulator.Status(429).WithHeader("Retry-After", "20"), simulator.OK())
			if a := k.Post("/v1/messages", body); a.From() != "beta" {
				t.Fatalf("got %d %s", a.Status, a.Body)
			}
			release, seen := make(chan struct{}), len(beta.Requests())
			beta.Script(simulator.Status(500).HoldAfter(simulator.BeforeHeaders, release).Always())
			out := make(chan scenario.Answer, 1)
			go func() { out <- k.Do(http.MethodPost, "/v1/messages", body) }()
			if _, err := beta.Await(t.Context(), func(rs []simulator.Request) bool { return len(rs) > seen }); err != nil {
				t.Fatal(err)
			}
			k.Clock.Advance(21 * time.Second)
			close(release)
			if a := <-out; a.Status != 200 || a.From() != "alpha" {
				t.Errorf("got %d %s", a.Status, a.Body)
			}
		})
	}
}
