package classify

import (
	"strconv"
	"strings"
	"time"

	"breakwater/resilience/outcome"
)

// Rule is one operator rule of a provider, checked when it was stored (see
// settings.ErrorRule). Status and Match are each optional, at least one is set,
// both must hold; the first rule that fits wins.
type Rule struct {
	Status   int    // 0: any
	Match    string // plain substring, case ignored; "": any
	Scope    outcome.Scope
	Reason   outcome.Reason // "": quota_exhausted
	Cooldown time.Duration  // exact; 0: the ladder
}

// Default is a provider's blanket default for 402, 403, 408, 429 and 5xx that
// no rule knows.
type Default struct {
	Cooldown time.Duration
	Scope    outcome.Scope  // the zero value, ScopeRequest, counts as ScopeConnection
	Reason   outcome.Reason // "": by the status
}

// SourceRule is the HintSource of a cooldown that a rule declares.
const SourceRule = "rule"

// match is a rule that fits, whatever its origin.
type match struct {
	id       string
	reason   outcome.Reason
	scope    outcome.Scope
	cooldown time.Duration // 0: the ladder
	operator bool          // declared by the operator: exact, never capped
}

func (f *facts) hasOperatorRule() bool { return len(f.opt.Rules) > 0 || f.opt.Default != nil }

// honoursScope reports whether a rule's scope is more than a label here.
func (f *facts) honoursScope() bool {
	return contains(honoursScopeProvider, f.provider) || f.hasOperatorRule()
}

// operatorRule applies the operator's first rule that fits, or else the blanket
// default when the catalogue knows nothing either (guide §7, #11104).
func operatorRule(f *facts) bool {
	if f.Status == 400 {
		return false // no rule is asked about a 400 (guide §7, "Brecha conocida")
	}
	for i, r := range f.opt.Rules {
		if r.Status != 0 && r.Status != f.Status || !strings.Contains(f.text, strings.ToLower(r.Match)) {
			continue
		}
		m := match{id: "operator-rule-" + strconv.Itoa(i+1), reason: r.Reason, scope: r.Scope, cooldown: r.Cooldown, operator: true}
		if m.reason == "" {
			m.reason = outcome.ReasonQuota
		}
		o := f.applyRule(m)
		f.ruled = &o
		return true
	}
	return f.blanket()
}

// blanket applies the provider's default. It may stretch a short hint but never
// shortens a stated reset.
func (f *facts) blanket() bool {
	d := f.opt.Default
	if d == nil || !blanketStatus(f.Status) || f.catalogue() != nil {
		return false
	}
	m := match{id: "operator-default", reason: d.Reason, scope: d.Scope, cooldown: d.Cooldown, operator: true}
	if m.scope == outcome.ScopeRequest {
		m.scope = outcome.ScopeConnection
	}
	if m.reason == "" {
		m.reason = statusReason(f.Status)
	}
	longer := f.stated.Stated && f.stated.Wait > m.cooldown
	if longer {
		m.cooldown = f.stated.Wait
	}
	o := f.applyRule(m)
	if longer {
		o.UsedHint, o.HintSource, o.RawHint = true, f.stated.Source, f.stated.Raw
	}
	f.ruled = &o
	return true
}

func blanketStatus(status int) bool {
	switch status {
	case 402, 403, 408, 429:
		return true
	}
	return status >= 500 && status <= 599
}

// applyRule gives a matching rule's verdict: its cooldown exactly, or the
// ladder when it declares none.
func (f *facts) applyRule(m match) outcome.Outcome {
	f.rule = &m
	var o outcome.Outcome
	_, hinted := f.hinted()
	if m.cooldown > 0 && (m.operator || !hinted || f.Status != 429) { // a stated time beats a built-in one (ruling 57)
		o = fixed(m.reason, m.cooldown)
		o.HintSource = SourceRule
	} else {
		o = f.retryable(m.reason)
	}
	o.RuleID = m.id
	if !f.honoursScope() {
		return o
	}
	o.Scope = m.scope
	if m.scope == outcome.ScopeModel && !m.operator && !o.UsedHint {
		// A built-in lock of a model is capped like every guessed one.
		o.Cooldown = min(o.Cooldown, f.lockoutMax())
	}
	return o
}

// connectionQuota reports whether a verdict by rule is a quota of the whole
// account that comes back by itself: never a closed or penniless one.
func connectionQuota(o outcome.Outcome) bool {
	return o.RuleID != "" && o.Scope == outcome.ScopeConnection && o.Reason == outcome.ReasonQuota &&
		!o.Permanent && !o.CreditsExhausted
}
