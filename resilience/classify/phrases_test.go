package classify

import (
	"strings"
	"testing"

	"breakwater/resilience/outcome"
)

// The lists of the sheet §3.10, one sample for each entry, written out again so
// that a lost or changed entry shows.
func TestPhraseLists(t *testing.T) {
	credits := func(o outcome.Outcome) bool { return o.CreditsExhausted && o.Reason == outcome.ReasonQuota }
	closed := func(o outcome.Outcome) bool { return o.Permanent && o.Cooldown == 365*day }
	reason := func(r outcome.Reason) func(outcome.Outcome) bool {
		return func(o outcome.Outcome) bool { return o.Reason == r && !o.CreditsExhausted }
	}
	elsewhere := func(o outcome.Outcome) bool {
		return o.Fallback && o.Reason == outcome.ReasonModelCapacity && o.Cooldown == 0
	}
	handedOn := func(o outcome.Outcome) bool { // ruling 55 (c)
		return o.Class == outcome.Neutral && !o.Fallback && o.Reason == outcome.ReasonRequestInvalid
	}
	is := func(class outcome.Class) func(outcome.Outcome) bool {
		return func(o outcome.Outcome) bool { return elsewhere(o) && o.Class == class }
	}
	for _, list := range []struct {
		name     string
		status   int
		provider string
		want     func(outcome.Outcome) bool
		samples  string
	}{
		{"deactivated", 403, "acme", closed, `account_deactivated|account has been deactivated|account has been disabled|your account has been suspended
			this account is deactivated|verify your account to continue|this service has been disabled in this account for violation
			this service has been disabled in this account`},
		{"credits", 402, "acme", credits, `insufficient_quota|billing_hard_limit_reached|exceeded your current quota|exceeded your current usage quota
			credit_balance_too_low|your credit balance is too low|credits exhausted|out of credits|payment required
			free tier of the model has been exhausted|tier has been exhausted|insufficient balance|insufficient_balance
			insufficient account balance|insufficient credit balance|insufficient credits|insufficient credit|usage balance exhausted`},
		{
			"not credits", 429, "codex", func(o outcome.Outcome) bool { return !o.CreditsExhausted && !o.DailyQuotaExhausted },
			`resource has been exhausted|resource_exhausted|check quota`,
		},
		{"billing suspended", 403, "acme", credits, `suspended: your spending limit|billing: suspended|invoice open, suspended|suspended for missing payment`},
		{
			"model gone", 404, "acme", func(o outcome.Outcome) bool { return o.Reason == outcome.ReasonNotFound && o.Cooldown == day },
			`no longer available|no longer supported|has reached its end-of-life|has reached the end-of-life|model was deprecated
			retired model|the model is discontinued|decommissioned: this model`,
		},
		{
			"endpoint moved", 500, "acme", func(o outcome.Outcome) bool { return o.Reason == outcome.ReasonNotFound && o.Cooldown == day },
			`endpoint has moved|no longer works|update your base url|update your base_url`,
		},
		{"daily", 429, "codex", func(o outcome.Outcome) bool { return o.DailyQuotaExhausted }, `today's quota|daily quota|try again tomorrow`},
		{
			"subscription", 429, "codex", func(o outcome.Outcome) bool {
				return o.Reason == outcome.ReasonQuota && o.Cooldown == subscriptionWindow
			},
			`usage limit reached|usage limit has been hit|claude pro usage limit|you've reached your usage limit|you have reached your usage limit`,
		},
		{"weekly", 429, "acme", func(o outcome.Outcome) bool { return o.Cooldown == weeklyWindow }, `weekly usage limit|weekly limit reached|reached your weekly cap`},
		{"session", 429, "acme", func(o outcome.Outcome) bool { return o.Cooldown == sessionWindow }, `session usage limit|session limit reached|reached your session: a usage limit`},
		{
			"oauth invalid", 401, "acme", func(o outcome.Outcome) bool { return o.ErrorType == "oauth_invalid_token" },
			`invalid authentication credentials|needs oauth 2|login cookie|valid authentication credential|invalid credentials`,
		},
		{"context overflow", 400, "acme", handedOn, `input is too long|input too long|prompt is too long|too many tokens|context window|maximum context
			request too large|token limit|the context is too long|context size exceeded|context overflow|context has a limit|max output tokens`},
		{"model access", 400, "acme", is(outcome.Failure), `invalid model|model x not available|model x was not found|model x is not supported|model not accessible
			model x does not exist|model x doesn't exist|model x does not support this|model x doesn't support this|model: unsupported|we doesn't support the model
			unsupported model|access is denied to the model|model access denied|please select a different model|no access to this model|permission for the model
			the model needs permission`},
		{
			// Ruling 55 (a).
			"refused key", 400, "acme", func(o outcome.Outcome) bool { return o.Terminal == outcome.Expired && o.Fallback },
			`api key not valid|api_key_invalid|api key expired|incorrect api key provided|invalid api key provided|invalid_api_key
			invalid model, invalid api key|invalid model, api-key revoked|invalid model, incorrect api_key|invalid model, expired apikey
			authentication_error|unauthenticated|invalid x-api-key|api key was revoked|api key is invalid`,
		},
		{
			"bad credential", 400, "acme", func(o outcome.Outcome) bool { return o.Row == RowUnlisted },
			`invalid model, api key missing
			invalid model, authentication failed|invalid model, authentication error|invalid model, authentication required
			invalid model, missing token|invalid model, bearer expired|invalid model, revoked credential|invalid model, unauthorized|invalid model, not authenticated`,
		},
		{"malformed", 400, "acme", handedOn, `improperly formed request|invalid message format|messages must alternate|empty message|empty content
			function name is blank|function name empty|function name missing|tool_call has a name that is blank|tool_call.name empty|tool_call name missing`},
		{"parameter", 400, "acme", handedOn, `max_tokens is illegal|max_tokens must be small|max_tokens out of range|parameter is illegal|top_p is illegal, range 0..1`},
		{"rate limit on a 400", 400, "acme", reason(outcome.ReasonRateLimit), `high-frequency|non-compliant|too many requests|rate limit|请求频繁|频率`},
		{"degraded function", 400, "acme", is(outcome.Failure), `function x: degraded|degraded function`},
		{"table: auth", 503, "acme", func(o outcome.Outcome) bool { return o.Reason == outcome.ReasonAuth && o.Cooldown == fixedCooldown }, `no credentials`},
		{"table: not allowed", 503, "acme", func(o outcome.Outcome) bool {
			return o.Reason == outcome.ReasonRateLimit && o.Cooldown == shortCooldown && !o.SetsLevel
		}, `request not allowed`},
		{"table: malformed", 503, "acme", func(o outcome.Outcome) bool { return o.Reason == outcome.ReasonModelCapacity && o.Cooldown == 0 }, `improperly formed request`},
		{"table: rate", 503, "acme", func(o outcome.Outcome) bool { return o.Reason == outcome.ReasonRateLimit && o.Level == 1 }, `rate limit|too many requests`},
		{"table: quota", 503, "acme", func(o outcome.Outcome) bool { return o.Reason == outcome.ReasonQuota && o.Level == 1 }, `hour quota|quota has been exceeded
			quota exceeded|quota will reset|exhausted your capacity|quota exhausted|out of extra usage|extra usage required`},
		{"table: capacity", 503, "acme", func(o outcome.Outcome) bool { return o.Reason == outcome.ReasonModelCapacity && o.Level == 1 }, `no capacity|overloaded|high demand`},
	} {
		for _, sample := range strings.FieldsFunc(list.samples, func(r rune) bool { return r == '|' || r == '\n' }) {
			sample = strings.TrimSpace(sample)
			t.Run(list.name+": "+sample, func(t *testing.T) {
				if o := cfe(list.status, strings.ToUpper(sample), 0, list.provider); !list.want(o) {
					t.Errorf("got %+v", o)
				}
			})
		}
	}
}

func TestWordingGaps(t *testing.T) {
	gap := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct {
		name string
		w    wording
		text string
		want bool
	}{
		{"free gap", terminalQuota, "credit" + gap(5000) + "exhaust", true},
		{"free gap ends with the line", terminalQuota, "credit\nexhaust", false},
		{"a later line", terminalQuota, "credit\ncredit is exhausted", true},
		{"wrong order", terminalQuota, "exhausted credit", false},
		{"three words", modelAccess, "the model is, sadly, not " + gap(300) + " available", true},
		{"three words, one missing", modelAccess, "the model is " + gap(300) + " available", false},
		{"model gone, 40", modelGone404, "model" + gap(40) + "retired", true},
		{"model gone, 41", modelGone404, "model" + gap(41) + "retired", false},
		{"a later start is near enough", modelGone404, "model" + gap(41) + "model" + gap(3) + "retired", true},
		{"suspended, 120", suspendedForMoney, "invoice" + gap(120) + "suspended", true},
		{"suspended, 121", suspendedForMoney, "invoice" + gap(121) + "suspended", false},
		{"degraded, 80", degradedFunction, "degraded" + gap(80) + "function", true},
		{"degraded, 81", degradedFunction, "degraded" + gap(81) + "function", false},
		{"hard limit, one letter", anyQuota, "hard_limit", true},
		{"hard limit, two letters", anyQuota, "hard__limit", false},
		{"nothing", anyQuota, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.w.in(c.text); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
