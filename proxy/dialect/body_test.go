package dialect

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestReadBody(t *testing.T) {
	tests := []struct {
		name, raw string
		model     string
		stream    bool
		err       error
	}{
		{"plain", `{"model":"m1","stream":true}`, "m1", true, nil},
		{"spaces everywhere", " \n{ \"stream\" : false ,\t\"model\" : \"m1\" }\r\n", "m1", false, nil},
		{"nested fields of the same name", `{"metadata":{"model":"x","stream":true},"list":[{"model":"y"}],"model":"m1"}`, "m1", false, nil},
		{"brackets and quotes in strings", `{"a":"}]\"{[","model":"m1","b":["\\",{"c":"\\\""}]}`, "m1", false, nil},
		{"escaped model name", `{"model":"a\/b\u0063"}`, "a/bc", false, nil},
		{"escaped key", `{"mod\u0065l":"m1"}`, "m1", false, nil},
		{"stream as text is no switch", `{"model":"m1","stream":"true"}`, "m1", false, nil},
		{"numbers of all kinds", `{"a":-1.5e+10,"b":0,"c":null,"model":"m1"}`, "m1", false, nil},
		{"empty", ``, "", false, ErrNotObject},
		{"array", `["model"]`, "", false, ErrNotObject},
		{"no fields", `{}`, "", false, ErrNoModel},
		{"empty name", `{"model":""}`, "", false, ErrNoModel},
		{"model is null", `{"model":null}`, "", false, ErrNoModel},
		{"a name as long as may be", `{"model":"` + strings.Repeat("m", 512) + `"}`, strings.Repeat("m", 512), false, nil},
		{"a name too long to keep", `{"model":"` + strings.Repeat("m", 513) + `"}`, "", false, ErrModelName},
		{"a name that speaks to a terminal", `{"model":"\u001b]0;m1\u0007"}`, "", false, ErrModelName},
		{"torn in a string", `{"model":"m1`, "", false, ErrTorn},
		{"torn in a list", `{"model":"m1","a":[1,2`, "", false, ErrTorn},
		{"torn after a comma", `{"model":"m1",`, "", false, ErrTorn},
		{"no comma", `{"model":"m1" "stream":true}`, "", false, ErrTorn},
		{"no colon", `{"model" "m1"}`, "", false, ErrTorn},
		{"bare word", `{"model":m1}`, "", false, ErrTorn},
		{"text behind it", `{"model":"m1"}{`, "", false, ErrTorn},
		{"two models", `{"model":"a","model":"b"}`, "", false, ErrDoubled},
		{"two models, one escaped", `{"model":"a","\u006dodel":"b"}`, "", false, ErrDoubled},
		{"two switches", `{"stream":true,"model":"a","stream":false}`, "", false, ErrDoubled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := ReadBody([]byte(tt.raw))
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if err == nil && (b.Model != tt.model || b.Stream != tt.stream) {
				t.Errorf("got %q, %v", b.Model, b.Stream)
			}
		})
	}
}

func TestWithModelChangesNothingElse(t *testing.T) {
	raw := `{ "x": "the model is \"m1\"", "model" :  "m1" , "y":[1, 2.50, "m1"]}`
	b, err := ReadBody([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	if got := b.WithModel("m1"); &got[0] != &b.Raw[0] {
		t.Error("the same name copies the body")
	}
	for _, name := range []string{"other", "org/a/b", `q"uote`, "back\\slash", "caf\u00e9", "back\\slash"} {
		got := b.WithModel(name)
		quoted, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ReadBody(got)
		if err != nil || again.Model != name {
			t.Errorf("%q became %q (%v)", name, again.Model, err)
		}
		if name != "back\\slash" && string(got) != strings.Replace(raw, `:  "m1"`, `:  `+string(quoted), 1) {
			t.Errorf("got %s", got)
		}
	}
}

// What ReadBody finds in a valid body is what a JSON decoder finds, and a
// rewritten body decodes to the same document with another model.
func FuzzReadBody(f *testing.F) {
	for _, seed := range []string{
		`{"model":"m1","stream":true,"messages":[{"role":"user","content":"hi"}]}`,
		`{"a":{"b":[{"c":"\\\""}]},"model":"x\u00e9/y[1m]"}`, `{"model":"a","model":"b"}`, `{"model":`, `[]`, "",
		"{\"model\":\"\xb5x\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, err := ReadBody(raw)
		var doc map[string]json.RawMessage
		if err != nil || json.Unmarshal(raw, &doc) != nil {
			return // refused, or not for us to judge: the upstream reads it
		}
		var model string
		for key, value := range doc {
			if key == "model" {
				_ = json.Unmarshal(value, &model)
			}
		}
		if model != b.Model && json.Valid(raw) && !strings.Contains(string(raw), `\u`) {
			t.Fatalf("model %q, a decoder finds %q", b.Model, model)
		}
		again, err := ReadBody(b.WithModel("other"))
		if err != nil || again.Model != "other" || again.Stream != b.Stream {
			t.Fatalf("rewritten: %q, %v", again.Model, err)
		}
	})
}

func BenchmarkReadBody(b *testing.B) {
	raw := []byte(`{"model":"m1","messages":[` + strings.Repeat(`{"role":"user","content":"`+strings.Repeat("word ", 200)+`"},`, 200) + `{}],"stream":true}`)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadBody(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func TestReadBodyCountsWhatTakesTime(t *testing.T) {
	for _, tt := range []struct {
		raw          string
		items, tools int
		effort       string
	}{
		{`{"model":"m","messages":[]}`, 0, 0, ""},
		{`{"model":"m","messages":[{"a":[1,2,3],"b":"x,y"},{"c":{"d":1,"e":2}}],"tools":[ {"n":1} ]}`, 2, 1, ""},
		{`{"model":"m","input":"one, two","reasoning":{"effort":"high","x":1}}`, 0, 0, "high"},
		{`{"model":"m","input":[1,2,3],"reasoning_effort":"low"}`, 3, 0, "low"},
	} {
		b, err := ReadBody([]byte(tt.raw))
		if err != nil || b.Items != tt.items || b.Tools != tt.tools || b.Effort != tt.effort {
			t.Errorf("%s: %d items, %d tools, %q, %v", tt.raw, b.Items, b.Tools, b.Effort, err)
		}
	}
}
