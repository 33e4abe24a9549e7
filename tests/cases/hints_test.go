package cases

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// json429 is a 429 with a body.
func json429(body string) simulator.Step {
	return simulator.Status(429).WithBody("application/json", body)
}

// Hints in bodies and in Anthropic's window headers decide how long a
// connection rests (cases P02, P03, P06, P07).
func TestStatedWaits(t *testing.T) {
	const prefix = "Anthropic-Ratelimit-Unified-"
	tests := []struct {
		name string
		step simulator.Step
		want time.Duration
	}{
		{
			"case P02 RetryInfo",
			json429(`{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Please retry in 26.66s.","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"26s"}]}}`),
			26 * time.Second,
		},
		{
			"case P03 ErrorInfo metadata, rounded up",
			json429(`{"error":{"code":429,"message":"slow down","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","metadata":{"quotaResetDelay":"373.8ms"}}]}}`),
			400 * time.Millisecond, // CoolsFor rounds to a tenth of a second
		},
		{"case P03 prose", json429(`{"error":{"message":"Your quota will reset after 2h7m23s."}}`), 7643 * time.Second},
		{
			"case P06 epoch of a five-hour window",
			simulator.Status(429).WithHeader(prefix+"Status", "rejected").WithHeader(prefix+"Representative-Claim", "five_hour").WithHeader(prefix+"Reset", "1893564000"),
			10555 * time.Second,
		},
		{
			"case P07 the rejected window counts",
			simulator.Status(429).WithHeader(prefix+"Representative-Claim", "seven_day").WithHeader(prefix+"Reset", "1893900000").
				WithHeader(prefix+"5h-Status", "rejected").WithHeader(prefix+"5h-Reset", "1893556800").
				WithHeader(prefix+"7d-Status", "allowed").WithHeader(prefix+"7d-Reset", "1893900000"),
			3355 * time.Second,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := scenario.Start(t)
			alpha, _ := k.Pair()
			alpha.Script(tt.step)
			if a := k.Post("/v1/messages", scenario.Messages); a.From() != "beta" {
				t.Fatalf("got %d from %q: %s", a.Status, a.From(), a.Body)
			}
			if got := k.CoolsFor("alpha"); got != tt.want {
				t.Errorf("alpha rests for %v, want %v", got, tt.want)
			}
		})
	}
}

// Case P08: refusals without any reset are remembered, so that three requests
// do not walk through the same refusing connections.
func TestHeaderlessRefusalsAreRemembered(t *testing.T) {
	t.Run("case P08", func(t *testing.T) {
		k := scenario.Start(t)
		names := []string{"one", "two", "three", "four"}
		for _, name := range names {
			k.Add(name, "demo")
			k.Sim.Account(name).Script(json429(`{"type":"error","error":{"type":"rate_limit_error","message":"extra usage is needed"}}`).Always())
		}
		for range 3 {
			if a := k.Post("/v1/messages", scenario.Messages); a.Status != 429 {
				t.Errorf("got %d %s", a.Status, a.Body)
			}
			k.Clock.Advance(time.Second)
		}
		for _, name := range names {
			if n := len(k.Sim.Account(name).Requests()); n != 1 {
				t.Errorf("%s was asked %d times", name, n)
			}
		}
		if b := k.Breaker("demo"); b.FailureCount != 0 {
			t.Errorf("the breaker counts %d", b.FailureCount)
		}
	})
}

// Case P22: a half-open probe that never settles gives its place up.
func TestHangingProbeIsReplaced(t *testing.T) {
	opened := func(t *testing.T) (*scenario.Kit, *simulator.Account) {
		k := scenario.Start(t)
		k.Add("alpha", "demo-oauth", neverCool)
		alpha := k.Sim.Account("alpha")
		alpha.Script(simulator.Status(503).Always())
		for range 8 {
			k.Post("/v1/messages", scenario.Messages)
			k.Clock.Advance(6 * time.Second)
		}
		k.Clock.Advance(time.Minute)
		return k, alpha
	}
	send := func(t *testing.T, k *scenario.Kit) func() {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, k.URL+"/v1/messages", strings.NewReader(scenario.Messages))
		if err != nil {
			t.Fatal(err)
		}
		conn := k.Dial()
		if err := req.Write(conn); err != nil {
			t.Fatal(err)
		}
		return func() { _ = conn.Close() }
	}
	t.Run("case P22 the probe hangs", func(t *testing.T) {
		k, alpha := opened(t)
		asked := len(alpha.Requests())
		alpha.Script(simulator.OK().Delayed(time.Hour))
		send(t, k)
		if _, err := alpha.Await(t.Context(), func(rs []simulator.Request) bool { return len(rs) > asked }); err != nil {
			t.Fatal(err)
		}
		if a := k.Post("/v1/messages", scenario.Messages); a.Status != 503 {
			t.Errorf("a second request beside the probe got %d", a.Status)
		}
		k.Clock.Advance(time.Minute + time.Second)
		if a := k.Post("/v1/messages", scenario.Messages); a.Status != 200 {
			t.Errorf("after the lease: %d %s", a.Status, a.Body)
		}
		if b := k.Breaker("demo-oauth"); b.State != "CLOSED" {
			t.Errorf("the breaker is %s", b.State)
		}
	})
	t.Run("case P22 the probe's client leaves", func(t *testing.T) {
		k, alpha := opened(t)
		asked := len(alpha.Requests())
		alpha.Script(simulator.OK().Delayed(time.Hour))
		leave := send(t, k)
		wait := func(ok func(simulator.Request) bool) {
			if _, err := alpha.Await(t.Context(), func(rs []simulator.Request) bool { return len(rs) > asked && ok(rs[asked]) }); err != nil {
				t.Fatal(err)
			}
		}
		wait(func(simulator.Request) bool { return true })
		leave()
		wait(func(r simulator.Request) bool { return !r.CancelledAt.IsZero() })
		k.Until("the probe's place to be free", func() bool {
			return k.Connection("alpha").State == control.StateProbing && k.Post("/v1/messages", scenario.Messages).Status == 200
		})
	})
}
