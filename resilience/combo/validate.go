package combo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var nameForm = regexp.MustCompile(`^[A-Za-z0-9 _/.\-\[\]]+$`)

// Read decodes a combo as a client sends it: COMBO_001 when it is no JSON,
// COMBO_002 when a field has the wrong type.
func Read(b []byte) (Combo, error) {
	var c Combo
	if !json.Valid(b) {
		return c, fail(BadJSON, "the body is not valid JSON")
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fail(BadSchema, "the combo does not have the expected form: %v", err)
	}
	return c, nil
}

// Validate checks a normalised combo on its own: bounds, configuration, tiers
// and the invariants of its steps. The first kind of error found is returned.
func Validate(c *Combo) error {
	if issues := c.issues(); len(issues) > 0 {
		return &Error{Code: BadSchema, Message: issues[0].Field + " " + issues[0].Reason, Issues: issues}
	}
	if err := c.checkTiers(); err != nil {
		return err
	}
	if c.Strategy == QuotaShare {
		return fail(Managed, "combos of shared quotas are made by the quota pool")
	}
	if c.Strategy == Pipeline && slices.ContainsFunc(c.Steps, func(s Step) bool { return s.Kind == KindWildcard }) {
		return fail(Invariant, "a pipeline names each of its steps, it cannot hold a wildcard")
	}
	return nil
}

func (c *Combo) issues() []Issue {
	var list []Issue
	add := func(bad bool, field, format string, args ...any) {
		if bad {
			list = append(list, Issue{field, fmt.Sprintf(format, args...)})
		}
	}
	add(c.Name == "" || len(c.Name) > maxNameLength, "name", "must have 1 to %d characters", maxNameLength)
	add(c.Name != "" && !nameForm.MatchString(c.Name), "name", "may hold letters, digits, space and _ / . - [ ] only")
	add(len(c.Description) > maxDescription, "description", "may have up to %d characters", maxDescription)
	add(len(c.Steps) > maxSteps, "models", "may hold up to %d steps", maxSteps)
	add(len(c.AllowedProviders) > 100, "allowedProviders", "may hold up to 100 entries")
	add(len(c.AllowedFamilies) > 100, "allowedModelFamilies", "may hold up to 100 entries")
	add(len(c.SystemMessage) > 50_000, "system_message", "may have up to 50000 characters")
	add(len(c.ToolFilter) > 1000, "tool_filter_regex", "may have up to 1000 characters")
	_, err := regexp.Compile(c.ToolFilter)
	add(err != nil, "tool_filter_regex", "is no regular expression")
	add(c.ContextLength != 0 && (c.ContextLength < 1000 || c.ContextLength > 2_000_000), "context_length", "must be from 1000 to 2000000")
	for i := range c.Steps {
		s, at := &c.Steps[i], fmt.Sprintf("models[%d]", i)
		add(s.Kind != KindModel && s.Kind != KindRef && s.Kind != KindWildcard, at+".kind", "is not a known kind")
		add(s.Kind == KindRef && s.Combo == "", at+".comboName", "is missing")
		add(s.Kind != KindRef && (s.Provider == "" || bare(s.Model) == ""), at+".model", "must name a provider and a model")
		add(len(s.Model) > 300, at+".model", "may have up to 300 characters")
		add(len(s.Tags) > 20, at+".tags", "may hold up to 20 entries")
		add(len(s.Label) > 200, at+".label", "may have up to 200 characters")
		add(len(s.Prompt) > 20_000, at+".prompt", "may have up to 20000 characters")
	}
	for _, i := range Check(c.Config, true) {
		if i.Field != "compositeTiers" {
			list = append(list, Issue{"config." + i.Field, i.Reason})
		}
	}
	return list
}

func (c *Combo) checkTiers() error {
	raw, ok := c.Config["compositeTiers"]
	if !ok || raw == nil {
		return nil
	}
	var t Tiers
	if !isObject(raw) || !decodeInto(raw, &t) || len(t.Tiers) == 0 {
		return fail(BadTiers, "compositeTiers must hold defaultTier and tiers")
	}
	if _, ok := t.Tiers[t.Default]; !ok {
		return fail(BadTiers, "the default tier %q does not exist", t.Default)
	}
	for _, name := range sortedKeys(t.Tiers) {
		tier := t.Tiers[name]
		if !slices.ContainsFunc(c.Steps, func(s Step) bool { return s.ID == tier.Step }) {
			return fail(BadTiers, "tier %q names the step %q, which does not exist", name, tier.Step)
		}
		if _, ok := t.Tiers[tier.Fallback]; tier.Fallback != "" && !ok {
			return fail(BadTiers, "tier %q falls back to %q, which does not exist", name, tier.Fallback)
		}
		for at, n := name, 0; at != ""; at, n = t.Tiers[at].Fallback, n+1 {
			if n > len(t.Tiers) {
				return fail(BadTiers, "the fallbacks of tier %q go round in a circle", name)
			}
		}
	}
	return nil
}

// CheckAll checks a combo against the others: its name is free, and following
// its references neither meets a combo twice nor goes deeper than maxComboDepth
// allows. A reference to a combo that does not exist is none: it may come.
func CheckAll(c *Combo, g Globals, all []Combo) error {
	byName := make(map[string]*Combo, len(all)+1)
	for i := range all {
		if all[i].ID == c.ID {
			continue
		}
		if strings.EqualFold(all[i].Name, c.Name) {
			return fail(NameTaken, "there is a combo %q already", c.Name)
		}
		byName[all[i].Name] = &all[i]
	}
	byName[c.Name] = c
	// A change may close a circle or lengthen a chain that begins elsewhere.
	for _, name := range sortedKeys(byName) {
		from := byName[name]
		limit := Cascade(g, from.firstProvider(), from.Config).MaxComboDepth
		if err := follow(from, byName, limit, nil); err != nil && (name == c.Name || slices.Contains(err.path, c.Name)) {
			return fail(CycleOrDepth, "%s", err.Error())
		}
	}
	return nil
}

// NestError is a chain of combos that cannot be followed.
type NestError struct {
	Cycle bool // otherwise it is too deep
	path  []string
}

// Error implements error.
func (e *NestError) Error() string {
	chain := strings.Join(e.path, " → ")
	if e.Cycle {
		return "circular reference between combos: " + chain
	}
	return "maximum nesting of combos exceeded: " + chain
}

// follow walks the references of a combo depth first.
func follow(c *Combo, byName map[string]*Combo, limit int, path []string) *NestError {
	if err := enter(path, c.Name, limit); err != nil {
		return err
	}
	path = append(slices.Clone(path), c.Name)
	for i := range c.Steps {
		if child := byName[c.Steps[i].Combo]; c.Steps[i].Kind == KindRef && child != nil {
			if err := follow(child, byName, limit, path); err != nil {
				return err
			}
		}
	}
	return nil
}

// enter checks one further combo on a path. A path of limit combos is the
// longest allowed.
func enter(path []string, name string, limit int) *NestError {
	if slices.Contains(path, name) {
		return &NestError{Cycle: true, path: append(slices.Clone(path), name)}
	}
	if len(path) >= limit {
		return &NestError{path: append(slices.Clone(path), name)}
	}
	return nil
}

// firstProvider is whose overrides apply to the combo as a whole.
func (c *Combo) firstProvider() string {
	for i := range c.Steps {
		if c.Steps[i].Provider != "" {
			return c.Steps[i].Provider
		}
	}
	return ""
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
