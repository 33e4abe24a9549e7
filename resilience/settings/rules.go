package settings

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// ErrorRule is one rule of the operator in the form in which it is stored
// under "providerErrorRules" (settings sheet §5.4). Status and Match are each
// optional, one of them must be set, and both must hold.
type ErrorRule struct {
	Status     int    `json:"status,omitempty"`     // 0: any
	Match      string `json:"match,omitempty"`      // plain substring, case ignored
	Scope      string `json:"scope"`                // model, provider or connection
	Reason     string `json:"reason,omitempty"`     // empty: quota_exhausted
	CooldownMs int64  `json:"cooldownMs,omitempty"` // exact; 0: the ladder
}

// Inactive reports why a stored rule never fires, or "": the guide's known gap
// is that no rule is asked about a 400 (ruling 15).
func (r ErrorRule) Inactive() string {
	if r.Status == 400 {
		return "rules are not consulted for status 400"
	}
	return ""
}

// ErrorDefault is a provider's blanket default, stored under
// "providerErrorDefaults".
type ErrorDefault struct {
	CooldownMs int64  `json:"cooldownMs"`
	Scope      string `json:"scope"`
	Reason     string `json:"reason,omitempty"` // empty: by the status
}

// The bounds of what an operator may declare (guide §7).
const (
	maxRules       = 50
	maxMatch       = 200
	maxProviderKey = 100
	maxRuleMs      = 30 * day
	minDefaultMs   = 60_000
	maxAffinityMs  = day
)

var (
	ruleScopes  = []string{"model", "provider", "connection"}
	ruleReasons = []string{"auth_error", "quota_exhausted", "rate_limit_exceeded", "model_capacity", "server_error", "unknown"}
)

// ParseErrorRules reads the value of providerErrorRules in PATCH /api/settings,
// strictly; provider keys come out trimmed and in lower case.
func ParseErrorRules(body []byte) (map[string][]ErrorRule, error) {
	doc, err := decodeStrict(body)
	if err != nil {
		return nil, err
	}
	rules, errs := readRules(doc, true)
	if len(errs) > 0 {
		return nil, &PatchError{errs}
	}
	return rules, nil
}

// LoadErrorRules reads what is stored; bad entries are dropped silently.
func LoadErrorRules(stored []byte) map[string][]ErrorRule {
	rules, _ := readRules(decode(stored), false)
	return rules
}

func readRules(doc map[string]any, strict bool) (map[string][]ErrorRule, []FieldError) {
	const root = "providerErrorRules"
	rules, total := map[string][]ErrorRule{}, 0
	var errs []FieldError
	for _, name := range sortedKeys(doc) {
		key, bad := providerKey(root, name)
		errs = append(errs, bad...)
		list, ok := doc[name].([]any)
		if !ok {
			errs = append(errs, FieldError{root + "." + name, "must be a list of rules"})
		}
		for i, raw := range list {
			r, wrong := readRule(raw, fmt.Sprintf("%s.%s.%d", root, name, i))
			errs = append(errs, wrong...)
			if total++; len(wrong) == 0 && len(bad) == 0 && (strict || total <= maxRules) {
				rules[key] = append(rules[key], r)
			}
		}
	}
	if total > maxRules {
		errs = append(errs, FieldError{root, "at most 50 rules total"})
	}
	return rules, errs
}

func providerKey(root, name string) (string, []FieldError) {
	key := strings.ToLower(strings.TrimSpace(name))
	if key == "" || utf8.RuneCountInString(key) > maxProviderKey {
		return "", []FieldError{{root, fmt.Sprintf("provider names must have 1 to %d characters", maxProviderKey)}}
	}
	return key, nil
}

func readRule(raw any, path string) (r ErrorRule, errs []FieldError) {
	m, ok := raw.(map[string]any)
	if !ok {
		return r, []FieldError{{path, "must be an object"}}
	}
	errs = unknownKeys(m, path, "status", "match", "scope", "reason", "cooldownMs")
	r.Status = int(field(m, "status", path, 100, 599, &errs))
	r.CooldownMs = field(m, "cooldownMs", path, 0, maxRuleMs, &errs)
	if v, ok := m["match"]; ok {
		text, isText := v.(string)
		if n := utf8.RuneCountInString(text); !isText || n < 1 || n > maxMatch {
			errs = append(errs, FieldError{path + ".match", fmt.Sprintf("must have 1 to %d characters", maxMatch)})
		}
		r.Match = text
	}
	r.Scope = choice(m, "scope", path, ruleScopes, false, &errs)
	r.Reason = choice(m, "reason", path, ruleReasons, true, &errs)
	_, hasStatus := m["status"]
	if _, hasMatch := m["match"]; !hasStatus && !hasMatch {
		errs = append(errs, FieldError{path, "needs a status, a match, or both"})
	}
	return r, errs
}

// ParseErrorDefaults reads the value of providerErrorDefaults in PATCH
// /api/settings, strictly.
func ParseErrorDefaults(body []byte) (map[string]ErrorDefault, error) {
	doc, err := decodeStrict(body)
	if err != nil {
		return nil, err
	}
	defaults, errs := readDefaults(doc)
	if len(errs) > 0 {
		return nil, &PatchError{errs}
	}
	return defaults, nil
}

// LoadErrorDefaults reads what is stored; bad entries are dropped silently.
func LoadErrorDefaults(stored []byte) map[string]ErrorDefault {
	defaults, _ := readDefaults(decode(stored))
	return defaults
}

func readDefaults(doc map[string]any) (map[string]ErrorDefault, []FieldError) {
	const root = "providerErrorDefaults"
	defaults := map[string]ErrorDefault{}
	var errs []FieldError
	for _, name := range sortedKeys(doc) {
		path := root + "." + name
		key, wrong := providerKey(root, name)
		m, ok := doc[name].(map[string]any)
		if !ok {
			wrong = append(wrong, FieldError{path, "must be an object"})
		}
		wrong = append(wrong, unknownKeys(m, path, "cooldownMs", "scope", "reason")...)
		if _, ok := m["cooldownMs"]; !ok {
			wrong = append(wrong, FieldError{path + ".cooldownMs", "is missing"})
		}
		d := ErrorDefault{CooldownMs: field(m, "cooldownMs", path, minDefaultMs, maxRuleMs, &wrong)}
		d.Scope = choice(m, "scope", path, ruleScopes, true, &wrong)
		if d.Scope == "" {
			d.Scope = "connection"
		}
		d.Reason = choice(m, "reason", path, ruleReasons, true, &wrong)
		if errs = append(errs, wrong...); len(wrong) == 0 {
			defaults[key] = d
		}
	}
	return defaults, errs
}

// ParseAffinityTTL reads the value of sessionAffinityTtlMs in PATCH
// /api/settings; 0 switches the affinity off.
func ParseAffinityTTL(v any) (int64, error) {
	if errs := checkInteger(v, "sessionAffinityTtlMs", 0, maxAffinityMs); len(errs) > 0 {
		return 0, &PatchError{errs}
	}
	return int64(v.(float64)), nil
}

func unknownKeys(m map[string]any, path string, known ...string) (errs []FieldError) {
	for _, key := range sortedKeys(m) {
		if !slices.Contains(known, key) {
			errs = append(errs, FieldError{path + "." + key, "is not a known setting"})
		}
	}
	return errs
}

// field reads an optional whole number.
func field(m map[string]any, key, path string, lo, hi int64, errs *[]FieldError) int64 {
	v, ok := m[key]
	if !ok {
		return 0
	}
	if wrong := checkInteger(v, path+"."+key, lo, hi); len(wrong) > 0 {
		*errs = append(*errs, wrong...)
		return 0
	}
	return int64(v.(float64))
}

// choice reads one of a few words.
func choice(m map[string]any, key, path string, words []string, optional bool, errs *[]FieldError) string {
	v, ok := m[key]
	if !ok && optional {
		return ""
	}
	w, _ := v.(string)
	if !slices.Contains(words, w) {
		*errs = append(*errs, FieldError{path + "." + key, "must be one of " + strings.Join(words, ", ")})
		return ""
	}
	return w
}
