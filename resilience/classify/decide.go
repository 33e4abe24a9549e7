package classify

import (
	"strings"
	"time"

	"breakwater/resilience/hint"
	"breakwater/resilience/outcome"
)

// step is one line of the decision order: it answers or passes.
type step func(*facts) (outcome.Outcome, bool)

// steps is the decision order of the sheet §3.4, first answer wins. The steps
// before "contract" are the request-scoped answers that §3.11 and §4.4 take
// out first.
var steps = []step{
	clientClosed,
	requestResource,
	entitlement,
	contract,
	serviceNotRunning,
	rotationGate,
	deactivated,
	modelGone,
	endpointMoved,
	billingSuspended,
	geminiMetric,
	credits,
	concurrency,
	daily,
	subscription,
	weekly,
	session,
	bodyReset,
	routeRestriction,
	operator,
	ruleOn403,
	forbiddenKey,
	requestFault,
	modelNamed,
	errorRule,
	planLimit,
	badRequest,
}

// decide walks the steps; what none of them knows costs a base cooldown.
func (f *facts) decide() outcome.Outcome {
	for _, s := range steps {
		if o, ok := s(f); ok {
			return o
		}
	}
	return fixed(outcome.ReasonUnknown, f.base())
}

func pass() (outcome.Outcome, bool) { return outcome.Outcome{}, false }

// clientClosed: a gateway upstream believes that we left. Nobody is to blame,
// and if our client is still there another target serves it.
func clientClosed(f *facts) (outcome.Outcome, bool) {
	if f.Status != 499 {
		return pass()
	}
	o := local(499, outcome.ReasonUpstreamLeft)
	o.Fallback = true
	return o, true
}

// requestResource: a 404 that names a file, an earlier response or an upload
// speaks of the request, not of the model or the connection (sheet §4.4).
func requestResource(f *facts) (outcome.Outcome, bool) {
	if f.Status == 404 && namesRequestResource(f.text) {
		return refuse(outcome.ReasonRequestInvalid), true
	}
	return pass()
}

// entitlement: a 429 that asks for a paid feature speaks of this request, even
// with a Retry-After; a rejected window speaks louder (Claude sheet §4.4).
func entitlement(f *facts) (outcome.Outcome, bool) {
	if f.Status == 429 && f.stated.Reach != hint.ReachAccount && f.has(entitlementPhrases) {
		return refuse(outcome.ReasonRequestInvalid), true
	}
	return pass()
}

func contract(f *facts) (outcome.Outcome, bool) {
	var reason outcome.Reason
	switch {
	case f.code == string(outcome.ReasonContractViolation):
		reason = outcome.ReasonContractViolation
	case f.code == string(outcome.ReasonInvalidPrevious),
		f.Status == 409 && strings.Contains(f.text, "previous_response_id does not belong"):
		reason = outcome.ReasonInvalidPrevious
	default:
		return pass()
	}
	o := refuse(reason)
	o.SkipBreaker = true
	return o, true
}

func serviceNotRunning(f *facts) (outcome.Outcome, bool) {
	if f.Status != 503 || !strings.EqualFold(headerValue(f.Header, "x-omni-fallback-hint"), "connection_cooldown") {
		return pass()
	}
	o := fixed(outcome.ReasonServiceNotRunning, shortCooldown)
	o.SetsLevel = true
	o.SkipBreaker = true
	return o, true
}

func deactivated(f *facts) (outcome.Outcome, bool) {
	if !f.deactivated() {
		return pass()
	}
	o := fixed(outcome.ReasonAuth, deactivatedFor)
	o.Permanent = true
	return o, true
}

func modelGone(f *facts) (outcome.Outcome, bool) {
	if (f.Status != 404 && f.Status != 410) || !modelGone404.in(f.text) {
		return pass()
	}
	o := fixed(outcome.ReasonNotFound, modelGoneFor)
	o.Scope = outcome.ScopeModel // the account's other models are still there
	o.QuotaResetHint = modelGoneFor
	return o, true
}

func endpointMoved(f *facts) (outcome.Outcome, bool) {
	if !f.has(endpointMovedPhrases) {
		return pass()
	}
	return fixed(outcome.ReasonNotFound, modelGoneFor), true
}

func billingSuspended(f *facts) (outcome.Outcome, bool) {
	if !suspendedForMoney.in(f.text) {
		return pass()
	}
	return outOfCredits(), true
}

// outOfCredits is the verdict on an account without money.
func outOfCredits() outcome.Outcome {
	o := fixed(outcome.ReasonQuota, fixedCooldown)
	o.CreditsExhausted = true
	return o
}

// geminiMetric: Google names the quota metric that ran out; where it does not,
// our own counters may know.
func geminiMetric(f *facts) (outcome.Outcome, bool) {
	if f.provider != "gemini" || f.Status != 429 || f.Model == "" {
		return pass()
	}
	switch geminiWindow(f.text, f.opt.LocalWindow) {
	case "day":
		return f.retryable(outcome.ReasonQuota), true
	case "minute":
		return f.retryable(outcome.ReasonRateLimit), true
	}
	return pass()
}

// credits: an account without money, unless the upstream is an aggregator of
// the user's own whose words may be about somebody else's account.
func credits(f *facts) (outcome.Outcome, bool) {
	if !f.quotaSignal() || !f.has(creditsPhrases) {
		return pass()
	}
	if compatible(f.provider) {
		return f.retryable(outcome.ReasonQuota), true
	}
	return outOfCredits(), true
}

// concurrency: the account is well but busy; it keeps its place on the ladder
// (guide §2, "Los 429 por límite de concurrencia").
func concurrency(f *facts) (outcome.Outcome, bool) {
	if f.Status != 429 || !containsAny(f.text, concurrencyPhrases) || f.quotaText {
		return pass()
	}
	o := fixed(outcome.ReasonConcurrencyLimited, ConcurrencyLimitCooldown)
	if h, ok := f.hinted(); ok {
		o = stated(outcome.ReasonConcurrencyLimited, h)
		o.SetsLevel = false
	}
	o.SkipBreaker = true
	return o, true
}

func daily(f *facts) (outcome.Outcome, bool) {
	if !f.quotaSignal() {
		return pass()
	}
	if strings.Contains(f.text, tpdPhrase) {
		// Tokens per day roll on: only a header knows when enough are back.
		if f.stated.Source != hint.SourceHeader {
			return f.retryable(outcome.ReasonRateLimit), true
		}
		o := stated(outcome.ReasonQuota, f.stated)
		o.DailyQuotaExhausted = true
		return o, true
	}
	if !f.has(dailyPhrases) {
		return pass()
	}
	o := fixed(outcome.ReasonQuota, untilMidnight(f.Now))
	o.DailyQuotaExhausted = true
	return o, true
}

// untilMidnight returns the time to the next midnight where now is, within
// (0, 24 h]: the days on which clocks change must not stretch it.
func untilMidnight(now time.Time) time.Duration {
	y, m, d := now.Date()
	wait := time.Date(y, m, d+1, 0, 0, 0, 0, now.Location()).Sub(now)
	if wait <= 0 || wait > day {
		return day
	}
	return wait
}

func subscription(f *facts) (outcome.Outcome, bool) {
	if !f.quotaSignal() || !f.subscriptionText() {
		return pass()
	}
	return f.quota(subscriptionWindow), true
}

func weekly(f *facts) (outcome.Outcome, bool) {
	if !f.has(weeklyPhrases) {
		return pass()
	}
	return f.quota(weeklyWindow), true
}

func session(f *facts) (outcome.Outcome, bool) {
	if !f.has(sessionPhrases) && !(strings.Contains(f.text, "reached your session") && strings.Contains(f.text, "usage limit")) {
		return pass()
	}
	return f.quota(sessionWindow), true
}

// bodyReset: a quota text that says when it comes back; the hint is carried
// even when hints do not set the cooldown.
func bodyReset(f *facts) (outcome.Outcome, bool) {
	if !f.quotaSignal() || textReason(f) != outcome.ReasonQuota {
		return pass()
	}
	h := hint.FromBody(f.hintInput(), f.body)
	if !h.Stated {
		return pass()
	}
	o := f.retryable(outcome.ReasonQuota)
	o.QuotaResetHint = h.Wait
	return o, true
}

func routeRestriction(f *facts) (outcome.Outcome, bool) {
	if f.Status != 403 || !strings.Contains(f.text, "not authorized for this route") {
		return pass()
	}
	return refuse(outcome.ReasonUnknown), true
}

// forbiddenKey: a 403 on a key is a temporary refusal, but a browser check at
// the edge will not go away by waiting.
func forbiddenKey(f *facts) (outcome.Outcome, bool) {
	if f.Status != 403 || f.oauth() || f.has(forbiddenQuotaPhrases) {
		return pass()
	}
	if cloudflareFinal(f.text) {
		return fixed(outcome.ReasonAuth, 0), true
	}
	return f.retryable(outcome.ReasonAuth), true
}

// requestFault: statuses that say the request itself is wrong. They cost
// nobody anything (P20); a size that only this model refuses may fit another.
func requestFault(f *facts) (outcome.Outcome, bool) {
	switch f.Status {
	case 413:
		if strings.Contains(f.text, "too large for model") {
			return elsewhere(outcome.ReasonRequestInvalid), true
		}
	case 409, 422, 411, 414, 415, 416, 417, 428, 431:
	default:
		return pass()
	}
	return refuse(outcome.ReasonRequestInvalid), true
}

// modelNamed: a 404 that names the model concerns that model alone, whoever
// the provider is (sheet §4.5).
func modelNamed(f *facts) (outcome.Outcome, bool) {
	if f.Status != 404 || !(f.namesModel() || f.local() || f.perModel()) {
		return pass()
	}
	o := fixed(outcome.ReasonNotFound, fixedCooldown)
	o.Scope = outcome.ScopeModel
	if f.local() {
		o.Cooldown = shortCooldown
	}
	return o, true
}

func planLimit(f *facts) (outcome.Outcome, bool) {
	if f.Status != 432 {
		return pass()
	}
	return f.quota(subscriptionWindow), true
}
