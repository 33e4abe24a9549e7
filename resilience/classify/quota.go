package classify

import (
	"regexp"
	"strings"
	"time"

	"breakwater/resilience/hint"
	"breakwater/resilience/hint/errbody"
	"breakwater/resilience/outcome"
)

// terminalQuota names quotas that no short wait brings back, even if the body
// declares one (sheet §4.1).
var terminalQuota = wording{
	phrases: words("insufficient_g1_credits_balance", "out of credits", "individual quota reached", "enable overages",
		"daily free allocation", "organization tpd rate limit", "insufficient balance"),
	sequences: join(
		then(words("credit"), words("exhaust"), 0),
		then(words("billing"), words("cap"), 0),
		then(words("insufficient"), words("quota"), 0)),
}

// anyQuota names the other quotas.
var anyQuota = wording{
	phrases: words("have exhausted their quota", "使用上限", "调用上限", "额度已用尽", "额度已用完"),
	sequences: join(
		then(words("daily", "monthly"), words("limit", "quota"), 0),
		then(words("per day", "per-day", "per month", "per-month", "plan"), words("limit"), 0),
		then(words("hard"), words("limit"), 1),
		then(words("quota"), words("exceed"), 0),
		then(words("exceed"), words("quota"), 0),
		then(words("resource has been exhausted"), words("reset after"), 0),
		then(words("限额将在"), words("重置"), 0)),
}

// bareUsageLimit is a body whose whole error is "usage limit reached".
var bareUsageLimit = regexp.MustCompile(`"error"\s*:\s*"\s*usage limit reached\s*\.?\s*"`)

// quotaIn reports whether a lower-case text speaks of a used-up quota.
func quotaIn(text string) bool {
	return terminalQuota.in(text) || anyQuota.in(text) ||
		strings.Contains(text, "usage limit reached") && bareUsageLimit.MatchString(text)
}

// concurrencyPhrases say that there are too many requests at the same time
// (guide §2); a quota text outranks them.
var concurrencyPhrases = []string{
	"too many concurrent requests",
	"concurrency limit",
	"parallel request limit",
	"并发数过高",
}

// kind returns the breaker's failure kind of an answer (classify429, sheet
// §4.1): a quota that says it is back within the hour is a rate.
func kind(status int, body errbody.Body, text string, quota bool) outcome.Kind {
	switch {
	case status != 429:
		return outcome.KindTransient
	case terminalQuota.in(text):
		return outcome.KindQuotaExhausted
	case declaredWithin(body, text, time.Hour):
		return outcome.KindRateLimit
	case quota:
		return outcome.KindQuotaExhausted
	}
	return outcome.KindRateLimit
}

var retryInPattern = regexp.MustCompile(`please retry in (\d+(?:\.\d+)?s)`)

// declaredWithin reports whether the body declares a delay shorter than limit;
// zero counts.
func declaredWithin(body errbody.Body, text string, limit time.Duration) bool {
	if d, ok := hint.RetryInfo(body); ok {
		return d < limit
	}
	if !strings.Contains(text, "please retry in") {
		return false
	}
	if m := retryInPattern.FindStringSubmatch(text); m != nil {
		d, ok := hint.ParseDuration(m[1])
		return ok && d < limit
	}
	return false
}

// quotaSignal is the sheet's Q: whether quota words count. On a 429 of a key a
// provider's loose wording must not outlaw the key, unless it is plain.
func (f *facts) quotaSignal() bool {
	return f.Status != 429 || f.provider == "" || f.oauth() || f.quotaText
}

// quotaWords make a text a quota text (sheet §4.2, first line).
var quotaWords = []string{
	"quota exceeded", "quota depleted", "quota will reset", "quota has been exceeded", "hour quota", "billing",
}

// textReason gives the reason that the words alone suggest (classifyErrorText,
// sheet §4.2).
func textReason(f *facts) outcome.Reason {
	switch {
	case f.has(quotaWords), f.quotaText, f.subscriptionText(), f.has(creditsPhrases):
		return outcome.ReasonQuota
	case f.deactivated():
		return outcome.ReasonAuth
	}
	if r, ok := textRule(f.said); ok {
		return r.reason
	}
	switch {
	case strings.Contains(f.said, "rate_limit"):
		return outcome.ReasonRateLimit
	case strings.Contains(f.said, "resource exhausted"), strings.Contains(f.said, "high demand"):
		return outcome.ReasonModelCapacity
	case strings.Contains(f.said, "unauthorized"), strings.Contains(f.said, "invalid api key"), strings.Contains(f.said, "authentication"):
		return outcome.ReasonAuth
	case strings.Contains(f.said, "server error"), strings.Contains(f.said, "internal error"):
		return outcome.ReasonServerError
	}
	return outcome.ReasonUnknown
}

// statusReason gives the reason that a status alone suggests (classifyError).
func statusReason(status int) outcome.Reason {
	switch {
	case status == 401, status == 403:
		return outcome.ReasonAuth
	case status == 402, status == 432:
		return outcome.ReasonQuota
	case status == 429:
		return outcome.ReasonRateLimit
	case status == 503, status == statusOverloaded:
		return outcome.ReasonModelCapacity
	case status >= 500:
		return outcome.ReasonServerError
	}
	return outcome.ReasonUnknown
}
