package proxy

import (
	"net/http"

	"breakwater/proxy/catalog"
	"breakwater/proxy/scrub"
	"breakwater/resilience/outcome"
)

// secret is what the attempt proves itself with: the upstream knows it and may
// repeat it.
func (t *attempt) secret() string {
	if t.route.Credential() == catalog.PassthroughCredential {
		return bearer(t.x.r.Header)
	}
	return t.key
}

// scrub takes the credential out of an error's text.
func (t *attempt) scrub(text []byte) []byte { return scrub.Text(text, t.secret()) }

// scrubHeader takes it out of the headers of a refusal, which may be handed on.
func (t *attempt) scrubHeader(h http.Header) http.Header {
	scrub.Header(h, t.secret())
	return h
}

// clean takes the credential out of the upstream's own words in an outcome,
// which are stored and shown.
func (t *attempt) clean(o outcome.Outcome) outcome.Outcome {
	o.RawHint, o.ErrorType = string(t.scrub([]byte(o.RawHint))), string(t.scrub([]byte(o.ErrorType)))
	return o
}
