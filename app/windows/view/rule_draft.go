package view

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"breakwater/proxy/control"
)

// RuleDraft is what the dialog of a rule, or of a default, holds.
type RuleDraft struct {
	Default  bool // of a provider, for what no rule matches
	Provider string
	Status   string // typed; empty is any
	Match    string
	Scope    string
	Reason   string
	Minutes  string // typed; empty leaves it to the ladder
	exactMs  int64  // a stored cooldown that is not of whole minutes
}

// NewRuleDraft returns the draft of a new rule, or of a new default.
func NewRuleDraft(provider string, blanket bool) RuleDraft {
	d := RuleDraft{Default: blanket, Provider: provider, Scope: "connection", Reason: "quota_exhausted", Status: "429"}
	if blanket {
		d.Status, d.Reason, d.Minutes = "", "", "30"
	}
	return d
}

// DraftOfRule returns the draft of a stored rule.
func DraftOfRule(r ErrorRule) RuleDraft {
	d := RuleDraft{Provider: r.Provider, Match: r.Match, Scope: r.Scope, Reason: ruleReason(r.Reason)}
	if r.Status != 0 {
		d.Status = strconv.Itoa(r.Status)
	}
	d.setCooldown(r.CooldownMs)
	return d
}

// DraftOfDefault returns the draft of a stored default.
func DraftOfDefault(e ErrorDefault) RuleDraft {
	d := RuleDraft{Default: true, Provider: e.Provider, Scope: e.Scope, Reason: e.Reason}
	d.setCooldown(e.CooldownMs)
	return d
}

func (d *RuleDraft) setCooldown(ms int64) {
	if ms > 0 {
		d.Minutes, d.exactMs = Minutes(ms), ms
	}
}

// Check returns what is wrong with the draft, by the fields provider, status,
// match and cooldownMs.
func (d RuleDraft) Check() []control.FieldError {
	var errs []control.FieldError
	bad := func(field, message string) { errs = append(errs, control.FieldError{Field: field, Message: message}) }
	if n := utf8.RuneCountInString(strings.TrimSpace(d.Provider)); n == 0 || n > 100 {
		bad("provider", T("The provider's id, 1 to 100 characters."))
	}
	if n, err := strconv.Atoi(d.Status); d.Status != "" && (err != nil || n < 100 || n > 599) {
		bad("status", T("A status from 100 to 599."))
	}
	if utf8.RuneCountInString(d.Match) > maxRuleMatch {
		bad("match", T("At most 200 characters."))
	}
	if !d.Default && d.Status == "" && d.Match == "" {
		bad("match", T("Name a status, a text, or both."))
	}
	if _, ok := d.cooldown(); !ok || d.Default && d.Minutes == "" {
		bad("cooldownMs", T("From 1 to 43 200 minutes."))
	}
	return errs
}

func (d RuleDraft) cooldown() (int64, bool) {
	if d.Minutes == "" {
		return 0, true
	}
	f, err := strconv.ParseFloat(d.Minutes, 64)
	if err == nil && d.exactMs > 0 && int64(f*minuteMs+0.5) == d.exactMs {
		return d.exactMs, true // as it was stored, also below a minute
	}
	n, err := strconv.Atoi(d.Minutes)
	return int64(n) * minuteMs, err == nil && n >= 1 && n <= mostMinutes
}

// Rule returns the draft as a rule.
func (d RuleDraft) Rule() ErrorRule {
	status, _ := strconv.Atoi(d.Status)
	ms, _ := d.cooldown()
	return ErrorRule{strings.ToLower(strings.TrimSpace(d.Provider)), status, d.Match, d.Scope, d.Reason, ms}
}

// Blanket returns the draft as a default.
func (d RuleDraft) Blanket() ErrorDefault {
	ms, _ := d.cooldown()
	return ErrorDefault{strings.ToLower(strings.TrimSpace(d.Provider)), ms, d.Scope, d.Reason}
}

// Told returns in one sentence what the draft does.
func (d RuleDraft) Told(name string) string {
	if len(d.Check()) > 0 {
		return ""
	}
	if d.Status == "400" {
		return T("Never fires: no rule is asked about status 400.")
	}
	what := T("402, 403, 408, 429 or 5xx and no rule matches")
	switch {
	case d.Default:
	case d.Status != "" && d.Match != "":
		what = Tf("%s and “%s”", d.Status, d.Match)
	case d.Status != "":
		what = d.Status
	default:
		what = Tf("“%s”", d.Match)
	}
	ms, _ := d.cooldown()
	rest := Tf("for %s", Cooldown(ms))
	if ms == 0 {
		rest = T("as long as the ladder says")
	}
	switch {
	case d.Scope == "model":
		return Tf("When %s answers %s, that model of the connection rests %s.", name, what, rest)
	case d.Scope == "provider":
		return Tf("When %s answers %s, every connection of it rests %s.", name, what, rest)
	}
	return Tf("When %s answers %s, the connection rests %s.", name, what, rest)
}
