package classify

import (
	"breakwater/resilience/outcome"
)

// row is one line of the table from evidence to meaning.
type row struct {
	name     string // stable: it is stored and shown
	evidence evidence
	// as is the status that a 400 or 200 with this evidence stands for; 0 leaves
	// the status (ruling 55 a).
	as    int
	means meaning
}

type (
	evidence func(*facts) bool
	meaning  func(*facts) outcome.Outcome
)

// RowUnlisted is the name of the row for a 400 that no other row knows.
const RowUnlisted = "unlisted-refusal"

const rowNotAPI = "not-the-api"

// rows is the whole table, read from top to bottom: the first row whose evidence
// holds decides (sheet §3.4, rulings 55 to 57 and 62). Evidence comes from the
// status, the headers, the shape of the body and its words; "own" words are
// those that the provider states in its own error shape, "said" words also come
// from an error packed inside, and a page has no words.
var rows = []row{
	// What concerns this request alone (sheet §3.11, §4.4).
	{"upstream-closed-request", status(499), 0, upstreamClosed},
	{"request-names-missing-file", all(status(404), requestResource), 0, handedOn(outcome.ReasonRequestInvalid)},
	{"paid-feature", entitlement, 0, handedOn(outcome.ReasonRequestInvalid)},
	{"contract-violation", contractViolation, 0, handedOnQuietly(outcome.ReasonContractViolation)},
	{"previous-response-of-another-account", foreignPrevious, 0, handedOnQuietly(outcome.ReasonInvalidPrevious)},

	// What the headers or the operator's rotation settle.
	{"service-not-running", serviceNotRunning, 0, notRunning},
	{"key-refused", all(status(400), own(refusedKey)), 401, cooled(outcome.ReasonAuth, 0)},
	{"rotation", rotationHolds, 0, byRotation},

	// What the account, the model or the address is.
	{"account-disabled", (*facts).deactivated, 403, accountDisabled},
	{"model-cannot-be-loaded", all(status(400, 404, 422, 500, 503), said(notLoaded)), 0, modelRests},
	{"model-gone", all(status(404, 410), said(modelGone404)), 0, modelGone},
	{"endpoint-moved", phrases(endpointMovedPhrases), 0, cooled(outcome.ReasonNotFound, modelGoneFor)},

	// Money and windows. A stated end beats the words (ruling 57); a 402 stays.
	{"credit-with-stated-end", all(creditWords, statesEnd), 0, creditUntil},
	{"billing-suspended", own(suspendedForMoney), 402, outOfCredits},
	{"gemini-window", geminiMetric, 0, geminiWindowOf},
	{"credit-at-own-endpoint", all(creditWords, ownEndpoint), 0, ladder(outcome.ReasonQuota)},
	{"credit-used-up", creditWords, 402, outOfCredits},
	{"concurrency-limit", concurrency, 0, concurrencyLimited},
	{"tokens-per-day", all((*facts).quotaSignal, text(tpdPhrase)), 0, tokensPerDay},
	{"daily-quota", all((*facts).quotaSignal, phrases(dailyPhrases)), 0, dailyQuota},
	{"subscription-window", all((*facts).quotaSignal, (*facts).subscriptionText), 0, window(subscriptionWindow)},
	{"weekly-window", phrases(weeklyPhrases), 0, window(weeklyWindow)},
	{"session-window", sessionWords, 0, window(sessionWindow)},
	{"quota-with-reset-in-body", quotaWithReset, 0, quotaUntil},

	// 403, and what is not the provider's API (rulings 56, 62).
	{"route-not-allowed", all(status(403), text("not authorized for this route")), 0, handedOn(outcome.ReasonUnknown)},
	{"operator-rule", operatorRule, 0, byRule},
	{"provider-rule-403", all(status(403), (*facts).honoursScope, providerRule), 0, byRule},
	{"edge-refuses-client", all(status(403), edgeRefusal), 0, cooled(outcome.ReasonAuth, 0)},
	{"wrong-address", wrongAddress, 0, addressRests},
	{rowNotAPI, notAPI, 0, notAPIRests},
	{"project-not-set-up", all(status(403), text("has not been used in project")), 0, cooled(outcome.ReasonAuth, 0)},
	{"forbidden", all(status(403), not(phrases(forbiddenQuotaPhrases))), 0, ladder(outcome.ReasonAuth)},

	// Statuses of the request's own making (P20).
	{"too-large-for-model", all(status(413), text("too large for model")), 0, movedOn(outcome.ReasonRequestInvalid)},
	{"request-status", status(409, 411, 413, 414, 415, 416, 417, 422, 428, 431), 0, handedOn(outcome.ReasonRequestInvalid)},
	{"model-missing", modelMissing, 0, modelRestsFixed},

	// The 400 (sheet §3.6b, ruling 55): first the faults of others, then the
	// requests that every target would refuse.
	{"model-not-served", all(status(400), (*facts).modelRefused), 0, modelNotServed},
	{"context-overflow", all(status(400), said(contextOverflow)), 0, handedOn(outcome.ReasonRequestInvalid)},
	{"malformed-request", all(status(400), said(malformed)), 0, handedOn(outcome.ReasonRequestInvalid)},
	{"parameter-limit", all(status(400), said(badParameter)), 0, handedOn(outcome.ReasonRequestInvalid)},
	{"policy-refusal", all(status(400), own(policyRefusal)), 0, handedOn(outcome.ReasonRequestInvalid)},
	{"function-degraded", all(status(400), said(degradedFunction)), 0, modelNotServed},
	{"rate-limit-words", all(status(400), phrases(rateLimitTextPhrases)), 0, ladder(outcome.ReasonRateLimit)},
	{"server-fault-words", all(status(400), own(serverFault)), 503, ladder(outcome.ReasonServerError)},
	{RowUnlisted, status(400), 0, handedOn(outcome.ReasonUnknown)},

	// The generic table (sheet §3.6), words before the status.
	{"provider-rule", all(inTable, providerRule), 0, byRule},
	{"table-words", all((*facts).quotaSignal, wordsInTable), 0, byTable},
	{"table-status", statusInTable, 0, byTable},
	{"plan-limit", status(432), 0, window(subscriptionWindow)},
	{"unlisted-status", always, 0, restsBase},
}

// decide walks the table; the last row always decides.
func (f *facts) decide() outcome.Outcome {
	for _, r := range rows {
		if !r.evidence(f) {
			continue
		}
		if r.as != 0 && f.Status == 400 {
			f.Status, f.from = r.as, 400
		}
		o := r.means(f)
		o.Row = r.name
		return o
	}
	return restsBase(f)
}
