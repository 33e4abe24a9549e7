package classify

import (
	"regexp"
	"strings"
	"time"

	"breakwater/resilience/hint"
	"breakwater/resilience/hint/errbody"
	"breakwater/resilience/outcome"
)

// terminalQuotaPattern names quotas that no short wait brings back, even if
// the body declares one (sheet §4.1).
var terminalQuotaPattern = regexp.MustCompile(`insufficient_g1_credits_balance|credit.*exhaust|out of credits|billing.*cap` +
	`|insufficient.*quota|individual quota reached|enable overages|daily free allocation` +
	`|organization tpd rate limit|insufficient balance`)

var quotaPattern = regexp.MustCompile(terminalQuotaPattern.String() +
	`|daily.*limit|daily.*quota|per[ -]day.*limit|monthly.*limit|monthly.*quota|per[ -]month.*limit` +
	`|quota.*exceed|exceed.*quota|hard.limit|plan.*limit` +
	`|resource has been exhausted.*reset after` +
	`|"error"\s*:\s*"\s*usage limit reached\s*\.?\s*"` +
	`|have exhausted their quota` +
	`|限额将在.*重置|使用上限|调用上限|额度已用尽|额度已用完`)

var concurrencyPhrases = []string{
	"too many concurrent requests",
	"concurrency limit",
	"parallel request limit",
	"并发数过高",
}

// LooksLikeQuota reports whether an error text speaks of a used-up quota
// rather than of a rate (sheet §4.1).
func LooksLikeQuota(text string) bool { return quotaPattern.MatchString(strings.ToLower(text)) }

// LooksLikeConcurrencyLimit reports whether an error text speaks of too many
// requests at the same time (guide §2). A quota text outranks it.
func LooksLikeConcurrencyLimit(text string) bool {
	text = strings.ToLower(text)
	for _, p := range concurrencyPhrases {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}

// Kind returns the breaker's failure kind of an answer (classify429, sheet
// §4.1): a quota that says it is back within the hour is a rate.
func Kind(status int, body []byte) outcome.Kind {
	b := errbody.Parse(body)
	return kind(status, b, b.Text())
}

func kind(status int, body errbody.Body, text string) outcome.Kind {
	switch {
	case status != 429:
		return outcome.KindTransient
	case terminalQuotaPattern.MatchString(text):
		return outcome.KindQuotaExhausted
	case declaredWithin(body, text, time.Hour):
		return outcome.KindRateLimit
	case quotaPattern.MatchString(text):
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
	if m := retryInPattern.FindStringSubmatch(text); m != nil {
		d, ok := hint.ParseDuration(m[1])
		return ok && d < limit
	}
	return false
}

// quotaSignal is the sheet's Q: whether quota words count. On a 429 of a key a
// provider's loose wording must not outlaw the key, unless it is plain.
func (f *facts) quotaSignal() bool {
	return f.Status != 429 || f.provider == "" || f.oauth() || quotaPattern.MatchString(f.text)
}

// quotaWords make a text a quota text (sheet §4.2, first line).
var quotaWords = []string{
	"quota exceeded", "quota depleted", "quota will reset", "quota has been exceeded", "hour quota", "billing",
}

// textReason gives the reason that the words alone suggest (classifyErrorText,
// sheet §4.2).
func textReason(f *facts) outcome.Reason {
	switch {
	case f.has(quotaWords), quotaPattern.MatchString(f.text), f.subscriptionText(), f.has(creditsPhrases):
		return outcome.ReasonQuota
	case f.deactivated():
		return outcome.ReasonAuth
	}
	if r, ok := textRule(f.text); ok {
		return r.reason
	}
	switch {
	case strings.Contains(f.text, "rate_limit"):
		return outcome.ReasonRateLimit
	case strings.Contains(f.text, "resource exhausted"), strings.Contains(f.text, "high demand"):
		return outcome.ReasonModelCapacity
	case strings.Contains(f.text, "unauthorized"), strings.Contains(f.text, "invalid api key"), strings.Contains(f.text, "authentication"):
		return outcome.ReasonAuth
	case strings.Contains(f.text, "server error"), strings.Contains(f.text, "internal error"):
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
