package cases

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

const unifiedPrefix = "Anthropic-Ratelimit-Unified-"

// answers are what a subscription may say, by name.
var claudeAnswers = map[string]simulator.Step{
	"ok":          simulator.OK(),
	"ok, active":  simulator.OK().WithHeader(unifiedPrefix+"Slow-Status", "active"),
	"ok, no need": simulator.OK().WithHeader(unifiedPrefix+"Slow-Status", "not_needed"),
	"wall": simulator.Status(429).WithUnified(simulator.UnifiedLimit{Status: "rejected", ResetIn: simulator.Duration(time.Hour)}).
		WithHeader(unifiedPrefix+"Slow-Offer", "treatment").WithHeader(unifiedPrefix+"Slow-Retry-After", "5"),
	"wall, no offer": simulator.Status(429).WithUnified(simulator.UnifiedLimit{Status: "rejected", ResetIn: simulator.Duration(time.Hour)}),
	"busy":           simulator.Status(429).WithHeader(unifiedPrefix+"Slow-Status", "slot_busy").WithHeader(unifiedPrefix+"Slow-Retry-After", "5"),
	"full":           simulator.Status(529),
	"burst":          simulator.Status(429),
	"weekly":         simulator.Status(429).WithHeader(unifiedPrefix+"Slow-Status", "weekly_limit"),
	"fault":          simulator.Status(500),
}

// Whatever a subscription answers: refusals that the lane took cool nothing
// and count nowhere, and the header goes out only after an offer.
func TestClaudeLaneProperties(t *testing.T) {
	k := scenario.StartFast(t, 600)
	c, a := subscribed(k, "alpha", simulator.Subscription{}, own, lowPriority)
	a.Subscribe(nil)
	names := make([]string, 0, len(claudeAnswers))
	for name := range claudeAnswers {
		names = append(names, name)
	}
	slices.Sort(names)
	rapid.Check(t, func(rt *rapid.T) {
		must := func(err error) {
			if err != nil {
				rt.Fatal(err)
			}
		}
		must(k.Facade().LeaveLane(t.Context(), c.ID))
		a.Reset()
		offered := false
		for range rapid.IntRange(1, 3).Draw(rt, "requests") {
			must(k.Facade().ClearCooldown(t.Context(), c.ID))
			_, err := k.Facade().ResetBreakers(t.Context())
			must(err)
			before := k.Connection("alpha").Failed
			said := rapid.SliceOfN(rapid.SampledFrom(names), 1, 5).Draw(rt, "answers")
			var steps []simulator.Step
			for _, name := range said {
				st := claudeAnswers[name]
				st.Note = name
				steps = append(steps, st)
			}
			a.Script(steps...)
			seen := len(a.Requests())
			got := k.Do(http.MethodPost, "/v1/messages", scenario.Messages, "Authorization", "Bearer "+oat)
			for _, r := range a.Requests()[seen:] {
				if r.Header.Get(laneHeader) != "" && !offered {
					rt.Fatalf("the header was sent before an offer: %v", story(a))
				}
				offered = offered || r.Answer == "wall"
			}
			now := k.Connection("alpha")
			switch {
			case got.Status == 200 && (now.State != control.StateServing || now.Failed != before || k.Breaker("claude").FailureCount != 0):
				rt.Fatalf("answered, yet alpha is %s with %d failures more: %v", now.State, now.Failed-before, story(a))
			case got.Status != 200 && now.Failed > before+1:
				rt.Fatalf("%d failures for one refusal: %v", now.Failed-before, story(a))
			}
		}
	})
}
