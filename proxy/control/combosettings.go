package control

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"breakwater/proxy/catalog"
	"breakwater/resilience/combo"
)

// Keys under which the settings of combos are stored (combos sheet §1.3).
const (
	keyComboDefaults     = "comboDefaults"
	keyProviderOverrides = "providerOverrides"
	keyComboSticky       = "comboStickyRoundRobinLimit"
	keySticky            = "stickyRoundRobinLimit"
	keyStickyWeighted    = "stickyWeightedLimit"
	keyNoStickiness      = "disableSessionStickiness"
	keyCompatFailOpen    = "compatFilterFailOpen"
	keyModelFacts        = "modelFacts"
)

// ComboSettings lie below every combo's own configuration.
type ComboSettings struct {
	// ComboDefaults holds for all combos, ProviderOverrides, by provider, for
	// those whose first step is the provider's. The keys are those of a combo's
	// config.
	ComboDefaults     map[string]any            `json:"comboDefaults"`
	ProviderOverrides map[string]map[string]any `json:"providerOverrides"`
	// How many successes in a row stay on one target: of combos, of the account
	// where that is not set, and of weighted combos. 0 is not set.
	ComboStickyRoundRobinLimit int  `json:"comboStickyRoundRobinLimit"`
	StickyRoundRobinLimit      int  `json:"stickyRoundRobinLimit"`
	StickyWeightedLimit        int  `json:"stickyWeightedLimit"`
	DisableSessionStickiness   bool `json:"disableSessionStickiness"`
	CompatFilterFailOpen       bool `json:"compatFilterFailOpen"`
	// ModelFacts are what the user knows better about models than the built-in
	// table, by "provider/model" or the bare name.
	ModelFacts map[string]ModelFact `json:"modelFacts"`
}

// ModelFact is what is known of a model; absent fields are left to the table.
type ModelFact struct {
	Input     *float64 `json:"input,omitempty"`     // US dollars a million tokens
	Output    *float64 `json:"output,omitempty"`    // US dollars a million tokens
	Context   int64    `json:"context,omitempty"`   // window in tokens
	MaxOutput int64    `json:"maxOutput,omitempty"` // tokens
	Tools     *bool    `json:"tools,omitempty"`
	Vision    *bool    `json:"vision,omitempty"`
	Schema    *bool    `json:"schema,omitempty"` // structured output
	Reasoning bool     `json:"reasoning,omitempty"`
	Tier      string   `json:"tier,omitempty"` // free, cheap or premium; else by the price
}

// ComboSettingsPatch changes them; nil fields stay as they are, maps are
// replaced whole.
type ComboSettingsPatch struct {
	ComboDefaults              *map[string]any            `json:"comboDefaults,omitempty"`
	ProviderOverrides          *map[string]map[string]any `json:"providerOverrides,omitempty"`
	ComboStickyRoundRobinLimit *int                       `json:"comboStickyRoundRobinLimit,omitempty"`
	StickyRoundRobinLimit      *int                       `json:"stickyRoundRobinLimit,omitempty"`
	StickyWeightedLimit        *int                       `json:"stickyWeightedLimit,omitempty"`
	DisableSessionStickiness   *bool                      `json:"disableSessionStickiness,omitempty"`
	CompatFilterFailOpen       *bool                      `json:"compatFilterFailOpen,omitempty"`
	ModelFacts                 *map[string]ModelFact      `json:"modelFacts,omitempty"`
}

func (c *ComboSettings) leaves() map[string]any {
	return map[string]any{
		keyComboDefaults: &c.ComboDefaults, keyProviderOverrides: &c.ProviderOverrides, keyComboSticky: &c.ComboStickyRoundRobinLimit,
		keySticky: &c.StickyRoundRobinLimit, keyStickyWeighted: &c.StickyWeightedLimit, keyNoStickiness: &c.DisableSessionStickiness,
		keyCompatFailOpen: &c.CompatFilterFailOpen, keyModelFacts: &c.ModelFacts,
	}
}

// whole fills the maps that JSON would show as null.
func (c ComboSettings) whole() ComboSettings {
	if c.ComboDefaults == nil {
		c.ComboDefaults = map[string]any{}
	}
	if c.ProviderOverrides == nil {
		c.ProviderOverrides = map[string]map[string]any{}
	}
	if c.ModelFacts == nil {
		c.ModelFacts = map[string]ModelFact{}
	}
	return c
}

// loadComboSettings reads what is stored. A value that cannot be read counts as
// absent: a combo that runs with the defaults is better than none.
func (s *Service) loadComboSettings(ctx context.Context) error {
	var set ComboSettings
	for key, at := range set.leaves() {
		raw, ok, err := s.cfg.Store.Setting(ctx, key)
		if err != nil {
			return fmt.Errorf("load %s: %w", key, err)
		}
		if ok && json.Unmarshal(raw, at) != nil {
			s.cfg.Log.Warn("a stored setting cannot be read", "field", key)
		}
	}
	set = set.whole()
	s.comboSettings.Store(&set)
	return nil
}

// patchCombos returns the settings of combos with the patch in them, and what
// is to be stored.
func (s *Service) patchCombos(p ComboSettingsPatch) (ComboSettings, map[string]any, error) {
	next, writes := *s.comboSettings.Load(), map[string]any{}
	if p.ComboDefaults != nil {
		next.ComboDefaults = combo.Strip(*p.ComboDefaults)
		writes[keyComboDefaults] = next.ComboDefaults
	}
	if p.ProviderOverrides != nil {
		next.ProviderOverrides = map[string]map[string]any{}
		for id, layer := range *p.ProviderOverrides {
			next.ProviderOverrides[strings.TrimSpace(id)] = combo.Strip(layer)
		}
		writes[keyProviderOverrides] = next.ProviderOverrides
	}
	for key, f := range map[string]struct {
		at    *int
		value *int
	}{
		keyComboSticky:    {&next.ComboStickyRoundRobinLimit, p.ComboStickyRoundRobinLimit},
		keySticky:         {&next.StickyRoundRobinLimit, p.StickyRoundRobinLimit},
		keyStickyWeighted: {&next.StickyWeightedLimit, p.StickyWeightedLimit},
	} {
		if f.value != nil {
			*f.at = *f.value
			writes[key] = *f.value
		}
	}
	if p.DisableSessionStickiness != nil {
		next.DisableSessionStickiness = *p.DisableSessionStickiness
		writes[keyNoStickiness] = next.DisableSessionStickiness
	}
	if p.CompatFilterFailOpen != nil {
		next.CompatFilterFailOpen = *p.CompatFilterFailOpen
		writes[keyCompatFailOpen] = next.CompatFilterFailOpen
	}
	if p.ModelFacts != nil {
		next.ModelFacts = maps.Clone(*p.ModelFacts)
		writes[keyModelFacts] = next.ModelFacts
	}
	next = next.whole()
	return next, writes, next.check()
}

// Bounds of the settings of combos.
const (
	maxSticky     = 1000
	maxOverrides  = 200
	maxFacts      = 2000
	maxPrice      = 100_000 // US dollars a million tokens
	maxFactTokens = 100_000_000
)

func (c *ComboSettings) check() error {
	var bad problems
	for _, i := range combo.Check(c.ComboDefaults, false) {
		bad.add(keyComboDefaults+"."+i.Field, "%s", i.Reason)
	}
	if len(c.ProviderOverrides) > maxOverrides {
		bad.add(keyProviderOverrides, "at most %d providers", maxOverrides)
	}
	for _, id := range slices.Sorted(maps.Keys(c.ProviderOverrides)) {
		if id == "" || len(id) > maxName {
			bad.add(keyProviderOverrides, "a provider has 1 to %d characters", maxName)
		}
		for _, i := range combo.Check(c.ProviderOverrides[id], false) {
			bad.add(keyProviderOverrides+"."+id+"."+i.Field, "%s", i.Reason)
		}
	}
	for key, n := range map[string]int{keyComboSticky: c.ComboStickyRoundRobinLimit, keySticky: c.StickyRoundRobinLimit, keyStickyWeighted: c.StickyWeightedLimit} {
		if n < 0 || n > maxSticky {
			bad.add(key, "0 to %d", maxSticky)
		}
	}
	if len(c.ModelFacts) > maxFacts {
		bad.add(keyModelFacts, "at most %d models", maxFacts)
	}
	for _, model := range slices.Sorted(maps.Keys(c.ModelFacts)) {
		c.ModelFacts[model].check(&bad, keyModelFacts+"."+model, model)
	}
	return bad.err()
}

func (f ModelFact) check(bad *problems, at, model string) {
	if model == "" || len(model) > maxModel {
		bad.add(keyModelFacts, "a model has 1 to %d characters", maxModel)
	}
	for _, price := range []*float64{f.Input, f.Output} {
		if price != nil && (math.IsNaN(*price) || *price < 0 || *price > maxPrice) {
			bad.add(at, "a price is 0 to %d dollars a million tokens", maxPrice)
		}
	}
	if f.Output != nil && f.Input == nil {
		bad.add(at, "an output price needs an input price")
	}
	if min(f.Context, f.MaxOutput) < 0 || max(f.Context, f.MaxOutput) > maxFactTokens {
		bad.add(at, "context and maxOutput are 0 to %d tokens", maxFactTokens)
	}
	if !slices.Contains([]string{"", combo.FreeTier, combo.CheapTier, combo.PremiumTier}, f.Tier) {
		bad.add(at, "the tier is %s, %s or %s", combo.FreeTier, combo.CheapTier, combo.PremiumTier)
	}
}

// facts returns what the user says in the form in which strategies use it.
func (f ModelFact) facts() combo.Facts {
	known := func(b *bool) combo.Known {
		switch {
		case b == nil:
			return combo.Unknown
		case *b:
			return combo.Yes
		default:
			return combo.No
		}
	}
	out := combo.Facts{
		Context: f.Context, MaxOutput: f.MaxOutput, Tools: known(f.Tools), Vision: known(f.Vision), Schema: known(f.Schema),
		Reasoning: f.Reasoning, Tier: f.Tier,
	}
	if f.Input != nil {
		out.Price = combo.Price{Known: true, Input: *f.Input}
		if f.Output != nil {
			out.Price.Output, out.Price.HasOutput = *f.Output, true
		}
	}
	return out
}

// comboGlobals returns the settings in the form in which combos use them.
func (s *Service) comboGlobals() combo.Globals {
	c := s.comboSettings.Load()
	limit := func(n int) *int {
		if n == 0 {
			return nil
		}
		return &n
	}
	return combo.Globals{
		Defaults: c.ComboDefaults, Providers: c.ProviderOverrides,
		ComboStickyRoundRobin: limit(c.ComboStickyRoundRobinLimit), StickyRoundRobin: limit(c.StickyRoundRobinLimit),
		StickyWeighted: limit(c.StickyWeightedLimit), DisableSessionStickiness: c.DisableSessionStickiness, CompatFailOpen: c.CompatFilterFailOpen,
	}
}

// factTable returns the facts of models: the catalogue's, and over them the
// user's own.
func (s *Service) factTable() *combo.Table {
	own := map[string]combo.Facts{}
	for model, f := range s.comboSettings.Load().ModelFacts {
		own[model] = f.facts()
	}
	return combo.NewTable(own, catalogFacts())
}

// catalogFacts are the facts of the catalogue's models by "provider/model".
var catalogFacts = sync.OnceValue(func() map[string]combo.Facts {
	out := map[string]combo.Facts{}
	for _, p := range catalog.All() {
		for _, m := range catalog.Models(p.ID) {
			out[p.ID+"/"+m.Name] = factsOf(m)
		}
	}
	return out
})

func factsOf(m catalog.Model) combo.Facts {
	known := func(yes bool) combo.Known {
		if yes {
			return combo.Yes
		}
		return combo.No
	}
	return combo.Facts{
		Price:   combo.Price{Known: m.Priced, Input: m.Input, Output: m.Output, HasOutput: m.Priced},
		Context: m.Context, MaxOutput: m.MaxOutput,
		Tools: known(m.Tools), Vision: known(m.Vision), Schema: known(m.Schema), Reasoning: m.Reasoning,
	}
}
