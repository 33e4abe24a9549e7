package classify

import (
	"fmt"
	"testing"

	"breakwater/resilience/hint/errbody"
	"breakwater/resilience/outcome"
)

func TestKind(t *testing.T) {
	retryInfo := func(message, delay string) string {
		return fmt.Sprintf(`{"error":{"code":429,"message":%q,"details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProject"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":%q}]}}`, message, delay)
	}
	const quota = "You exceeded your current quota."
	const r, q, n = outcome.KindRateLimit, outcome.KindQuotaExhausted, outcome.KindTransient
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   outcome.Kind
	}{
		{"case 136 not a 429", 500, "daily limit", n},
		{"case 137 no body", 429, "", r},
		{"case 138 daily", 429, "You exceeded your daily limit.", q},
		{"case 138 monthly", 429, "Monthly quota reached for this key", q},
		{"case 138 credits", 429, "Out of credits, please top up", q},
		{"case 138 plan", 429, "plan limit reached", q},
		{"case 139 text", 429, "Individual quota reached for you. Resets in 164h27m24s", q},
		{"case 139 nested", 429, `{"error":{"message":"Individual quota reached. Resets in 164h27m24s"}}`, q},
		{"case 140", 429, "All accounts have exhausted their quota (reset after 5m)", q},
		{"case 141 with a reset", 429, "Resource has been exhausted (e.g. check quota). (reset after 24h)", q},
		{"case 141 without", 429, "Resource has been exhausted (e.g. check quota).", r},
		{"case 142", 429, `{"error":{"details":[{"reason":"INSUFFICIENT_G1_CREDITS_BALANCE"}]}}`, q},
		{"case 143 slow down", 429, "Too many requests, please slow down.", r},
		{"case 143 try again", 429, "Rate limit exceeded. Try again in 30s.", r},
		{"case 143 request quota", 429, "Request quota reached, retry in 60s.", r},
		{"case 144 code", 429, `{"error":{"code":"insufficient_quota"}}`, q},
		{"case 144 monthly", 429, "You exceeded your monthly quota", q},
		{"case 145 plain", 429, `{"error":"usage limit reached"}`, q},
		{"case 145 upper case", 429, `{"error":"USAGE LIMIT REACHED"}`, q},
		{"case 145 dot", 429, `{"error":"usage limit reached."}`, q},
		{"case 145 spaces", 429, `{"error": " usage limit reached " }`, q},
		{"case 145 more keys", 429, `{"code":1,"error":"usage limit reached","x":2}`, q},
		{"case 145 spaces in the JSON", 429, `{ "error" : "usage limit reached" }`, q},
		{"case 146 bare", 429, "usage limit reached", r},
		{"case 146 detail", 429, `{"detail":"usage limit reached"}`, r},
		{"case 146 per minute", 429, `{"error":"Per-minute usage limit reached"}`, r},
		{"case 146 nested", 429, `{"error":{"message":"RPM usage limit reached"}}`, r},
		{"case 147 daily", 429, "daily rate limit exceeded", q},
		{"case 147 monthly", 429, "monthly rate limit exceeded", q},
		{"case 149 38s", 429, retryInfo(quota, "38s"), r},
		{"case 149 29s with a PerDay id", 429, retryInfo(quota, "29s"), r},
		{"case 149 0s", 429, retryInfo(quota, "0s"), r},
		{"case 149 38.92s", 429, retryInfo(quota, "38.92s"), r},
		{"case 150 1500ms", 429, retryInfo(quota, "1500ms"), r},
		{"case 150 30m", 429, retryInfo(quota, "30m"), r},
		{"case 150 45s", 429, retryInfo(quota, "45s"), r},
		{"case 150 3h", 429, retryInfo(quota, "3h"), q},
		{"case 150 7200s", 429, retryInfo(quota, "7200s"), q},
		{"case 151 individual", 429, retryInfo("Individual quota reached", "20s"), q},
		{"case 151 G1 credits", 429, retryInfo("INSUFFICIENT_G1_CREDITS_BALANCE", "20s"), q},
		{"case 151 out of credits", 429, retryInfo("out of credits", "20s"), q},
		{"case 151 free allocation", 429, retryInfo("you used your daily free allocation", "20s"), q},
		{"case 152 delay elsewhere", 429, `{"error":{"message":"You exceeded your current quota.","retryDelay":"20s"}}`, q},
		{"case 152 no hint", 429, `{"error":{"message":"You exceeded your current quota."}}`, q},
		{"prose delay", 429, "You exceeded your current quota. Please retry in 12.5s.", r},
		{"prose delay beyond the hour", 429, "You exceeded your current quota. Please retry in 3600s.", q},
		{"Chinese reset", 429, "您的限额将在 2030-01-03 重置", q},
		{"Chinese cap", 429, "已达到使用上限", q},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := errbody.Parse([]byte(c.body))
			if got := kind(c.status, b, b.Text(), quotaIn(b.Text())); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestQuotaWords(t *testing.T) {
	for _, words := range []string{
		"daily limit exceeded", "per-day limit reached", "per day limit", "monthly limit", "per month limit", "daily quota used", "monthly quota used",
		"quota exceeded", "exceeded quota", "billing cap reached", "credit exhausted", "hard limit", "hard-limit", "plan limit", "enable overages to continue",
	} {
		t.Run("case 148 "+words, func(t *testing.T) {
			if !quotaIn(words) {
				t.Error("not seen as a quota")
			}
		})
	}
	for _, words := range []string{"rate limit, please retry in 60s", "server error 500", ""} {
		t.Run("case 148 not: "+words, func(t *testing.T) {
			if quotaIn(words) {
				t.Error("seen as a quota")
			}
		})
	}
}

func TestErrorTypes(t *testing.T) {
	for _, c := range []struct {
		name     string
		status   int
		body     string
		provider string
		want     string
		options  []option
	}{
		{"case 155 deactivated", 401, "account_deactivated", "openai", "account_deactivated", nil},
		{"case 155 token expired", 401, "token expired", "openai", "unauthorized", nil},
		{"case 155 402", 402, "", "openai", "quota_exhausted", nil},
		{"case 155 insufficient quota", 400, "insufficient_quota", "openai", "quota_exhausted", nil},
		{"case 155 free tier", 400, "The free tier of the model has been exhausted", "qwen-cloud", "quota_exhausted", nil},
		{"case 156 plain", 429, "", "openai", "rate_limited", nil},
		{"case 156 quota, no provider", 429, "insufficient_quota", "", "quota_exhausted", nil},
		{"case 156 quota, openai", 429, "insufficient_quota", "openai", "rate_limited", nil},
		{"case 156 quota, codex", 429, "insufficient_quota", "codex", "quota_exhausted", nil},
		{"daily, subscription", 429, "daily quota", "codex", "quota_exhausted", nil},
		{"case 157 project", 403, "API has not been used in project 123", "antigravity", "project_route_error", nil},
		{"case 157 plain", 403, "no", "codex", "forbidden", nil},
		{"case 157 plain, key", 403, "no", "glm", "", nil},
		{"case 157 kimi", 403, "You've reached your usage limit for this billing cycle", "kimi-coding", "quota_exhausted", nil},
		{"case 158 model", 404, "model not found", "openai", "model_not_found", nil},
		{"case 158 file", 404, "Files [file-1] were not found", "openai", "", nil},
		{"case 158 response", 404, "Response with id resp_1 was not found", "openai", "", nil},
		{"case 158 vector store", 404, "vector_store vs_1 not found", "openai", "", nil},
		{"case 158 upload", 404, "Upload upload_1 does not exist", "openai", "", nil},
		{"case 159 nested code", 403, `{"error":{"message":"{\"title\":\"Access denied\",\"error_code\":1010}"}}`, "groq", "fingerprint_rejection", nil},
		{"case 159 name only", 403, `{"error_name":"browser_signature_banned"}`, "groq", "fingerprint_rejection", nil},
		{"case 161 401", 401, "Model X is not supported", "codex", "model_not_found", nil},
		{"case 161 400", 400, "Model X is not supported", "antigravity", "model_not_found", nil},
		{"case 162 project", 403, "Gemini for Google Cloud is off for this project", "antigravity", "project_route_error", nil},
		{"case 162 service", 403, `{"error":{"details":[{"reason":"SERVICE_DISABLED"}]}}`, "antigravity", "project_route_error", nil},
		{"case 162 bare on cloudcode", 403, "forbidden at cloudcode-pa.googleapis.com", "antigravity", "project_route_error", nil},
		{"case 162 ban", 403, "This service has been disabled in this account for violation of the terms", "antigravity", "account_deactivated", nil},
		{"case 163 keyless", 403, "slow down", "duckduckgo", "", []option{auth(AuthNone)}},
		{"case 163 Sentinel", 403, "Sentinel check failed", "chatgpt-web", "forbidden", nil},
		{"geo", 403, "User location is not supported for the API use.", "gemini", "geo_blocked", nil},
		{"geo as a 400", 400, "User location is not supported for the API use.", "gemini", "geo_blocked", nil},
		{"geo elsewhere is not known", 400, "User location is not supported.", "acme", "", nil},
		{"oauth token", 401, "Invalid authentication credentials", "claude", "oauth_invalid_token", nil},
		{"request rejected", 403, "Request not allowed", "claude", "request_rejected", nil},
		{"request rejected elsewhere", 403, "Request not allowed", "codex", "forbidden", nil},
		{"server", 503, "", "acme", "server_error", nil},
		{"project required", 422, "project needed", "gemini", "gcp_project_required", nil},
		{"validation", 422, "bad field", "acme", "", nil},
		{"context", 400, "prompt is too long: 300 tokens", "acme", "context_overflow", nil},
		{"nothing known", 418, "", "acme", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if o := cfe(c.status, c.body, 0, c.provider, c.options...); o.ErrorType != c.want {
				t.Errorf("got %q, want %q", o.ErrorType, c.want)
			}
		})
	}
}

func TestFingerprint(t *testing.T) {
	for text, want := range map[string]bool{
		"error_code: 10101": false, "1010": false, "my_error_code: 1010": false, "errorcode1010x": false,
		"error-1010": true, "[403] error-1010": true, "error_code=1010": true, "error-code 1010": true, "error code: 1010": true,
		"error_code 1010_": false, "https://x/error-1010/": true, "error-1010a": false,
	} {
		t.Run("case 160 "+text, func(t *testing.T) {
			if got := fingerprintBan(text); got != want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestTextReasons(t *testing.T) {
	for text, want := range map[string]outcome.Reason{
		"billing problem":               outcome.ReasonQuota,
		"insufficient credits":          outcome.ReasonQuota,
		"account has been deactivated":  outcome.ReasonAuth,
		"no credentials":                outcome.ReasonAuth,
		"rate limit":                    outcome.ReasonRateLimit,
		"rate_limit":                    outcome.ReasonRateLimit,
		"resource exhausted":            outcome.ReasonModelCapacity,
		"high demand":                   outcome.ReasonModelCapacity,
		"unauthorized":                  outcome.ReasonAuth,
		"authentication":                outcome.ReasonAuth,
		"internal error":                outcome.ReasonServerError,
		"hello":                         outcome.ReasonUnknown,
		"improperly formed request now": outcome.ReasonModelCapacity,
	} {
		t.Run(text, func(t *testing.T) {
			if got := textReason(&facts{text: text, said: text, own: text, quotaText: quotaIn(text)}); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	for status, want := range map[int]outcome.Reason{
		401: outcome.ReasonAuth, 403: outcome.ReasonAuth, 402: outcome.ReasonQuota, 432: outcome.ReasonQuota, 429: outcome.ReasonRateLimit,
		503: outcome.ReasonModelCapacity, 529: outcome.ReasonModelCapacity, 500: outcome.ReasonServerError, 408: outcome.ReasonUnknown,
	} {
		if got := statusReason(status); got != want {
			t.Errorf("%d: got %q, want %q", status, got, want)
		}
	}
}
