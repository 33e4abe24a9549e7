package classify

import (
	"testing"
	"time"

	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// One answer for each row of the table, which must be the first that fits: the
// names are stored and shown, so that none may change or be out of reach.
func TestEveryRowDecides(t *testing.T) {
	m := model("m")
	at := func(c string) string { return `{"error":{"code":"` + c + `","message":"x"}}` }
	for name, o := range map[string]outcome.Outcome{
		"upstream-closed-request":              cfe(499, "", 0, "acme"),
		"request-names-missing-file":           cfe(404, "Files [file-1] were not found", 0, "openai"),
		"paid-feature":                         cfe(429, "usage credits are required for fast mode", 0, "claude"),
		"contract-violation":                   cfe(502, at("executor_contract_violation"), 0, "acme"),
		"previous-response-of-another-account": cfe(400, at("invalid_previous_response_binding"), 0, "codex"),
		"service-not-running":                  cfe(503, "", 0, "acme", header("x-omni-fallback-hint", "connection_cooldown")),
		"key-refused":                          cfe(400, at("invalid_api_key"), 0, "openai"),
		"rotation":                             cfe(429, "", 0, "acme", rotate(func(r *settings.Rotation) { r.On429.On = false })),
		"account-disabled":                     cfe(429, `{"message":"Your account has been suspended"}`, 0, "acme"),
		"model-cannot-be-loaded":               cfe(400, `{"error":"Failed to load model \"q\""}`, 0, "lm-studio", m),
		"model-gone":                           cfe(410, "the model was retired", 0, "acme", m),
		"endpoint-moved":                       cfe(404, "this endpoint has moved", 0, "acme"),
		"credit-with-stated-end":               cfe(429, "insufficient_quota, try again in 20s", 0, "openai"),
		"billing-suspended":                    cfe(403, "billing suspended", 0, "openai", with(func(o *Options) {})),
		"gemini-window":                        cfe(429, "generativelanguage.googleapis.com/x_requests", 0, "gemini", m),
		"credit-at-own-endpoint":               cfe(429, "insufficient_quota", 0, "custom", m),
		"credit-used-up":                       cfe(429, "insufficient_quota", 0, "openai"),
		"concurrency-limit":                    cfe(429, "concurrency limit", 0, "acme"),
		"tokens-per-day":                       cfe(429, "TPD rate limit", 0, "codex"),
		"daily-quota":                          cfe(429, "daily quota", 0, "codex"),
		"subscription-window":                  cfe(429, "usage limit reached", 0, "codex"),
		"weekly-window":                        cfe(429, "weekly limit reached", 0, "acme"),
		"session-window":                       cfe(429, "session limit reached", 0, "acme"),
		"quota-with-reset-in-body":             cfe(429, "quota exceeded, resets in 2h", 0, "codex"),
		"route-not-allowed":                    cfe(403, "not authorized for this route", 0, "acme"),
		"operator-rule":                        cfe(429, "", 0, "acme", rules(Rule{Status: 429, Cooldown: time.Minute})),
		"provider-rule-403":                    cfe(403, "无权访问模型", 0, "agentrouter", m),
		"edge-refuses-client":                  cfe(403, `{"error_code":1010}`, 0, "groq"),
		"wrong-address":                        cfe(404, "<html>404</html>", 0, "acme", m),
		"not-the-api":                          cfe(403, "<html>blocked</html>", 0, "codex"),
		"project-not-set-up":                   cfe(403, "API has not been used in project 1", 0, "antigravity"),
		"forbidden":                            cfe(403, `{"error":"Forbidden"}`, 0, "codex"),
		"too-large-for-model":                  cfe(413, "Request too large for model `m`", 0, "groq"),
		"request-status":                       cfe(422, "no", 0, "acme"),
		"model-missing":                        cfe(404, at("model_not_found"), 0, "acme", m),
		"model-not-served":                     cfe(400, at("model_not_found"), 0, "acme", m),
		"context-overflow":                     cfe(400, "prompt is too long", 0, "acme"),
		"malformed-request":                    cfe(400, "messages: roles must alternate", 0, "acme"),
		"parameter-limit":                      cfe(400, "temperature must be at most 1", 0, "acme"),
		"policy-refusal":                       cfe(400, at("content_policy_violation"), 0, "acme"),
		"function-degraded":                    cfe(400, "function x is degraded", 0, "nvidia"),
		"rate-limit-words":                     cfe(400, "too many requests", 0, "acme"),
		"server-fault-words":                   cfe(400, at("overloaded_error"), 0, "acme"),
		RowUnlisted:                            cfe(400, "Zugriff nicht möglich", 0, "acme"),
		"provider-rule":                        cfe(402, "", 0, "openrouter"),
		"table-words":                          cfe(503, "no capacity", 0, "acme"),
		"table-status":                         cfe(401, "", 0, "acme"),
		"plan-limit":                           cfe(432, "", 0, "acme"),
		"unlisted-status":                      cfe(418, "", 0, "acme"),
	} {
		t.Run(name, func(t *testing.T) {
			if o.Row != name {
				t.Errorf("row %q decides: %+v", o.Row, o)
			}
		})
	}
	seen := map[string]bool{}
	for _, r := range rows {
		if seen[r.name] {
			t.Errorf("two rows are called %q", r.name)
		}
		seen[r.name] = true
	}
	if len(seen) != 49 {
		t.Errorf("%d rows, 49 have an example here", len(seen))
	}
}
