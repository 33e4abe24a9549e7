package dialect

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"breakwater/proxy/sse"
)

// answers are whole JSON answers of each dialect that a stream can say as well.
var answers = map[Dialect][]string{
	Anthropic: {
		`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hi \u2028 \"there\"\n"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":3,"cache_read_input_tokens":2,"output_tokens":7}}`,
		`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"hm","signature":"sig=="},{"type":"redacted_thinking","data":"xx"},{"type":"text","text":"I look","citations":[{"type":"char_location","cited_text":"c","document_index":0}]},{"type":"tool_use","id":"t1","name":"w","input":{"p":"a\nb","n":[1,2.50,12345678901234567890]}},{"type":"tool_use","id":"t2","name":"w","input":{}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":7,"server_tool_use":{"web_search_requests":1}}}`,
		`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"q"}},{"type":"web_search_tool_result","tool_use_id":"s1","content":[{"type":"web_search_result","title":"t","url":"u"}]}],"stop_reason":"stop_sequence","stop_sequence":"END","usage":{"input_tokens":3,"output_tokens":7}}`,
		`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":"max_tokens","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":1}}`,
	},
	Chat: {
		`{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":7,"total_tokens":10}}`,
		`{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[{"id":"a","type":"function","function":{"name":"w","arguments":"{\"p\":1}"}},{"id":"b","type":"function","function":{"name":"w","arguments":""}}]},"logprobs":null,"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":7,"total_tokens":10}}`,
		`{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"a"},"logprobs":{"content":[{"token":"a","logprob":-1}]},"finish_reason":"length"},{"index":1,"message":{"role":"assistant","content":"b","refusal":"no"},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":7,"total_tokens":10}}`,
	},
	Responses: {
		`{"id":"r1","object":"response","status":"completed","model":"m","output":[{"id":"m1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"hi","annotations":[{"type":"url_citation","url":"u"}]}]}],"usage":{"input_tokens":3,"output_tokens":7}}`,
		`{"id":"r1","object":"response","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"model":"m","output":[{"id":"rs","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"xx"},{"id":"f1","type":"function_call","status":"completed","call_id":"c1","name":"w","arguments":"{}"},{"id":"ct","type":"custom_tool_call","call_id":"c2","name":"apply_patch","input":"*** Begin"}],"usage":{"input_tokens":3,"output_tokens":7}}`,
		`{"id":"r1","object":"response","status":"completed","model":"m","output":[{"id":"ws","type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}},{"id":"m1","type":"message","status":"completed","role":"assistant","content":[{"type":"refusal","refusal":"no"}]}],"usage":{"input_tokens":3,"output_tokens":7}}`,
	},
}

// play reads a stream with the reader and the assembly.
func play(n Dialect, stream []byte) (r *Reader, a *Assembly, usage Usage, names []string) {
	r, a = reading(n), NewAssembly(n)
	scan := sse.Scanner{MaxData: 1 << 20}
	scan.Feed(stream, func(e sse.Event) bool {
		p := r.Read(e)
		usage.Event(n, p, e)
		a.See(e)
		if n != Chat && EventName(n, e.Data) != string(e.Name) {
			names = append(names, string(e.Name))
		}
		return true
	})
	return r, a, usage, names
}

// A whole answer made into a stream is complete, has the same figures, and makes
// the same answer again (ruling 60 and its mirror).
func TestAnswersSurviveTheChangeOfForm(t *testing.T) {
	for n, docs := range answers {
		for _, doc := range docs {
			for _, layout := range []string{doc, gjson.Get(doc, "@pretty").Raw} {
				stream, ok := StreamOf(n, []byte(layout), true)
				if !ok {
					t.Fatalf("%T: no stream of %s", n, doc)
				}
				r, a, usage, names := play(n, stream)
				if !r.Complete() || r.Missing() != nil || r.CloseBlock() != nil || len(names) > 0 {
					t.Errorf("%T: not complete, or wrong names %v: %s", n, names, stream)
				}
				var want Usage
				want.Document(n, []byte(doc))
				if gjson.Get(doc, "choices.#").Int() > 1 {
					usage.Stop = want.Stop // the last to end has the word
				}
				if usage != want {
					t.Errorf("%T: figures %+v, want %+v", n, usage, want)
				}
				got, ok := a.Document()
				if !ok || !equalJSON(t, got, []byte(doc)) {
					t.Errorf("%T: got %s\nwant %s\nfrom %s", n, got, doc, stream)
				}
			}
		}
	}
}

func equalJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	for raw, v := range map[*[]byte]*any{&a: &x, &b: &y} {
		d := json.NewDecoder(strings.NewReader(string(*raw)))
		d.UseNumber()
		if err := d.Decode(v); err != nil {
			t.Fatal(err, string(*raw))
		}
	}
	return reflect.DeepEqual(x, y)
}

// What is no complete answer of the dialect makes no stream.
func TestNoStreamOfWhatIsNoAnswer(t *testing.T) {
	for n, docs := range map[Dialect][]string{
		Anthropic: {`{}`, `[]`, `{"content":"x"}`, `{"content":[`, `{"choices":[{"message":{"content":"x"}}]}`},
		Chat:      {`{"choices":[]}`, `{"choices":[{"text":"x"}]}`, `{"choices":[{"message":null}]}`, answers[Anthropic][0]},
		Responses: {`{"output":{}}`, `{"output":[],"status":"in_progress"}`, `{"output":[],"status":"queued"}`, answers[Chat][0]},
	} {
		for _, doc := range docs {
			if stream, ok := StreamOf(n, []byte(doc), false); ok {
				t.Errorf("%T %s: %s", n, doc, stream)
			}
		}
	}
	if f := Responses.FailureIn([]byte("{\"status\":\"failed\",\n\"output\":[],\"error\":{\"code\":\"server_error\"}}")); gjson.GetBytes(f, "response.error.code").Str != "server_error" {
		t.Errorf("got %s", f)
	}
}

// A stream that is not complete makes no answer.
func TestNoAnswerOfHalfAStream(t *testing.T) {
	for n, docs := range answers {
		for _, doc := range docs {
			stream, _ := StreamOf(n, []byte(doc), true)
			events := strings.SplitAfter(string(stream), "\n\n")
			for cut := range events {
				half := strings.Join(events[:cut], "")
				r, a, _, _ := play(n, []byte(half))
				if _, ok := a.Document(); ok != r.Complete() {
					t.Errorf("%T: an answer of an incomplete stream: %s", n, half)
				}
			}
		}
	}
}

// FuzzForms: whatever comes, a made stream is complete and makes an answer
// again; a torn one makes none and nothing panics.
func FuzzForms(f *testing.F) {
	for i, n := range All {
		for _, doc := range answers[n] {
			stream, _ := StreamOf(n, []byte(doc), true)
			f.Add(uint8(i), []byte(doc))
			f.Add(uint8(i), stream)
			f.Add(uint8(i), stream[:len(stream)/2])
		}
	}
	f.Add(uint8(0), []byte(`{"content":[1,null,{"type":"text"}],"usage":[]}`))
	f.Fuzz(func(t *testing.T, at uint8, raw []byte) {
		n := All[int(at)%len(All)]
		if stream, ok := StreamOf(n, raw, true); ok {
			r, a, _, _ := play(n, stream)
			if !r.Complete() {
				t.Fatalf("not complete: %q", stream)
			}
			if len(stream) < 1<<19 {
				if _, ok := a.Document(); !ok {
					t.Fatalf("no answer of %q", stream)
				}
			}
		}
		r, a, _, _ := play(n, raw)
		if doc, ok := a.Document(); ok && (!gjson.ValidBytes(doc) || !r.Complete()) {
			t.Fatalf("%q", doc)
		}
		if m := r.Missing(); m != nil && !r.Complete() && !r.failed {
			t.Fatalf("an end for %q", raw)
		}
	})
}
