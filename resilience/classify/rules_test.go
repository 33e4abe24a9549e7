package classify

import (
	"testing"
	"time"

	"breakwater/resilience/outcome"
)

func TestRestate(t *testing.T) {
	const short, long, denied = "额度不足", "用户额度不足", "无权访问模型"
	for _, c := range []struct {
		name     string
		provider string
		status   int
		text     string
		retry    time.Duration
		want     restated
	}{
		{"case S73 quota as 403", "agentrouter", 403, long, 0, restated{429, 403, time.Minute, "agentrouter-quota-misstatus"}},
		{"case S74 quota as 400", "agentrouter", 400, long, 0, restated{429, 400, time.Minute, "agentrouter-quota-misstatus"}},
		{"case S75 permanent refusal", "agentrouter", 403, short + " " + denied, 0, restated{Status: 403}},
		{"case S76 other provider", "acme", 403, long, 0, restated{Status: 403}},
		{"case S77 mixed case", "AgentRouter", 403, short, 0, restated{429, 403, time.Minute, "agentrouter-quota-misstatus"}},
		{"case S78 upstream's own wait", "agentrouter", 403, short, 5 * time.Second, restated{429, 403, 5 * time.Second, "agentrouter-quota-misstatus"}},
		{"case S80 other status", "agentrouter", 500, short, 0, restated{Status: 500}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := restateStatus(c.provider, c.status, c.text, c.retry); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
	t.Run("case S79 marker in the JSON only", func(t *testing.T) {
		o := cfe(403, `{"error":{"message":"no","data":"\u989d\u5ea6\u4e0d\u8db3"}}`, 0, "agentrouter")
		if o.Status != 429 || o.RestatedFrom != 403 || o.ClientRetryAfter != time.Minute {
			t.Errorf("got %+v", o)
		}
	})
}

func TestAgentRouter(t *testing.T) {
	account := func(o outcome.Outcome) bool {
		return o.Scope == outcome.ScopeConnection && o.Terminal == outcome.NotTerminal && o.RuleID == "agentrouter-user-quota-exhausted" &&
			o.Status == 429 && o.ClientRetryAfter == time.Minute
	}
	verdicts(t, []verdict{
		{
			name: "case S87 the account cools by the ladder", got: cfe(403, "用户额度不足", 0, "agentrouter", perModel, model("m")),
			want: failure(outcome.ReasonQuota, 3000*ms, 1), also: account,
		},
		{
			name: "case S89 the model is locked, capped", got: cfe(403, "无权访问模型", 2, "agentrouter", perModel, model("m")), want: failure(outcome.ReasonAuth, 30*time.Minute, -1),
			also: func(o outcome.Outcome) bool {
				return o.Scope == outcome.ScopeModel && o.Status == 403 && o.RestatedFrom == 0
			},
		},
		{
			name: "case S89 a wider cap", got: cfe(403, "无权访问模型", 0, "agentrouter", perModel, model("m"), with(func(o *Options) { o.LockoutMax = 24 * time.Hour })),
			want: failure(outcome.ReasonAuth, 6*time.Hour, -1),
		},
		{
			name: "case S89 no model known", got: cfe(403, "无权访问模型", 0, "agentrouter"), want: failure(outcome.ReasonAuth, 30*time.Minute, -1),
			also: func(o outcome.Outcome) bool { return o.Scope == outcome.ScopeConnection },
		},
		{
			name: "case S93 a connection that is never cooled", got: cfe(403, "用户额度不足", 0, "agentrouter", perModel, model("m"), noCooling),
			want: failure(outcome.ReasonQuota, 3000*ms, -1), also: func(o outcome.Outcome) bool { return o.Scope == outcome.ScopeModel },
		},
	})
	for name, change := range map[string]func(*outcome.Outcome){
		"model":     func(o *outcome.Outcome) { o.Scope = outcome.ScopeModel },
		"reason":    func(o *outcome.Outcome) { o.Reason = outcome.ReasonAuth },
		"permanent": func(o *outcome.Outcome) { o.Permanent = true },
		"credits":   func(o *outcome.Outcome) { o.CreditsExhausted = true },
		"no rule":   func(o *outcome.Outcome) { o.RuleID = "" },
	} {
		t.Run("case S90 "+name, func(t *testing.T) {
			o := outcome.Outcome{RuleID: "x", Scope: outcome.ScopeConnection, Reason: outcome.ReasonQuota}
			if !connectionQuota(o) {
				t.Fatal("the base is no account quota")
			}
			change(&o)
			if connectionQuota(o) {
				t.Errorf("still an account quota: %+v", o)
			}
		})
	}
}

func TestCatalogue(t *testing.T) {
	one := func(name, value string) map[string][]string { return map[string][]string{name: {value}} }
	for _, c := range []struct {
		name     string
		provider string
		status   int
		header   map[string][]string
		text     string
		want     *match
	}{
		{
			"case S81 opencode requests", "opencode", 429, one("x-ratelimit-remaining-requests", "0"), "",
			&match{id: "opencode-quota-exhausted-headers", reason: outcome.ReasonQuota, scope: outcome.ScopeConnection},
		},
		{
			"case S82 any spelling", "opencode", 429, one("X-RateLimit-Remaining-Tokens", " 0 "), "",
			&match{id: "opencode-quota-exhausted-headers", reason: outcome.ReasonQuota, scope: outcome.ScopeConnection},
		},
		{"opencode with some left", "opencode", 429, one("x-ratelimit-remaining-requests", "3"), "", nil},
		{
			"case S83 minimax", "minimax", 429, one("x-model-quota-remaining", "m1=0,m2=5"), "",
			&match{id: "minimax-per-model-quota", reason: outcome.ReasonQuota, scope: outcome.ScopeModel},
		},
		{
			"case 116 minimax", "minimax", 429, one("X-Model-Quota-Remaining", "haiku=0,sonnet=42"), "",
			&match{id: "minimax-per-model-quota", reason: outcome.ReasonQuota, scope: outcome.ScopeModel},
		},
		{"minimax with some left", "minimax", 429, one("x-model-quota-remaining", "haiku=10,sonnet"), "", nil},
		{"case S84 no rules", "acme", 429, nil, "", nil},
		{
			"case S85 openrouter", "openrouter", 402, nil, "",
			&match{id: "openrouter-credit-exhausted-402", reason: outcome.ReasonQuota, scope: outcome.ScopeConnection, cooldown: 120000 * ms},
		},
		{
			"case S86 countdown", "opencode-go", 429, nil, "monthly usage limit reached. resets in 13 days",
			&match{id: "opencode-monthly-quota-resets-in", reason: outcome.ReasonQuota, scope: outcome.ScopeConnection, cooldown: 1123200000 * ms},
		},
		{
			"countdown in minutes", "opencode", 429, nil, "monthly usage limit reached, reset in 30 minutes",
			&match{id: "opencode-monthly-quota-resets-in", reason: outcome.ReasonQuota, scope: outcome.ScopeConnection, cooldown: 30 * time.Minute},
		},
		{"countdown missing", "opencode", 429, nil, "monthly usage limit reached", nil},
		{
			"opencode body", "opencode-zen", 429, nil, "plan_limit_reached",
			&match{id: "opencode-quota-exhausted-body", reason: outcome.ReasonQuota, scope: outcome.ScopeConnection},
		},
		{
			"opencode endpoint", "opencode-cli", 429, nil, "the endpoint is unavailable",
			&match{id: "opencode-endpoint-unavailable", reason: outcome.ReasonModelCapacity, scope: outcome.ScopeModel, cooldown: 5 * time.Minute},
		},
		{
			"cloudflare until midnight UTC", "cloudflare-ai", 429, nil, "daily free allocation",
			&match{id: "cloudflare-ai-daily-neuron-allocation", reason: outcome.ReasonQuota, scope: outcome.ScopeConnection, cooldown: 20*time.Hour + 55*time.Minute + 55*time.Second},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := lookup(c.provider, c.status, c.header, c.text, t0)
			if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
	verdicts(t, []verdict{
		{
			name: "case 115", got: cfe(429, "", 0, "opencode", header("x-ratelimit-remaining-requests", "0")), want: failure(outcome.ReasonQuota, 3000*ms, 1),
			also: func(o outcome.Outcome) bool { return o.Scope == outcome.ScopeEgress },
		},
		{name: "case 117", got: cfe(429, "rate limit reached", 0, "acme"), want: failure(outcome.ReasonRateLimit, 3000*ms, 1)},
		{
			name: "rule's scope is a label elsewhere", got: cfe(429, "", 0, "minimax", header("x-model-quota-remaining", "m=0"), model("m")),
			want: failure(outcome.ReasonQuota, 3000*ms, 1), also: func(o outcome.Outcome) bool { return o.Scope == outcome.ScopeConnection },
		},
		{
			name: "rules see code and type only", got: cfe(429, `{"error":{"message":"daily free allocation used"}}`, 0, "cloudflare-ai"),
			want: failure(outcome.ReasonRateLimit, 3000*ms, 1),
		},
		{
			name: "openrouter 402", got: cfe(402, "", 0, "openrouter"), want: failure(outcome.ReasonQuota, 120000*ms, -1),
			also: func(o outcome.Outcome) bool { return o.Terminal == outcome.CreditsExhausted },
		},
		{
			name: "case 183 monthly limit of one account", got: cfe(429, "Monthly usage limit reached. Resets in 13 days.", 0, "opencode-go"),
			want: hinted(outcome.ReasonQuota, 13*day),
		},
		{name: "rules are not asked about a 400", got: cfe(400, "upstream request failed: model is unavailable.", 0, "opencode"), want: refused(outcome.ReasonUnknown)},
	})
}

func rules(list ...Rule) option   { return with(func(o *Options) { o.Rules = list }) }
func blanket(d Default) option    { return with(func(o *Options) { o.Default = &d }) }
func minutes(n int) time.Duration { return time.Duration(n) * time.Minute }

func TestOperatorRules(t *testing.T) {
	connection := func(o outcome.Outcome) bool {
		return o.Scope == outcome.ScopeConnection && o.Terminal == outcome.NotTerminal
	}
	quota := rules(Rule{Match: "INSUFFICIENT_FUNDS", Scope: outcome.ScopeConnection, Cooldown: minutes(30)})
	verdicts(t, []verdict{
		{name: "case S100 on a 402", got: cfe(402, "insufficient_funds", 0, "acme", quota), want: failure(outcome.ReasonQuota, minutes(30), -1), also: connection},
		{name: "case S100 on a 429", got: cfe(429, "insufficient_funds", 3, "acme", quota), want: failure(outcome.ReasonQuota, minutes(30), -1), also: connection},
		{name: "text does not match", got: cfe(429, "slow down", 0, "acme", quota), want: failure(outcome.ReasonRateLimit, 3000*ms, 1)},
		{name: "status does not match", got: cfe(429, "", 0, "acme", rules(Rule{Status: 503, Scope: outcome.ScopeModel, Cooldown: minutes(1)})), want: failure(outcome.ReasonRateLimit, 3000*ms, 1)},
		{
			name: "first match wins", got: cfe(503, "", 0, "acme", rules(
				Rule{Status: 502, Scope: outcome.ScopeConnection, Cooldown: minutes(1)},
				Rule{Status: 503, Scope: outcome.ScopeConnection, Cooldown: minutes(2), Reason: outcome.ReasonServerError},
				Rule{Status: 503, Scope: outcome.ScopeConnection, Cooldown: minutes(3)})), want: failure(outcome.ReasonServerError, minutes(2), -1),
			also: func(o outcome.Outcome) bool {
				return o.RuleID == "operator-rule-2" && o.HintSource == SourceRule && o.Trips()
			},
		},
		{
			name: "exact, whatever the hint", got: cfe(429, "", 0, "acme", rules(Rule{Status: 429, Scope: outcome.ScopeConnection, Cooldown: minutes(30)}), header("Retry-After", "7200")),
			want: failure(outcome.ReasonQuota, minutes(30), -1),
		},
		{
			name: "model scope is not capped", got: cfe(429, "", 0, "acme", model("m"), rules(Rule{Status: 429, Scope: outcome.ScopeModel, Cooldown: 5 * time.Hour})),
			want: failure(outcome.ReasonQuota, 5*time.Hour, -1), also: func(o outcome.Outcome) bool { return o.Scope == outcome.ScopeModel },
		},
		{
			name: "provider scope", got: cfe(429, "", 0, "acme", rules(Rule{Status: 429, Scope: outcome.ScopeProvider, Cooldown: minutes(1)})),
			want: failure(outcome.ReasonQuota, minutes(1), -1), also: func(o outcome.Outcome) bool { return o.Scope == outcome.ScopeProvider },
		},
		{name: "no cooldown is the ladder", got: cfe(429, "", 2, "acme", rules(Rule{Status: 429, Scope: outcome.ScopeConnection})), want: failure(outcome.ReasonQuota, 12*time.Second, 3)},
		{
			name: "an account's quota on a per-model provider", got: cfe(429, "", 0, "gemini", perModel, model("m"), rules(Rule{Status: 429, Scope: outcome.ScopeConnection, Cooldown: minutes(30)})),
			want: failure(outcome.ReasonQuota, minutes(30), -1), also: connection,
		},
		{
			name: "built-in words still win", got: cfe(402, "out of credits", 0, "acme", rules(Rule{Status: 402, Scope: outcome.ScopeConnection, Cooldown: minutes(30)})),
			want: failure(outcome.ReasonQuota, 120000*ms, -1), also: penniless,
		},
		{
			name: "ruling 15 a rule on a 400 never fires", got: cfe(400, "no", 0, "acme", rules(Rule{Status: 400, Scope: outcome.ScopeConnection, Cooldown: minutes(30)})),
			want: refused(outcome.ReasonUnknown),
		},
		{
			name: "full text for built-in rules too", got: cfe(429, `{"error":{"message":"daily free allocation used"}}`, 0, "cloudflare-ai", rules(Rule{Status: 503, Scope: outcome.ScopeConnection})),
			want: failure(outcome.ReasonQuota, 20*time.Hour+55*time.Minute+55*time.Second, -1),
		},
	})
}

func TestBlanketDefaults(t *testing.T) {
	half := blanket(Default{Cooldown: minutes(30)})
	verdicts(t, []verdict{
		{
			name: "case S101 the upstream's longer wait", got: cfe(429, "", 0, "acme", half, header("Retry-After", "7200")),
			want: want{class: outcome.Failure, fallback: true, reason: outcome.ReasonRateLimit, cooldown: 2 * time.Hour, level: -1, hint: true},
		},
		{name: "case S102 a short hint is stretched", got: cfe(429, "", 0, "acme", half, header("Retry-After", "10")), want: failure(outcome.ReasonRateLimit, minutes(30), -1)},
		{name: "case S103 not on a 400", got: cfe(400, "no", 0, "acme", half), want: refused(outcome.ReasonUnknown)},
		{name: "case S103 not on a bare 401", got: cfe(401, "", 0, "acme", half), want: failure(outcome.ReasonAuth, 0, -1)},
		{name: "not on a 404", got: cfe(404, "", 0, "acme", half), want: failure(outcome.ReasonUnknown, minutes(2), -1)},
		{name: "on a 403", got: cfe(403, "", 0, "acme", half), want: failure(outcome.ReasonAuth, minutes(30), -1)},
		{name: "on a 402, which then comes back", got: cfe(402, "", 0, "acme", half), want: failure(outcome.ReasonQuota, minutes(30), -1), also: plain},
		{name: "on a 500", got: cfe(500, "", 0, "acme", half), want: failure(outcome.ReasonServerError, minutes(30), -1), also: func(o outcome.Outcome) bool { return o.Trips() }},
		{name: "on a 408", got: cfe(408, "", 0, "acme", half), want: failure(outcome.ReasonUnknown, minutes(30), -1)},
		{
			name: "its own reason and scope", got: cfe(503, "", 0, "acme", model("m"), blanket(Default{Cooldown: minutes(5), Scope: outcome.ScopeModel, Reason: outcome.ReasonModelCapacity})),
			want: failure(outcome.ReasonModelCapacity, minutes(5), -1), also: func(o outcome.Outcome) bool { return o.Scope == outcome.ScopeModel },
		},
		{name: "a rule goes first", got: cfe(429, "", 0, "acme", half, rules(Rule{Status: 429, Scope: outcome.ScopeConnection, Cooldown: minutes(1)})), want: failure(outcome.ReasonQuota, minutes(1), -1)},
		{name: "a built-in rule goes first", got: cfe(402, "", 0, "openrouter", half), want: failure(outcome.ReasonQuota, minutes(2), -1)},
	})
}
