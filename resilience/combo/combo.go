// Package combo orders the targets of a combo, a model name that stands for
// several real ones, by the strategy its owner chose.
package combo

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Version is the schema version written into every saved combo.
const Version = 2

// Kind says what a step stands for.
type Kind string

// The kinds of a step.
const (
	KindModel    Kind = "model"
	KindRef      Kind = "combo-ref"
	KindWildcard Kind = "provider-wildcard"
)

// Combo is the record of one combo (sheet §1.1). Its name is what clients send
// as the model.
type Combo struct {
	ID               string         `json:"id"`
	Name             string         `json:"name"`
	Version          int            `json:"version"`
	Description      string         `json:"description,omitempty"`
	Steps            []Step         `json:"models"`
	Strategy         Name           `json:"strategy"`
	Config           map[string]any `json:"config,omitempty"`   // the overrides as they were given, see Cascade
	Active           *bool          `json:"isActive,omitempty"` // nil: active
	AllowedProviders []string       `json:"allowedProviders,omitempty"`
	AllowedFamilies  []string       `json:"allowedModelFamilies,omitempty"` // beginnings of model names
	SystemMessage    string         `json:"system_message,omitempty"`
	ToolFilter       string         `json:"tool_filter_regex,omitempty"`
	CacheProtection  bool           `json:"context_cache_protection,omitempty"` // pins the model without a session id too
	ContextLength    int64          `json:"context_length,omitempty"`

	auto *AutoName // of a combo that stands for an auto name
}

// Step is one entry of a combo (sheet §1.2).
type Step struct {
	ID         string   `json:"id,omitempty"`
	Kind       Kind     `json:"kind,omitempty"`
	Model      string   `json:"model,omitempty"` // "provider/model", or a pattern of a wildcard
	Provider   string   `json:"providerId,omitempty"`
	Weight     float64  `json:"weight,omitempty"` // 0 to 100
	Connection string   `json:"connectionId,omitempty"`
	Allowed    []string `json:"allowedConnectionIds,omitempty"` // empty: any connection
	Tags       []string `json:"tags,omitempty"`
	Label      string   `json:"label,omitempty"`
	Prompt     string   `json:"prompt,omitempty"` // pipeline: the step's system turn
	Protected  bool     `json:"fallbackOnlyOnQuotaExhaustion,omitempty"`
	Combo      string   `json:"comboName,omitempty"`

	odd string // the weight as it was given, when that was no number
}

// UnmarshalJSON accepts a bare string for a step, and any weight: what is no
// number counts as 0.
func (s *Step) UnmarshalJSON(b []byte) error {
	if strings.HasPrefix(strings.TrimSpace(string(b)), `"`) {
		*s = Step{}
		return json.Unmarshal(b, &s.Model)
	}
	type plain Step
	in := struct {
		*plain
		Weight   any    `json:"weight"`
		Provider string `json:"provider"`
	}{plain: (*plain)(s)}
	if err := json.Unmarshal(b, &in); err != nil {
		return fmt.Errorf("combo step: %w", err)
	}
	s.Weight, s.odd = 0, ""
	if f, ok := asNumber(in.Weight); ok {
		s.Weight = f
	} else if in.Weight != nil {
		s.odd = fmt.Sprint(in.Weight)
	}
	if s.Provider == "" {
		s.Provider = in.Provider
	}
	return nil
}

// maxWeight is the largest weight of a step.
const maxWeight = 100

// Correction is a value of a combo that is not used as it was given, or leads
// nowhere; then the message says why.
type Correction struct {
	Field   string `json:"field"`
	Given   string `json:"given"`
	Used    string `json:"used"`
	Message string `json:"message,omitempty"`
}

// Corrections lists what Normalize and Strip are going to change of the values
// that somebody chose: an unknown strategy, weights that are no number or out of
// range, and unknown keys of the configuration (settings sheet §2.14). An alias
// of a strategy is none.
func (c *Combo) Corrections() []Correction {
	var list []Correction
	if _, known := Lookup(string(c.Strategy)); !known && c.Strategy != "" {
		list = append(list, Correction{Field: "strategy", Given: string(c.Strategy), Used: string(Priority)})
	}
	for i := range c.Steps {
		s, number := &c.Steps[i], func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
		given, used := number(s.Weight), number(clampTo(s.Weight, 0, maxWeight))
		if s.odd != "" {
			given = s.odd
		}
		if given != used {
			list = append(list, Correction{Field: fmt.Sprintf("models[%d].weight", i), Given: cut(given, 100), Used: used})
		}
	}
	known := Strip(c.Config)
	for _, key := range sortedKeys(c.Config) {
		if _, kept := known[key]; !kept && c.Config[key] != nil && !slices.Contains(removed, key) {
			list = append(list, Correction{
				Field: "config." + cut(key, 100), Given: cut(fmt.Sprint(c.Config[key]), 100), Message: "no setting of combos has this name; it was left out",
			})
		}
	}
	return list
}

// Enabled reports whether the combo is switched on.
func (c *Combo) Enabled() bool { return c.Active == nil || *c.Active }

// Normalize brings a record into its saved form: kinds, ids, providers and
// weights of the steps, and a known strategy. isCombo tells which names are
// combos; it may be nil.
func (c Combo) Normalize(isCombo func(name string) bool) Combo {
	c.Version = Version
	c.Name = strings.TrimSpace(c.Name)
	c.Strategy = Parse(string(c.Strategy))
	c.Steps = slices.Clone(c.Steps)
	seen := map[string]bool{}
	for i := range c.Steps {
		s := &c.Steps[i]
		s.Weight, s.odd = clampTo(s.Weight, 0, maxWeight), ""
		s.classify(c.Name, isCombo)
		if s.ID == "" {
			s.ID = s.autoID(c.Name, i)
		}
		s.ID = cut(s.ID, 200)
		for base, n := s.ID, 2; seen[s.ID]; n++ { // an id names one step only
			s.ID = fmt.Sprintf("%s-%d", cut(base, 196), n)
		}
		seen[s.ID] = true
	}
	return c
}

// classify finds a step's kind and completes its names.
func (s *Step) classify(own string, isCombo func(string) bool) {
	if s.Kind == "" {
		switch {
		case s.Combo != "":
			s.Kind = KindRef
		case strings.Contains(s.Model, "*"):
			s.Kind = KindWildcard
		case !strings.Contains(s.Model, "/") && s.Provider == "" && (s.Model == own || isCombo != nil && isCombo(s.Model)):
			s.Kind, s.Combo = KindRef, s.Model
		default:
			s.Kind = KindModel
		}
	}
	if s.Kind == KindRef {
		if s.Combo == "" {
			s.Combo = s.Model
		}
		s.Model, s.Provider = "", ""
		return
	}
	if s.Provider == "" {
		s.Provider, _, _ = strings.Cut(s.Model, "/")
	}
	if s.Kind == KindWildcard && s.Model == "" {
		s.Model = "*"
	}
	if !strings.Contains(s.Model, "/") {
		s.Model = s.Provider + "/" + s.Model
	}
}

func (s *Step) autoID(combo string, i int) string {
	kind, seed := "model", s.Model
	if s.Kind == KindRef {
		kind, seed = "ref", s.Combo
	}
	if s.Connection != "" {
		seed += ":" + s.Connection
	}
	return cut(fmt.Sprintf("%s-%s-%d-%s", slug(combo), kind, i+1, slug(seed)), 200)
}

// slug keeps lower-case letters and digits and joins the rest with hyphens.
func slug(s string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(s) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(r)
			continue
		}
		gap = true
	}
	return b.String()
}

// cut returns at most n bytes of s, without half a character at the end.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

// bare returns a model's name without its provider.
func bare(model string) string {
	if _, m, ok := strings.Cut(model, "/"); ok {
		return m
	}
	return model
}
