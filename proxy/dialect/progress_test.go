package dialect

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"breakwater/proxy/sse"
)

func reading(n Dialect) *Reader {
	r := NewReader(n, 1)
	return &r
}

func TestReadProgress(t *testing.T) {
	tests := []struct {
		dialect    Dialect
		event      string
		data       string
		want       Progress
		endOfRead  Progress // what ReadEnd says
		namesEvent bool     // the data's type alone gives the same
	}{
		{Anthropic, "message_start", `{"type":"message_start"}`, Preamble, Preamble, true},
		{Anthropic, "ping", `{"type":"ping"}`, Noise, Noise, true},
		// Ruling 58: block starts with an empty block, null and empty deltas are no output.
		{Anthropic, "content_block_start", `{"type":"content_block_start"}`, Preamble, Noise, true},
		{Anthropic, "content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, Preamble, Noise, true},
		{Anthropic, "content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hi"}}`, Output, Noise, true},
		{Anthropic, "content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"w","input":{}}}`, Working, Noise, true},
		{Anthropic, "content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"w","input":{"n":1}}}`, Output, Noise, true},
		{Anthropic, "content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`, Working, Noise, true},
		{Anthropic, "content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"xx"}}`, Reasoning, Noise, true},
		{Anthropic, "content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","title":"t"}]}}`, Output, Noise, true},
		{Anthropic, "content_block_delta", `{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":""}}`, Working, Noise, true},
		{Anthropic, "content_block_delta", `{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"hm"}}`, Reasoning, Noise, true},
		{Anthropic, "content_block_delta", `{"type":"content_block_delta","delta":{"type":"text_delta","text":""}}`, Preamble, Noise, true},
		{Anthropic, "content_block_delta", `{"type":"content_block_delta","delta":{"type":"text_delta","text":"x"}}`, Output, Noise, true},
		{Anthropic, "content_block_delta", `{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":""}}`, Preamble, Noise, true},
		{Anthropic, "content_block_delta", `{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{"}}`, Output, Noise, true},
		{Anthropic, "message_delta", `{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":3}}`, Preamble, Preamble, true},
		{Anthropic, "message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, Finish, Finish, true},
		{Anthropic, "message_stop", `{"type":"message_stop"}`, Done, Done, true},
		{Anthropic, "error", `{"type":"error","error":{}}`, Failed, Failed, true},
		{Anthropic, "something_new", `{"type":"something_new"}`, Noise, Noise, true},
		{Responses, "response.created", `{"type":"response.created"}`, Preamble, Noise, true},
		{Responses, "response.in_progress", `{"type":"response.in_progress"}`, Preamble, Noise, true},
		{Responses, "response.output_item.added", `{"type":"response.output_item.added","item":{"type":"message"}}`, Preamble, Noise, true},
		{Responses, "response.output_item.added", `{"type":"response.output_item.added","item":{"type":"function_call","id":"i","call_id":"c","name":"w","arguments":""}}`, Working, Noise, true},
		{Responses, "response.output_item.added", `{"type":"response.output_item.added","item":{"type":"function_call","arguments":"{"}}`, Output, Noise, true},
		{Responses, "response.function_call_arguments.delta", `{"type":"response.function_call_arguments.delta","delta":"{"}`, Output, Noise, true},
		{Responses, "response.function_call_arguments.done", `{"type":"response.function_call_arguments.done","arguments":""}`, Output, Noise, true},
		{Responses, "response.output_item.done", `{"type":"response.output_item.done","item":{"type":"function_call","arguments":""}}`, Output, Noise, true},
		{Responses, "response.output_item.done", `{"type":"response.output_item.done","item":{"type":"message","content":[]}}`, Preamble, Noise, true},
		{Responses, "response.output_item.added", `{"type":"response.output_item.added","item":{"type":"reasoning","summary":[]}}`, Working, Noise, true},
		{Responses, "response.output_item.done", `{"type":"response.output_item.done","item":{"type":"reasoning","summary":[],"encrypted_content":"xx"}}`, Reasoning, Noise, true},
		{Responses, "response.web_search_call.searching", `{"type":"response.web_search_call.searching","item_id":"i"}`, Working, Noise, true},
		{Responses, "response.reasoning_summary_text.delta", `{"type":"response.reasoning_summary_text.delta"}`, Working, Noise, true},
		{Responses, "response.reasoning_summary_text.delta", `{"type":"response.reasoning_summary_text.delta","delta":"hm"}`, Reasoning, Noise, true},
		{Responses, "response.output_text.delta", `{"type":"response.output_text.delta","delta":""}`, Preamble, Noise, true},
		{Responses, "response.output_text.delta", `{"type":"response.output_text.delta","delta":"x"}`, Output, Noise, true},
		{Responses, "response.content_part.added", `{"type":"response.content_part.added"}`, Preamble, Noise, true},
		{Responses, "response.completed", `{"type":"response.completed"}`, Done, Done, true},
		{Responses, "response.incomplete", `{"type":"response.incomplete"}`, Done, Done, true},
		{Responses, "response.failed", `{"type":"response.failed"}`, Failed, Failed, true},
		{Responses, "error", `{"type":"error","code":"x"}`, Failed, Failed, true},
		{Chat, "", `{"choices":[{"delta":{"role":"assistant","content":""},"finish_reason":null}]}`, Preamble, Noise, false},
		{Chat, "", `{"choices":[{"delta":{"content":"x"},"finish_reason":null}]}`, Output, Noise, false},
		{Chat, "", `{"choices":[{"delta":{"content":null},"finish_reason":null}]}`, Preamble, Noise, false},
		{Chat, "", `{"choices":[{"delta":{"content":[{"type":"text","text":"x"}]}}]}`, Output, Noise, false},
		{Chat, "", `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"w","arguments":""}}]}}]}`, Working, Noise, false},
		{Chat, "", `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]}`, Output, Noise, false},
		{Chat, "", `{"choices":[{"delta":{"reasoning_content":""}}]}`, Working, Noise, false},
		{Chat, "", `{"choices":[{"delta":{"reasoning_content":null,"content":""}}]}`, Preamble, Noise, false},
		{Chat, "", `{"choices":[{"delta":{"reasoning_content":"x"}}]}`, Reasoning, Noise, false},
		{Chat, "", `{"choices":[{"delta":{"reasoning":"x"}}]}`, Reasoning, Noise, false},
		{Chat, "", `{"choices":[{"delta":{},"finish_reason":"stop"}]}`, Finish, Finish, false},
		{Chat, "", `{"choices":[],"usage":{"total_tokens":3}}`, Noise, Noise, false},
		{Chat, "", `{"choices":[{"delta":{"content":"the \"error\" word"}}]}`, Output, Noise, false},
		{Chat, "", `{"error":null,"choices":[{"delta":{"content":"x"}}]}`, Output, Noise, false},
		{Chat, "", `{"error":{"message":"busy"}}`, Failed, Failed, false},
		{Chat, "", `[DONE]`, Done, Done, false},
		{Chat, "", ` [DONE] `, Done, Done, false},
	}
	for _, tt := range tests {
		t.Run(string(tt.dialect.Traits().Name)+" "+tt.event+" "+tt.data, func(t *testing.T) {
			e := sse.Event{Name: []byte(tt.event), Data: []byte(tt.data)}
			if got := reading(tt.dialect).Read(e); got != tt.want {
				t.Errorf("Read: got %d, want %d", got, tt.want)
			}
			want := tt.endOfRead
			if got := reading(tt.dialect).ReadEnd(e); got != want {
				t.Errorf("ReadEnd: got %d, want %d", got, want)
			}
			if tt.namesEvent {
				if got := reading(tt.dialect).Read(sse.Event{Data: []byte(tt.data)}); got != tt.want {
					t.Errorf("without an event line: got %d, want %d", got, tt.want)
				}
			}
		})
	}
}

func TestReadEndFindsTheEndInALongChunk(t *testing.T) {
	long := `{"choices":[{"delta":{"content":"` + strings.Repeat("x", 2000) + `"},"finish_reason":"length"}]}`
	if got := reading(Chat).ReadEnd(sse.Event{Data: []byte(long)}); got != Finish {
		t.Errorf("got %d", got)
	}
}

func TestLegitimatelyEmpty(t *testing.T) {
	for data, want := range map[string]bool{
		`{"delta":{"stop_reason":"max_tokens"}}`: true, `{"delta":{"stop_reason":"tool_use"}}`: true,
		`{"delta":{"stop_reason":"end_turn"}}`: false, ``: false,
	} {
		if got := LegitimatelyEmpty(Anthropic, []byte(data)); got != want {
			t.Errorf("case P30 %s: got %v", data, got)
		}
	}
	if !LegitimatelyEmpty(Chat, []byte(`{"choices":[{"finish_reason":"length"}]}`)) || LegitimatelyEmpty(Chat, []byte(`{"choices":[{"finish_reason":"stop"}]}`)) {
		t.Error("chat")
	}
	if !LegitimatelyEmpty(Responses, []byte(`{"response":{"incomplete_details":{"reason":"max_output_tokens"}}}`)) {
		t.Error("responses")
	}
}

func TestErrorBodiesAreThoseOfTheDialect(t *testing.T) {
	ref := Refusal{Status: 429, Type: "rate_limit_error", Code: "c", Message: "wait <now> & then", Extra: map[string]any{"reset_seconds": 3}}
	for _, d := range All {
		t.Run(string(d.Traits().Name), func(t *testing.T) {
			raw := d.ErrorBody(ref)
			var body struct {
				Type  string
				Error struct {
					Type, Code, Message string
					ResetSeconds        int `json:"reset_seconds"`
				}
			}
			if err := json.Unmarshal(raw, &body); err != nil {
				t.Fatal(err)
			}
			if body.Error.Message != ref.Message || body.Error.Type != "rate_limit_error" || body.Error.Code != "c" || body.Error.ResetSeconds != 3 {
				t.Errorf("got %s", raw)
			}
			if (body.Type == "error") != (d == Anthropic) {
				t.Errorf("outer type %q", body.Type)
			}
			if strings.Contains(string(raw), "\\u003c") {
				t.Errorf("the message is unreadable: %s", raw)
			}
			found := false
			var s sse.Scanner
			s.Feed(d.ErrorEvent(ref), func(e sse.Event) bool { found = reading(d).Read(e) == Failed; return true })
			if !found {
				t.Errorf("the error event is no failure to its own reader: %s", d.ErrorEvent(ref))
			}
		})
	}
}

func TestIsErrorDocument(t *testing.T) {
	for doc, want := range map[string]bool{
		`{"error":{"message":"x"}}`: true, `{"error":"x"}`: true, `{"type":"error","error":{"type":"x"}}`: true,
		`{"error":null,"output":[]}`: false, `{"id":"1","error":null}`: false, `{"choices":[],"error":{"m":1}}`: false,
		`{"content":[{"text":"\"error\""}]}`: false, `{"input_tokens":3}`: false,
	} {
		if got := IsErrorDocument([]byte(doc)); got != want {
			t.Errorf("%s: got %v", doc, got)
		}
	}
}

func TestClientsAreKnownByTheirHeaders(t *testing.T) {
	for _, tt := range []struct {
		name    string
		headers map[string]string
		want    Client
	}{
		{"Claude Code", map[string]string{"User-Agent": "claude-cli/2.1.332 (external, sdk-cli)", "X-App": "cli", "X-Claude-Code-Session-Id": "s"}, ClaudeCode},
		{"Claude Code without a session", map[string]string{"User-Agent": "claude-cli/2.1.332 (external, cli)", "X-App": "cli", "X-Stainless-Lang": "js"}, ClaudeCode},
		{"Qwen Code calls itself claude-cli", map[string]string{"User-Agent": "claude-cli/0.24.4 (external, cli)"}, UnknownAgent},
		{"Codex", map[string]string{"User-Agent": "codex_exec/0.171.0", "Originator": "codex_exec"}, Codex},
		{"opencode", map[string]string{"X-Session-Affinity": "s"}, OpenCode},
		{"vendor SDK", map[string]string{"User-Agent": "Anthropic/JS 1.14.0", "X-Stainless-Lang": "js"}, VendorSDK},
		{"aider on its Anthropic route", map[string]string{"User-Agent": "litellm/1.82.3"}, Aider},
		{"nobody", map[string]string{"User-Agent": "curl/8"}, UnknownAgent},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			for k, v := range tt.headers {
				h.Set(k, v)
			}
			if got := ProfileOf(h.Get); got.Client != tt.want {
				t.Errorf("got %s", got.Client)
			}
		})
	}
}
