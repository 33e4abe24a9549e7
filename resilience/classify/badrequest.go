package classify

import (
	"strings"

	"breakwater/resilience/outcome"
)

// badRequest is the branch of status 400 (sheet §3.6b). No rule, built-in or
// the operator's, is asked here (guide §7, "Brecha conocida").
func badRequest(f *facts) (outcome.Outcome, bool) {
	if f.Status != 400 {
		return pass()
	}
	switch {
	case f.modelRefused():
		return fixedModel(), true
	case contextOverflow.in(f.text), malformed.in(f.text), badParameter.in(f.text):
		return elsewhere(outcome.ReasonModelCapacity), true
	case degradedFunction.in(f.text):
		return fixedModel(), true
	case f.has(rateLimitTextPhrases):
		return f.retryable(outcome.ReasonRateLimit), true
	}
	return refuse(outcome.ReasonUnknown), true
}

// fixedModel is the verdict on a model that this connection does not serve: the
// next target is asked at once, nothing is cooled.
func fixedModel() outcome.Outcome {
	o := fixed(outcome.ReasonModelCapacity, 0)
	o.Scope = outcome.ScopeModel
	return o
}

// modelRefused reports whether the upstream refuses the model rather than the
// request. Words about a bad key suppress the guess from words.
func (f *facts) modelRefused() bool {
	access := modelAccess.in(f.text)
	switch {
	case f.code == "model_not_found", f.code == "deployment_not_found", f.typ == "not_found_error":
		return true
	case f.typ == "permission_error":
		return access && strings.Contains(strings.ToLower(f.body.Message()), "model")
	}
	return access && f.code != "invalid_api_key" && !badCredential.in(f.text)
}
