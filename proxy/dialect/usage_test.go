package dialect

import (
	"strings"
	"testing"

	"breakwater/proxy/sse"
)

// readUsage plays a stream the way the relay does.
func readUsage(n Dialect, stream string, chunk int) Usage {
	var u Usage
	var scan sse.Scanner
	begun, r := false, reading(n)
	see := func(e sse.Event) bool {
		p := r.ReadEnd(e)
		if !begun {
			p = r.Read(e)
		}
		begun = begun || p.Commits()
		u.Event(n, p, e)
		return true
	}
	for len(stream) > 0 {
		k := min(chunk, len(stream))
		scan.Feed([]byte(stream[:k]), see)
		stream = stream[k:]
	}
	scan.Flush(see)
	return u
}

func named(lines ...string) string {
	var b strings.Builder
	for i := 0; i < len(lines); i += 2 {
		b.WriteString("event: " + lines[i] + "\ndata: " + lines[i+1] + "\n\n")
	}
	return b.String()
}

func TestUsageOfStreams(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	tests := []struct {
		name   string
		n      Dialect
		stream string
		want   Usage
	}{
		{
			"anthropic", Anthropic,
			named("message_start", `{"type":"message_start","message":{"content":[],"usage":{"input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"output_tokens":1}}}`,
				"content_block_start", `{"type":"content_block_start","content_block":{"type":"text"}}`,
				"content_block_delta", `{"type":"content_block_delta","delta":{"type":"text_delta","text":"\"usage\":{\"input_tokens\":99}"}}`,
				"message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":42}}`,
				"message_stop", `{"type":"message_stop"}`),
			Usage{Input: 10, Output: 42, CacheRead: 300, CacheWrite: 20, Stop: "end_turn"},
		},
		{
			"anthropic, corrected at the end", Anthropic,
			named("message_start", `{"type":"message_start","message":{"usage":{"input_tokens":0,"output_tokens":0}}}`,
				"message_delta", `{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"input_tokens":11,"cache_read_input_tokens":5,"output_tokens":7,"output_tokens_details":{"thinking_tokens":3}}}`),
			Usage{Input: 11, Output: 7, CacheRead: 5, Reasoning: 3, Stop: "tool_use"},
		},
		{
			"chat with a usage chunk", Chat,
			`data: {"choices":[{"delta":{"content":"hi"},"finish_reason":null}],"usage":null}` + "\n\n" +
				`data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":null}` + "\n\n" +
				`data: {"choices":[],"usage":{"prompt_tokens":120,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":100},"completion_tokens_details":{"reasoning_tokens":4}}}` + "\n\ndata: [DONE]\n\n",
			Usage{Input: 20, Output: 9, CacheRead: 100, Reasoning: 4, Stop: "stop"},
		},
		{
			"chat with usage in the last chunk, and in a vendor's field", Chat,
			`data: {"choices":[{"delta":{"content":"hi"}}]}` + "\n\n" +
				`data: {"x_groq":{"usage" : {"prompt_tokens":12,"completion_tokens":3}},"choices":[{"delta":{},"finish_reason":"length"}]}` + "\n\n",
			Usage{Input: 12, Output: 3, Stop: "length"},
		},
		{
			"responses", Responses,
			named("response.created", `{"type":"response.created","response":{"usage":null}}`,
				"response.output_text.delta", `{"type":"response.output_text.delta","delta":"x"}`,
				"response.completed", `{"type":"response.completed","response":{"status":"completed","incomplete_details":null,"output":[{"usage":{"input_tokens":1}}],"usage":{"input_tokens":50,"input_tokens_details":{"cached_tokens":40},"output_tokens":8,"output_tokens_details":{"reasoning_tokens":2}},"metadata":{}}}`),
			Usage{Input: 10, Output: 8, CacheRead: 40, Reasoning: 2, Stop: "completed"},
		},
		{
			"responses, longer than is kept", Responses,
			named("response.completed", `{"type":"response.completed","response":{"output":"`+long+`","usage":{"input_tokens":50,"output_tokens":8}}}`),
			Usage{Input: 50, Output: 8, Stop: "completed"},
		},
		{
			"responses that met a limit", Responses,
			named("response.incomplete", `{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":5,"output_tokens":16}}}`),
			Usage{Input: 5, Output: 16, Stop: "max_output_tokens"},
		},
		{"no figures", Chat, `data: {"choices":[{"delta":{"content":"hi"}}]}` + "\n\ndata: [DONE]\n\n", Usage{}},
		{"figures that are none", Chat, `data: {"choices":[],"usage":{"prompt_tokens":"12","completion_tokens":-1}}` + "\n\n", Usage{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, chunk := range []int{1, 1000, 1 << 20} {
				if got := readUsage(tt.n, tt.stream, chunk); got != tt.want {
					t.Errorf("in chunks of %d: got %+v, want %+v", chunk, got, tt.want)
				}
			}
		})
	}
}

func TestUsageOfDocuments(t *testing.T) {
	tests := []struct {
		name string
		n    Dialect
		doc  string
		want Usage
	}{
		{
			"anthropic", Anthropic, `{"content":[{"type":"tool_use","input":{"usage":{"input_tokens":77},"stop_reason":"x"}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":3,"cache_creation_input_tokens":4}}`,
			Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Stop: "tool_use"},
		},
		{
			"chat", Chat, `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2}}`,
			Usage{Input: 9, Output: 2, Stop: "stop"},
		},
		{
			"responses", Responses, `{"status":"completed","output":[],"usage":{"input_tokens":9,"output_tokens":2,"output_tokens_details":{"reasoning_tokens":1}}}`,
			Usage{Input: 9, Output: 2, Reasoning: 1, Stop: "completed"},
		},
		{"count_tokens has none", Anthropic, `{"input_tokens":9}`, Usage{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var u, tail Usage
			u.Document(tt.n, []byte(tt.doc))
			if u != tt.want {
				t.Errorf("got %+v, want %+v", u, tt.want)
			}
			if tail.Tail(tt.n, []byte(tt.doc)[1:]); tt.n != Responses && tail != tt.want {
				t.Errorf("from the end: got %+v, want %+v", tail, tt.want)
			}
		})
	}
}

// Whatever comes, the reader ends and its figures make sense.
func FuzzUsage(f *testing.F) {
	for _, seed := range []string{
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":42}}`,
		`{"choices":[],"usage":{"prompt_tokens":120,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":1000}}}`,
		`{"type":"response.completed","response":{"usage":{"input_tokens":50,"output_tokens":8}}}`,
		`"usage"`, `"usage":`, `"usage":{`, `{"usage":{"prompt_tokens":1e300}}`, "[DONE]", "",
	} {
		f.Add([]byte(seed), 7)
	}
	f.Fuzz(func(t *testing.T, data []byte, chunk int) {
		chunk = max(1, chunk%64)
		for _, n := range All {
			var u Usage
			u.Document(n, data)
			u.Tail(n, data)
			for _, name := range []string{"message_delta", "response.completed", ""} {
				line := strings.ReplaceAll(strings.ReplaceAll(string(data), "\n", ""), "\r", "")
				v := readUsage(n, "event: "+name+"\ndata: "+line+"\n\n", chunk)
				if w := readUsage(n, "event: "+name+"\ndata: "+line+"\n\n", 1<<20); v != w {
					t.Fatalf("%T in chunks %+v, whole %+v", n, v, w)
				}
				for _, x := range []Usage{u, v} {
					for _, c := range []int64{x.Input, x.Output, x.CacheRead, x.CacheWrite, x.Reasoning} {
						if c < 0 || c >= most {
							t.Fatalf("%T: %+v", n, x)
						}
					}
				}
			}
		}
	})
}

// BenchmarkUsage is what the events of a running stream pay.
func BenchmarkUsage(b *testing.B) {
	e := sse.Event{Data: []byte(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"hello "},"logprobs":null,"finish_reason":null}],"usage":null}`)}
	var u Usage
	r := reading(Chat)
	b.ReportAllocs()
	for b.Loop() {
		u.Event(Chat, r.ReadEnd(e), e)
	}
}
