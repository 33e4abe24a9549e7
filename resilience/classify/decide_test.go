package classify

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

func credited(o outcome.Outcome) bool { return o.CreditsExhausted }

func penniless(o outcome.Outcome) bool {
	return o.CreditsExhausted && o.Terminal == outcome.CreditsExhausted
}

func plain(o outcome.Outcome) bool {
	return !o.CreditsExhausted && !o.DailyQuotaExhausted && !o.Permanent && o.Terminal == outcome.NotTerminal
}

func TestLadder(t *testing.T) {
	for level, d := range []time.Duration{5000 * ms, 10000 * ms, 20000 * ms, 40000 * ms, 80000 * ms, 120000 * ms} {
		t.Run(fmt.Sprintf("case 66 level %d", level), func(t *testing.T) {
			failure(outcome.ReasonServerError, d, level+1).check(t, cfe(502, "", level, ""))
		})
	}
	verdicts(t, []verdict{
		{name: "case 67 claude", got: cfe(502, "", 0, "claude"), want: failure(outcome.ReasonServerError, 5000*ms, 1)},
		{name: "case 67 groq", got: cfe(502, "", 0, "groq"), want: failure(outcome.ReasonServerError, 3000*ms, 1)},
		{name: "case 68 claude at the top", got: cfe(502, "", 8, "claude"), want: failure(outcome.ReasonServerError, 1280*time.Second, 8)},
		{name: "case 68 groq at the top", got: cfe(502, "", 5, "groq"), want: failure(outcome.ReasonServerError, 96*time.Second, 5)},
		{name: "case 69 beyond every level", got: cfe(502, "", 20, ""), want: failure(outcome.ReasonServerError, 120000*ms, 15)},
		{name: "negative level counts as none", got: cfe(502, "", -3, "groq"), want: failure(outcome.ReasonServerError, 3000*ms, 1)},
		{
			name: "a base of zero stays zero", got: cfe(502, "", 4, "groq", profile(settings.Profile{Name: settings.APIKey, MaxBackoffSteps: 5})),
			want: failure(outcome.ReasonServerError, 0, 5),
		},
		{name: "no profile, rate", got: cfe(429, "", 0, ""), want: failure(outcome.ReasonRateLimit, 1000*ms, 1)},
		{name: "case 70", got: cfe(429, "", 0, "groq"), want: failure(outcome.ReasonRateLimit, 3000*ms, 1)},
		{name: "case 71", got: cfe(401, "", 0, "groq"), want: failure(outcome.ReasonAuth, 0, -1)},
		{name: "case 72", got: cfe(400, "", 0, "groq"), want: refused(outcome.ReasonUnknown)},
		{name: "case 100 capped", got: cfe(429, "", 8, "groq", profile(settings.Profile{Name: settings.APIKey, BaseCooldown: time.Minute, MaxBackoffSteps: 8}),
			with(func(o *Options) { o.LockoutMax = 10 * time.Minute })), want: failure(outcome.ReasonRateLimit, 10*time.Minute, 8)},
		{name: "case 101 hint", got: cfe(429, "", 8, "groq", profile(settings.Profile{Name: settings.APIKey, BaseCooldown: time.Minute, MaxBackoffSteps: 8, UseUpstreamRetryHints: true}),
			header("Retry-After", "30")), want: hinted(outcome.ReasonRateLimit, 30*time.Second)},
		{
			name: "case 101 level 0", got: cfe(429, "", 0, "groq", profile(settings.Profile{Name: settings.APIKey, BaseCooldown: time.Minute, MaxBackoffSteps: 8, UseUpstreamRetryHints: true})),
			want: failure(outcome.ReasonRateLimit, time.Minute, 1),
		},
	})
}

func TestQuotaTexts(t *testing.T) {
	const individual = "Individual quota reached for this account. Resets in 164h27m24s"
	verdicts(t, []verdict{
		// Ruling 7 turns the hints on for OAuth too; with the switch off the
		// case keeps its own figure.
		{name: "case 73 as ruling 7 has it", got: cfe(429, "Your quota will reset after 27h41m36s", 0, "antigravity"), want: hinted(outcome.ReasonQuota, 99696*time.Second)},
		{
			name: "case 73 with hints off", got: cfe(429, "Your quota will reset after 27h41m36s", 0, "antigravity", noHints),
			want: failure(outcome.ReasonQuota, 5000*ms, 1), also: func(o outcome.Outcome) bool { return o.QuotaResetHint == 99696*time.Second },
		},
		{name: "case 74", got: cfe(429, "You have exhausted your capacity. Your quota will reset after 2h", 0, "groq"), want: hinted(outcome.ReasonRateLimit, 2*time.Hour)},
		{name: "case 75", got: cfe(429, "Usage Limit Reached", 0, "antigravity"), want: failure(outcome.ReasonQuota, time.Hour, -1)},
		{name: "case 76 hints on", got: cfe(429, individual, 0, "antigravity"), want: hinted(outcome.ReasonQuota, 592044*time.Second)},
		{
			name: "case 76 hints off", got: cfe(429, individual, 0, "antigravity", oauthT), want: failure(outcome.ReasonQuota, 125*ms, 1),
			also: func(o outcome.Outcome) bool { return o.QuotaResetHint == 592044*time.Second },
		},
		{
			name: "case 77", got: cfe(401, "This account has been deactivated", 0, "openai"), want: failure(outcome.ReasonAuth, 365*day, -1),
			also: func(o outcome.Outcome) bool { return o.Permanent && o.Terminal == outcome.Banned },
		},
		{name: "case 78", got: cfe(402, "credit_balance_too_low", 0, "openai"), want: failure(outcome.ReasonQuota, 120000*ms, -1), also: penniless},
		{name: "case 79", got: cfe(429, "credit_balance_too_low", 0, "openai", profile(profileT)), want: failure(outcome.ReasonRateLimit, 125*ms, 1), also: plain},
		{name: "case 80", got: cfe(429, "credit_balance_too_low", 0, "codex"), want: failure(outcome.ReasonQuota, 120000*ms, -1), also: credited},
		{name: "case 81", got: cfe(429, "The free tier of the model has been exhausted", 0, ""), want: failure(outcome.ReasonQuota, 120000*ms, -1), also: credited},
		{name: "case 82", got: cfe(429, "quota exceeded", 0, "openai", profile(profileT)), want: failure(outcome.ReasonQuota, 125*ms, 1), also: plain},
		{name: "case 83", got: cfe(429, "Rate limit hit", 3, "openai", header("retry-after", "120")), want: hinted(outcome.ReasonRateLimit, 2*time.Minute)},
		{name: "case 84", got: cfe(503, "unavailable", 1, "openai", header("x-ratelimit-reset", fmt.Sprint(t0.Unix()+90))), want: hinted(outcome.ReasonServerError, 90*time.Second)},
		{
			name: "case 92", got: cfe(402, "You have used up today's quota, try again tomorrow", 0, "openai"), want: failure(outcome.ReasonQuota, t0.Truncate(day).Add(day).Sub(t0), -1),
			also: func(o outcome.Outcome) bool { return o.DailyQuotaExhausted },
		},
		{name: "case 93", got: cfe(429, "Please try again tomorrow", 0, "openai", profile(profileT)), want: failure(outcome.ReasonRateLimit, 125*ms, 1), also: plain},
		{
			name: "case 94 openai", got: cfe(429, "You have exceeded your daily quota", 0, "openai", profile(profileT)), want: failure(outcome.ReasonQuota, 20*time.Hour+55*time.Minute+55*time.Second, -1),
			also: func(o outcome.Outcome) bool { return o.DailyQuotaExhausted },
		},
		{
			name: "case 94 codex", got: cfe(429, "You have exceeded your daily quota", 0, "codex"), want: failure(outcome.ReasonQuota, 20*time.Hour+55*time.Minute+55*time.Second, -1),
			also: func(o outcome.Outcome) bool { return o.DailyQuotaExhausted },
		},
		{name: "case 95 codex 429", got: cfe(429, "hour quota has been exceeded", 0, "codex"), want: failure(outcome.ReasonQuota, 5000*ms, 1)},
		{name: "case 95 openai 402", got: cfe(402, "hour quota has been exceeded", 0, "openai"), want: failure(outcome.ReasonQuota, 3000*ms, 1)},
		{name: "case 95 openai 403", got: cfe(403, "hour quota has been exceeded", 0, "openai"), want: failure(outcome.ReasonQuota, 3000*ms, 1)},
		{name: "case 96 no provider", got: cfe(429, "Resource has been exhausted (e.g. check quota).", 0, ""), want: failure(outcome.ReasonRateLimit, 1000*ms, 1), also: plain},
		{name: "case 96 gemini", got: cfe(429, "Resource has been exhausted (e.g. check quota).", 0, "gemini", profile(profileT)), want: failure(outcome.ReasonRateLimit, 125*ms, 1), also: plain},
		{name: "case 107 openai-compatible", got: cfe(403, "insufficient_quota", 0, "openai-compatible-x"), want: failure(outcome.ReasonQuota, 3000*ms, 1), also: plain},
		{name: "case 107 openai", got: cfe(403, "insufficient_quota", 0, "openai"), want: failure(outcome.ReasonQuota, 120000*ms, -1), also: penniless},
		{name: "case 109 ollama-cloud", got: cfe(429, "you (acme) have reached your weekly usage limit", 0, "ollama-cloud"), want: failure(outcome.ReasonQuota, day, -1)},
		{name: "case 109 claude", got: cfe(429, "you (acme) have reached your weekly usage limit", 0, "claude"), want: failure(outcome.ReasonQuota, day, -1)},
		{name: "case 110", got: cfe(429, "rate_limit_exceeded: too many requests", 0, "ollama-cloud"), want: failure(outcome.ReasonRateLimit, 3000*ms, 1)},
		{name: "case 112 claude", got: cfe(429, "This request would exceed your account's rate limit. Please try again later.", 0, "claude"), want: failure(outcome.ReasonQuota, time.Hour, -1)},
		{name: "case 112 antigravity", got: cfe(429, "This request would exceed your account's rate limit. Please try again later.", 0, "antigravity"), want: failure(outcome.ReasonRateLimit, 5000*ms, 1)},
		{
			name: "case 113 hints off", got: cfe(429, "Claude Pro usage limit reached. Try again at 2030-01-02T03:49:05Z", 0, "claude", noHints), want: failure(outcome.ReasonQuota, time.Hour, -1),
			also: func(o outcome.Outcome) bool { return o.QuotaResetHint == 45*time.Minute },
		},
		{name: "case 113 hints on", got: cfe(429, "Claude Pro usage limit reached. Try again at 2030-01-02T03:49:05Z", 0, "claude"), want: hinted(outcome.ReasonQuota, 45*time.Minute)},
		{name: "case 114", got: cfe(429, "rate_limit_exceeded", 0, "claude"), want: failure(outcome.ReasonRateLimit, 5000*ms, 1)},
		{name: "session window", got: cfe(429, "Session usage limit hit", 0, "ollama-cloud"), want: failure(outcome.ReasonQuota, 5*time.Hour, -1)},
		{name: "session window, other words", got: cfe(429, "You reached your session's usage limit: reached your session", 0, "ollama-cloud"), want: failure(outcome.ReasonQuota, 5*time.Hour, -1)},
		{name: "a weekly limit that says when it ends", got: cfe(429, "weekly limit reached", 0, "claude", header("Retry-After", "7200")), want: hinted(outcome.ReasonQuota, 2*time.Hour)},
		{
			name: "tokens per day with a header", got: cfe(429, "TPD rate limit", 0, "codex", header("Retry-After", "600"), noHints), want: hinted(outcome.ReasonQuota, 10*time.Minute),
			also: func(o outcome.Outcome) bool { return o.DailyQuotaExhausted },
		},
		{name: "tokens per day without one", got: cfe(429, "TPD rate limit", 0, "codex"), want: failure(outcome.ReasonRateLimit, 5000*ms, 1)},
		{name: "plan limit 432", got: cfe(432, "", 0, "acme"), want: failure(outcome.ReasonQuota, time.Hour, -1)},
		{name: "plan limit 432 with a hint", got: cfe(432, "", 0, "acme", header("Retry-After", "60")), want: hinted(outcome.ReasonQuota, time.Minute)},
		{name: "billing suspended", got: cfe(403, "Account suspended: the spending limit was hit", 0, "acme"), want: failure(outcome.ReasonQuota, 120000*ms, -1), also: penniless},
		{
			name: "spend cap of an organisation", got: cfe(400, "You have reached your specified API usage limits. You will regain access on 2030-02-01.", 0, "anthropic"),
			want: failure(outcome.ReasonQuota, time.Hour, -1), also: plain,
		},
		{
			name: "credit too low as a 400", got: cfe(400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, 0, "anthropic"),
			want: failure(outcome.ReasonQuota, 120000*ms, -1), also: penniless,
		},
		{
			name: "P02 stated wait", got: cfe(429, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Please retry in 26.66s.","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"26s"}]}}`, 0, "acme"),
			want: hinted(outcome.ReasonRateLimit, 26*time.Second),
		},
		{
			name: "P02 stated wait of one model", got: cfe(429, `{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"26s"}]}}`, 2, "acme", perModel, model("m1")),
			want: want{class: outcome.Failure, fallback: true, reason: outcome.ReasonRateLimit, cooldown: 26 * time.Second, level: -1, hint: true},
			also: func(o outcome.Outcome) bool { return o.Scope == outcome.ScopeModel },
		},
		{
			name: "P08 no reset information", got: cfe(429, `{"type":"error","error":{"type":"rate_limit_error","message":"extra usage is needed"}}`, 0, "acme"),
			want: failure(outcome.ReasonRateLimit, 3000*ms, 1), also: func(o outcome.Outcome) bool { return !o.Trips() },
		},
		{
			name: "P04 raw words are kept", got: cfe(429, "", 0, "acme", header("Retry-After", "9999999999")), want: hinted(outcome.ReasonRateLimit, 30*day),
			also: func(o outcome.Outcome) bool {
				return o.RawHint == "retry-after: 9999999999" && o.HintSource == "header"
			},
		},
	})
}

func TestBadRequest(t *testing.T) {
	body := func(code, typ, message string) string {
		return fmt.Sprintf(`{"error":{"code":%q,"type":%q,"message":%q}}`, code, typ, message)
	}
	model400 := failure(outcome.ReasonModelCapacity, 0, -1)
	verdicts(t, []verdict{
		{name: "case 85", got: cfe(400, "bad request payload", 0, "openai"), want: refused(outcome.ReasonUnknown)},
		{name: "case 86", got: cfe(400, "The model `foo` does not exist or is not available", 0, "openai"), want: model400},
		// Ruling 55 (a): a key that is refused on a 400 is refused.
		{name: "case 87", got: cfe(400, "Invalid API key provided for model gpt-4o", 0, "openai"), want: failure(outcome.ReasonAuth, 0, -1)},
		{name: "case 88", got: cfe(400, body("model_not_found", "", "unauthorized-ish blob"), 0, "openai"), want: model400},
		{name: "case 89", got: cfe(400, body("", "not_found_error", "nope"), 0, "anthropic"), want: model400},
		{name: "case 90 model", got: cfe(400, body("", "permission_error", "you do not have access to the requested model"), 0, "anthropic"), want: model400},
		{name: "case 90 other permission", got: cfe(400, body("", "permission_error", "you lack permission to use the Message Batches API"), 0, "anthropic"), want: refused(outcome.ReasonUnknown)},
		{name: "case 91 invalid model", got: cfe(400, "Invalid model: gpt-5-turbo", 0, "openai"), want: model400},
		{name: "case 91 invalid key", got: cfe(400, body("invalid_api_key", "", "something went wrong"), 0, "openai"), want: failure(outcome.ReasonAuth, 0, -1)},
		{name: "case 102 English", got: cfe(400, "Detected high-frequency non-compliant requests from you", 0, "glm"), want: failure(outcome.ReasonRateLimit, 3000*ms, 1)},
		{name: "case 102 Chinese", got: cfe(400, "请求频率过高，请稍后再试", 0, "glm"), want: failure(outcome.ReasonRateLimit, 3000*ms, 1)},
		// Ruling 55 (c): what is wrong for every target is handed on at once.
		{name: "case 103", got: cfe(400, "Invalid JSON: unexpected token at position 3", 0, "openai"), want: refused(outcome.ReasonRequestInvalid)},
		{name: "case 104", got: cfe(400, "messages must alternate between user and assistant", 0, "openai"), want: refused(outcome.ReasonRequestInvalid)},
		{name: "case 108 degraded", got: cfe(400, "Function id 'abc': DEGRADED, cannot be invoked", 0, "nvidia"), want: model400},
		{name: "case 108 unrelated", got: cfe(400, "Function id 'abc' is unknown", 0, "nvidia"), want: refused(outcome.ReasonUnknown)},
		{
			name: "P20 context length", got: cfe(400, `{"error":{"code":"context_length_exceeded"}}`, 0, "acme"), want: refused(outcome.ReasonRequestInvalid),
			also: func(o outcome.Outcome) bool { return o.ErrorType == "context_overflow" && !o.Trips() },
		},
		{name: "parameter out of range", got: cfe(400, "max_tokens must be at most 4096", 0, "acme"), want: refused(outcome.ReasonRequestInvalid)},
		{name: "blank tool name", got: cfe(400, "tool_call name must not be empty", 0, "acme"), want: refused(outcome.ReasonRequestInvalid)},
	})
}

func TestForbidden(t *testing.T) {
	cloudflare := `{"type":"https://developers.cloudflare.com/support/error-1010","title":"Access denied","status":403,"error_code":1010,"error_name":"browser_signature_banned","retryable":false,"cloudflare_error":true}`
	var list []verdict
	for _, p := range []string{"groq", "cerebras", "together"} {
		list = append(list, verdict{name: "case 105 " + p, got: cfe(403, cloudflare, 0, p), want: failure(outcome.ReasonAuth, 0, -1), also: plain})
	}
	verdicts(t, append(list, []verdict{
		{name: "case 106", got: cfe(403, "invalid api key", 0, "groq"), want: failure(outcome.ReasonAuth, 3000*ms, 1)},
		{name: "case 111", got: cfe(403, "Fire Pass API keys are not authorized for this route.", 0, "fireworks"), want: refused(outcome.ReasonUnknown)},
		{name: "case 111 upper case", got: cfe(403, "FIRE PASS API KEYS ARE NOT AUTHORIZED FOR THIS ROUTE.", 0, "fireworks"), want: refused(outcome.ReasonUnknown)},
		{name: "edge refuses for good", got: cfe(403, `{"cloudflare_error":true,"retryable": false}`, 0, "groq"), want: failure(outcome.ReasonAuth, 0, -1)},
		{
			// Ruling 62: it rests by the ladder and is no quota.
			name: "subscription, plain", got: cfe(403, "no", 0, "codex"), want: failure(outcome.ReasonAuth, 5000*ms, 1),
			also: func(o outcome.Outcome) bool {
				return o.ErrorType == "forbidden" && o.Terminal == outcome.NotTerminal
			},
		},
	}...))
}

func TestSpecialAnswers(t *testing.T) {
	notRunning := failure(outcome.ReasonServiceNotRunning, 5000*ms, 0)
	skips := func(o outcome.Outcome) bool { return o.SkipBreaker && !o.Trips() }
	trips := func(o outcome.Outcome) bool { return !o.SkipBreaker && o.Trips() }
	verdicts(t, []verdict{
		{name: "case 97", got: cfe(503, "", 3, "acme", header("x-omni-fallback-hint", "connection_cooldown")), want: notRunning, also: skips},
		{name: "case 97 other case", got: cfe(503, "", 3, "acme", header("X-Omni-Fallback-Hint", "connection_cooldown")), want: notRunning, also: skips},
		{name: "case 98 on a 502", got: cfe(502, "", 0, "acme", header("x-omni-fallback-hint", "connection_cooldown")), want: failure(outcome.ReasonServerError, 3000*ms, 1), also: trips},
		{name: "case 98 without the header", got: cfe(503, "", 0, "acme"), want: failure(outcome.ReasonServerError, 3000*ms, 1), also: trips},
		{name: "contract violation", got: cfe(502, `{"error":{"code":"executor_contract_violation"}}`, 0, "acme"), want: refused(outcome.ReasonContractViolation), also: skips},
		{name: "previous response of another account, code", got: cfe(400, `{"error":{"code":"invalid_previous_response_binding"}}`, 0, "codex"), want: refused(outcome.ReasonInvalidPrevious), also: skips},
		{name: "previous response of another account, words", got: cfe(409, "previous_response_id does not belong to this key", 0, "codex"), want: refused(outcome.ReasonInvalidPrevious), also: skips},
		{name: "model retired", got: cfe(410, "The model has been retired", 0, "acme"), want: failure(outcome.ReasonNotFound, day, -1), also: func(o outcome.Outcome) bool { return o.QuotaResetHint == day }},
		{name: "model gone", got: cfe(404, "claude-1 is no longer available", 0, "acme"), want: failure(outcome.ReasonNotFound, day, -1)},
		{name: "endpoint moved", got: cfe(400, "This endpoint has moved. Update your base URL.", 0, "acme"), want: failure(outcome.ReasonNotFound, day, -1)},
		{name: "P16 529", got: cfe(529, `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`, 0, "acme"), want: failure(outcome.ReasonModelCapacity, 3000*ms, 1), also: skips},
		{name: "P16 529 without words", got: cfe(529, "", 0, "acme"), want: failure(outcome.ReasonModelCapacity, 3000*ms, 1), also: skips},
		{name: "overloaded 503", got: cfe(503, `{"error":{"code":"overloaded"}}`, 0, "acme"), want: failure(outcome.ReasonModelCapacity, 3000*ms, 1), also: skips},
		{name: "524 is a 504", got: cfe(524, "", 0, "acme"), want: failure(outcome.ReasonServerError, 3000*ms, 1), also: func(o outcome.Outcome) bool {
			return o.Status == 504 && o.RestatedFrom == 524 && o.Trips()
		}},
		{name: "request timeout", got: cfe(408, "", 0, "acme"), want: failure(outcome.ReasonServerError, 3000*ms, 1), also: trips},
		{name: "not acceptable", got: cfe(406, "", 0, "acme"), want: failure(outcome.ReasonServerError, 3000*ms, 1)},
		{name: "a status nobody expects", got: cfe(521, "", 2, "acme"), want: failure(outcome.ReasonUnknown, 3000*ms, -1)},
		{name: "a redirect (ruling 56)", got: cfe(302, "", 0, ""), want: failure(outcome.ReasonNotAPI, 5000*ms, -1), also: skips},
		{name: "client closed, says a gateway", got: cfe(499, "", 0, "acme"), want: moved(outcome.ReasonUpstreamLeft)},
		{name: "no credentials", got: cfe(503, "no credentials for this pool", 0, "acme"), want: failure(outcome.ReasonAuth, 120000*ms, -1)},
		{name: "bare 404", got: cfe(404, "", 0, "acme"), want: failure(outcome.ReasonUnknown, 120000*ms, -1)},
		{name: "bare 402", got: cfe(402, "", 0, "acme"), want: failure(outcome.ReasonQuota, 0, -1), also: func(o outcome.Outcome) bool { return o.Terminal == outcome.CreditsExhausted }},
		{name: "success", got: cfe(204, "", 0, "acme"), want: want{class: outcome.Success, level: -1}},
	})
	for i := range 5 {
		t.Run(fmt.Sprintf("case 99 breaker untouched %d", i), func(t *testing.T) {
			for _, status := range []int{429, 401} {
				if o := cfe(status, "", i, "acme"); o.Trips() {
					t.Errorf("%d counts against the provider: %+v", status, o)
				}
			}
		})
	}
}

func TestOwnFaults(t *testing.T) {
	for _, status := range []int{409, 411, 413, 414, 415, 416, 417, 422, 428, 431} {
		t.Run(fmt.Sprintf("P20 %d", status), func(t *testing.T) {
			refused(outcome.ReasonRequestInvalid).check(t, cfe(status, "no", 3, "acme", model("m1")))
		})
	}
	for _, status := range []int{401, 403, 404, 429} {
		t.Run(fmt.Sprintf("P20 %d never counts", status), func(t *testing.T) {
			if o := cfe(status, "no", 0, "acme"); o.Trips() || !o.Fallback || o.Class != outcome.Failure {
				t.Errorf("got %+v", o)
			}
		})
	}
	for _, body := range []string{
		"Files [file-abc] were not found", "input_file file_id does not exist", "Response resp_abc was not found",
		"vector_store vs_1 not found", "Upload upload_1 does not exist",
	} {
		t.Run("request resource: "+body, func(t *testing.T) {
			o := cfe(404, body, 0, "openai", model("m1"))
			refused(outcome.ReasonRequestInvalid).check(t, o)
			if o.ErrorType != "" {
				t.Errorf("error type %q", o.ErrorType)
			}
		})
	}
	t.Run("too large for one model", func(t *testing.T) {
		moved(outcome.ReasonRequestInvalid).check(t, cfe(413, "Request too large for model `m1` on tokens per minute", 0, "groq"))
	})
	for _, phrase := range entitlementPhrases {
		t.Run("C11 "+phrase, func(t *testing.T) {
			o := cfe(429, strings.ToUpper(phrase), 0, "claude", header("Retry-After", "120"))
			refused(outcome.ReasonRequestInvalid).check(t, o)
		})
	}
	t.Run("C12 a rejected window speaks louder", func(t *testing.T) {
		o := cfe(429, "Fast request rejected. Usage credits are required for fast mode.", 0, "claude", model("m1"),
			header("anthropic-ratelimit-unified-7d-status", "rejected"), header("anthropic-ratelimit-unified-7d-reset", fmt.Sprint(t0.Unix()+3600)))
		hinted(outcome.ReasonRateLimit, time.Hour).check(t, o)
		if o.Scope != outcome.ScopeConnection {
			t.Errorf("scope %d", o.Scope)
		}
	})
}

func TestConcurrencyLimit(t *testing.T) {
	busy := failure(outcome.ReasonConcurrencyLimited, time.Second, -1)
	skips := func(o outcome.Outcome) bool {
		return o.SkipBreaker && o.BreakerKind == outcome.KindRateLimit && o.Scope == outcome.ScopeConnection
	}
	for _, words := range []string{"too many concurrent requests", "Concurrency limit reached", "Parallel request limit", "您的账户并发数过高"} {
		t.Run("case 118 "+words, func(t *testing.T) {
			o := cfe(429, words, 4, "acme", model("m1"), perModel)
			busy.check(t, o)
			if !skips(o) {
				t.Errorf("got %+v", o)
			}
		})
	}
	verdicts(t, []verdict{
		{
			name: "case 118 with a hint", got: cfe(429, "too many concurrent requests", 4, "acme", header("Retry-After", "7")),
			want: want{class: outcome.Failure, fallback: true, reason: outcome.ReasonConcurrencyLimited, cooldown: 7 * time.Second, level: -1, hint: true}, also: skips,
		},
		{name: "case 118 hints off", got: cfe(429, "too many concurrent requests", 4, "acme", noHints, header("Retry-After", "7")), want: busy, also: skips},
		{name: "case 119", got: cfe(429, "concurrency limit; quota exceeded", 0, "acme"), want: failure(outcome.ReasonQuota, 3000*ms, 1)},
		{name: "only a 429", got: cfe(503, "concurrency limit", 0, "acme"), want: failure(outcome.ReasonServerError, 3000*ms, 1)},
	})
}

func TestGeminiMetrics(t *testing.T) {
	text := func(metric string) string {
		return "Quota exceeded for metric: generativelanguage.googleapis.com/" + metric
	}
	local := func(window string) option { return with(func(o *Options) { o.LocalWindow = window }) }
	m := model("gemini-x")
	verdicts(t, []verdict{
		{name: "day", got: cfe(429, text("generate_requests_per_day"), 0, "gemini", m), want: failure(outcome.ReasonQuota, 3000*ms, 1)},
		{name: "requests", got: cfe(429, text("generate_content_free_tier_requests"), 0, "gemini", m), want: failure(outcome.ReasonRateLimit, 3000*ms, 1)},
		{name: "tokens", got: cfe(429, text("generate_content_input_token_count"), 0, "gemini", m), want: failure(outcome.ReasonRateLimit, 3000*ms, 1)},
		{name: "our own counters, day", got: cfe(429, "no", 0, "gemini", m, local("day")), want: failure(outcome.ReasonQuota, 3000*ms, 1)},
		{name: "our own counters, minute", got: cfe(429, text("other"), 0, "gemini", m, local("minute")), want: failure(outcome.ReasonRateLimit, 3000*ms, 1)},
		{name: "nobody knows", got: cfe(429, "no", 0, "gemini", m), want: failure(outcome.ReasonRateLimit, 3000*ms, 1)},
		{name: "no model", got: cfe(429, text("generate_requests_per_day"), 0, "gemini"), want: failure(outcome.ReasonQuota, 3000*ms, 1)},
	})
}

func TestMidnight(t *testing.T) {
	paris, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		now  time.Time
		want time.Duration
	}{
		{"UTC", t0, 20*time.Hour + 55*time.Minute + 55*time.Second},
		{"midnight itself", time.Date(2030, 1, 2, 0, 0, 0, 0, time.UTC), day},
		{"elsewhere", t0.In(paris), 19*time.Hour + 55*time.Minute + 55*time.Second},
		{"the day of 25 hours", time.Date(2030, 10, 27, 0, 0, 0, 0, paris), day},
		{"the day of 23 hours", time.Date(2030, 3, 31, 0, 0, 0, 0, paris), 23 * time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := untilMidnight(c.now); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// The order of the sheet §3.4: each answer fits two neighbouring steps, and the
// earlier one must speak.
func TestDecisionOrder(t *testing.T) {
	m := model("m")
	connectionRule := with(func(o *Options) {
		o.Rules = []Rule{{Status: 403, Scope: outcome.ScopeConnection, Cooldown: 7 * time.Minute}}
	})
	verdicts(t, []verdict{
		{
			name: "entitlement before contract", got: cfe(429, `{"error":{"code":"executor_contract_violation","message":"usage credits are required for fast mode"}}`, 0, "claude"),
			want: refused(outcome.ReasonRequestInvalid),
		},
		{
			name: "contract before service", got: cfe(503, `{"error":{"code":"executor_contract_violation"}}`, 0, "acme", header("x-omni-fallback-hint", "connection_cooldown")),
			want: refused(outcome.ReasonContractViolation),
		},
		{
			name: "service before rotation", got: cfe(503, "", 0, "acme", header("x-omni-fallback-hint", "connection_cooldown"), rotate(func(r *settings.Rotation) { r.On500.On = false })),
			want: failure(outcome.ReasonServiceNotRunning, shortCooldown, 0),
		},
		{
			name: "rotation before deactivated", got: cfe(429, "account_deactivated", 0, "acme", rotate(func(r *settings.Rotation) { r.On429.On = false })),
			want: want{class: outcome.Failure, reason: outcome.ReasonUnknown, level: -1},
		},
		{name: "deactivated before model gone", got: cfe(404, "account_deactivated, model no longer available", 0, "acme"), want: failure(outcome.ReasonAuth, 365*day, -1)},
		{
			name: "model gone before endpoint", got: cfe(404, "no longer available, the endpoint has moved", 0, "acme"), want: failure(outcome.ReasonNotFound, day, -1),
			also: func(o outcome.Outcome) bool { return o.QuotaResetHint == day },
		},
		{name: "endpoint before billing", got: cfe(403, "endpoint has moved; billing suspended", 0, "acme"), want: failure(outcome.ReasonNotFound, day, -1)},
		{name: "billing before Gemini's metric", got: cfe(429, "billing suspended; generativelanguage.googleapis.com/x_requests", 0, "gemini", m), want: failure(outcome.ReasonQuota, 2*time.Minute, -1)},
		{
			name: "Gemini's metric before credits", got: cfe(429, "You exceeded your current quota. generativelanguage.googleapis.com/x_requests", 0, "gemini", m),
			want: failure(outcome.ReasonRateLimit, 3*time.Second, 1),
		},
		{name: "credits before concurrency", got: cfe(429, "payment required: concurrency limit", 0, "codex"), want: failure(outcome.ReasonQuota, 2*time.Minute, -1)},
		{name: "concurrency before daily", got: cfe(429, "concurrency limit, try again tomorrow", 0, "codex"), want: failure(outcome.ReasonConcurrencyLimited, time.Second, -1)},
		{name: "daily before subscription", got: cfe(429, "usage limit reached, try again tomorrow", 0, "codex"), want: failure(outcome.ReasonQuota, untilMidnight(t0), -1)},
		{name: "subscription before weekly", got: cfe(429, "usage limit reached: weekly limit reached", 0, "codex"), want: failure(outcome.ReasonQuota, time.Hour, -1)},
		{name: "weekly before session", got: cfe(429, "weekly limit reached, session limit reached", 0, "acme"), want: failure(outcome.ReasonQuota, day, -1)},
		{name: "session before a reset in the text", got: cfe(429, "session limit reached, quota exceeded, resets in 2h", 0, "acme", noHints), want: failure(outcome.ReasonQuota, 5*time.Hour, -1)},
		{name: "a reset in the text before the route", got: cfe(403, "not authorized for this route: quota exceeded, resets in 2h", 0, "acme"), want: hinted(outcome.ReasonQuota, 2*time.Hour)},
		{name: "route before the operator", got: cfe(403, "not authorized for this route", 0, "acme", connectionRule), want: refused(outcome.ReasonUnknown)},
		{name: "the operator before the catalogue", got: cfe(403, "无权访问模型", 0, "agentrouter", connectionRule), want: failure(outcome.ReasonQuota, 7*time.Minute, -1)},
		{name: "the table before the plan limit", got: cfe(432, "rate limit", 0, "acme"), want: failure(outcome.ReasonRateLimit, 3*time.Second, 1)},
	})
}
