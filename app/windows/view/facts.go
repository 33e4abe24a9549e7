package view

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"breakwater/proxy/control"
)

// FactRow is what the user knows better about one model.
type FactRow struct{ Model, Price, Window, More string }

// FactRows returns the corrections of the table of models, by name.
func FactRows(facts map[string]control.ModelFact) []FactRow {
	var out []FactRow
	for _, model := range slices.Sorted(maps.Keys(facts)) {
		f := facts[model]
		r := FactRow{Model: model}
		if f.Input != nil {
			r.Price = Dollars(*f.Input)
			if f.Output != nil {
				r.Price += " / " + Dollars(*f.Output)
			}
		}
		if f.Context > 0 {
			r.Window = strconv.FormatInt(f.Context, 10)
		}
		var more []string
		say := func(known *bool, yes, no string) {
			switch {
			case known == nil:
			case *known:
				more = append(more, yes)
			default:
				more = append(more, no)
			}
		}
		say(f.Tools, T("tools"), T("no tools"))
		say(f.Vision, T("images"), T("no images"))
		say(f.Schema, T("JSON answers"), T("no JSON answers"))
		if f.Reasoning {
			more = append(more, T("thinks"))
		}
		if f.Tier != "" {
			more = append(more, tierWord(f.Tier))
		}
		r.More = strings.Join(more, ", ")
		out = append(out, r)
	}
	return out
}

// FactDraft is one correction as typed. Tools, Vision and Schema are an answer
// of YesNo.
type FactDraft struct {
	Model, Input, Output, Context, MaxOutput string
	Tools, Vision, Schema, Tier              string
	Reasoning                                bool
}

// Tiers returns what a model may be taken for, and the usual.
func Tiers() []Option {
	out := []Option{{ID: "", Word: T("By its price")}}
	for _, t := range []string{"free", "cheap", "premium"} {
		out = append(out, Option{ID: t, Word: tierWord(t)})
	}
	return out
}

func tierWord(tier string) string {
	switch tier {
	case "free":
		return T("free")
	case "cheap":
		return T("cheap")
	case "premium":
		return T("premium")
	}
	return tier
}

// YesNo returns the answers to what a model can do.
func YesNo() []Option {
	return []Option{{ID: answerOpen, Word: T("As the table says")}, {ID: answerYes, Word: T("Yes")}, {ID: answerNo, Word: T("No")}}
}

// DraftOfFact returns a stored correction as the dialog shows it.
func DraftOfFact(model string, f control.ModelFact) FactDraft {
	price := func(p *float64) string {
		if p == nil {
			return ""
		}
		return strconv.FormatFloat(*p, 'f', -1, 64)
	}
	tokens := func(n int64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	return FactDraft{
		Model: model, Input: price(f.Input), Output: price(f.Output), Context: tokens(f.Context), MaxOutput: tokens(f.MaxOutput),
		Tools: answerOf(f.Tools), Vision: answerOf(f.Vision), Schema: answerOf(f.Schema), Tier: f.Tier, Reasoning: f.Reasoning,
	}
}

// Figure keeps what a price or a number of tokens begins with.
func Figure(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ',':
			return '.'
		case r == '.' || r >= '0' && r <= '9':
			return r
		}
		return -1
	}, s)
}

// Fact reads the draft, or says by field what is wrong with it.
func (d FactDraft) Fact() (control.ModelFact, []control.FieldError) {
	var wrong []control.FieldError
	add := func(field, message string) {
		wrong = append(wrong, control.FieldError{Field: field, Message: message})
	}
	price := func(field, s string) *float64 {
		if s == "" {
			return nil
		}
		p, err := strconv.ParseFloat(s, 64)
		if err != nil || p > 100_000 {
			add(field, Tf("From %d to %d.", 0, 100_000))
			return nil
		}
		return &p
	}
	tokens := func(field, s string) int64 {
		if s == "" {
			return 0
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n > 100_000_000 {
			add(field, Tf("From %d to %d.", 1, 100_000_000))
		}
		return n
	}
	f := control.ModelFact{
		Input: price("input", d.Input), Output: price("output", d.Output), Context: tokens("context", d.Context), MaxOutput: tokens("maxOutput", d.MaxOutput),
		Tools: knownBy(d.Tools), Vision: knownBy(d.Vision), Schema: knownBy(d.Schema), Tier: d.Tier, Reasoning: d.Reasoning,
	}
	if strings.TrimSpace(d.Model) == "" {
		add("model", T("Name the model."))
	}
	if d.Output != "" && d.Input == "" {
		add("input", T("A price for answers needs one for requests."))
	}
	return f, wrong
}

// ReplaceFact returns all corrections with a draft in place of the one it was
// made from; an empty was adds one.
func ReplaceFact(all map[string]control.ModelFact, was string, d FactDraft) (map[string]control.ModelFact, []control.FieldError) {
	f, wrong := d.Fact()
	model := strings.TrimSpace(d.Model)
	if _, taken := all[model]; taken && model != was {
		wrong = append(wrong, control.FieldError{Field: "model", Message: T("It is in the list already.")})
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	out := maps.Clone(all)
	if out == nil {
		out = map[string]control.ModelFact{}
	}
	delete(out, was)
	out[model] = f
	return out, nil
}
