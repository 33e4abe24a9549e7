package cases

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"breakwater/proxy"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// Whole JSON answers of the three dialects.
var wholeDocuments = []struct{ name, path, request, doc string }{
	{
		"Messages", "/v1/messages", scenario.Messages,
		`{"id":"msg_1","type":"message","role":"assistant","model":"m1","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"text","text":"alpha"},{"type":"tool_use","id":"t1","name":"w","input":{"p":1}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":7}}`,
	},
	{
		"Chat", "/v1/chat/completions", scenario.Chat,
		`{"id":"c1","object":"chat.completion","created":1,"model":"m1","choices":[{"index":0,"message":{"role":"assistant","content":"alpha","reasoning_content":"hm","tool_calls":[{"id":"a","type":"function","function":{"name":"w","arguments":"{}"}}]},"logprobs":null,"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":7,"total_tokens":10}}`,
	},
	{
		"Responses", "/v1/responses", scenario.Responses,
		`{"id":"r1","object":"response","status":"completed","model":"m1","output":[{"id":"rs","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]},{"id":"m","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"alpha","annotations":[]}]},{"id":"f","type":"function_call","status":"completed","call_id":"c","name":"w","arguments":"{}"}],"usage":{"input_tokens":3,"output_tokens":7}}`,
	},
}

// A JSON answer to a streamed request becomes a stream of its dialect (ruling
// 60), and a stream that answers another request becomes its JSON answer.
func TestAnswersInTheOtherForm(t *testing.T) {
	for _, d := range wholeDocuments {
		for label, size := range map[string]int{"application/json": 1 << 20, "text/event-stream": 7, "text/plain": 1 << 20, "": 1} {
			t.Run(fmt.Sprintf("Q11 JSON as %q to a streamed request, %s", label, d.name), func(t *testing.T) {
				k := scenario.Start(t)
				k.Add("alpha", "demo")
				alpha := k.Sim.Account("alpha")
				alpha.Script(simulator.Raw(label, "\ufeff \r\n"+gjson.Get(d.doc, "@pretty").Raw).InChunks(size))
				a := k.Post(d.path, d.request)
				if a.Status != 200 || a.Err != nil || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") || strings.HasPrefix(a.Body, "{") {
					t.Fatalf("got %d, %v, %v: %s", a.Status, a.Err, a.Header, a.Body)
				}
				answeredWith(t, k, "stream_from_json")
				if last := k.Last(); last.InputTokens != 3 || last.OutputTokens != 7 || last.StopReason == "" {
					t.Errorf("usage %+v", last.Usage)
				}
				// The made stream, given to a request for JSON, is the answer again.
				alpha.Script(simulator.Raw(label, a.Body).InChunks(size))
				b := k.Post(d.path, scenario.NoStream(d.request))
				if b.Status != 200 || b.Err != nil || b.Header.Get("Content-Type") != "application/json" || !sameAnswer(t, b.Body, d.doc) {
					t.Fatalf("got %d, %v, %v: %s\nwant %s", b.Status, b.Err, b.Header, b.Body, d.doc)
				}
				answeredWith(t, k, "json_from_stream")
			})
		}
	}
}

// sameAnswer compares two answers. The figures of a chat stream come only where
// they are asked for.
func sameAnswer(t *testing.T, got, want string) bool {
	t.Helper()
	var a, b map[string]any
	if json.Unmarshal([]byte(got), &a) != nil || json.Unmarshal([]byte(want), &b) != nil {
		return false
	}
	if _, ok := b["choices"]; ok {
		delete(b, "usage")
	}
	return fmt.Sprint(a) == fmt.Sprint(b)
}

// What is no answer in either form goes to the next target.
func TestNoAnswerInTheOtherForm(t *testing.T) {
	long := `{"type":"message","content":[{"type":"text","text":"` + strings.Repeat("alpha ", 30<<10) + `"}],"stop_reason":"end_turn","usage":{}}`
	for _, tt := range []struct {
		name, path, request, label, sent string
		from                             string
	}{
		{"another dialect's JSON", "/v1/messages", scenario.Messages, "application/json", wholeDocuments[1].doc, "beta"},
		{"a foreign shape", "/v1/chat/completions", scenario.Chat, "application/json", `{"status":"alpha"}`, "beta"},
		{"a list", "/v1/responses", scenario.Responses, "application/json", `["alpha"]`, "beta"},
		{"an error document", "/v1/messages", scenario.Messages, "text/event-stream", overloaded, "beta"},
		{"torn JSON", "/v1/messages", scenario.Messages, "application/json", wholeDocuments[0].doc[:100], "beta"},
		{"a failed response", "/v1/responses", scenario.Responses, "application/json", `{"object":"response","status":"failed","output":[],"error":{"code":"server_error","message":"alpha"}}`, "beta"},
		{"a response that goes on", "/v1/responses", scenario.Responses, "application/json", `{"object":"response","status":"in_progress","output":[]}`, "beta"},
		{"a stream that fails", "/v1/messages", scenario.NoStream(scenario.Messages), "text/event-stream", event("message_start", messageStart) + event("content_block_delta", textDelta) + event("error", overloaded), "beta"},
		{"half a stream", "/v1/chat/completions", scenario.NoStream(scenario.Chat), "application/json", wholeChat[:len(wholeChat)/2], "beta"},
		{"a stream without events", "/v1/responses", scenario.NoStream(scenario.Responses), "text/event-stream", ": alpha\n\n", "beta"},
		{"180 KiB of JSON", "/v1/messages", scenario.Messages, "application/json", long, "alpha"},
	} {
		t.Run("Q11 "+tt.name, func(t *testing.T) {
			k := scenario.Start(t)
			alpha, _ := k.Pair()
			alpha.Script(simulator.Raw(tt.label, tt.sent))
			a := k.Post(tt.path, tt.request)
			if a.Status != 200 || a.Err != nil || a.From() != tt.from {
				t.Errorf("%d, %v: %.300s", a.Status, a.Err, a.Body)
			}
		})
	}
}

// A client that waits has its headers already when a JSON answer comes.
func TestJSONBehindSignsOfLife(t *testing.T) {
	limits := proxy.DefaultLimits()
	limits.Hold, limits.Heartbeat = 50*time.Millisecond, 50*time.Millisecond
	t.Run("Q11", func(t *testing.T) {
		k := scenario.StartWith(t, limits)
		k.Add("alpha", "demo")
		k.Sim.Account("alpha").Script(simulator.Raw("application/json", wholeDocuments[0].doc).Delayed(300 * time.Millisecond))
		a := k.Post("/v1/messages", scenario.Messages)
		if a.Status != http.StatusOK || a.Err != nil || !strings.HasPrefix(a.Body, ": ") || !strings.Contains(a.Body, "event: message_stop") {
			t.Errorf("%d, %v: %s", a.Status, a.Err, a.Body)
		}
	})
}

// What an answer cost is recorded as far as its stream told.
func TestFiguresOfBrokenStreams(t *testing.T) {
	for _, tt := range []struct {
		name, path, request, stream string
		in, out                     int64
	}{
		{"Messages", "/v1/messages", scenario.Messages, event("message_start", strings.Replace(messageStart, `"input_tokens":1`, `"input_tokens":25`, 1)) + event("content_block_delta", textDelta), 25, 1},
		{"Messages, figures before the end", "/v1/messages", scenario.Messages, event("message_start", messageStart) + event("content_block_delta", textDelta) + event("message_delta", `{"type":"message_delta","delta":{"stop_reason":null},"usage":{"input_tokens":0,"output_tokens":9}}`), 1, 9},
		{"Chat", "/v1/chat/completions", scenario.Chat, "data: {\"choices\":[{\"delta\":{\"content\":\"alpha\"}}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}\n\n", 5, 2},
		{"Responses", "/v1/responses", scenario.Responses, event("response.output_text.delta", `{"type":"response.output_text.delta","delta":"alpha"}`) + event("response.failed", `{"type":"response.failed","response":{"error":{"code":"server_error"},"usage":{"input_tokens":5,"output_tokens":2}}}`), 5, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := scenario.Start(t)
			k.Add("alpha", "demo")
			k.Sim.Account("alpha").Script(simulator.Raw("text/event-stream", tt.stream))
			a := k.Post(tt.path, tt.request)
			last := k.Last()
			if a.Err == nil || last.Result != "truncated" || last.InputTokens != tt.in || last.OutputTokens != tt.out {
				t.Errorf("%v, %s, %+v", a.Err, last.Result, last.Usage)
			}
		})
	}
}
