package cases

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"breakwater/proxy"
	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// patient lets requests wait for resting connections as the settings allow.
func patient() proxy.Limits {
	l := proxy.DefaultLimits()
	l.Patience = time.Hour
	return l
}

// waiting sends a request that has to wait, and moves the clock on by the given
// time once all of these connections rest.
func waiting(t *testing.T, k *scenario.Kit, path, body string, move time.Duration, rest ...string) scenario.Answer {
	t.Helper()
	out := make(chan scenario.Answer, 1)
	go func() { out <- k.Do(http.MethodPost, path, body) }()
	for _, name := range rest {
		k.Until(name+" to rest", func() bool { return k.CoolsFor(name) > 0 })
	}
	k.Clock.Advance(move)
	select {
	case a := <-out:
		return a
	case <-time.After(10 * time.Second):
		t.Fatal("the request is still waiting")
		return scenario.Answer{}
	}
}

func hasStep(a control.Activity, kind control.StepKind) bool {
	for _, s := range a.Trace {
		if s.Kind == kind {
			return true
		}
	}
	return false
}

// A short limit of the only connection is waited out instead of being thrown at
// the client (waitForCooldown).
func TestRequestsWaitForACoolingConnection(t *testing.T) {
	limited := simulator.Status(429).WithHeader("Retry-After", "20")
	for _, tt := range []struct {
		name   string
		script []simulator.Step
		body   string
		status int
		calls  int
	}{
		{"a stated 429, as a stream", []simulator.Step{limited, simulator.OK()}, scenario.Messages, 200, 2},
		{"a 500 without a time", []simulator.Step{simulator.Status(500), simulator.OK()}, scenario.Messages, 200, 2},
		{"a 529", []simulator.Step{simulator.Status(529), simulator.OK()}, scenario.Messages, 200, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := scenario.StartWith(t, patient())
			k.Add("alpha", "demo")
			k.Sim.Account("alpha").Script(tt.script...)
			a := waiting(t, k, "/v1/messages", tt.body, 21*time.Second, "alpha")
			if a.Status != tt.status || a.From() != "alpha" {
				t.Errorf("got %d %s", a.Status, a.Body)
			}
			if n := len(k.Sim.Account("alpha").Requests()); n != tt.calls {
				t.Errorf("the upstream saw %d requests", n)
			}
			if c := k.Connection("alpha"); c.State != "serving" {
				t.Errorf("alpha is %s", c.State)
			}
		})
	}
}

// What no short wait cures is told at once.
func TestRequestsDoNotWaitInVain(t *testing.T) {
	for _, tt := range []struct {
		name   string
		step   simulator.Step
		body   string
		status int
	}{
		{"longer than a wait may be", simulator.Status(429).WithHeader("Retry-After", "91"), scenario.Messages, 429},
		{"an answer in one piece for a client that stands 15 s", simulator.Status(429).WithHeader("Retry-After", "30"), scenario.NoStream(scenario.Messages), 429},
		{"a refused key", simulator.Status(401), scenario.Messages, 502},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := scenario.StartWith(t, patient())
			k.Add("alpha", "demo")
			k.Sim.Account("alpha").Script(tt.step)
			if a := k.Post("/v1/messages", tt.body); a.Status != tt.status {
				t.Errorf("got %d %s", a.Status, a.Body)
			}
			if hasStep(k.Last(), control.StepWaited) {
				t.Error("it waited")
			}
		})
	}
	t.Run("nobody listens there", func(t *testing.T) {
		k := scenario.StartWith(t, patient())
		k.Add("alpha", "demo", func(in *control.ConnectionInput) { in.BaseURL = "http://127.0.0.1:1/v1" })
		if a := k.Post("/v1/messages", scenario.Messages); a.Status != 502 {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
	t.Run("switched off", func(t *testing.T) {
		k := scenario.StartWith(t, patient())
		k.Add("alpha", "demo")
		if _, err := k.Facade().EditResilience(t.Context(), []byte(`{"waitForCooldown":{"enabled":false}}`)); err != nil {
			t.Fatal(err)
		}
		k.Sim.Account("alpha").Script(simulator.Status(429).WithHeader("Retry-After", "2"))
		if a := k.Post("/v1/messages", scenario.Messages); a.Status != 429 {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
}

// A client that leaves during the wait ends it: nothing is sent later, nothing
// is held (P61).
func TestAClientThatLeavesEndsItsWait(t *testing.T) {
	k := scenario.StartWith(t, patient())
	k.Add("alpha", "demo")
	k.Sim.Account("alpha").Script(simulator.Status(429).WithHeader("Retry-After", "20"), simulator.OK())
	ctx, leave := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, k.URL+"/v1/messages", strings.NewReader(scenario.Messages))
		if err == nil {
			_, err = http.DefaultClient.Do(req) //nolint:bodyclose // it fails
		}
		done <- err
	}()
	k.Until("the connection to rest", func() bool { return k.CoolsFor("alpha") > 0 })
	leave()
	if err := <-done; err == nil {
		t.Error("the client got an answer")
	}
	k.Until("the row of the request", func() bool {
		rows, err := k.Facade().Activity(t.Context(), control.ActivityQuery{Limit: 1})
		return err == nil && len(rows) == 1 && rows[0].Status == 499 && k.Store.Flush(t.Context()) == nil
	})
	k.Clock.Advance(time.Minute)
	if n := len(k.Sim.Account("alpha").Requests()); n != 1 {
		t.Errorf("the upstream saw %d requests", n)
	}
}

// X-OmniRoute-Connection keeps a request for a single model to one connection
// (combos sheet §2.9), and every answer names the one that was used.
func TestAClientNamesItsConnection(t *testing.T) {
	k := scenario.Start(t)
	k.Pair()
	beta := k.Connection("beta")
	for _, name := range []string{"beta", beta.ID} {
		a := k.Post("/v1/messages", scenario.Messages, "X-OmniRoute-Connection", name)
		if a.From() != "beta" || a.Header.Get("X-OmniRoute-Selected-Connection-Id") != beta.ID {
			t.Errorf("%s: answered by %s, header %q", name, a.From(), a.Header.Get("X-OmniRoute-Selected-Connection-Id"))
		}
	}
	k.Sim.Account("beta").Script(simulator.Status(503))
	a := k.Post("/v1/messages", scenario.Messages, "X-OmniRoute-Connection", "beta")
	if a.Status != 502 || a.Header.Get("X-OmniRoute-Selected-Connection-Id") != beta.ID {
		t.Errorf("got %d, header %q", a.Status, a.Header.Get("X-OmniRoute-Selected-Connection-Id"))
	}
}
