package control

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

// maxListed bounds how many models of a provider's list are kept.
const maxListed = 5000

// ListedModel is one model of a provider's own list.
type ListedModel struct {
	Name    string `json:"name"`
	Context int64  `json:"context,omitempty"` // window in tokens, 0: not said
}

// listEntry has the fields in which servers name a model and its window:
// OpenAI, Anthropic, OpenRouter, vLLM, Groq, Together, Ollama, Gemini.
type listEntry struct {
	ID             string      `json:"id"`
	Name           string      `json:"name"`
	Model          string      `json:"model"`
	ContextLength  json.Number `json:"context_length"`
	ContextWindow  json.Number `json:"context_window"`
	MaxModelLen    json.Number `json:"max_model_len"`
	MaxContext     json.Number `json:"max_context_length"`
	MaxInputTokens json.Number `json:"max_input_tokens"`
	InputLimit     json.Number `json:"inputTokenLimit"`
}

// ReadModelList reads the answer of a provider's /models in the forms that are
// in use: a list under data or models, or the list itself. What is none of them
// gives no models; an entry that cannot be read is left out.
func ReadModelList(raw []byte) []ListedModel {
	var entries []json.RawMessage
	if body := bytes.TrimSpace(raw); len(body) > 0 && body[0] == '[' {
		_ = json.Unmarshal(body, &entries) // what is no list gives no models
	} else {
		var under struct {
			Data   []json.RawMessage `json:"data"`
			Models []json.RawMessage `json:"models"`
		}
		_ = json.Unmarshal(body, &under) // a page, or another service's answer
		entries = append(under.Data, under.Models...)
	}
	var out []ListedModel
	seen := map[string]bool{}
	for _, e := range entries {
		m, ok := readEntry(e)
		if ok && !seen[m.Name] && len(out) < maxListed {
			seen[m.Name] = true
			out = append(out, m)
		}
	}
	return out
}

func readEntry(raw json.RawMessage) (ListedModel, bool) {
	var name string
	var e listEntry
	if json.Unmarshal(raw, &name) != nil {
		if json.Unmarshal(raw, &e) != nil {
			return ListedModel{}, false
		}
		for _, name = range []string{e.ID, e.Name, e.Model} {
			if name != "" {
				break
			}
		}
	}
	name = strings.TrimPrefix(strings.TrimSpace(name), "models/") // Gemini's own form
	if name == "" || len(name) > maxModel || strings.ContainsFunc(name, unicode.IsControl) {
		return ListedModel{}, false
	}
	m := ListedModel{Name: name}
	for _, n := range []json.Number{e.ContextLength, e.ContextWindow, e.MaxModelLen, e.MaxContext, e.MaxInputTokens, e.InputLimit} {
		if v, err := n.Int64(); err == nil && v > 0 {
			m.Context = v
			break
		}
	}
	return m, true
}

// OfferedModel is a model that a connection is known to offer.
type OfferedModel struct {
	Name    string `json:"name"`
	Context int64  `json:"context,omitempty"` // window in tokens, 0: not known
	// Listed tells that the provider's own list names it; the others are the
	// catalogue's or the user's.
	Listed bool `json:"listed,omitempty"`
}

// isPattern reports whether a model is a pattern and not a name.
func isPattern(model string) bool { return strings.ContainsAny(model, "*?[") }

// sortOffered puts models in the order of their names.
func sortOffered(list []OfferedModel) {
	slices.SortFunc(list, func(a, b OfferedModel) int { return strings.Compare(a.Name, b.Name) })
}
