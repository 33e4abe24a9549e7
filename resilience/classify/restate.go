package classify

import (
	"strings"
	"time"
)

// restatement corrects a status that hides what a failure is (guide §7).
type restatement struct {
	id           string
	provider     string
	from         []int
	to           int
	text         []string
	exclude      []string
	defaultRetry time.Duration // told to the client only
}

// restatements is the whole registry. Markers are specific to the provider;
// common English phrases would collide with the credit phrases.
var restatements = []restatement{{
	id: "agentrouter-quota-misstatus", provider: "agentrouter", from: []int{403, 400}, to: 429,
	text: []string{"额度不足"}, exclude: []string{"无权访问"}, defaultRetry: time.Minute,
}}

// restated is the answer of restateStatus.
type restated struct {
	Status     int
	From       int           // the upstream's status; 0 when nothing changed
	RetryAfter time.Duration // what the client is told; 0 when nothing changed
	RuleID     string
}

// restateStatus corrects a misleading status before anything is classified. retry is
// the upstream's own wait; a positive one goes before the rule's default.
func restateStatus(provider string, status int, text string, retry time.Duration) restated {
	text = strings.ToLower(text)
	for _, r := range restatements {
		if !strings.EqualFold(strings.TrimSpace(provider), r.provider) || !containsInt(r.from, status) ||
			!containsAny(text, r.text) || containsAny(text, r.exclude) {
			continue
		}
		if retry <= 0 {
			retry = r.defaultRetry
		}
		return restated{Status: r.to, From: status, RetryAfter: retry, RuleID: r.id}
	}
	return restated{Status: status}
}

// restate applies restateStatus to an answer, and reads a 524 as the 504 it is
// (ruling 3).
func (f *facts) restate() {
	if f.Status == 524 {
		f.Status, f.from = 504, 524
		return
	}
	if r := restateStatus(f.provider, f.Status, f.text, f.stated.Wait); r.From != 0 {
		f.Status, f.from, f.retry = r.Status, r.From, r.RetryAfter
	}
}

func containsAny(text string, phrases []string) bool {
	for _, p := range phrases {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}

// shanghai is where the coding plans of Zhipu print their reset times, without
// saying so.
var shanghai = time.FixedZone("CST", 8*3600)

// providerZone returns where a provider's texts print times without a zone, or
// nil for UTC.
func providerZone(provider string) *time.Location {
	switch provider {
	case "glm", "glm-cn", "glmt", "zai":
		return shanghai
	}
	return nil
}
