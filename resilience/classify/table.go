package classify

import (
	"strings"
	"time"

	"breakwater/resilience/outcome"
)

// statusOverloaded is Anthropic's status for a model without room.
const statusOverloaded = 529

// tableRule is one line of the generic table (sheet §3.6): a fixed cooldown, or
// the ladder.
type tableRule struct {
	phrases []string
	reason  outcome.Reason
	ladder  bool
	fixed   time.Duration
}

var textRules = []tableRule{
	{phrases: []string{"no credentials"}, reason: outcome.ReasonAuth, fixed: fixedCooldown},
	{phrases: []string{"request not allowed"}, reason: outcome.ReasonRateLimit, fixed: shortCooldown},
	{phrases: []string{"improperly formed request"}, reason: outcome.ReasonModelCapacity},
	{phrases: []string{"rate limit", "too many requests"}, reason: outcome.ReasonRateLimit, ladder: true},
	{phrases: []string{
		"hour quota", "quota has been exceeded", "quota exceeded", "quota will reset", "exhausted your capacity",
		"quota exhausted", "free tier of the model has been exhausted", "out of extra usage", "extra usage required",
	}, reason: outcome.ReasonQuota, ladder: true},
	{phrases: []string{"capacity", "overloaded", "high demand"}, reason: outcome.ReasonModelCapacity, ladder: true},
}

func textRule(text string) (tableRule, bool) {
	for _, r := range textRules {
		for _, p := range r.phrases {
			if strings.Contains(text, p) {
				return r, true
			}
		}
	}
	return tableRule{}, false
}

func statusRule(status int) (tableRule, bool) {
	switch status {
	case 401:
		return tableRule{reason: outcome.ReasonAuth}, true
	case 402:
		return tableRule{reason: outcome.ReasonQuota}, true
	case 403: // never a quota by its status alone (ruling 62)
		return tableRule{reason: outcome.ReasonAuth, ladder: true}, true
	case 404:
		return tableRule{reason: outcome.ReasonUnknown, fixed: fixedCooldown}, true
	case 406, 408, 500, 502, 503, 504:
		return tableRule{reason: outcome.ReasonServerError, ladder: true}, true
	case 429:
		return tableRule{reason: outcome.ReasonRateLimit, ladder: true}, true
	case statusOverloaded: // P16: moves on, with a short cooldown
		return tableRule{reason: outcome.ReasonModelCapacity, ladder: true}, true
	}
	return tableRule{}, false
}
