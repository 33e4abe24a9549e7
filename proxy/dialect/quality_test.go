package dialect

import "testing"

func TestAnswersThatOnlyReason(t *testing.T) {
	for _, tt := range []struct {
		name string
		d    Dialect
		doc  string
		want bool
	}{
		{"case 124 text and reasoning", Chat, `{"choices":[{"message":{"content":null,"reasoning_content":"hm"}}],"usage":{"completion_tokens":100,"completion_tokens_details":{"reasoning_tokens":50}}}`, false},
		{"case 124 95 % reasoning", Chat, `{"choices":[{"message":{"content":null,"reasoning_content":"hm"}}],"usage":{"completion_tokens":100,"completion_tokens_details":{"reasoning_tokens":95}}}`, true},
		{"all reasoning, but it says something", Chat, `{"choices":[{"message":{"content":"yes"}}],"usage":{"completion_tokens":100,"completion_tokens_details":{"reasoning_tokens":99}}}`, false},
		{"all reasoning, then a call", Chat, `{"choices":[{"message":{"content":"","tool_calls":[{"id":"1"}]}}],"usage":{"completion_tokens":10,"completion_tokens_details":{"reasoning_tokens":10}}}`, false},
		{"responses", Responses, `{"object":"response","status":"completed","output":[{"type":"reasoning"}],"usage":{"output_tokens":10,"output_tokens_details":{"reasoning_tokens":9}}}`, true},
		{"responses with a call", Responses, `{"object":"response","output":[{"type":"reasoning"},{"type":"function_call"}],"usage":{"output_tokens":10,"output_tokens_details":{"reasoning_tokens":10}}}`, false},
		{"no figures", Chat, `{"choices":[{"message":{"content":""}}]}`, false},
		{"anthropic", Anthropic, `{"content":[{"type":"thinking"}],"usage":{"output_tokens":10}}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := OnlyReasoned(tt.d, []byte(tt.doc)); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestUnfinishedResponses(t *testing.T) {
	for status, want := range map[string]bool{"completed": false, "incomplete": false, "in_progress": true, "failed": true, "": false} {
		if got := Responses.Unfinished([]byte(`{"object":"response","status":"` + status + `"}`)); got != want {
			t.Errorf("%q: got %v", status, got)
		}
	}
	if Chat.Unfinished([]byte(`{"object":"response","status":"failed"}`)) {
		t.Error("a chat answer has no status")
	}
}
