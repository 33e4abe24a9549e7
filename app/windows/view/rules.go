package view

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"breakwater/proxy/control"
)

// Limits of the error rules (guide §7).
const (
	MaxRules     = 50
	maxRuleMatch = 200
	minuteMs     = 60_000
	mostMinutes  = 43_200 // 30 days
)

// ErrorRule is one rule of the operator, with the provider it is for.
type ErrorRule struct {
	Provider   string `json:"-"`
	Status     int    `json:"status,omitempty"` // 0: any
	Match      string `json:"match,omitempty"`
	Scope      string `json:"scope"`
	Reason     string `json:"reason,omitempty"`
	CooldownMs int64  `json:"cooldownMs,omitempty"` // 0: the ladder
}

// ErrorDefault is the blanket default of one provider.
type ErrorDefault struct {
	Provider   string `json:"-"`
	CooldownMs int64  `json:"cooldownMs"`
	Scope      string `json:"scope"`
	Reason     string `json:"reason,omitempty"` // empty: by the status
}

// ErrorRules returns the rules by provider, each provider's in its order.
func ErrorRules(g control.Guide) []ErrorRule {
	var out []ErrorRule
	for _, p := range slices.Sorted(maps.Keys(g.ProviderErrorRules)) {
		for _, r := range g.ProviderErrorRules[p] {
			out = append(out, ErrorRule{p, r.Status, r.Match, r.Scope, r.Reason, r.CooldownMs})
		}
	}
	return out
}

// ErrorDefaults returns the defaults by provider.
func ErrorDefaults(g control.Guide) []ErrorDefault {
	var out []ErrorDefault
	for _, p := range slices.Sorted(maps.Keys(g.ProviderErrorDefaults)) {
		d := g.ProviderErrorDefaults[p]
		out = append(out, ErrorDefault{p, d.CooldownMs, d.Scope, d.Reason})
	}
	return out
}

// RulesPatch returns the change that stores these rules, all of them.
func RulesPatch(rules []ErrorRule) control.GuidePatch {
	doc := map[string]any{}
	for _, r := range rules {
		list, _ := doc[r.Provider].([]ErrorRule)
		doc[r.Provider] = append(list, r)
	}
	return control.GuidePatch{ProviderErrorRules: encode(doc)}
}

// DefaultsPatch returns the change that stores these defaults, all of them.
func DefaultsPatch(defaults []ErrorDefault) control.GuidePatch {
	doc := map[string]any{}
	for _, d := range defaults {
		doc[d.Provider] = d
	}
	return control.GuidePatch{ProviderErrorDefaults: encode(doc)}
}

// ReplaceRule returns the rules with the one at a place replaced, or with a new
// one behind the last of its provider where at is negative. A rule that changes
// its provider goes behind that provider's last.
func ReplaceRule(rules []ErrorRule, at int, r ErrorRule) []ErrorRule {
	out := slices.Clone(rules)
	if at >= 0 && out[at].Provider == r.Provider {
		out[at] = r
		return out
	}
	if at >= 0 {
		out = slices.Delete(out, at, at+1)
	}
	to := len(out)
	for i, x := range out {
		if x.Provider == r.Provider {
			to = i + 1
		}
	}
	return slices.Insert(out, to, r)
}

// ReplaceDefault does the same for defaults, of which a provider has one. A
// second one is refused.
func ReplaceDefault(list []ErrorDefault, at int, d ErrorDefault) ([]ErrorDefault, error) {
	out := slices.Clone(list)
	if at >= 0 {
		out = slices.Delete(out, at, at+1)
	}
	if slices.ContainsFunc(out, func(x ErrorDefault) bool { return x.Provider == d.Provider }) {
		return nil, control.Invalid("provider", "%s", T("It has a default already."))
	}
	return append(out, d), nil
}

// MoveRule returns the rules with one moved among those of its provider, or nil
// when it cannot go there.
func MoveRule(rules []ErrorRule, at, step int) []ErrorRule {
	to := at + step
	if at < 0 || to < 0 || at >= len(rules) || to >= len(rules) || rules[to].Provider != rules[at].Provider {
		return nil
	}
	out := slices.Clone(rules)
	out[at], out[to] = out[to], out[at]
	return out
}

// RuleRow is one line of the table of rules or of defaults.
type RuleRow struct {
	Provider, Status, Match, Scope, Reason, Cooldown string
	Inactive                                         string // why it never fires
}

// NewRuleRow returns a rule as the table shows it.
func NewRuleRow(r ErrorRule, s control.Snapshot, providers []control.Provider) RuleRow {
	row := RuleRow{
		Provider: RuleProvider(r.Provider, s, providers), Status: T("any"), Match: T("any text"), Scope: ScopeName(r.Scope),
		Reason: ReasonName(ruleReason(r.Reason)), Cooldown: Cooldown(r.CooldownMs),
	}
	if r.Status != 0 {
		row.Status = strconv.Itoa(r.Status)
	}
	if r.Match != "" {
		row.Match = Tf("“%s”", r.Match)
	}
	if r.Status == 400 {
		row.Inactive = T("Never fires: no rule is asked about status 400.")
	}
	return row
}

// NewDefaultRow returns a default as the table shows it.
func NewDefaultRow(d ErrorDefault, s control.Snapshot, providers []control.Provider) RuleRow {
	row := RuleRow{Provider: RuleProvider(d.Provider, s, providers), Scope: ScopeName(d.Scope), Reason: T("by the status"), Cooldown: Cooldown(d.CooldownMs)}
	if d.Reason != "" {
		row.Reason = ReasonName(d.Reason)
	}
	return row
}

func ruleReason(r string) string {
	if r == "" {
		return "quota_exhausted"
	}
	return r
}

// RuleProvider returns a provider's name with how many connections it has.
func RuleProvider(id string, s control.Snapshot, providers []control.Provider) string {
	name, n := id, 0
	for _, p := range providers {
		if p.ID == id {
			name = p.Name
		}
	}
	for _, c := range s.Connections {
		if strings.EqualFold(c.Provider, id) {
			name = c.ProviderName
			n++
		}
	}
	if n == 0 {
		return name
	}
	return Tf("%s (%d)", name, n)
}

// Scopes are the scopes of a rule, in the order of the dialog.
func Scopes() []string { return []string{"model", "connection", "provider"} }

// ScopeName returns a scope in a word.
func ScopeName(scope string) string {
	switch scope {
	case "model":
		return T("Model")
	case "provider":
		return T("Provider")
	}
	return T("Connection")
}

// ScopeHint returns in a sentence what a scope leaves out.
func ScopeHint(scope string) string {
	switch scope {
	case "model":
		return T("Only the model that was asked is left out, at this connection.")
	case "provider":
		return T("Every connection of the provider is left out.")
	}
	return T("The connection is left out; others of the provider serve.")
}

// Reasons are the reasons of a rule.
func Reasons() []string {
	return []string{"quota_exhausted", "rate_limit_exceeded", "model_capacity", "server_error", "auth_error", "unknown"}
}

// ReasonName returns a reason of a rule in words.
func ReasonName(reason string) string {
	if reason == "unknown" {
		return T("not known")
	}
	return Reason(reason)
}

// Statuses are the statuses that the dialog offers; 0 is any.
func Statuses() []int { return []int{429, 0, 401, 402, 403, 404, 500, 502, 503, 504, 400} }

// StatusName returns a status as the dialog shows it.
func StatusName(status int) string {
	if status == 0 {
		return T("Any")
	}
	return strconv.Itoa(status)
}

// CooldownPresets are the cooldowns that the dialog offers, in milliseconds; 0
// leaves it to the ladder.
func CooldownPresets() []int64 {
	return []int64{0, 30 * minuteMs, 60 * minuteMs, 300 * minuteMs, 1440 * minuteMs}
}

// Cooldown returns a rule's cooldown in words.
func Cooldown(ms int64) string {
	minutes := ms / minuteMs
	switch {
	case ms == 0:
		return T("Default")
	case ms%minuteMs != 0:
		return Span(ms)
	case minutes%1440 == 0 && minutes > 1440:
		return Tf("%d d", minutes/1440)
	case minutes%60 == 0:
		return Tf("%d h", minutes/60)
	default:
		return Tf("%d min", minutes)
	}
}

// Minutes returns a cooldown as the dialog's field shows it; none is empty.
func Minutes(ms int64) string {
	if ms == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(ms)/minuteMs, 'f', -1, 64)
}

// RuleProviders returns the providers to choose from: those with connections
// first, then the others of the catalogue by name.
func RuleProviders(s control.Snapshot, providers []control.Provider) []Option {
	out := ProviderOptions(s)
	for i := range out {
		out[i].Name = out[i].Word
		out[i].Word = RuleProvider(out[i].ID, s, providers)
	}
	var rest []Option
	for _, p := range providers {
		if !slices.ContainsFunc(out, func(o Option) bool { return o.ID == p.ID }) {
			rest = append(rest, Option{p.ID, p.Name, p.Name})
		}
	}
	slices.SortFunc(rest, func(a, b Option) int { return strings.Compare(strings.ToLower(a.Word), strings.ToLower(b.Word)) })
	return append(out, rest...)
}
