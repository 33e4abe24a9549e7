package cases

import (
	"testing"
	"time"

	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// Sheet §3.11, step 17: an account whose window an earlier answer told to be
// used up cools until that window comes back, and not for a rung of the ladder.
func TestKnownQuotaResetCools(t *testing.T) {
	t.Run("step 17", func(t *testing.T) {
		k := scenario.Start(t)
		alpha, _ := k.Pair()
		alpha.Script(
			simulator.OK().WithHeader("x-codex-primary-used-percent", "100").WithHeader("x-codex-primary-reset-after-seconds", "7200"),
			simulator.Status(429),
		)
		for range 2 {
			if a := k.Post("/v1/messages", scenario.Messages); a.Status != 200 {
				t.Fatalf("got %d %s", a.Status, a.Body)
			}
		}
		if c := k.Connection("alpha"); k.CoolsFor("alpha") != 2*time.Hour || c.Source != "quota" || c.BackoffLevel != 0 {
			t.Errorf("cools for %v by %q at level %d", k.CoolsFor("alpha"), c.Source, c.BackoffLevel)
		}
	})
}
