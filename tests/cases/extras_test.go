package cases

import (
	"slices"
	"strings"
	"testing"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// Settings sheet §6.3: what a connection has of its own holds for its requests,
// for its test and after a restart.
func TestExtrasOfAConnection(t *testing.T) {
	k := scenario.Start(t)
	k.Add("alpha", "demo", func(in *control.ConnectionInput) {
		in.ExcludedModels, in.UserAgent, in.ValidationModel = []string{"m1"}, "Own/1", "tiny"
	})
	k.Add("beta", "demo")
	if res, err := k.Facade().TestConnection(t.Context(), k.Connection("alpha").ID); err != nil || !res.Valid {
		t.Fatalf("%+v, %v", res, err)
	}
	asked := k.Sim.Account("alpha").Requests()
	if last := asked[len(asked)-1]; last.Model != "tiny" || !strings.HasSuffix(last.Path, "/messages") || last.Header.Get("User-Agent") != "Own/1" {
		t.Errorf("the test asked %s for %q as %q", last.Path, last.Model, last.Header.Get("User-Agent"))
	}
	if _, err := k.Facade().EditConnection(t.Context(), k.Connection("alpha").ID, control.ConnectionPatch{Models: &[]string{"m1", "m-own"}}); err != nil {
		t.Fatal(err)
	}
	if ids := listed(t, k); slices.Contains(ids, "m1") || !slices.Contains(ids, "m-own") {
		t.Errorf("the list of models has %q", ids)
	}
	k.Restart()
	if c := k.Connection("alpha"); c.UserAgent != "Own/1" || len(c.ExcludedModels) != 1 || c.ValidationModel != "tiny" {
		t.Errorf("after a restart %+v", c.Extras)
	}
	if a := k.Post("/v1/messages", scenario.Messages); a.Status != 200 {
		t.Fatalf("got %d", a.Status)
	}
	if n := len(k.Sim.Account("alpha").Requests()); n != len(asked) {
		t.Error("it was asked for a model that is left out")
	}
	if _, err := k.Facade().EditConnection(t.Context(), k.Connection("alpha").ID, control.ConnectionPatch{ExcludedModels: &[]string{}}); err != nil {
		t.Fatal(err)
	}
	k.Post("/v1/messages", scenario.Messages)
	asked = k.Sim.Account("alpha").Requests()
	if last := asked[len(asked)-1]; last.Header.Get("User-Agent") != "Own/1" || last.Model == "tiny" {
		t.Errorf("the request went out as %q for %q", last.Header.Get("User-Agent"), last.Model)
	}
}

// The reset of one provider's breaker leaves the others as they are.
func TestResetOfOneProvider(t *testing.T) {
	k := scenario.Start(t)
	for _, c := range [][2]string{{"alpha", "demo"}, {"beta", "demo-oauth"}} {
		k.Add(c[0], c[1], neverCool)
		k.Sim.Account(c[0]).Script(simulator.Status(500).Always())
	}
	k.Post("/v1/messages", scenario.Messages)
	if k.Breaker("demo").FailureCount == 0 || k.Breaker("demo-oauth").FailureCount == 0 {
		t.Fatal("no failure was counted")
	}
	if n, err := k.Facade().ResetBreaker(t.Context(), "demo"); err != nil || n != 1 {
		t.Errorf("%d, %v", n, err)
	}
	if a, b := k.Breaker("demo"), k.Breaker("demo-oauth"); a.FailureCount != 0 || b.FailureCount == 0 {
		t.Errorf("%+v, %+v", a, b)
	}
	if n, err := k.Facade().ResetBreaker(t.Context(), "nobody"); err != nil || n != 0 {
		t.Errorf("%d, %v", n, err)
	}
}
