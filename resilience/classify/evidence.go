package classify

import (
	"regexp"
	"slices"
	"strings"

	"breakwater/resilience/hint"
	"breakwater/resilience/hint/errbody"
	"breakwater/resilience/outcome"
)

// The building blocks of the column "evidence".

func always(*facts) bool { return true }

func status(list ...int) evidence {
	return func(f *facts) bool { return slices.Contains(list, f.Status) }
}

func all(list ...evidence) evidence {
	return func(f *facts) bool {
		for _, e := range list {
			if !e(f) {
				return false
			}
		}
		return true
	}
}

func not(e evidence) evidence { return func(f *facts) bool { return !e(f) } }

// own looks for a wording in what the provider states in its own error shape.
func own(w wording) evidence { return func(f *facts) bool { return w.in(f.own) } }

// said looks for a wording in all that the refusal states.
func said(w wording) evidence { return func(f *facts) bool { return w.in(f.said) } }

func phrases(list []string) evidence { return func(f *facts) bool { return f.has(list) } }

func text(phrase string) evidence {
	return func(f *facts) bool { return strings.Contains(f.said, phrase) }
}

// requestResource: a 404 that names a file, an earlier response or an upload
// speaks of the request, not of the model or the connection (sheet §4.4).
func requestResource(f *facts) bool { return namesRequestResource(f.said) }

// entitlement: a 429 that asks for a paid feature speaks of this request, even
// with a Retry-After; a rejected window speaks louder (Claude sheet §4.4).
func entitlement(f *facts) bool {
	return f.Status == 429 && f.stated.Reach != hint.ReachAccount && f.has(entitlementPhrases)
}

func contractViolation(f *facts) bool { return f.code == string(outcome.ReasonContractViolation) }

func foreignPrevious(f *facts) bool {
	return f.code == string(outcome.ReasonInvalidPrevious) ||
		f.Status == 409 && strings.Contains(f.said, "previous_response_id does not belong")
}

func serviceNotRunning(f *facts) bool {
	return f.Status == 503 && strings.EqualFold(headerValue(f.Header, "x-omni-fallback-hint"), "connection_cooldown")
}

// creditWords are those of the account's own provider: what an aggregator's
// upstream says concerns another account (Q09). A page has none.
func creditWords(f *facts) bool {
	if suspendedForMoney.in(f.own) {
		return true
	}
	return f.quotaSignal() && containsAny(f.own, creditsPhrases)
}

// statesEnd reports whether the refusal says when it ends and may count as a
// rate limit until then (ruling 57).
func statesEnd(f *facts) bool { return f.stated.Stated && f.Status != 402 }

// ownEndpoint: the upstream is an aggregator of the user's own whose words may
// be about another account.
func ownEndpoint(f *facts) bool { return compatible(f.provider) }

// geminiMetric: Google names the quota metric that ran out; where it does not,
// our own counters may know.
func geminiMetric(f *facts) bool {
	return f.provider == "gemini" && f.Status == 429 && f.Model != "" &&
		geminiWindow(f.text, f.opt.LocalWindow) != ""
}

// concurrency: the account is well but busy (guide §2, "Los 429 por límite de
// concurrencia").
func concurrency(f *facts) bool {
	return f.Status == 429 && f.has(concurrencyPhrases) && !f.quotaText
}

func sessionWords(f *facts) bool {
	return f.has(sessionPhrases) ||
		strings.Contains(f.said, "reached your session") && strings.Contains(f.said, "usage limit")
}

// quotaWithReset: a quota text that says when it comes back.
func quotaWithReset(f *facts) bool {
	return f.quotaSignal() && textReason(f) == outcome.ReasonQuota && hint.FromBody(f.hintInput(), f.body).Stated
}

// edgeRefusal: a browser check at the edge will not go away by waiting, and a
// subscription's login is not to blame for it.
func edgeRefusal(f *facts) bool {
	return !f.oauth() && f.shape != errbody.Page && !f.has(forbiddenQuotaPhrases) && cloudflareFinal(f.text)
}

// notAPI: a page, or JSON of a foreign shape, where an answer of the provider's
// API should be, says nothing about the account (ruling 56, Q08).
func notAPI(f *facts) bool {
	switch {
	case f.Status >= 300 && f.Status < 400, f.Status == 511:
		return true
	case f.Status == 200:
		return f.shape != errbody.Empty && f.shape != errbody.Broken
	case f.Status == 403 && f.shape == errbody.Empty:
		return true
	case f.Status == 403, f.Status == 407, f.Status == 451:
		return (f.shape == errbody.Page || f.shape == errbody.Foreign) && !fingerprintBan(f.pageless())
	}
	return false
}

// pageless is the text unless it is a page's.
func (f *facts) pageless() string {
	if f.shape == errbody.Page {
		return ""
	}
	return f.text
}

// pathNamed matches an answer that names the path asked for as what is missing,
// and not in a link to its documentation.
var pathNamed = regexp.MustCompile(`(?:\b(?:post|get)|path|url|uri|route|endpoint)\W{0,6}[^\s?#]{0,80}/(?:chat/completions|messages|responses|count_tokens)\b`)

// routerWords are whole answers of web servers for a path that they do not
// have.
var routerWords = []string{
	"404 page not found", "page not found", "404 not found", "route not found", "no such route", "endpoint not found",
	"no route matched with those values", "unknown request url", "unexpected endpoint or method", "invalid url (post",
	"invalid url (get", "cannot post /", "cannot get /", "no handler found for",
}

// wrongAddress: a 404 or 405 that a web server gave for the path, not the
// provider for the model (ruling 56).
func wrongAddress(f *facts) bool {
	if f.Status != 404 && f.Status != 405 {
		return false
	}
	switch f.shape {
	case errbody.Page, errbody.Foreign:
		return f.Status == 405 || f.shape == errbody.Page || !f.namesModel()
	case errbody.Empty:
		return f.Status == 405
	}
	if f.namesModel() {
		return false
	}
	return f.Status == 405 || containsAny(f.said, routerWords) || pathNamed.MatchString(f.text) && !strings.Contains(f.text, "/docs") || f.own == "not found"
}

// modelMissing: a 404 that names the model concerns that model alone, whoever
// the provider is (sheet §4.5).
func modelMissing(f *facts) bool {
	return f.Status == 404 && (f.namesModel() || f.local() || f.perModel())
}

// modelRefused reports whether the upstream refuses the model rather than the
// request. Words about a bad key suppress the guess from words.
func (f *facts) modelRefused() bool {
	access := modelAccess.in(f.said)
	switch {
	case f.code == "model_not_found", f.code == "deployment_not_found", f.typ == "not_found_error":
		return true
	case f.typ == "permission_error":
		return access && strings.Contains(strings.ToLower(f.body.Message()), "model")
	}
	return access && f.code != "invalid_api_key" && !badCredential.in(f.said)
}

// providerRule looks up the built-in rule of the provider.
func providerRule(f *facts) bool {
	m := f.catalogue()
	f.rule = m
	return m != nil
}

func wordsInTable(f *facts) bool {
	r, ok := textRule(f.said)
	f.table = r
	return ok
}

func statusInTable(f *facts) bool {
	r, ok := statusRule(f.Status)
	f.table = r
	return ok
}

// inTable reports whether the generic table has words or a status that fit.
func inTable(f *facts) bool {
	return f.quotaSignal() && wordsInTable(f) || statusInTable(f)
}
