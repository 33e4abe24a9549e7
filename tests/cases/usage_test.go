package cases

import (
	"fmt"
	"strings"
	"testing"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// What an answer cost is in the activity, whatever the dialect and the form.
func TestUsageIsRecorded(t *testing.T) {
	long := strings.Repeat("many words ", 20_000)
	for _, tt := range []struct {
		name, path, body, stop string
		text                   string
		write                  int64
	}{
		{"anthropic", "/v1/messages", scenario.Messages, "end_turn", "short", 20},
		{"chat", "/v1/chat/completions", strings.Replace(scenario.Chat, `"stream":true`, `"stream":true,"stream_options":{"include_usage":true}`, 1), "stop", "short", 0},
		{"responses", "/v1/responses", scenario.Responses, "completed", "short", 0},
		{"anthropic, long", "/v1/messages", scenario.Messages, "end_turn", long, 20},
		{"responses, long", "/v1/responses", scenario.Responses, "completed", long, 0},
	} {
		for _, body := range []string{tt.body, strings.Replace(tt.body, `"stream":true`, `"stream":false`, 1)} {
			t.Run(fmt.Sprint(tt.name, body == tt.body), func(t *testing.T) {
				k := scenario.Start(t)
				k.Add("alpha", "demo")
				k.Sim.Account("alpha").Script(simulator.OK(tt.text).Split(4096).WithUsage(
					simulator.Usage{Input: 100, Output: 50, CacheRead: 300, CacheWrite: int(tt.write), Reasoning: 7}))
				if a := k.Post(tt.path, body); a.Status != 200 || a.Err != nil {
					t.Fatalf("got %d, %v", a.Status, a.Err)
				}
				want := control.Usage{InputTokens: 100, OutputTokens: 50, CacheReadTokens: 300, CacheWriteTokens: tt.write, ReasoningTokens: 7, StopReason: tt.stop}
				if strings.HasPrefix(tt.name, "anthropic") {
					want.ReasoningTokens = 0 // the dialect does not tell
				}
				if got := k.Last().Usage; got != want {
					t.Errorf("got %+v, want %+v", got, want)
				}
			})
		}
	}
}

// A stream that breaks off still tells what it told.
func TestUsageOfBrokenStreams(t *testing.T) {
	k := scenario.Start(t)
	k.Add("alpha", "demo")
	k.Sim.Account("alpha").Script(simulator.OK("one two three").WithUsage(simulator.Usage{Input: 100, Output: 50}).CutAfter(2))
	if a := k.Post("/v1/messages", scenario.Messages); a.Err == nil {
		t.Fatalf("got a clean end: %s", a.Body)
	}
	if got := k.Last(); got.Result != "truncated" || got.InputTokens != 100 || got.StopReason != "" {
		t.Errorf("recorded %s, %+v", got.Result, got.Usage)
	}
}
