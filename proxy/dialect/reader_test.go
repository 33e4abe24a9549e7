package dialect

import (
	"testing"

	"pgregory.net/rapid"

	"breakwater/proxy/sse"
)

// pool are events of each dialect, with what each may mean.
var pool = map[Dialect][]string{
	Anthropic: {
		`{"type":"message_start","message":{"content":[],"usage":{"input_tokens":1}}}`, `{"type":"ping"}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"w","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}}`,
		`{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":null}}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_stop"}`, `{"type":"error","error":{}}`,
	},
	Chat: {
		`{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`,
		`{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]}`,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"w","arguments":""}}]}}]}`,
		`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}`,
		`{"choices":[],"usage":{"prompt_tokens":1}}`, `{"error":{"message":"busy"}}`, `[DONE]`,
	},
	Responses: {
		`{"type":"response.created","response":{}}`, `{"type":"response.output_item.added","item":{"type":"function_call","arguments":""}}`,
		`{"type":"response.output_text.delta","delta":""}`, `{"type":"response.output_text.delta","delta":"x"}`,
		`{"type":"response.output_item.done","item":{"type":"function_call","arguments":""}}`,
		`{"type":"response.completed","response":{"output":[]}}`, `{"type":"response.failed","response":{}}`,
	},
}

// Reading only the ends of a stream that has begun comes to the same end as
// reading all of it, whatever the order of the events, and an answer is complete
// only if its finish or its last event came and no failure.
func TestReadersAgreeOnTheEnd(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.SampledFrom(All).Draw(rt, "dialect")
		full, quick := NewReader(n, 1), NewReader(n, 1)
		ended, failed := false, false
		for _, data := range rapid.SliceOfN(rapid.SampledFrom(pool[n]), 0, 12).Draw(rt, "events") {
			e := sse.Event{Name: []byte(EventName(n, []byte(data))), Data: []byte(data)}
			p := full.Read(e)
			if quick.Said() {
				if q := quick.ReadEnd(e); (p >= Finish || q >= Finish) && p != q {
					rt.Fatalf("%s means %d, and %d at the end", data, p, q)
				}
			} else {
				quick.Read(e)
			}
			ended, failed = ended || p == Finish || p == Done, failed || p == Failed
			if full.Complete() != (ended && !failed) {
				rt.Fatalf("after %s: complete %v", data, full.Complete())
			}
		}
		if full.Complete() != quick.Complete() || full.Finished() != quick.Finished() || full.Said() != quick.Said() ||
			string(full.Missing()) != string(quick.Missing()) || string(full.CloseBlock()) != string(quick.CloseBlock()) {
			rt.Fatalf("%+v\n%+v", full, quick)
		}
	})
}

// A call without arguments is output once its end is known (ruling 58).
func TestTheEndOfACallIsOutput(t *testing.T) {
	call := pool[Chat][2]
	for _, tt := range []struct {
		name   string
		n      Dialect
		events []string
		want   []Progress
	}{
		{"Messages", Anthropic, []string{pool[Anthropic][3], pool[Anthropic][7]}, []Progress{Working, Output}},
		{"Messages, a text block", Anthropic, []string{pool[Anthropic][2], pool[Anthropic][7]}, []Progress{Preamble, Preamble}},
		{"Chat, the next call", Chat, []string{call, call}, []Progress{Working, Output}},
		{"Chat, the finish", Chat, []string{call, pool[Chat][3]}, []Progress{Working, Finish}},
		{"Responses", Responses, []string{pool[Responses][1], pool[Responses][4]}, []Progress{Working, Output}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := reading(tt.n)
			for i, data := range tt.events {
				if got := r.Read(sse.Event{Data: []byte(data)}); got != tt.want[i] {
					t.Errorf("%s: got %d, want %d", data, got, tt.want[i])
				}
			}
			if said := tt.want[1] >= Reasoning; r.Said() != said {
				t.Errorf("said %v", r.Said())
			}
		})
	}
}
