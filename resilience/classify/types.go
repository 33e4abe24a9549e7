package classify

import (
	"regexp"
	"strings"

	"breakwater/resilience/outcome"
)

// The values of last_error_type (sheet §4.3).
const (
	typeRateLimited     = "rate_limited"
	typeUnauthorized    = "unauthorized"
	typeDeactivated     = "account_deactivated"
	typeForbidden       = "forbidden"
	typeServerError     = "server_error"
	typeQuota           = "quota_exhausted"
	typeProjectRoute    = "project_route_error"
	typeContextOverflow = "context_overflow"
	typeOAuthInvalid    = "oauth_invalid_token"
	typeEmptyContent    = "empty_content"
	typeModelNotFound   = "model_not_found"
	typeFingerprint     = "fingerprint_rejection"
	typeGeoBlocked      = "geo_blocked"
	typeProjectRequired = "gcp_project_required"
	typeRequestRejected = "request_rejected"
)

// errorType names what an answer was (classifyProviderError).
func (f *facts) errorType(o outcome.Outcome) string {
	switch {
	case o.Reason == outcome.ReasonNotAPI, o.Reason == outcome.ReasonWrongAddress:
		return string(o.Reason)
	case f.Status == 404 && namesRequestResource(f.said):
		return ""
	}
	credit := (f.has(creditsPhrases) || f.subscriptionText() || o.CreditsExhausted) && !o.CreditWords
	switch f.Status {
	case 400, 402, 403:
		if credit {
			return typeQuota
		}
	case 429:
		if (f.oauth() || f.provider == "") && (credit || f.has(dailyPhrases)) {
			return typeQuota
		}
		return typeRateLimited
	}
	switch f.Status {
	case 404:
		return typeModelNotFound
	case 401:
		return f.type401()
	case 402:
		return typeQuota
	case 400:
		return f.type400()
	case 403:
		return f.type403()
	case 422:
		if googleSurface(f.provider) {
			return typeProjectRequired
		}
		return ""
	}
	if f.Status >= 500 {
		return typeServerError
	}
	return ""
}

func (f *facts) type401() string {
	switch {
	case f.has(oauthInvalidPhrases):
		return typeOAuthInvalid
	case modelUnsupportedPattern.MatchString(f.said):
		return typeModelNotFound
	case f.deactivated():
		return typeDeactivated
	}
	return typeUnauthorized
}

func (f *facts) type400() string {
	switch {
	case f.geoBlocked():
		return typeGeoBlocked
	case contextOverflow.in(f.said):
		return typeContextOverflow
	case f.modelRefused():
		return typeModelNotFound
	}
	return ""
}

func (f *facts) type403() string {
	switch {
	case f.geoBlocked():
		return typeGeoBlocked
	case fingerprintBan(f.text):
		return typeFingerprint
	case f.deactivated():
		return typeDeactivated
	case f.has(projectPhrases):
		return typeProjectRoute
	case strings.Contains(f.said, "sentinel"), strings.Contains(f.said, "turnstile"):
		return typeForbidden
	case f.Auth == AuthNone, !f.oauth():
		return ""
	case f.provider == "claude" && strings.Contains(f.said, "request not allowed"):
		return typeRequestRejected
	}
	return typeForbidden
}

var modelUnsupportedPattern = regexp.MustCompile(`model\b.{0,120}\bis not supported`)

var projectPhrases = []string{
	"has not been used in project", "service_disabled", "accessnotconfigured", "permission_denied", "it is disabled",
	"cloudcode", "cloud code", "gemini for google cloud", "gemini code assist",
}

var geoPattern = regexp.MustCompile(`user location is not supported|not available in your (?:country|region|location)|unsupported_country|location is not supported`)

// geoBlocked reports whether a Google surface refuses this part of the world.
func (f *facts) geoBlocked() bool { return googleSurface(f.provider) && geoPattern.MatchString(f.text) }

// googleSurface reports whether the provider is one of Google's.
func googleSurface(provider string) bool {
	switch provider {
	case "gemini", "gemini-cli", "antigravity", "agy", "vertex":
		return true
	}
	return false
}

// neverTerminal are the types that time or another request cures.
func neverTerminal(errorType string) bool {
	switch errorType {
	case typeProjectRoute, typeGeoBlocked, typeOAuthInvalid, typeFingerprint, typeRequestRejected, typeModelNotFound:
		return true
	}
	return false
}

// terminal returns the state that no waiting cures (sheet §3.12): money, then
// bans, which need listed words, then the types that are never terminal, then
// expired credentials. A plain 403 is none (ruling 62).
func (f *facts) terminal(o outcome.Outcome) outcome.Terminal {
	switch {
	case f.Auth == AuthPassthrough:
		// The credential is the client's: the next one may bring a good one.
		return outcome.NotTerminal
	case connectionQuota(o) && f.honoursScope():
		// A quota of the account that a rule knows to come back.
		return outcome.NotTerminal
	case o.CreditsExhausted, f.Status == 402 && !f.perModel():
		return outcome.CreditsExhausted
	case o.Permanent: // on any status (ruling 62)
		return outcome.Banned
	case neverTerminal(o.ErrorType):
		return outcome.NotTerminal
	case f.Auth == AuthCookie:
		return outcome.NotTerminal
	case o.ErrorType == typeDeactivated, o.ErrorType == typeUnauthorized, f.Status == 401:
		return outcome.Expired
	}
	return outcome.NotTerminal
}
