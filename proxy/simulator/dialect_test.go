package simulator

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"breakwater/proxy/dialect"
)

const hello = "Hello from the demo account alpha."

// The order of events is what clients rely on, so it stands here in full.
var streamTests = []struct {
	name string
	ask  ask
	step Step
	want string
}{
	{
		"text",
		ask{dialect: dialect.Anthropic},
		OK(),
		"message_start content_block_start(text) ping text_delta content_block_stop message_delta message_stop",
	},
	{
		"tool",
		ask{dialect: dialect.Anthropic, tools: true},
		Auto(),
		"message_start content_block_start(tool_use) ping input_json_delta content_block_stop message_delta message_stop",
	},
	{
		"thinking",
		ask{dialect: dialect.Anthropic},
		OK().Think("hm ", "", "ok"),
		"message_start content_block_start(thinking) ping thinking_delta signature_delta content_block_stop " +
			"content_block_start(text) text_delta content_block_stop message_delta message_stop",
	},
	{
		"blank",
		ask{dialect: dialect.Anthropic},
		Blank("max_tokens"),
		"message_start message_delta message_stop",
	},
	{
		"error event",
		ask{dialect: dialect.Anthropic},
		OK().ErrorAfter(1, Error{}),
		"message_start content_block_start(text) ping text_delta error",
	},
	{"text", ask{dialect: dialect.Chat}, OK(), "role content finish(stop) [DONE]"},
	{"usage", ask{dialect: dialect.Chat, usage: true}, OK(), "role content finish(stop) usage [DONE]"},
	{"tool", ask{dialect: dialect.Chat, tools: true}, Auto(), "role call finish(tool_calls) [DONE]"},
	{"thinking", ask{dialect: dialect.Chat}, OK().Think("hm"), "role thinking content finish(stop) [DONE]"},
	{"blank", ask{dialect: dialect.Chat}, Blank("length"), "role finish(length) [DONE]"},
	{"error event", ask{dialect: dialect.Chat}, OK().ErrorAfter(1, Error{}), "role content error"},
	{
		"text",
		ask{dialect: dialect.Responses},
		OK(),
		"created in_progress output_item.added(message) content_part.added output_text.delta output_text.done " +
			"content_part.done output_item.done(message) completed",
	},
	{
		"tool",
		ask{dialect: dialect.Responses, tools: true},
		Auto(),
		"created in_progress output_item.added(function_call) function_call_arguments.delta " +
			"function_call_arguments.done output_item.done(function_call) completed",
	},
	{
		"thinking",
		ask{dialect: dialect.Responses},
		OK().Think("hm"),
		"created in_progress output_item.added(reasoning) reasoning_summary_part.added reasoning_summary_text.delta " +
			"reasoning_summary_text.done reasoning_summary_part.done output_item.done(reasoning) output_item.added(message) " +
			"content_part.added output_text.delta output_text.done content_part.done output_item.done(message) completed",
	},
	{"blank", ask{dialect: dialect.Responses}, Blank("max_output_tokens"), "created in_progress incomplete"},
	{
		"error event",
		ask{dialect: dialect.Responses},
		OK().ErrorAfter(1, Error{}),
		"created in_progress output_item.added(message) content_part.added output_text.delta failed",
	},
	{
		"case P29 bare error before output",
		ask{dialect: dialect.Responses},
		OK().BareErrorAfter(AfterPreamble, Error{Code: "server_is_overloaded"}), "created in_progress error",
	},
}

func TestStreamsKeepTheOrderOfTheRealProviders(t *testing.T) {
	s, c := start(t, Options{})
	alpha := s.Account("alpha")
	for _, tt := range streamTests {
		t.Run(string(tt.ask.dialect.Traits().Name)+" "+tt.name, func(t *testing.T) {
			alpha.Script(tt.step)
			tt.ask.stream = true
			got := tt.ask.send(t, c, alpha)
			if got.err != nil || got.StatusCode != http.StatusOK {
				t.Fatalf("status %v, %v", got.Response, got.err)
			}
			if ct := got.Header.Get("Content-Type"); !strings.HasPrefix(ct, "text/event-stream") {
				t.Errorf("content type %q", ct)
			}
			events := parseEvents(t, got.body)
			if o := outline(tt.ask.dialect, events); o != tt.want {
				t.Errorf("events\n got %s\nwant %s", o, tt.want)
			}
			wellFormed(t, tt.ask.dialect, events)
		})
	}
}

// failer is what wellFormed needs of a test.
type failer interface {
	Helper()
	Errorf(string, ...any)
}

// wellFormed checks what SDKs insist on: one id in a stream, events that name
// their type, numbers that count up, blocks opened and closed in turn.
func wellFormed(t failer, d dialect.Dialect, events []event) {
	t.Helper()
	ids, open, blocks := map[string]bool{}, false, int64(0)
	for i, e := range events {
		g := gjson.Parse(e.data)
		switch d {
		case dialect.Chat:
			if e.name != "" {
				t.Errorf("chat streams have no event line: %q", e.name)
			}
			if e.data != "[DONE]" && !g.Get("error").Exists() {
				ids[g.Get("id").Str] = true
			}
			continue
		case dialect.Responses:
			if n := g.Get("sequence_number"); n.Int() != int64(i) || !n.Exists() {
				t.Errorf("event %d has number %s", i, n.Raw)
			}
			if id := g.Get("response.id"); id.Exists() {
				ids[id.Str] = true
			}
		case dialect.Anthropic:
			ids["message"] = true
			switch e.name {
			case "content_block_start":
				if open || g.Get("index").Int() != blocks {
					t.Errorf("block %s opened out of turn", g.Get("index").Raw)
				}
				open = true
			case "content_block_delta":
				if !open || g.Get("index").Int() != blocks {
					t.Errorf("delta for block %s, which is not open", g.Get("index").Raw)
				}
			case "content_block_stop":
				if !open {
					t.Errorf("closed twice")
				}
				open, blocks = false, blocks+1
			}
		}
		if g.Get("type").Str != e.name {
			t.Errorf("event %q has type %q", e.name, g.Get("type").Str)
		}
	}
	if len(ids) != 1 {
		t.Errorf("a stream has one id, got %v", ids)
	}
}

func TestAnswersSayWhatWasScripted(t *testing.T) {
	s, c := start(t, Options{})
	alpha := s.Account("alpha")
	texts := map[dialect.Dialect]string{
		dialect.Anthropic: "content.#(type==text).text", dialect.Chat: "choices.0.message.content",
		dialect.Responses: "output.#(type==message).content.0.text",
	}
	thoughts := map[dialect.Dialect]string{
		dialect.Anthropic: "content.#(type==thinking).thinking", dialect.Chat: "choices.0.message.reasoning_content",
		dialect.Responses: "output.#(type==reasoning).summary.0.text",
	}
	for _, d := range spoken {
		for _, text := range []string{"", "Grüße, \"World\" 🙂 <b>\n\tend", "plain"} {
			t.Run(fmt.Sprintf("%s %q", d.Traits().Name, text), func(t *testing.T) {
				want := text
				if want == "" {
					want = hello
				}
				alpha.Script(OK(text).Think("a", "", "b").Split(5).Repeat(2))
				got := ask{dialect: d}.send(t, c, alpha)
				if g := gjson.GetBytes(got.body, texts[d]).Str; g != want {
					t.Errorf("text %q, want %q", g, want)
				}
				if g := gjson.GetBytes(got.body, thoughts[d]).Str; g != "ab" {
					t.Errorf("thinking %q", g)
				}
				gotText, thinking, _ := said(t, d, parseEvents(t, ask{dialect: d, stream: true}.send(t, c, alpha).body))
				if gotText != want || thinking != "ab" {
					t.Errorf("streamed %q, thinking %q", gotText, thinking)
				}
			})
		}
	}
}

func TestAutoCallsAToolUntilThereIsAResult(t *testing.T) {
	s, c := start(t, Options{})
	alpha := s.Account("alpha")
	const wantArgs = `{"command":"echo hi","description":"Say hi","timeout":1,"env":{"a.b":false},"args":[],"mode":"fast"}`
	names := map[dialect.Dialect]string{
		dialect.Anthropic: "content.0.name", dialect.Chat: "choices.0.message.tool_calls.0.function.name",
		dialect.Responses: "output.0.name",
	}
	stops := map[dialect.Dialect]string{
		dialect.Anthropic: "stop_reason", dialect.Chat: "choices.0.finish_reason", dialect.Responses: "output.0.type",
	}
	wantName := map[dialect.Dialect]string{dialect.Anthropic: "Bash", dialect.Chat: "bash", dialect.Responses: "shell"}
	wantStop := map[dialect.Dialect]string{dialect.Anthropic: "tool_use", dialect.Chat: "tool_calls", dialect.Responses: "function_call"}
	for _, d := range spoken {
		t.Run(string(d.Traits().Name), func(t *testing.T) {
			got := ask{dialect: d, tools: true}.send(t, c, alpha)
			if g := gjson.GetBytes(got.body, names[d]).Str; g != wantName[d] {
				t.Errorf("tool %q in %s", g, got.body)
			}
			if g := gjson.GetBytes(got.body, stops[d]).Str; g != wantStop[d] {
				t.Errorf("stop %q", g)
			}
			_, _, args := said(t, d, parseEvents(t, ask{dialect: d, tools: true, stream: true}.send(t, c, alpha).body))
			if args != wantArgs {
				t.Errorf("arguments %s", args)
			}
			text, _, args := said(t, d, parseEvents(t, ask{dialect: d, tools: true, stream: true, result: true}.send(t, c, alpha).body))
			if text != hello || args != "" {
				t.Errorf("after the result: %q %q", text, args)
			}
		})
	}
}

func TestAskedCallsAToolOnlyOnRequest(t *testing.T) {
	s, c := start(t, Options{Default: Asked()})
	alpha := s.Account("alpha")
	for prompt, want := range map[string]bool{"Say hi.": false, "Please list the files.": true, "Outrun them": false} {
		for _, d := range spoken {
			_, _, args := said(t, d, parseEvents(t, ask{dialect: d, tools: true, stream: true, prompt: prompt}.send(t, c, alpha).body))
			if (args != "") != want {
				t.Errorf("%s %q: arguments %q", d.Traits().Name, prompt, args)
			}
		}
	}
}

func TestCallToolTakesNameAndArguments(t *testing.T) {
	s, c := start(t, Options{})
	alpha := s.Account("alpha").Script(CallTool("Read", `{"p":1}`), CallTool("gone", ""))
	got := ask{dialect: dialect.Anthropic, tools: true}.send(t, c, alpha)
	if in := gjson.GetBytes(got.body, "content.0.input").Raw; in != `{"p":1}` {
		t.Errorf("input %s", in)
	}
	got = ask{dialect: dialect.Anthropic}.send(t, c, alpha)
	if b := gjson.GetBytes(got.body, "content.0"); b.Get("name").Str != "gone" || b.Get("input").Raw != "{}" {
		t.Errorf("block %s", b.Raw)
	}
}

func TestUsageFigures(t *testing.T) {
	s, c := start(t, Options{})
	u := Usage{Input: 10, Output: 20, CacheRead: 3, CacheWrite: 4, Reasoning: 5}
	alpha := s.Account("alpha").Script(OK().WithUsage(u).Always())
	tests := []struct {
		d        dialect.Dialect
		in, want string
	}{
		{
			dialect.Anthropic, "usage",
			`{"input_tokens":10,"cache_creation_input_tokens":4,"cache_read_input_tokens":3,"output_tokens":20,"service_tier":"standard"}`,
		},
		{
			dialect.Chat, "usage",
			`{"prompt_tokens":17,"completion_tokens":20,"total_tokens":37,"prompt_tokens_details":{"cached_tokens":3,"audio_tokens":0},` +
				`"completion_tokens_details":{"reasoning_tokens":5,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`,
		},
		{
			dialect.Responses, "usage",
			`{"input_tokens":17,"input_tokens_details":{"cached_tokens":3},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":5},"total_tokens":37}`,
		},
	}
	for _, tt := range tests {
		got := ask{dialect: tt.d}.send(t, c, alpha)
		if g := gjson.GetBytes(got.body, tt.in).Raw; g != tt.want {
			t.Errorf("%s: %s", tt.d.Traits().Name, g)
		}
		body := string(ask{dialect: tt.d, stream: true, usage: true}.send(t, c, alpha).body)
		if !strings.Contains(body, tt.want) {
			t.Errorf("%s: the stream does not end with the figures", tt.d.Traits().Name)
		}
	}
}

// Whatever the step, a stream that is not broken off is well formed and says
// the whole text.
func TestAnyStreamIsWellFormed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := rapid.SampledFrom(spoken).Draw(rt, "dialect")
		text := rapid.String().Draw(rt, "text")
		st := OK("x" + text).Split(rapid.IntRange(-1, 9).Draw(rt, "split")).
			Think(rapid.SliceOfN(rapid.String(), 0, 3).Draw(rt, "thinking")...)
		q := &request{dialect: d, model: "m", account: "a", route: RouteInference, stream: true}
		s := New(Options{})
		var body []byte
		for _, o := range compose(q, st, s.answer(q, st)) {
			body = append(body, o.data...)
		}
		events := parseEvents(t, body)
		wellFormed(rt, d, events)
		got, thinking, _ := said(t, d, events)
		if want := strings.ToValidUTF8("x"+text, "\ufffd"); got != want {
			rt.Fatalf("said %q, want %q", got, want)
		}
		if want := strings.Join(st.Thinking, ""); thinking != strings.ToValidUTF8(want, "\ufffd") {
			rt.Fatalf("thought %q, want %q", thinking, want)
		}
	})
}
