package cases

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"breakwater/proxy"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// The stream cases of the sheet that a client sees (§8.6).
func TestStreamsThatDoNotBegin(t *testing.T) {
	limits := proxy.DefaultLimits()
	limits.Readiness, limits.ReadinessMax, limits.Stall = 150*time.Millisecond, 300*time.Millisecond, time.Minute
	for _, tt := range []struct {
		name   string
		step   simulator.Step
		status int
		code   string
		kind   string
	}{
		{"case 167 nothing but pings", simulator.OK().KeepAliveAt(simulator.AtStart, "ping", 20*time.Millisecond, simulator.Forever), 504, "STREAM_READINESS_TIMEOUT", "stream_timeout"},
		{"case 168 no event", simulator.Raw("text/event-stream", ""), 502, "STREAM_EARLY_EOF", "stream_early_eof"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := scenario.StartWith(t, limits)
			k.Add("alpha", "demo")
			k.Sim.Account("alpha").Script(tt.step)
			a := k.Post("/v1/messages", scenario.Messages)
			var e struct{ Error struct{ Type, Code string } }
			if err := json.Unmarshal([]byte(a.Body), &e); err != nil || a.Status != tt.status || e.Error.Code != tt.code || e.Error.Type != tt.kind {
				t.Errorf("got %d %s (%v)", a.Status, a.Body, err)
			}
			if c := k.Connection("alpha"); tt.status == 504 && c.State != "serving" {
				t.Errorf("alpha is %s after a local deadline", c.State)
			}
		})
	}
	t.Run("case 170 the last event lacks its blank line", func(t *testing.T) {
		k := scenario.Start(t)
		k.Add("alpha", "demo")
		stream := strings.TrimSuffix(event("message_start", messageStart)+event("content_block_start", blockStart)+
			event("content_block_delta", textDelta)+event("message_stop", `{"type":"message_stop"}`), "\n\n")
		k.Sim.Account("alpha").Script(simulator.Raw("text/event-stream", stream))
		if a := k.Post("/v1/messages", scenario.Messages); a.Status != 200 || a.Err != nil || a.Body != stream+"\n\n" {
			// Ruling 59: parsers drop an event without its blank line, so it is added.
			t.Errorf("got %d, %v: %s", a.Status, a.Err, a.Body)
		}
	})
}

// A stall cools nobody unless the switch says so.
func TestStallCooldownSwitch(t *testing.T) {
	limits := proxy.DefaultLimits()
	limits.Readiness, limits.ReadinessMax, limits.Stall = 100*time.Millisecond, time.Minute, 100*time.Millisecond
	for _, on := range []bool{false, true} {
		k := scenario.StartWith(t, limits)
		if on {
			edit(t, k, `{"streamStallCooldown":{"enabled":true}}`)
		}
		alpha, _ := k.Pair()
		alpha.Script(simulator.OK().StallAfter(simulator.AfterPreamble, simulator.Forever))
		if a := k.Post("/v1/messages", scenario.Messages); a.From() != "beta" {
			t.Fatalf("got %d %s", a.Status, a.Body)
		}
		if cools := k.CoolsFor("alpha") > 0; cools != on {
			t.Errorf("switch %v: alpha cools for %v", on, k.CoolsFor("alpha"))
		}
	}
}

// edit changes the resilience settings.
func edit(t *testing.T, k *scenario.Kit, patch string) {
	t.Helper()
	if _, err := k.Product.Service.EditResilience(context.Background(), json.RawMessage(patch)); err != nil {
		t.Fatal(err)
	}
}

// Case P32 after output: pings do not keep a stream alive whose model says
// nothing more; the client sees a broken end.
func TestStallAfterOutput(t *testing.T) {
	limits := proxy.DefaultLimits()
	limits.Readiness, limits.ReadinessMax, limits.Stall = 200*time.Millisecond, time.Minute, 200*time.Millisecond
	t.Run("case P32", func(t *testing.T) {
		k := scenario.StartWith(t, limits)
		alpha, _ := k.Pair()
		alpha.Script(simulator.OK("one two three").KeepAliveAt(1, "ping", 20*time.Millisecond, simulator.Forever))
		a := k.Post("/v1/messages", scenario.Messages)
		if a.Status != http.StatusOK || a.Err == nil || !strings.Contains(a.Body, "event: error") {
			t.Errorf("ended with %v: %s", a.Err, a.Body)
		}
		if last := k.Last(); last.Result != "truncated" || last.Trace[len(last.Trace)-1].Reason != "stream_content_stall" {
			t.Errorf("recorded %s, %+v", last.Result, last.Trace)
		}
	})
}
