package cases

import (
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// Settings and operator rules decide about the next failure, without a
// restart, and they survive one.
func TestSettingsApplyLive(t *testing.T) {
	k := scenario.Start(t)
	alpha, _ := k.Pair()
	fail := func(step simulator.Step) time.Duration {
		t.Helper()
		if err := k.Facade().ClearCooldown(t.Context(), k.Connection("alpha").ID); err != nil {
			t.Fatal(err)
		}
		alpha.Script(step)
		k.Post("/v1/messages", scenario.Messages)
		return k.CoolsFor("alpha")
	}
	if got := fail(simulator.Status(429)); got != 3*time.Second {
		t.Fatalf("by default alpha cools for %v", got)
	}
	if _, err := k.Facade().EditResilience(t.Context(), []byte(`{"connectionCooldown":{"apikey":{"baseCooldownMs":20000}}}`)); err != nil {
		t.Fatal(err)
	}
	if got := fail(simulator.Status(429)); got != 20*time.Second {
		t.Errorf("with a base of 20 s alpha cools for %v", got)
	}
	if _, err := k.Facade().EditGuide(t.Context(), control.GuidePatch{
		ProviderErrorRules: []byte(`{"demo":[{"status":503,"match":"maintenance","scope":"connection","cooldownMs":3600000}]}`),
	}); err != nil {
		t.Fatal(err)
	}
	upkeep := simulator.Status(503).WithError(simulator.Error{Message: "down for Maintenance"})
	if got := fail(upkeep); got != time.Hour {
		t.Errorf("by the operator's rule alpha cools for %v", got)
	}
	if got := fail(simulator.Status(503)); got != 20*time.Second {
		t.Errorf("another 503 cools alpha for %v", got)
	}
	k.Restart()
	if got := fail(upkeep); got != time.Hour {
		t.Errorf("after a restart the rule cools alpha for %v", got)
	}
}

// Breaker thresholds follow the settings at once.
func TestBreakerThresholdAppliesLive(t *testing.T) {
	k := scenario.Start(t)
	k.Add("alpha", "demo", neverCool)
	k.Sim.Account("alpha").Script(simulator.Status(500).Always())
	if _, err := k.Facade().EditResilience(t.Context(), []byte(`{"providerBreaker":{"apikey":{"failureThreshold":2,"degradationThreshold":1}}}`)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		k.Post("/v1/messages", scenario.Messages)
		k.Clock.Advance(6 * time.Second)
	}
	if b := k.Breaker("demo"); b.State != "OPEN" {
		t.Errorf("after 2 failures the breaker is %s (%d of %d)", b.State, b.FailureCount, b.FailureThreshold)
	}
}
