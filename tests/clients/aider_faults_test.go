package clients

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
)

// shortFault is something that passes within aider's patience: about a minute
// of retries that do not look at Retry-After.
type shortFault struct {
	name        string
	connections int
	steps       []simulator.Step
}

var shortFaults = []shortFault{
	{"both are limited for 3 s four times", 2, []simulator.Step{simulator.Status(429).WithRetryAfter(3 * time.Second).Repeat(4)}},
	{"both answer 500 three times", 2, []simulator.Step{simulator.Status(500).Repeat(3)}},
	{"both answer 529 three times", 2, []simulator.Step{simulator.Status(529).Repeat(3)}},
	{"the only one is limited for 3 s four times", 1, []simulator.Step{simulator.Status(429).WithRetryAfter(3 * time.Second).Repeat(4)}},
	{"the only one answers 500 three times", 1, []simulator.Step{simulator.Status(500).Repeat(3)}},
	{"reset in mid-stream", 1, []simulator.Step{simulator.OK().ResetAfter(2)}},
	{"end in mid-stream", 1, []simulator.Step{simulator.OK().EndAfter(2)}},
	{"error in mid-stream", 1, []simulator.Step{simulator.OK().ErrorAfter(2, simulator.Error{Type: "api_error", Message: "Internal server error"})}},
	{"silence of 10 s in mid-stream", 1, []simulator.Step{simulator.OK().StallAfter(2, 10*time.Second)}},
}

// Everything that passes within aider's own minute of retries ends with the
// answer: the program spends the waits that aider would not.
func TestAiderOutlivesShortFaults(t *testing.T) {
	if os.Getenv("RUN_CLIENTS") == "" {
		t.Skip("these turns spend real waits, so they run only with RUN_CLIENTS=1")
	}
	for name, route := range map[string]aiderRoute{"openai": aiderOpenAI, "anthropic": aiderAnthropic} {
		for _, f := range shortFaults {
			t.Run(name+" "+f.name, func(t *testing.T) {
				t.Parallel()
				outlive(t, route, f)
			})
		}
	}
}

func outlive(t *testing.T, route aiderRoute, f shortFault) {
	sim := simulator.New(simulator.Options{})
	if err := sim.Start(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	account := sim.Account("shared")
	p := newBareProgram(t)
	for _, name := range []string{"first", "second"}[:f.connections] {
		in := control.ConnectionInput{Provider: "custom", Name: name, APIKey: account.Key(), BaseURL: account.BaseURL()}
		if _, err := p.api.AddConnection(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	account.Script(f.steps...)
	ctx, cancel := context.WithTimeout(t.Context(), turnLimit)
	defer cancel()
	began := time.Now()
	text, err := (&aiderClient{base: p.base(), route: route}).send(ctx, plainPrompt, true)
	if err != nil {
		t.Fatalf("the user sees a failure after %s: %v%s", time.Since(began), err, story(p.rows(t, began, 1)))
	}
	if strings.TrimSpace(text) == "" {
		t.Error("the user sees an empty answer")
	}
	if rest := account.Pending(); len(rest) != 0 {
		t.Errorf("the fault was not met: %v is left", rest)
	}
	var statuses []int
	for _, r := range account.Requests() {
		statuses = append(statuses, r.Status)
	}
	t.Logf("%s, the provider answered %v", time.Since(began).Round(100*time.Millisecond), statuses)
}
