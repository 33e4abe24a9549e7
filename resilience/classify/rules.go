package classify

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"breakwater/resilience/hint"
	"breakwater/resilience/outcome"
)

// The bounds of what an operator may declare (guide §7, settings sheet §5.4).
const (
	MaxRules           = 50
	MaxRuleMatch       = 200
	MaxRuleCooldown    = 30 * day
	MinDefaultCooldown = time.Minute
)

// Rule is one operator rule of a provider. Status and Match are each optional,
// at least one is set, both must hold; the first rule that fits wins.
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

// RuleReasons are the reasons that a rule may give.
var RuleReasons = []outcome.Reason{
	outcome.ReasonAuth, outcome.ReasonQuota, outcome.ReasonRateLimit,
	outcome.ReasonModelCapacity, outcome.ReasonServerError, outcome.ReasonUnknown,
}

// Validate reports why a rule cannot be stored.
func (r Rule) Validate() error {
	switch {
	case r.Status == 0 && r.Match == "":
		return errors.New("a rule needs a status, a text, or both")
	case r.Status != 0 && (r.Status < 100 || r.Status > 599):
		return fmt.Errorf("status %d is not between 100 and 599", r.Status)
	case utf8.RuneCountInString(r.Match) > MaxRuleMatch:
		return fmt.Errorf("the text is longer than %d characters", MaxRuleMatch)
	case r.Cooldown < 0 || r.Cooldown > MaxRuleCooldown:
		return fmt.Errorf("the cooldown is not between 0 and %d ms", MaxRuleCooldown.Milliseconds())
	case r.Scope != outcome.ScopeModel && r.Scope != outcome.ScopeConnection && r.Scope != outcome.ScopeProvider:
		return errors.New("the scope is not model, connection or provider")
	case r.Reason != "" && !ruleReason(r.Reason):
		return fmt.Errorf("%q is no reason a rule may give", string(r.Reason))
	}
	return nil
}

// Inactive reports why a stored rule never fires, or "": a 400 is judged by its
// words alone, before any rule is asked (ruling 15).
func (r Rule) Inactive() string {
	if r.Status == 400 {
		return "rules are not consulted for status 400"
	}
	return ""
}

// Validate reports why a default cannot be stored.
func (d Default) Validate() error {
	switch {
	case d.Cooldown < MinDefaultCooldown || d.Cooldown > MaxRuleCooldown:
		return fmt.Errorf("the cooldown is not between %d and %d ms", MinDefaultCooldown.Milliseconds(), MaxRuleCooldown.Milliseconds())
	case d.Reason != "" && !ruleReason(d.Reason):
		return fmt.Errorf("%q is no reason a default may give", string(d.Reason))
	}
	return nil
}

func ruleReason(r outcome.Reason) bool {
	for _, known := range RuleReasons {
		if r == known {
			return true
		}
	}
	return false
}

// match is a rule that fits, whatever its origin.
type match struct {
	id       string
	reason   outcome.Reason
	scope    outcome.Scope
	cooldown time.Duration // 0: the ladder
}

// builtin is one rule of the catalogue (settings sheet §5.2).
type builtin struct {
	id        string
	providers []string
	statuses  []int
	phrases   []string
	// header, when set, must hold one of values in the sense of test.
	headers  []string
	exhaust  func(string) bool
	reason   outcome.Reason
	scope    outcome.Scope
	cooldown time.Duration
	// until computes the cooldown from the text; a rule whose until fails does
	// not match.
	until func(text string, now time.Time) (time.Duration, bool)
}

var opencodeFamily = []string{"opencode", "opencode-zen", "opencode-go", "opencode-cli"}

var catalogue = []builtin{
	{id: "opencode-endpoint-unavailable", providers: opencodeFamily, statuses: []int{400, 429}, phrases: []string{"endpoint is unavailable"},
		reason: outcome.ReasonModelCapacity, scope: outcome.ScopeModel, cooldown: 5 * time.Minute},
	{id: "opencode-monthly-quota-resets-in", providers: opencodeFamily, statuses: []int{429}, phrases: []string{"monthly usage limit reached"},
		reason: outcome.ReasonQuota, scope: outcome.ScopeConnection, until: countdown},
	{id: "opencode-quota-exhausted-headers", providers: opencodeFamily, statuses: []int{429},
		headers: []string{"x-ratelimit-remaining-requests", "x-ratelimit-remaining-tokens"}, exhaust: isZero,
		reason: outcome.ReasonQuota, scope: outcome.ScopeConnection},
	{id: "opencode-quota-exhausted-body", providers: opencodeFamily, statuses: []int{429},
		phrases: []string{"organization_quota_exceeded", "account_quota_exceeded", "plan_limit_reached"},
		reason:  outcome.ReasonQuota, scope: outcome.ScopeConnection},
	{id: "opencode-400-model-unavailable", providers: opencodeFamily, statuses: []int{400},
		phrases: []string{"upstream request failed: model is unavailable."},
		reason:  outcome.ReasonModelCapacity, scope: outcome.ScopeModel, cooldown: time.Hour},
	{id: "minimax-per-model-quota", providers: []string{"minimax", "minimax-passthrough"}, statuses: []int{429},
		headers: []string{"x-model-quota-remaining"}, exhaust: someZero,
		reason: outcome.ReasonQuota, scope: outcome.ScopeModel},
	{id: "cloudflare-ai-daily-neuron-allocation", providers: []string{"cloudflare-ai"}, statuses: []int{429}, phrases: []string{"daily free allocation"},
		reason: outcome.ReasonQuota, scope: outcome.ScopeConnection, until: utcMidnight},
	{id: "openrouter-credit-exhausted-402", providers: []string{"openrouter"}, statuses: []int{402},
		reason: outcome.ReasonQuota, scope: outcome.ScopeConnection, cooldown: fixedCooldown},
	{id: "agentrouter-user-quota-exhausted", providers: []string{"agentrouter"}, statuses: []int{400, 403, 429}, phrases: []string{"额度不足"},
		reason: outcome.ReasonQuota, scope: outcome.ScopeConnection},
	{id: "agentrouter-model-access-denied", providers: []string{"agentrouter"}, statuses: []int{403}, phrases: []string{"无权访问模型"},
		reason: outcome.ReasonAuth, scope: outcome.ScopeModel, cooldown: 6 * time.Hour},
}

// The two allow-lists of the guide §7 (ruling 16): who hands its rules the
// whole text, and whose rules' scope is obeyed. The operator's rules need
// neither.
var (
	fullTextProviders    = []string{"agentrouter"}
	honoursScopeProvider = []string{"agentrouter"}
)

func isZero(v string) bool { return strings.TrimSpace(v) == "0" }

// someZero reads a list such as "haiku=0,sonnet=42".
func someZero(v string) bool {
	for entry := range strings.SplitSeq(v, ",") {
		if _, n, ok := strings.Cut(entry, "="); ok && isZero(n) {
			return true
		}
	}
	return false
}

var countdownPattern = regexp.MustCompile(`resets? in (\d{1,6}) (day|hour|minute|second)s?\b`)

// countdown reads "resets in 13 days": one number and one unit.
func countdown(text string, _ time.Time) (time.Duration, bool) {
	m := countdownPattern.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	unit, _ := hint.ParseDuration("1" + m[2])
	d := time.Duration(n) * unit
	return min(d, hint.MaxStated), err == nil && d > 0
}

// utcMidnight is when allowances by the UTC day come back.
func utcMidnight(_ string, now time.Time) (time.Duration, bool) {
	return untilMidnight(now.UTC()), true
}

// catalogue returns the built-in rule that fits, once looked up.
func (f *facts) catalogue() *match {
	if f.Status == 400 {
		return nil
	}
	text := f.code + " " + f.typ
	if contains(fullTextProviders, f.provider) || f.hasOperatorRule() {
		text = f.text
	}
	return lookup(f.provider, f.Status, f.Header, text, f.Now)
}

// lookup finds the first built-in rule that fits an answer. text is what the
// provider's rules may see, in lower case.
func lookup(provider string, status int, headers map[string][]string, text string, now time.Time) *match {
	for _, b := range catalogue {
		if !contains(b.providers, provider) || !containsInt(b.statuses, status) || !b.fits(headers, text) {
			continue
		}
		m := match{id: b.id, reason: b.reason, scope: b.scope, cooldown: b.cooldown}
		if b.until != nil {
			d, ok := b.until(text, now)
			if !ok {
				continue
			}
			m.cooldown = d
		}
		return &m
	}
	return nil
}

func (b builtin) fits(headers map[string][]string, text string) bool {
	if len(b.phrases) > 0 {
		for _, p := range b.phrases {
			if strings.Contains(text, p) {
				return true
			}
		}
		return false
	}
	for _, name := range b.headers {
		if v := headerValue(headers, name); v != "" && b.exhaust(v) {
			return true
		}
	}
	return len(b.headers) == 0
}

func (f *facts) hasOperatorRule() bool { return len(f.opt.Rules) > 0 || f.opt.Default != nil }

// honoursScope reports whether a rule's scope is more than a label here.
func (f *facts) honoursScope() bool {
	return contains(honoursScopeProvider, f.provider) || f.hasOperatorRule()
}

// operator applies the operator's first rule that fits, or else the blanket
// default when the catalogue knows nothing either (guide §7, #11104).
func operator(f *facts) (outcome.Outcome, bool) {
	if f.Status == 400 {
		return pass()
	}
	for i, r := range f.opt.Rules {
		if r.Status != 0 && r.Status != f.Status || !strings.Contains(f.text, strings.ToLower(r.Match)) || r.Validate() != nil {
			continue
		}
		m := match{id: "operator-rule-" + strconv.Itoa(i+1), reason: r.Reason, scope: r.Scope, cooldown: r.Cooldown}
		if m.reason == "" {
			m.reason = outcome.ReasonQuota
		}
		return f.applyRule(m), true
	}
	return f.blanket()
}

// blanket applies the provider's default. It may stretch a short hint but never
// shortens a stated reset.
func (f *facts) blanket() (outcome.Outcome, bool) {
	d := f.opt.Default
	if d == nil || d.Validate() != nil || !blanketStatus(f.Status) || f.catalogue() != nil {
		return pass()
	}
	m := match{id: "operator-default", reason: d.Reason, scope: d.Scope, cooldown: d.Cooldown}
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
	return o, true
}

func blanketStatus(status int) bool {
	switch status {
	case 402, 403, 408, 429:
		return true
	}
	return status >= 500 && status <= 599
}

// ruleOn403 lets a built-in rule speak before the plain refusal of a key, for
// the providers whose rules' scope is obeyed.
func ruleOn403(f *facts) (outcome.Outcome, bool) {
	if f.Status != 403 || !f.honoursScope() {
		return pass()
	}
	if m := f.catalogue(); m != nil {
		return f.applyRule(*m), true
	}
	return pass()
}

// applyRule gives a matching rule's verdict: its cooldown exactly, or the
// ladder when it declares none.
func (f *facts) applyRule(m match) outcome.Outcome {
	f.rule = &m
	var o outcome.Outcome
	if m.cooldown > 0 {
		o = fixed(m.reason, m.cooldown)
	} else {
		o = f.retryable(m.reason)
	}
	o.RuleID = m.id
	if f.honoursScope() {
		o.Scope = m.scope
		if m.scope == outcome.ScopeModel && !strings.HasPrefix(m.id, "operator-") {
			// A lock of a model is capped like every guessed one.
			o.Cooldown = min(o.Cooldown, max(f.lockoutMax(), f.usedWait(o)))
		}
	}
	return o
}

// usedWait returns the hint's wait when o follows it.
func (f *facts) usedWait(o outcome.Outcome) time.Duration {
	if o.UsedHint {
		return f.stated.Wait
	}
	return 0
}

// ConnectionQuota reports whether a verdict by rule is a quota of the whole
// account that comes back by itself: never a closed or penniless one.
func ConnectionQuota(o outcome.Outcome) bool {
	return o.RuleID != "" && o.Scope == outcome.ScopeConnection && o.Reason == outcome.ReasonQuota &&
		!o.Permanent && !o.CreditsExhausted
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

func containsInt(list []int, n int) bool {
	for _, e := range list {
		if e == n {
			return true
		}
	}
	return false
}

// headerValue returns the first non-blank value of a header, case ignored.
func headerValue(h map[string][]string, name string) string {
	best, key := "", ""
	for k, values := range h {
		if !strings.EqualFold(k, name) || key != "" && k >= key {
			continue
		}
		for _, v := range values {
			if v = strings.TrimSpace(v); v != "" {
				best, key = v, k
				break
			}
		}
	}
	return best
}
