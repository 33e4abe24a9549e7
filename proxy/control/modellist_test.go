package control

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadModelList(t *testing.T) {
	tests := []struct {
		name, in string
		want     []ListedModel
	}{
		{"Q21 OpenAI", `{"object":"list","data":[{"id":"gpt-5","object":"model"},{"id":"gpt-5"}]}`, []ListedModel{{Name: "gpt-5"}}},
		{"Q21 Anthropic", `{"data":[{"type":"model","id":"claude-opus-5","max_input_tokens":1000000}],"has_more":false}`, []ListedModel{{"claude-opus-5", 1_000_000}}},
		{"OpenRouter", `{"data":[{"id":"x/y:free","name":"X Y","context_length":131072}]}`, []ListedModel{{"x/y:free", 131072}}},
		{"vLLM", `{"data":[{"id":"q","max_model_len":4096}]}`, []ListedModel{{"q", 4096}}},
		{"Ollama's own", `{"models":[{"name":"qwen3:8b","model":"qwen3:8b"}]}`, []ListedModel{{Name: "qwen3:8b"}}},
		{"Gemini's own", `{"models":[{"name":"models/gemini-3","inputTokenLimit":1048576}]}`, []ListedModel{{"gemini-3", 1_048_576}}},
		{"a bare list", ` [{"id":"a","context_length":"8192"},"b"]`, []ListedModel{{"a", 8192}, {Name: "b"}}},
		{"an entry that cannot be read", `{"data":[{"id":7},{"id":""},{"id":"a\nb"},{"id":"ok","context_length":-1}]}`, []ListedModel{{Name: "ok"}}},
		{"a page", `<html></html>`, nil},
		{"nothing", ``, nil},
		{"another service", `{"status":"ok"}`, nil},
		{"a name without end", `{"data":[{"id":"` + strings.Repeat("x", 301) + `"}]}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, ReadModelList([]byte(tt.in))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzReadModelList(f *testing.F) {
	f.Add([]byte(`{"data":[{"id":"a","context_length":1}],"models":["b"]}`))
	f.Add([]byte(`[{"name":"models/x"}]`))
	f.Fuzz(func(t *testing.T, in []byte) {
		seen := map[string]bool{}
		for _, m := range ReadModelList(in) {
			if m.Name == "" || len(m.Name) > maxModel || m.Context < 0 || seen[m.Name] {
				t.Fatalf("%q gave %+v", in, m)
			}
			seen[m.Name] = true
		}
	})
}

func (m *memory) ModelLists(context.Context) ([]ModelList, error) { return nil, nil }
func (m *memory) SaveModelList(context.Context, ModelList) error  { return nil }
