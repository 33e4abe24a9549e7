package catalog

import (
	"strings"
	"testing"
)

func TestModelsAreWellFormed(t *testing.T) {
	total := 0
	for provider, list := range models() {
		p, ok := Lookup(provider)
		if !ok || p.ID != provider {
			t.Errorf("%s is no provider's id", provider)
		}
		seen := map[string]bool{}
		for _, m := range list {
			total++
			switch {
			case m.Name == "" || strings.ContainsAny(m.Name, "*?[ ") || seen[m.Name]:
				t.Errorf("%s/%s: the name is malformed or came twice", provider, m.Name)
			case m.Context < 8192 || m.MaxOutput < 1024 || m.MaxOutput > m.Context:
				t.Errorf("%s/%s: window %d, answer %d", provider, m.Name, m.Context, m.MaxOutput)
			case m.Input < 0 || m.Input > 100 || m.Output < m.Input || m.Output > 500:
				t.Errorf("%s/%s: prices %v and %v", provider, m.Name, m.Input, m.Output)
			}
			seen[m.Name] = true
		}
	}
	if total < 150 {
		t.Errorf("only %d models", total)
	}
}

func TestModels(t *testing.T) {
	list := Models("anthropic")
	if len(list) == 0 || list[0].Name != "claude-fable-5" || !list[0].Priced || !list[0].Vision || list[0].Output != 40 {
		t.Errorf("anthropic begins with %+v", list)
	}
	if m := Models("ollama-cloud"); len(m) == 0 || m[0].Priced || m[0].Input != 0 {
		t.Errorf("ollama-cloud begins with %+v", m)
	}
	if Models("custom") != nil || Models("nobody") != nil {
		t.Error("models of nobody")
	}
	for _, bad := range []string{"", "a\tb", "a\tb\tx\t1\t1\t1\tt", "a\tb\t1\tx\t1\t1\tt", "a\tb\t1\t1\tx\t1\tt", "a\tb\t1\t1\t1\tx\tt", "a\tb\t1\t1\t1\t1\tq"} {
		if _, _, err := parseModel(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}
