package classify

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"breakwater/resilience/hint"
	"breakwater/resilience/outcome"
)

// builtin is one rule of the catalogue (settings sheet §5.2).
type builtin struct {
	id        string
	providers []string
	statuses  []int
	phrases   []string
	// headers are the ones of which exhaust must say that a budget is used up.
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
	{
		id: "opencode-endpoint-unavailable", providers: opencodeFamily, statuses: []int{400, 429}, phrases: []string{"endpoint is unavailable"},
		reason: outcome.ReasonModelCapacity, scope: outcome.ScopeModel, cooldown: 5 * time.Minute,
	},
	{
		id: "opencode-monthly-quota-resets-in", providers: opencodeFamily, statuses: []int{429}, phrases: []string{"monthly usage limit reached"},
		reason: outcome.ReasonQuota, scope: outcome.ScopeConnection, until: countdown,
	},
	{
		id: "opencode-quota-exhausted-headers", providers: opencodeFamily, statuses: []int{429},
		headers: []string{"x-ratelimit-remaining-requests", "x-ratelimit-remaining-tokens"}, exhaust: isZero,
		reason: outcome.ReasonQuota, scope: outcome.ScopeConnection,
	},
	{
		id: "opencode-quota-exhausted-body", providers: opencodeFamily, statuses: []int{429},
		phrases: []string{"organization_quota_exceeded", "account_quota_exceeded", "plan_limit_reached"},
		reason:  outcome.ReasonQuota, scope: outcome.ScopeConnection,
	},
	{
		id: "opencode-400-model-unavailable", providers: opencodeFamily, statuses: []int{400},
		phrases: []string{"upstream request failed: model is unavailable."},
		reason:  outcome.ReasonModelCapacity, scope: outcome.ScopeModel, cooldown: time.Hour,
	},
	{
		id: "minimax-per-model-quota", providers: []string{"minimax", "minimax-passthrough"}, statuses: []int{429},
		headers: []string{"x-model-quota-remaining"}, exhaust: someZero,
		reason: outcome.ReasonQuota, scope: outcome.ScopeModel,
	},
	{
		id: "cloudflare-ai-daily-neuron-allocation", providers: []string{"cloudflare-ai"}, statuses: []int{429}, phrases: []string{"daily free allocation"},
		reason: outcome.ReasonQuota, scope: outcome.ScopeConnection, until: utcMidnight,
	},
	{
		id: "openrouter-credit-exhausted-402", providers: []string{"openrouter"}, statuses: []int{402},
		reason: outcome.ReasonQuota, scope: outcome.ScopeConnection, cooldown: fixedCooldown,
	},
	{
		id: "agentrouter-user-quota-exhausted", providers: []string{"agentrouter"}, statuses: []int{400, 403, 429}, phrases: []string{"额度不足"},
		reason: outcome.ReasonQuota, scope: outcome.ScopeConnection,
	},
	{
		id: "agentrouter-model-access-denied", providers: []string{"agentrouter"}, statuses: []int{403}, phrases: []string{"无权访问模型"},
		reason: outcome.ReasonAuth, scope: outcome.ScopeModel, cooldown: 6 * time.Hour,
	},
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

func contains(list []string, s string) bool {
	return slices.Contains(list, s)
}

func containsInt(list []int, n int) bool {
	return slices.Contains(list, n)
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
