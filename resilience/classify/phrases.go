package classify

import (
	"regexp"
	"strings"
)

// The phrase lists of the sheet §3.10. Phrases are lower-case substrings of
// the lower-case text; patterns stand where a substring is not enough.

var deactivatedPhrases = []string{
	"account_deactivated",
	"account has been deactivated",
	"account has been disabled",
	"organization has been disabled", // ruling 62
	"your account has been suspended",
	"this account is deactivated",
	"verify your account to continue",
	"this service has been disabled in this account for violation",
	"this service has been disabled in this account",
}

var creditsPhrases = []string{
	"insufficient_quota",
	"billing_hard_limit_reached",
	"exceeded your current quota",
	"exceeded your current usage quota",
	"credit_balance_too_low",
	"your credit balance is too low",
	"credits exhausted",
	"out of credits",
	"payment required",
	"free tier of the model has been exhausted",
	"tier has been exhausted",
	"insufficient balance",
	"insufficient_balance",
	"insufficient account balance",
	"insufficient credit balance",
	"insufficient credits",
	"insufficient credit",
	"usage balance exhausted",
}

var oauthInvalidPhrases = []string{
	"invalid authentication credentials",
	"oauth 2",
	"login cookie",
	"valid authentication credential",
	"invalid credentials",
}

var modelGone404 = wording{
	phrases:   words("no longer available", "no longer supported", "has reached its end-of-life", "has reached the end-of-life"),
	sequences: near(words("model"), words("deprecated", "retired", "discontinued", "decommissioned"), 40),
}

var endpointMovedPhrases = []string{
	"endpoint has moved",
	"no longer works",
	"update your base url",
	"update your base_url",
}

var suspendedForMoney = wording{
	sequences: near(words("suspended"), words("spending limit", "billing", "invoice", "payment"), 120),
}

var contextOverflow = wording{
	phrases: words("input too long", "input is too long", "prompt is too long", "too many tokens", "context window",
		"maximum context", "request too large", "token limit", "context_length_exceeded"),
	sequences: join(
		then(words("context"), words("too long", "exceeded", "overflow", "limit"), 0),
		then(words("max"), words("token"), 0)),
}

var modelAccess = wording{
	phrases: words("invalid model", "please select a different model"),
	sequences: join(
		chain(words("model", "not"), "available", "found", "supported", "accessible"),
		then(words("model"), words("does not exist", "doesn't exist"), 0),
		near(words("model"), words("does not support", "doesn't support", "unsupported"), 80),
		chain(words("access", "denied"), "model"), chain(words("model", "access"), "denied"),
		near(words("access", "permission"), words("model"), 60)),
}

var badCredential = wording{
	phrases: words("authentication failed", "authentication error", "authentication required", "unauthorized", "not authenticated"),
	sequences: join(
		near(words("invalid", "incorrect", "expired", "missing", "revoked"), words("api key", "api_key", "api-key", "apikey"), 20),
		then(words("api key", "api_key", "api-key", "apikey"), words("not valid"), 20),
		near(words("invalid", "expired", "missing", "revoked"), words("token", "credential", "bearer"), 20)),
}

// refusedKey is how servers say on a 400 that a key is not theirs (ruling 55).
var refusedKey = wording{
	phrases: words("api key not valid", "api_key_invalid", "api key expired", "incorrect api key provided",
		"invalid api key provided", "invalid_api_key", "invalid x-api-key", "authentication_error", "unauthenticated"),
	sequences: join(
		near(words("invalid", "incorrect", "expired", "revoked"), words("api key", "api_key", "api-key", "apikey"), 4),
		then(words("api key", "api_key", "api-key", "apikey"), words("is invalid", "is not valid", "has expired", "is expired", "was revoked", "has been revoked", "is incorrect"), 4)),
}

// notLoaded is how local servers say that they have no room for a model or fail
// to start it (Q04).
var notLoaded = wording{
	phrases: words("insufficient system resources", "model loading was stopped", "cuda out of memory",
		"requires more system memory", "runner process has terminated", "llama runner process", "no models loaded"),
	sequences: join(
		then(words("failed to load", "error loading", "unable to load", "could not load", "cannot load"), words("model"), 20),
		then(words("model"), words("failed to load", "could not be loaded", "cannot be loaded", "is not loaded", "not enough memory", "is still loading"), 80),
		then(words("not enough", "insufficient", "out of"), words("vram", "gpu memory", "video memory", "memory to load"), 20)),
}

// serverFault is how servers report a fault of their own on a 400 (ruling 55).
var serverFault = wording{
	phrases: words("overloaded_error", "server_is_overloaded", "internal_server_error", "internal server error", "service unavailable",
		"service_unavailable", "service is temporarily unavailable", "bad gateway", "bad_gateway", "gateway timeout", "gateway_timeout",
		"no available channel", "upstream connect error"),
	sequences: join(
		near(words("server", "engine", "service"), words("overloaded", "is busy", "at capacity"), 40)),
}

// policyRefusal is how providers refuse a request for what it says, which every
// target of the vendor would (ruling 55 c).
var policyRefusal = wording{
	phrases: words("content_policy_violation", "content_filter", "responsibleaipolicyviolation", "prohibited_content",
		"content management policy", "usage policies", "usage policy", "safety system", "invalid_prompt", "cyber_policy_violation",
		"blocked by our safety", "content policy"),
	sequences: join(then(words("flagged"), words("violat", "policy", "safety"), 80)),
}

var malformed = wording{
	phrases: words("improperly formed request", "messages must alternate", "roles must alternate", "empty message", "empty content",
		"tool_use ids were found without", "unexpected tool_use_id", "must be followed by tool messages", "must be a response to a preceding message",
		"no tool output found for function call", "no tool call found for", "could not parse the json body", "not valid json", "invalid json", "json_invalid",
		"json parse error", "malformed json", "failed to parse json", "error parsing the body", "unexpected end of json", "conversation roles must alternate",
		"messages: field required", "missing required parameter: messages", "messages: at least one message is required", "must have non-empty content", "content blocks must be non-empty",
		"first message must use the"),
	sequences: join(
		then(words("messages", "input", "contents"), words("is required", "field required", "must not be empty", "cannot be empty", "should be non-empty", "is too short"), 40),
		then(words("invalid character"), words("looking for"), 20),
		then(words("missing required parameter"), words("messages", "input", "model"), 10),
		then(words("tool_call_id", "tool_use_id", "tool_calls", "tool_result", "tool_use", "function call"), words("without", "must be followed", "no matching", "not found", "does not match", "unexpected"), 120),
		chain(words("invalid", "message"), "format"),
		then(words("function name"), words("blank", "empty", "missing"), 40),
		chain(words("tool_call", "name"), "blank", "empty", "missing")),
}

var badParameter = wording{
	phrases: words("parameter is illegal", "integer_above_max_value", "integer_below_min_value", "decimal_above_max_value", "decimal_below_min_value",
		"array_above_max_length", "string_above_max_length", "must be less than or equal to", "must be greater than or equal to"),
	sequences: join(
		then(words("max_tokens", "max_completion_tokens", "max_output_tokens", "temperature", "top_p", "top_k", "budget_tokens"), words("illegal", "must be", "range", "too large", "at most"), 0),
		then(words("is illegal"), words("range"), 0)),
}

var rateLimitTextPhrases = []string{
	"high-frequency",
	"non-compliant",
	"too many requests",
	"rate limit",
	"频繁",
	"频率",
}

const tpdPhrase = "tpd rate limit"

var dailyPhrases = []string{"today's quota", "daily quota", "try again tomorrow"}

var subscriptionPhrases = []string{
	"usage limit reached",
	"usage limit has been",
	"claude pro usage limit",
	"you've reached your usage limit",
	"you have reached your usage limit",
	// The spend cap that the owner of an Anthropic organisation set (Claude
	// sheet §4.3): it ends with the month or when the owner raises it.
	"enforced_spend_limit_reached",
	"you have reached your specified api usage limits",
}

// claudeSubscriptionPhrase is one only where it comes from Anthropic itself.
const claudeSubscriptionPhrase = "this request would exceed your account's rate limit"

var weeklyPhrases = []string{"weekly usage limit", "weekly limit reached", "reached your weekly"}

var sessionPhrases = []string{"session usage limit", "session limit reached"}

var entitlementPhrases = []string{
	"usage credits are required for fast mode",
	"extra usage is required for long context requests",
	"usage credits are required for long context requests",
}

// forbiddenQuotaPhrases keep a key's 403 out of the plain refusals.
var forbiddenQuotaPhrases = []string{"has not been used in project", "hour quota", "quota has been exceeded"}

var degradedFunction = wording{sequences: near(words("function"), words("degraded"), 80)}

var requestResourcePattern = regexp.MustCompile(`(?:files? \[?file-|file_id|\bresponse\b[^.]{0,20}\bresp_|vector[_ ]store|upload upload_)` +
	`.{0,160}?(?:not found|does not exist|do not exist|no longer exists?)`)

var modelNotFoundPattern = regexp.MustCompile(`\bmodels?\b.{0,120}?(?:not found|not exist|not available|not supported|unknown|n't exist)|(?:unknown|no such|not found)[^.]{0,20}\bmodel\b|"message"\s*:\s*"model: `)

func namesRequestResource(text string) bool { return requestResourcePattern.MatchString(text) }

// deactivated reports whether the text says that the account is closed.
func (f *facts) deactivated() bool {
	if containsAny(f.own, deactivatedPhrases) {
		return true
	}
	for _, s := range f.opt.BannedSignals {
		if s = strings.ToLower(strings.TrimSpace(s)); s != "" && len(s) <= 200 && strings.Contains(f.own, s) {
			return true
		}
	}
	return false
}

// subscriptionText reports whether the text speaks of a subscription's window.
func (f *facts) subscriptionText() bool {
	return f.has(subscriptionPhrases) || f.provider == "claude" && strings.Contains(f.said, claudeSubscriptionPhrase)
}

// namesModel reports whether the answer says that a model is missing.
func (f *facts) namesModel() bool {
	return f.code == "model_not_found" || f.code == "deployment_not_found" ||
		modelNotFoundPattern.MatchString(f.text) ||
		f.Model != "" && strings.Contains(f.text, strings.ToLower(f.Model))
}

// overloaded reports whether the model, not the provider, is short of room:
// that never counts against the provider (sheet §1.8).
func (f *facts) overloaded() bool {
	return f.Status == statusOverloaded || f.Status >= 500 && strings.Contains(f.pageless(), "overloaded")
}

// compatible reports whether the provider is an endpoint of the user's own.
func compatible(provider string) bool {
	return strings.HasPrefix(provider, "openai-compatible-") || strings.HasPrefix(provider, "anthropic-compatible-") ||
		provider == "custom"
}

// cloudflareFinal reports whether a proxy at the edge refuses this client for
// good: a browser-signature ban.
func cloudflareFinal(text string) bool {
	return fingerprintBan(text) ||
		noRetryPattern.MatchString(text) && (strings.Contains(text, "cloudflare") || strings.Contains(text, "owner_action_required"))
}

var (
	noRetryPattern = regexp.MustCompile(`"retryable"\s*:\s*false`)
	// banKeyPattern accepts error_code, error-code and "error code" before 1010,
	// and nothing glued to either end.
	banKeyPattern = regexp.MustCompile(`(?:^|[^a-z0-9_])error[_ -]code["']?\s*[:= ]\s*["']?1010(?:$|[^a-z0-9_])`)
	banURLPattern = regexp.MustCompile(`(?:^|[^a-z0-9_])error-1010(?:$|[^a-z0-9_])`)
)

func fingerprintBan(text string) bool {
	return strings.Contains(text, "browser_signature_banned") || strings.Contains(text, "fingerprint_rejection") ||
		banKeyPattern.MatchString(text) || banURLPattern.MatchString(text)
}

// geminiWindow returns the window of the metric that Google names, else the
// one our own counters saw.
func geminiWindow(text, local string) string {
	if !strings.Contains(text, "generativelanguage.googleapis.com") {
		return local
	}
	switch {
	case strings.Contains(text, "_per_day"), strings.Contains(text, "per day"):
		return "day"
	case strings.Contains(text, "token_count"), strings.Contains(text, "_requests"):
		return "minute"
	}
	return local
}
