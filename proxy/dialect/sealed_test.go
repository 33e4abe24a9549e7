package dialect

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"
)

// foreign names what another account made.
func foreign(s Sealed) bool { return strings.HasPrefix(s.Seal, "foreign") }

func TestWithoutReasoning(t *testing.T) {
	const user, reply = `{"role":"user","content":"hi"}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"done"}]}`
	thought := func(by, rest string) string {
		return `{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"` + by + `"}` + rest + `]}`
	}
	const call, text = `{"type":"tool_use","id":"t1","name":"run","input":{"a":1e2}}`, `{"type":"text","text":"ho\u00e9"}`
	const thinks = `,"thinking":{"type":"enabled","budget_tokens":1024}`
	messages := func(rest string, list ...string) string {
		return `{"model":"m","messages":[` + strings.Join(list, ",") + `]` + rest + `}`
	}
	for _, tt := range []struct {
		name     string
		d        Dialect
		in, want string
		items    int
		disabled bool
		forced   bool
	}{
		{name: "own reasoning stays", d: Anthropic, in: messages(thinks, user, thought("own", ","+text), user)},
		{name: "a turn that has ended", d: Anthropic, items: 1,
			in:   messages(thinks, user, thought("foreign", ","+text), user),
			want: messages(thinks, user, `{"role":"assistant","content":[`+text+`]}`, user)},
		{name: "a tool cycle that has ended", d: Anthropic, items: 1,
			in:   messages(thinks, user, thought("foreign", ","+call), reply, thought("own", ","+text), user),
			want: messages(thinks, user, `{"role":"assistant","content":[`+call+`]}`, reply, thought("own", ","+text), user)},
		{name: "an open tool cycle loses all its thinking", d: Anthropic, items: 2, disabled: true,
			in:   messages(thinks, user, thought("foreign", ","+call), reply, thought("own", ","+call), reply),
			want: messages(`,"thinking":{"type":"disabled"}`, user, `{"role":"assistant","content":[`+call+`]}`, reply, `{"role":"assistant","content":[`+call+`]}`, reply)},
		{name: "an open cycle of its own behind a foreign one", d: Anthropic, items: 1,
			in:   messages(thinks, user, thought("foreign", ","+call), reply, thought("own", ","+text), user, thought("own", ","+call), reply),
			want: messages(thinks, user, `{"role":"assistant","content":[`+call+`]}`, reply, thought("own", ","+text), user, thought("own", ","+call), reply)},
		{name: "system turns between", d: Anthropic, items: 1, disabled: true,
			in:   messages(thinks, user, thought("foreign", ","+call), reply, `{"role":"system","content":"x"}`),
			want: messages(`,"thinking":{"type":"disabled"}`, user, `{"role":"assistant","content":[`+call+`]}`, reply, `{"role":"system","content":"x"}`)},
		{name: "a message that is left empty", d: Anthropic, items: 1,
			in:   messages("", user, thought("foreign", ""), `{"role":"user","content":[`+text+`]}`),
			want: messages("", `{"role":"user","content":[{"type":"text","text":"hi"},`+text+`]}`)},
		{name: "two that are left empty", d: Anthropic, items: 2,
			in:   messages("", user, thought("foreign", ""), user, thought("foreign2", ""), user),
			want: messages("", `{"role":"user","content":[{"type":"text","text":"hi"},{"type":"text","text":"hi"},{"type":"text","text":"hi"}]}`)},
		{name: "redacted thinking", d: Anthropic, items: 1,
			in:   messages("", user, `{"role":"assistant","content":[{"type":"redacted_thinking","data":"foreign"},`+text+`]}`, user),
			want: messages("", user, `{"role":"assistant","content":[`+text+`]}`, user)},
		{name: "edits that need thinking", d: Anthropic, items: 1, disabled: true,
			in:   messages(`,"context_management":{"edits":[{"type":"clear_thinking_20251015"},{"type":"clear_tool_uses_20250919"}]}`+thinks, user, thought("foreign", ","+call), reply),
			want: messages(`,"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]},"thinking":{"type":"disabled"}`, user, `{"role":"assistant","content":[`+call+`]}`, reply)},
		{name: "encrypted compaction stays", d: Anthropic, items: 1,
			in:   messages("", user, `{"role":"assistant","content":[{"type":"compaction","encrypted_content":"foreign"},{"type":"thinking","thinking":"","signature":"foreign"}]}`, user),
			want: messages("", user, `{"role":"assistant","content":[{"type":"compaction","encrypted_content":"foreign"}]}`, user)},
		{name: "a cycle without thinking is continued without it, once refused", d: Anthropic, disabled: true, forced: true,
			in:   messages(thinks, user, `{"role":"assistant","content":[`+call+`]}`, reply),
			want: messages(`,"thinking":{"type":"disabled"}`, user, `{"role":"assistant","content":[`+call+`]}`, reply)},
		{name: "but not before", d: Anthropic, in: messages(thinks, user, `{"role":"assistant","content":[`+call+`]}`, reply)},
		{name: "words about thinking are no thinking", d: Anthropic, in: messages("", `{"role":"user","content":"{\"type\":\"thinking\",\"signature\":\"foreign\"}"}`)},

		{name: "an item after it loses its id", d: Responses, items: 1,
			in:   `{"input":[{"role":"user","content":"hi"},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"foreign"},{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call","id":"fc_2","call_id":"d","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","id":"o"},{"type":"message","id":"msg_2","role":"assistant","content":[]}],"store":false}`,
			want: `{"input":[{"role":"user","content":"hi"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call","call_id":"d","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","id":"o"},{"type":"message","id":"msg_2","role":"assistant","content":[]}],"store":false}`},
		{name: "its own reasoning keeps the id that follows", d: Responses, items: 1,
			in:   `{"input":[{"type":"reasoning","id":"rs_1","encrypted_content":"foreign"},{"type":"reasoning","id":"rs_2","encrypted_content":"own"},{"type":"message","id":"m","role":"assistant","content":"x"}]}`,
			want: `{"input":[{"type":"reasoning","id":"rs_2","encrypted_content":"own"},{"type":"message","id":"m","role":"assistant","content":"x"}]}`},
		{name: "reasoning that is known by its id", d: Responses, items: 1,
			in: `{"input":[{"type":"reasoning","id":"foreign_rs","summary":[]},{"role":"user","content":"x","id":"u"}]}`, want: `{"input":[{"role":"user","content":"x","id":"u"}]}`},
		{name: "a reference stays whole", d: Responses, items: 1,
			in: `{"input":[{"type":"reasoning","id":"foreign_rs"},{"type":"item_reference","id":"m"}]}`, want: `{"input":[{"type":"item_reference","id":"m"}]}`},
		{name: "compaction items stay", d: Responses, items: 0,
			in: `{"input":[{"type":"compaction","id":"c","encrypted_content":"foreign"},{"type":"compaction_summary","encrypted_content":"foreign"},{"role":"user","content":"hi"}]}`},
		{name: "an input of words", d: Responses, in: `{"input":"reasoning\" encrypted_content\""}`},

		{name: "details of a gateway", d: Chat, items: 2,
			in:   `{"messages":[{"role":"assistant","content":"ho","reasoning_details":[{"type":"reasoning.encrypted","data":"foreign"},{"type":"reasoning.text","text":"x"}],"thinking_blocks":[{"type":"thinking","signature":"foreign"}]}]}`,
			want: `{"messages":[{"role":"assistant","content":"ho","reasoning_details":[{"type":"reasoning.text","text":"x"}]}]}`},
		{name: "details of its own", d: Chat, in: `{"messages":[{"role":"assistant","content":"ho","reasoning_details":[{"type":"reasoning.encrypted","data":"own"}]}]}`},
		{name: "no JSON", d: Anthropic, in: `{"messages":[{"thinking":"signature"`},
		{name: "a list in place of a body", d: Responses, in: `["reasoning","encrypted_content"]`},
	} {
		t.Run(tt.d.Traits().Title+" "+tt.name, func(t *testing.T) {
			if tt.want == "" {
				tt.want = tt.in
			}
			before := tt.in
			got, taken := WithoutReasoning(tt.d, []byte(tt.in), foreign, tt.forced)
			if string(got) != tt.want || taken != (Taken{Items: tt.items, Disabled: tt.disabled}) {
				t.Errorf("got %s, %+v\nwant %s", got, taken, tt.want)
			}
			if tt.in != before {
				t.Error("the original was changed")
			}
			if again, more := WithoutReasoning(tt.d, got, foreign, false); string(again) != tt.want || more.Items > 0 {
				t.Errorf("not settled: %s, %+v", again, more)
			}
		})
	}
}

func TestMarks(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"thinking":{"type":"adaptive"}}`: false, `{"thinking" : 1}`: false, `{"type":"thinking"}`: true, `{"type" : "thinking" , "x":1}`: true,
		`{"signature" : "x"}`: true, `{"a":"signature"}`: false, `{"a":"\"signature\":"}`: false, `"`: false, `"thinking"`: true, ``: false,
		`{"type":"redacted_thinking"}`: true, `{"type":"compaction"}`: true, `"thinkin`: false,
	} {
		if got := mentions([]byte(raw), messagesMarks); got != want {
			t.Errorf("%s: %v", raw, got)
		}
	}
	for raw, want := range map[string]bool{
		`{"reasoning":{"effort":"high"},"include":["reasoning.encrypted_content"]}`: false, `{"type":"reasoning","id":"x"}`: true, `{"encrypted_content":"x"}`: true,
	} {
		if got := mentions([]byte(raw), responsesMarks); got != want {
			t.Errorf("%s: %v", raw, got)
		}
	}
}

func TestSealedParts(t *testing.T) {
	for _, tt := range []struct {
		name string
		see  func(f func(Sealed))
		want string
	}{
		{"a signature in a stream", func(f func(Sealed)) {
			SealedInEvent(Anthropic, []byte(`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s1"}}`), f)
		}, "s1"},
		{"redacted thinking in a stream", func(f func(Sealed)) {
			SealedInEvent(Anthropic, []byte(`{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"d1"}}`), f)
		}, "d1"},
		{"a text about signatures", func(f func(Sealed)) {
			SealedInEvent(Anthropic, []byte(`{"type":"content_block_delta","delta":{"type":"text_delta","text":"\"signature\":\"no\""}}`), f)
		}, ""},
		{"an answer", func(f func(Sealed)) {
			SealedInAnswer(Anthropic, []byte(`{"content":[{"type":"thinking","thinking":"","signature":"s1"},{"type":"compaction","encrypted_content":"c1"},{"type":"compaction","content":"plain"}]}`), f)
		}, "s1 c1!"},
		{"an item in a stream", func(f func(Sealed)) {
			SealedInEvent(Responses, []byte(`{"type":"response.output_item.done","item":{"type":"reasoning","id":"rs","encrypted_content":"e\/1"}}`), f)
		}, "e/1"},
		{"the last event of a stream", func(f func(Sealed)) {
			SealedInEvent(Responses, []byte(`{"type":"response.completed","response":{"output":[{"type":"reasoning","id":"rs"},{"type":"compaction","encrypted_content":"c1"}]}}`), f)
		}, "rs c1!"},
		{"an item that has only begun", func(f func(Sealed)) {
			SealedInEvent(Responses, []byte(`{"type":"response.output_item.added","item":{"type":"reasoning","encrypted_content":"half"}}`), f)
		}, ""},
		{"a chunk", func(f func(Sealed)) {
			SealedInEvent(Chat, []byte(`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.encrypted","data":"d1"}]}}]}`), f)
		}, "d1"},
		{"a request", func(f func(Sealed)) {
			SealedParts(Responses, []byte(`{"input":[{"type":"reasoning","encrypted_content":"e1"},{"role":"user","content":"encrypted_content"}]}`), f)
		}, "e1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			tt.see(func(s Sealed) {
				if s.Compacted {
					s.Seal += "!"
				}
				got = append(got, s.Seal)
			})
			if strings.Join(got, " ") != tt.want {
				t.Errorf("saw %q, want %q", got, tt.want)
			}
		})
	}
}

// essence is what must never be taken out of a request: all that is neither
// reasoning nor the id of an item, without regard to how messages are cut.
func essence(d Dialect, raw []byte) (out []string) {
	flat := func(r gjson.Result) {
		r.ForEach(func(_, m gjson.Result) bool {
			c := m.Get("content")
			if d == Responses || !c.IsArray() && c.Type != gjson.String {
				if kind := m.Get("type").Str; kind != "reasoning" {
					var v map[string]any
					_ = json.Unmarshal([]byte(m.Raw), &v) // generated
					delete(v, "id")
					b, _ := json.Marshal(v)
					out = append(out, string(b))
				}
				return true
			}
			role := m.Get("role").Str
			if c.Type == gjson.String {
				out = append(out, role+` {"type":"text","text":`+c.Raw+`}`)
				return true
			}
			c.ForEach(func(_, b gjson.Result) bool {
				if kind := b.Get("type").Str; kind != "thinking" && kind != "redacted_thinking" {
					out = append(out, role+" "+b.Raw)
				}
				return true
			})
			return true
		})
	}
	flat(gjson.GetBytes(raw, d.Traits().Turns))
	return out
}

// conversation is an arbitrary request with reasoning of several accounts.
func conversation(t *rapid.T, d Dialect) string {
	by := func() string { return rapid.SampledFrom([]string{"foreign1", "foreign2", "own", ""}).Draw(t, "by") }
	var list []string
	for i := range rapid.IntRange(1, 8).Draw(t, "turns") {
		if d == Responses {
			list = append(list, rapid.SampledFrom([]string{
				`{"type":"message","role":"user","content":"hi"}`, `{"role":"user","content":[{"type":"input_text","text":"a\"b"}]}`,
				fmt.Sprintf(`{"type":"reasoning","id":"rs_%d","summary":[],"encrypted_content":%q}`, i, by()),
				fmt.Sprintf(`{"type":"function_call","id":"fc_%d","call_id":"c","name":"f","arguments":"{}"}`, i),
				`{"type":"function_call_output","call_id":"c","output":"x"}`, `{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"é"}]}`,
				fmt.Sprintf(`{"type":"compaction","id":"cmp","encrypted_content":%q}`, by()),
			}).Draw(t, "item"))
			continue
		}
		var blocks []string
		if i%2 == 0 {
			blocks = append(blocks, rapid.SampledFrom([]string{`{"type":"text","text":"hi"}`, `{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x"}]}`}).Draw(t, "block"))
			list = append(list, rapid.SampledFrom([]string{`{"role":"user","content":"hi"}`, `{"role":"user","content":[` + blocks[0] + `]}`}).Draw(t, "user"))
			continue
		}
		for range rapid.IntRange(1, 4).Draw(t, "blocks") {
			blocks = append(blocks, rapid.SampledFrom([]string{
				`{"type":"text","text":"ho"}`, `{"type":"tool_use","id":"t","name":"f","input":{}}`, fmt.Sprintf(`{"type":"thinking","thinking":"h","signature":%q}`, by()),
				fmt.Sprintf(`{"type":"redacted_thinking","data":%q}`, by()), fmt.Sprintf(`{"type":"compaction","encrypted_content":%q}`, by()),
			}).Draw(t, "block"))
		}
		list = append(list, `{"role":"assistant","content":[`+strings.Join(blocks, ",")+`]}`)
	}
	return `{"model":"m","thinking":{"type":"adaptive"},"context_management":{"edits":[{"type":"clear_thinking_20251015"}]},"` + d.Traits().Turns + `":[` + strings.Join(list, ",") + `],"metadata":{"x":"\u003c"}}`
}

// Text, tool calls, results and compaction of a repaired request equal the
// original's, in their order; no foreign reasoning is left; and what is not the
// conversation keeps its bytes.
func TestRepairsKeepTheRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom([]Dialect{Anthropic, Responses}).Draw(t, "dialect")
		raw := conversation(t, d)
		out, taken := WithoutReasoning(d, []byte(raw), foreign, rapid.Bool().Draw(t, "forced"))
		if a, b := essence(d, []byte(raw)), essence(d, out); !slices.Equal(a, b) {
			t.Fatalf("%s\nbecame %s\nessence %q\nbecame %q", raw, out, a, b)
		}
		if !taken.Any() && string(out) != raw {
			t.Fatal("changed without saying so")
		}
		SealedParts(d, out, func(s Sealed) {
			if foreign(s) && !s.Compacted {
				t.Fatalf("%s is left in %s", s.Seal, out)
			}
		})
		if !strings.HasSuffix(string(out), `"metadata":{"x":"\u003c"}}`) {
			t.Fatalf("the rest was rewritten: %s", out)
		}
		if d == Anthropic {
			alternates(t, raw, out)
		}
	})
}

// alternates checks that roles alternate as they did, and no message is empty.
func alternates(t *rapid.T, raw string, out []byte) {
	last := ""
	gjson.GetBytes(out, "messages").ForEach(func(_, m gjson.Result) bool {
		if m.Get("role").Str == last {
			t.Fatalf("%s\nbecame %s", raw, out)
		}
		last = m.Get("role").Str
		if c := m.Get("content"); c.IsArray() && len(c.Array()) == 0 {
			t.Fatalf("an empty message in %s", out)
		}
		return true
	})
}

// FuzzWithoutReasoning edits arbitrary bodies: never a panic, never a body that
// is no JSON although it was, never an unannounced change.
func FuzzWithoutReasoning(f *testing.F) {
	for _, seed := range []string{
		`{"model":"m","messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"foreign"}]}]}`,
		`{"messages":[{"role":"user","content":[{"type":"tool_result"}]},{"role":"assistant","content":[{"type":"redacted_thinking","data":"foreign"}]}],"thinking":{"type":"enabled"},"context_management":{"edits":[{"type":"clear_thinking"}]}}`,
		`{"input":[{"type":"reasoning","encrypted_content":"foreign"},{"type":"function_call","id":"x"}],"thinking\"":1}`,
		`{"previous_response_id":"r","input":"x","store":true}`, `{"type":"response.completed","response":{"object":"response","id":"r","output":[{"type":"reasoning"}]}}`,
		`{"messages":{"a":{"content":[{"type":"thinking"}]}}}`, `{"messages":[[],1,null,"thinking\""],"messages":[]}`, `{"input":[{"type":"compaction","encrypted_content":"foreign"}]}`,
		`{"messages":[{"reasoning_details":[{"data":"foreign"}]},{"thinking_blocks":[]}]}`, `[]`, ``, `{"messages":[{"role":"assistant","content":[`,
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, raw []byte, forced bool) {
		for _, d := range All {
			before := string(raw)
			out, taken := WithoutReasoning(d, raw, foreign, forced)
			if string(raw) != before {
				t.Fatal("the original was changed")
			}
			if !taken.Any() && string(out) != before {
				t.Fatalf("changed without saying so: %s", out)
			}
			if taken.Any() && !json.Valid(out) && json.Valid(raw) {
				t.Fatalf("%s became %s", raw, out)
			}
			SealedParts(d, raw, func(Sealed) {})
			SealedInEvent(d, raw, func(Sealed) {})
			SealedInAnswer(d, raw, func(Sealed) {})
			_, items := StoredAnswer(d, raw)
			if out, ok := Expanded(d, raw, append(Items(d, raw), items...)); ok && json.Valid(raw) && (!json.Valid(out) || Previous(d, out) != "") {
				t.Fatalf("%s was expanded to %s", raw, out)
			}
			Stores(d, raw)
		}
	})
}

// BenchmarkNothingSealed is what a long request without reasoning costs.
func BenchmarkNothingSealed(b *testing.B) {
	text := strings.Repeat("word ", 40_000)
	for d, raw := range map[Dialect]string{
		Anthropic: `{"model":"m","thinking":{"type":"adaptive"},"messages":[{"role":"user","content":"` + text + `"}]}`,
		Responses: `{"model":"m","reasoning":{"effort":"high"},"include":["reasoning.encrypted_content"],"input":[{"role":"user","content":"` + text + `"}]}`,
	} {
		b.Run(d.Traits().Title, func(b *testing.B) {
			body := []byte(raw)
			b.ReportAllocs()
			for b.Loop() {
				if _, taken := WithoutReasoning(d, body, foreign, false); taken.Any() {
					b.Fatal("something was taken out")
				}
			}
		})
	}
}
