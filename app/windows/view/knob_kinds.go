package view

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// choiceValue is the value behind a chosen word: a figure, a word, or nothing.
func choiceValue(s string) any {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	if s == "" {
		return nil
	}
	return s
}

func modelValue(s string) (any, string) {
	s = strings.TrimSpace(s)
	provider, model, ok := strings.Cut(s, "/")
	if !ok || provider == "" || model == "" {
		return nil, T("A provider and a model, as in groq/llama-3.3-70b.")
	}
	return s, ""
}

// pairsValue reads a list such as "five_hour=5, seven_day=2"; an empty one is
// nothing.
func pairsValue(s string) (any, string) {
	out := map[string]int64{}
	for _, w := range Words(s) {
		name, figure, ok := strings.Cut(w, "=")
		n, err := strconv.ParseInt(figure, 10, 64)
		if !ok || name == "" || err != nil || n < 0 || n > 100 {
			return nil, T("Windows with their percent, as in five_hour=5, seven_day=2.")
		}
		out[name] = n
	}
	if len(out) == 0 {
		return nil, ""
	}
	return out, ""
}

// pairs shows such a list.
func pairs(m map[string]int64) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, name+"="+strconv.FormatInt(m[name], 10))
	}
	return strings.Join(out, ", ")
}

// Offered returns the options of a choice, with one more for a value that none
// of them is.
func (k Knob) Offered(value string) []Option {
	for _, o := range k.Options {
		if o.ID == value {
			return k.Options
		}
	}
	if value == "" {
		return k.Options // nothing is known yet
	}
	word := value
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		word = delayWord(n)
	}
	return append(slices.Clone(k.Options), Option{ID: value, Word: word})
}
