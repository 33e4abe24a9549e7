package dialect

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// same compares JSON without regard to its spelling.
func same(t *testing.T, got []byte, want string) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b, a); diff != "" {
		t.Error(diff)
	}
}

func TestApply(t *testing.T) {
	onlyA := func(name string) bool { return name == "a" }
	for _, tt := range []struct {
		name string
		d    Dialect
		e    Edit
		in   string
		want string
	}{
		{"nothing", Chat, Edit{}, `{"model":"m","stream":true}`, `{"model":"m","stream":true}`},
		{"one answer without tools", Chat, Edit{Blocking: true, NoTools: true}, `{"stream":true,"stream_options":{},"tools":[{}],"tool_choice":"auto","messages":[]}`, `{"messages":[]}`},
		{"no background", Responses, Edit{Background: true}, `{"background":true,"input":"x"}`, `{"input":"x"}`},
		{"system, first", Anthropic, Edit{System: "s"}, `{"messages":[]}`, `{"messages":[],"system":"s"}`},
		{"system, behind text", Anthropic, Edit{System: "s"}, `{"system":"a"}`, `{"system":"a\n\ns"}`},
		{"system, behind blocks", Anthropic, Edit{System: "s"}, `{"system":[{"type":"text","text":"a"}]}`, `{"system":[{"type":"text","text":"a"},{"type":"text","text":"s"}]}`},
		{"system, chat", Chat, Edit{System: "s"}, `{"messages":[{"role":"system","content":"a"},{"role":"user","content":"u"}]}`, `{"messages":[{"role":"system","content":"a"},{"role":"system","content":"s"},{"role":"user","content":"u"}]}`},
		{"system, an empty chat", Chat, Edit{System: "s"}, `{"messages":[]}`, `{"messages":[{"role":"system","content":"s"}]}`},
		{"system, responses", Responses, Edit{System: "s"}, `{"instructions":"a","input":"x"}`, `{"instructions":"a\n\ns","input":"x"}`},
		{"user", Anthropic, Edit{User: "new"}, `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":[{"type":"text","text":"c"}]}]}`, `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"new"}]}`},
		{"user, bare input", Responses, Edit{User: "new"}, `{"input":"old"}`, `{"input":"new"}`},
		{"user, nobody spoke", Chat, Edit{User: "new"}, `{"messages":[{"role":"system","content":"a"}]}`, `{"messages":[{"role":"system","content":"a"},{"role":"user","content":"new"}]}`},
		{"case 187 the first tools", Chat, Edit{MaxTools: 1}, `{"tools":[{"function":{"name":"a"}},{"function":{"name":"b"}}]}`, `{"tools":[{"function":{"name":"a"}}]}`},
		{"tools by name", Anthropic, Edit{KeepTool: onlyA}, `{"tools":[{"name":"b"},{"name":"a"}],"tool_choice":{}}`, `{"tools":[{"name":"a"}],"tool_choice":{}}`},
		{"no tool is left", Anthropic, Edit{KeepTool: onlyA}, `{"tools":[{"name":"b"}],"tool_choice":{}}`, `{}`},
		{"output, lowered", Chat, Edit{MaxOutput: 10}, `{"max_tokens":100}`, `{"max_tokens":10}`},
		{"output, low already", Anthropic, Edit{MaxOutput: 10}, `{"max_tokens":5}`, `{"max_tokens":5}`},
		{"output, not said", Responses, Edit{MaxOutput: 10}, `{"input":"x"}`, `{"input":"x","max_output_tokens":10}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := strings.Clone(tt.in)
			raw := []byte(tt.in)
			got, err := Apply(tt.d, raw, tt.e)
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, tt.want)
			if string(raw) != before { // case 125b: the next target gets the original
				t.Error("the original was changed")
			}
		})
	}
}

func TestContent(t *testing.T) {
	c := NewContent(Chat, []byte(`{"messages":[{"role":"system","content":"be brief"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url"},{"type":"text","text":"b"}]},
		{"role":"assistant","content":"c"},{"role":"user","content":"d"}],"tools":[{}],"tool_choice":"auto","response_format":{"type":"json_schema"},"max_completion_tokens":7,"metadata":{"session_id":"s","n":3}}`))
	if got := c.FirstUser(); got != "a\nb" {
		t.Errorf("first user %q", got)
	}
	if got := c.Turns(); len(got) != 4 || got[3] != (Turn{"user", "d"}) {
		t.Errorf("turns %v", got)
	}
	if !c.UsesTools() || !c.HasImages() || !c.WantsSchema() || c.MaxOutput() != 7 {
		t.Error("needs are wrong")
	}
	if c.Text("metadata.session_id") != "s" || c.Text("metadata.n") != "" || c.Value("metadata.n") != 3.0 {
		t.Error("metadata is wrong")
	}
	if p := string(c.StablePrefix()); !strings.Contains(p, "be brief") || strings.Contains(p, `"d"`) {
		t.Errorf("prefix %s", p)
	}
	none := NewContent(Responses, []byte(`{"input":"hello","tools":[{}],"tool_choice":"none"}`))
	if none.FirstUser() != "hello" || none.UsesTools() || none.HasImages() || none.WantsSchema() || none.MaxOutput() != 0 {
		t.Error("a plain input is read wrongly")
	}
}

func TestAnswerText(t *testing.T) {
	for d, doc := range map[Dialect]string{
		Anthropic: `{"content":[{"type":"text","text":"yes"}]}`,
		Chat:      `{"choices":[{"message":{"content":"yes"}}]}`,
		Responses: `{"output":[{"type":"reasoning"},{"type":"message","content":[{"type":"output_text","text":"yes"}]}]}`,
	} {
		if got := d.AnswerText([]byte(doc)); got != "yes" {
			t.Errorf("%T: %q", d, got)
		}
	}
}

func FuzzApply(f *testing.F) {
	for _, s := range []string{
		`{"messages":[{"role":"user","content":"a"}],"system":"s","tools":[{"name":"a"}]}`, `{"input":"x","instructions":1}`, `{"messages":{}}`, `{"tools":3}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if !json.Valid([]byte(raw)) || !strings.HasPrefix(strings.TrimSpace(raw), "{") {
			return
		}
		for _, d := range All {
			out, err := Apply(d, []byte(raw), Edit{Blocking: true, System: "s", User: "u", MaxTools: 1, MaxOutput: 9})
			if err == nil && !json.Valid(out) {
				t.Errorf("%T made %q of %q", d, out, raw)
			}
		}
	})
}
