package combo

import (
	"path"
	"slices"
	"strings"
)

// Price is what a million tokens cost, in US dollars.
type Price struct {
	Known     bool
	Input     float64
	Output    float64
	HasOutput bool // an output price of 0 is a price too
}

// Blended is what the auto engine compares: six parts input, four output.
func (p Price) Blended() float64 {
	if !p.HasOutput {
		return p.Input
	}
	return 0.6*p.Input + 0.4*p.Output
}

// The price tiers of models.
const (
	FreeTier    = "free"
	CheapTier   = "cheap"
	PremiumTier = "premium"
)

// Facts is what is known of a model, whoever serves it.
type Facts struct {
	Price     Price
	Context   int64 // tokens, 0: unknown
	MaxOutput int64 // tokens, 0: unknown
	Tools     Known
	Vision    Known
	Schema    Known // structured output
	Reasoning bool
	Tier      string // free, cheap or premium; empty: unknown
}

// Known is yes, no, or that nobody knows.
type Known uint8

// The values.
const (
	Unknown Known = iota
	Yes
	No
)

// Entry of the facts table: the models that fit the pattern.
type factRow struct {
	pattern       string // path.Match over the bare name in lower case
	input, output float64
	context, out  int64
	tools, vision Known
	schema        Known
	reasoning     bool
}

// Table holds the facts of models: the user's own before those of the
// providers' lists before the built-in ones.
type Table struct {
	own, lists map[string]Facts
}

// NewTable returns the table with the user's own facts, keyed by "provider/model"
// or by the bare model name, and those of lists, which may be nil and is keyed
// by "provider/model" in lower case.
func NewTable(own, lists map[string]Facts) *Table {
	t := &Table{own: make(map[string]Facts, len(own)), lists: lists}
	for k, f := range own {
		t.own[strings.ToLower(k)] = f.complete()
	}
	return t
}

// Of returns the facts of a model, given as "provider/model". A stronger entry
// replaces only what it states.
func (t *Table) Of(model string) Facts {
	full := strings.ToLower(model)
	f := builtin(bare(full))
	if o, ok := t.lists[full]; ok {
		f = f.with(o)
	}
	return t.Over(f, full).complete()
}

// Over returns facts with what the user says of a model put over them.
func (t *Table) Over(f Facts, model string) Facts {
	full := strings.ToLower(model)
	for _, key := range []string{bare(full), full} { // the more exact one wins
		if o, ok := t.own[key]; ok {
			f = f.with(o)
		}
	}
	return f.complete()
}

// Priced reports whether the user says what a model costs.
func (t *Table) Priced(model string) bool {
	full := strings.ToLower(model)
	return t.own[full].Price.Known || t.own[bare(full)].Price.Known
}

func builtin(name string) Facts {
	// Resellers prefix the maker: "openrouter/anthropic/claude-…".
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	free := strings.HasSuffix(name, ":free") || strings.HasSuffix(name, "-free")
	name = strings.TrimSuffix(strings.TrimSuffix(name, ":free"), "-free")
	if strings.HasPrefix(name, "claude-") { // resellers write 4.5 for 4-5
		name = strings.ReplaceAll(name, ".", "-")
	}
	i := slices.IndexFunc(factRows, func(r factRow) bool { ok, err := path.Match(r.pattern, name); return ok && err == nil })
	if i < 0 {
		if free {
			return Facts{Price: Price{Known: true, HasOutput: true}, Tier: FreeTier}
		}
		return Facts{}
	}
	r := factRows[i]
	f := Facts{
		Price:   Price{Known: true, Input: r.input, Output: r.output, HasOutput: true},
		Context: r.context, MaxOutput: r.out,
		Tools: r.tools, Vision: r.vision, Schema: r.schema, Reasoning: r.reasoning,
	}
	if free {
		f.Price.Input, f.Price.Output = 0, 0
	}
	return f
}

// with returns f with what o states put over it.
func (f Facts) with(o Facts) Facts {
	if o.Price.Known {
		f.Price, f.Tier = o.Price, ""
	}
	for _, n := range []struct {
		to   *int64
		from int64
	}{{&f.Context, o.Context}, {&f.MaxOutput, o.MaxOutput}} {
		if n.from > 0 {
			*n.to = n.from
		}
	}
	for _, n := range []struct {
		to   *Known
		from Known
	}{{&f.Tools, o.Tools}, {&f.Vision, o.Vision}, {&f.Schema, o.Schema}} {
		if n.from != Unknown {
			*n.to = n.from
		}
	}
	f.Reasoning = f.Reasoning || o.Reasoning
	if o.Tier != "" {
		f.Tier = o.Tier
	}
	return f
}

// complete derives the tier from the price: nothing, up to 1 dollar a million
// tokens, more.
func (f Facts) complete() Facts {
	if f.Tier == "" && f.Price.Known {
		switch cost := f.Price.Blended(); {
		case cost <= 0:
			f.Tier = FreeTier
		case cost <= 1:
			f.Tier = CheapTier
		default:
			f.Tier = PremiumTier
		}
	}
	return f
}
