package control

import (
	"testing"

	"breakwater/proxy/catalog"
)

func TestProvidersOfferTheirModels(t *testing.T) {
	for _, tt := range []struct {
		provider, model string
		want            bool
	}{
		{"anthropic", "claude-opus-5-5", true},
		{"anthropic", "CLAUDE-X", true},
		{"anthropic", "gpt-5", false},
		{"openai", "gpt-5.6", true},
		{"openai", "o3", true},
		{"openai", "claude-x", false},
		{"openrouter", "anthropic/claude-x", true},
		{"groq", "openai/gpt-oss-120b", true},
		{"cerebras", "a/gpt-oss-1", false},
		{"mistral", "codestral-latest", true},
		{"custom", "anything at all", true},
	} {
		p, ok := catalog.Lookup(tt.provider)
		if !ok || matches(p.Models, tt.model) != tt.want {
			t.Errorf("%s offers %s: %v", tt.provider, tt.model, !tt.want)
		}
	}
	if !matches([]string{"org/*"}, "org/a/b") || matches([]string{"[a-"}, "a") {
		t.Error("patterns: a slash is a letter, a broken pattern matches nothing")
	}
}

func TestKnownModelsFitTheirProvider(t *testing.T) {
	for _, p := range catalog.All() {
		for _, m := range catalog.Models(p.ID) {
			if !matches(p.Models, m.Name) {
				t.Errorf("%s/%s fits none of the provider's patterns %v", p.ID, m.Name, p.Models)
			}
		}
	}
}
