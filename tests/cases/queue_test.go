package cases

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// limitOne lets one request run on each connection and gives the others this
// budget to wait for their turn.
func limitOne(t *testing.T, k *scenario.Kit, budgetMs string) {
	t.Helper()
	patch := `{"requestQueue":{"concurrentRequests":1,"maxWaitMs":` + budgetMs + `}}`
	if _, err := k.Facade().EditResilience(t.Context(), []byte(patch)); err != nil {
		t.Fatal(err)
	}
}

// inBackground sends a request beside the test.
func inBackground(k *scenario.Kit) <-chan scenario.Answer {
	out := make(chan scenario.Answer, 1)
	go func() { out <- k.Do(http.MethodPost, "/v1/messages", scenario.Messages) }()
	return out
}

// Case P11: the budget for waiting ends the wait, never a request that runs,
// and is no failure of the connection.
func TestQueueBudgetEndsOnlyTheWait(t *testing.T) {
	t.Run("case P11", func(t *testing.T) {
		k := scenario.Start(t)
		k.Add("alpha", "demo")
		alpha := k.Sim.Account("alpha")
		limitOne(t, k, "100")
		release := make(chan struct{})
		alpha.Script(simulator.OK().HoldAfter(simulator.BeforeHeaders, release))
		running := inBackground(k)
		if _, err := alpha.Await(t.Context(), func(rs []simulator.Request) bool { return len(rs) == 1 }); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		b := k.Do(http.MethodPost, "/v1/messages", scenario.Messages)
		if b.Status != 503 || !strings.Contains(b.Body, "RATE_LIMIT_QUEUE_TIMEOUT") || b.Header.Get("Retry-After") == "" {
			t.Errorf("the waiting request got %d %s", b.Status, b.Body)
		}
		if waited := time.Since(began); waited < 90*time.Millisecond || waited > 5*time.Second {
			t.Errorf("it waited %v", waited)
		}
		close(release)
		if a := <-running; a.Status != 200 || a.From() != "alpha" {
			t.Errorf("the running request got %d %s", a.Status, a.Body)
		}
		if n := len(alpha.Requests()); n != 1 {
			t.Errorf("the upstream saw %d requests", n)
		}
		if c := k.Connection("alpha"); c.State != "serving" || k.Breaker("demo").FailureCount != 0 {
			t.Errorf("alpha is %s", c.State)
		}
	})
}

// Case P12: when the running request is turned away for hours, those that wait
// behind it are answered at once: by another connection, or with a refusal
// that says when to come back.
func TestQueueDoesNotWaitForACooldown(t *testing.T) {
	for _, withBeta := range []bool{false, true} {
		name := "case P12 alone"
		if withBeta {
			name = "case P12 with beta"
		}
		t.Run(name, func(t *testing.T) {
			k := scenario.Start(t)
			k.Add("alpha", "demo")
			if withBeta {
				k.Add("beta", "demo-oauth")
			}
			alpha := k.Sim.Account("alpha")
			limitOne(t, k, "30000")
			release := make(chan struct{})
			alpha.Script(simulator.Status(429).WithRetryAfter(2*time.Hour).HoldAfter(simulator.BeforeHeaders, release))
			running := []<-chan scenario.Answer{inBackground(k)}
			if _, err := alpha.Await(t.Context(), func(rs []simulator.Request) bool { return len(rs) == 1 }); err != nil {
				t.Fatal(err)
			}
			for range 5 {
				running = append(running, inBackground(k))
			}
			began := time.Now()
			close(release)
			for _, r := range running {
				a := <-r
				if withBeta && a.From() != "beta" || !withBeta && (a.Status != 429 || a.Header.Get("Retry-After") == "") {
					t.Errorf("got %d %s", a.Status, a.Body)
				}
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("the answers took %v", took)
			}
			if n := len(alpha.Requests()); n != 1 {
				t.Errorf("alpha was asked %d times", n)
			}
		})
	}
}

// By default nothing is limited: two requests run side by side (ruling 39).
func TestQueueIsOpenByDefault(t *testing.T) {
	k := scenario.Start(t)
	k.Add("alpha", "demo")
	alpha := k.Sim.Account("alpha")
	release := make(chan struct{})
	alpha.Script(simulator.OK().HoldAfter(simulator.BeforeHeaders, release).Repeat(20))
	var running []<-chan scenario.Answer
	for range 20 {
		running = append(running, inBackground(k))
	}
	if _, err := alpha.Await(t.Context(), func(rs []simulator.Request) bool { return len(rs) == 20 }); err != nil {
		t.Fatal(err)
	}
	close(release)
	for _, r := range running {
		if a := <-r; a.Status != 200 {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	}
}
