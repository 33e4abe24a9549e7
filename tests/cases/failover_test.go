// Package cases holds the failures met in the field, each as a subtest that
// carries its id.
package cases

import (
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// wants is what a failing first connection must lead to.
type wants struct {
	cools    time.Duration // of alpha
	state    string        // of alpha, "" is not looked at
	failures int           // counted by the breaker
}

// Every failure of the first connection before its first output is answered by
// the second, in both answer forms of each dialect.
func TestAnotherConnectionAnswers(t *testing.T) {
	tests := []struct {
		name string
		step simulator.Step
		want wants
	}{
		{"case P01 Retry-After as a date", simulator.Status(429).WithHeader("Retry-After", "Wed, 02 Jan 2030 03:05:05 GMT"), wants{cools: time.Minute}},
		{"case P01 Retry-After as an RFC 850 date", simulator.Status(429).WithHeader("Retry-After", "Wednesday, 02-Jan-30 03:05:05 GMT"), wants{cools: time.Minute}},
		{"case P01 Retry-After in the past", simulator.Status(429).WithHeader("Retry-After", "Wed, 02 Jan 2030 03:03:05 GMT"), wants{cools: 3 * time.Second}},
		{"case P04 Retry-After of weeks", simulator.Status(429).WithHeader("Retry-After", "1587827"), wants{cools: 1587827 * time.Second}},
		{"case P04 Retry-After beyond everything is clamped", simulator.Status(429).WithHeader("Retry-After", "9999999999"), wants{cools: 30 * 24 * time.Hour}},
		{"case P04 negative Retry-After", simulator.Status(429).WithHeader("Retry-After", "-5"), wants{cools: 3 * time.Second}},
		{"case P04 unreadable Retry-After", simulator.Status(429).WithHeader("Retry-After", "1e400"), wants{cools: 3 * time.Second}},
		{"case P04 Retry-After with a fraction", simulator.Status(429).WithHeader("Retry-After", "12.5"), wants{cools: 12500 * time.Millisecond}},
		{"case P05 Retry-After as epoch seconds", simulator.Status(429).WithHeader("Retry-After", "1893553565"), wants{cools: 2 * time.Minute}},
		{"case P05 Retry-After as epoch milliseconds", simulator.Status(429).WithHeader("Retry-After", "1893553565000"), wants{cools: 2 * time.Minute}},
		{"case P16 529", simulator.Status(529).WithError(simulator.Error{Type: "overloaded_error", Message: "busy"}), wants{cools: 3 * time.Second}},
		{"503", simulator.Status(503), wants{cools: 3 * time.Second, failures: 1}},
		{"502 with a web page", simulator.Status(502).WithBody("text/html", "<h1>bad</h1>"), wants{cools: 3 * time.Second, failures: 1}},
		{"401 leaves the rotation", simulator.Status(401), wants{state: "expired"}},
		{"402 leaves the rotation", simulator.Status(402), wants{state: "credits_exhausted"}},
		{"reset before headers", simulator.Reset(), wants{cools: 3 * time.Second, failures: 1}},
		{"case P28 empty 200", simulator.Empty(), wants{cools: 3 * time.Second, failures: 1}},
		{"case P28 a web page as 200", simulator.HTML(), wants{cools: 5 * time.Second}},
		{"case P28 three spaces as 200", simulator.Raw("application/json", "   "), wants{cools: 3 * time.Second, failures: 1}},
	}
	for _, tt := range tests {
		for path, body := range map[string]string{
			"/v1/messages": scenario.Messages, "/v1/chat/completions": scenario.NoStream(scenario.Chat), "/v1/responses": scenario.Responses,
		} {
			t.Run(tt.name+path, func(t *testing.T) {
				k := scenario.Start(t)
				k.Add("alpha", "demo")
				k.Add("beta", "demo-oauth") // its success must not cleanse alpha's breaker
				alpha, beta := k.Sim.Account("alpha"), k.Sim.Account("beta")
				alpha.Script(tt.step.Always())
				a := k.Post(path, body)
				if a.Status != 200 || a.Err != nil || a.From() != "beta" || strings.Contains(a.Body, "alpha") {
					t.Fatalf("got %d, %v from %q: %s", a.Status, a.Err, a.From(), a.Body)
				}
				if got := k.CoolsFor("alpha"); got != tt.want.cools {
					t.Errorf("alpha cools for %v, want %v", got, tt.want.cools)
				}
				if c := k.Connection("alpha"); tt.want.state != "" && string(c.State) != tt.want.state {
					t.Errorf("alpha is %s, want %s", c.State, tt.want.state)
				}
				if b := k.Breaker("demo"); b.FailureCount != tt.want.failures {
					t.Errorf("the breaker counts %d failures, want %d", b.FailureCount, tt.want.failures)
				}
				if got := k.CoolsFor("beta"); got != 0 {
					t.Errorf("beta cools for %v", got)
				}
				// The failed one is not asked again before its time.
				before := len(alpha.Requests())
				if a := k.Post(path, body); a.From() != "beta" {
					t.Errorf("the second request was answered by %q", a.From())
				}
				if after := len(alpha.Requests()); after != before {
					t.Errorf("alpha was asked %d times again", after-before)
				}
				if got := len(beta.Requests()); got != 2 {
					t.Errorf("beta was asked %d times, want 2", got)
				}
				last := k.Last()
				if last.ConnectionName != "beta" || len(last.Trace) != 2 || last.Trace[0].Kind != "skipped" {
					t.Errorf("the trace of the second request: %+v", last.Trace)
				}
			})
		}
	}
}

func TestCooldownSurvivesARestartAndEnds(t *testing.T) {
	k := scenario.Start(t)
	alpha, _ := k.Pair()
	alpha.Script(simulator.Status(429).WithRetryAfter(time.Minute))
	if a := k.Post("/v1/messages", scenario.Messages); a.From() != "beta" {
		t.Fatalf("answered by %q", a.From())
	}
	k.Clock.Advance(20 * time.Second)
	k.Restart()
	if got := k.CoolsFor("alpha"); got != 40*time.Second {
		t.Fatalf("after the restart alpha cools for %v, want 40s", got)
	}
	if a := k.Post("/v1/messages", scenario.Messages); a.From() != "beta" {
		t.Fatalf("after the restart answered by %q", a.From())
	}
	k.Clock.Advance(41 * time.Second)
	if a := k.Post("/v1/messages", scenario.Messages); a.From() != "alpha" {
		t.Fatalf("after its time answered by %q", a.From())
	}
	k.Restart()
	if c := k.Connection("alpha"); c.State != "serving" || c.BackoffLevel != 0 {
		t.Errorf("a success did not last: %+v", c)
	}
}

// Case P13: a cooled connection gets no traffic before its time.
func TestCooledConnectionGetsNoTraffic(t *testing.T) {
	t.Run("case P13 one request every 5 s", func(t *testing.T) {
		k := scenario.Start(t)
		alpha, _ := k.Pair()
		alpha.Script(simulator.Status(429).WithRetryAfter(15 * time.Second))
		for second := 0; second <= 30; second += 5 {
			k.Post("/v1/messages", scenario.Messages)
			want := 1
			if second >= 15 {
				want = 1 + (second-15)/5 + 1
			}
			if got := len(alpha.Requests()); got != want {
				t.Errorf("at %d s alpha has had %d requests, want %d", second, got, want)
			}
			k.Clock.Advance(5 * time.Second)
		}
	})
}

// Case P14: our own "nobody is available" is machine-readable and changes
// nothing.
func TestNobodyAvailable(t *testing.T) {
	for _, tt := range []struct {
		name, header, value string
		wait                string
	}{
		{"case P14 unknown client", "User-Agent", "x", "10"},
		{"Claude Code never sees more than 59 s", "X-Claude-Code-Session-Id", "s", "10"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := scenario.Start(t)
			alpha, beta := k.Pair()
			alpha.Script(simulator.Status(429).WithRetryAfter(10 * time.Second))
			beta.Script(simulator.Status(429).WithRetryAfter(40 * time.Second))
			k.Post("/v1/messages", scenario.Messages)
			before := k.Connection("beta")
			a := k.Post("/v1/messages", scenario.Messages, tt.header, tt.value)
			if a.Status != 429 || a.Header.Get("Retry-After") != tt.wait {
				t.Fatalf("got %d, Retry-After %q", a.Status, a.Header.Get("Retry-After"))
			}
			if !strings.Contains(a.Body, `"rate_limit_error"`) || !strings.Contains(a.Body, `"all_connections_cooling_down"`) {
				t.Errorf("body %s", a.Body)
			}
			if a.Header.Get("X-Should-Retry") != "" {
				t.Error("x-should-retry is set")
			}
			if after := k.Connection("beta"); after.BackoffLevel != before.BackoffLevel || len(beta.Requests()) != 1 {
				t.Errorf("the refusal changed beta: %+v", after)
			}
		})
	}
	t.Run("a long wait is capped for clients that give up at 60 s", func(t *testing.T) {
		k := scenario.Start(t)
		k.Add("alpha", "demo")
		k.Sim.Account("alpha").Script(simulator.Status(429).WithRetryAfter(time.Hour))
		k.Post("/v1/messages", scenario.Messages)
		for client, want := range map[string]string{"X-Claude-Code-Session-Id": "59", "X-Nobody": "3600"} {
			if a := k.Post("/v1/messages", scenario.Messages, client, "s"); a.Header.Get("Retry-After") != want {
				t.Errorf("%s: Retry-After %q, want %s", client, a.Header.Get("Retry-After"), want)
			}
		}
	})
}

// Case P15: a 429 leaves the breaker's count alone.
func TestRateLimitIsNoBreakerFailure(t *testing.T) {
	t.Run("case P15", func(t *testing.T) {
		k := scenario.Start(t)
		alpha, _ := k.Pair()
		for range 4 {
			alpha.Script(simulator.Status(503))
			k.Post("/v1/messages", scenario.Messages)
			k.Clock.Advance(2 * time.Minute)
		}
		// A success of beta takes one off each time; what counts is that the
		// 429 changes nothing.
		before := k.Breaker("demo").FailureCount
		alpha.Script(simulator.Status(429))
		k.Sim.Account("beta").Script(simulator.Status(429))
		k.Post("/v1/messages", scenario.Messages)
		if after := k.Breaker("demo").FailureCount; after != before {
			t.Errorf("the breaker went from %d to %d", before, after)
		}
	})
}

// Case P17: failures before any HTTP answer move on like others.
func TestUnreachableConnectionMovesOn(t *testing.T) {
	for name, url := range map[string]string{"refused": "http://127.0.0.1:1/v1", "no such host": "http://no-such-host.invalid/v1"} {
		t.Run("case P17 "+name, func(t *testing.T) {
			k := scenario.Start(t)
			k.Add("alpha", "demo", func(in *control.ConnectionInput) {
				in.BaseURL = strings.Replace(url, "http://no-such", "https://no-such", 1)
			})
			a := k.Post("/v1/chat/completions", scenario.Chat)
			if a.Status != 502 || !strings.Contains(a.Body, `"server_error"`) || a.ErrorMessage() == "" {
				t.Errorf("without beta: %d %s", a.Status, a.Body)
			}
			k.Add("beta", "demo")
			if err := k.Facade().ClearCooldown(t.Context(), k.Connection("alpha").ID); err != nil {
				t.Fatal(err)
			}
			if a := k.Post("/v1/chat/completions", scenario.Chat); a.Status != 200 || a.From() != "beta" {
				t.Errorf("with beta: %d %s", a.Status, a.Body)
			}
		})
	}
}
