package proxy

import (
	"net/http"

	"breakwater/proxy/catalog"
	"breakwater/proxy/control"
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
func (t *attempt) scrub(text []byte) []byte { return control.Scrub(text, t.secret()) }

// scrubHeader takes it out of the headers of a refusal, which may be handed on.
func (t *attempt) scrubHeader(h http.Header) http.Header {
	return t.scrubbed(h, func(v string) bool { return true })
}

// scrubAnswer does the same for an answer, whose headers are only searched for
// the whole credential: it is on everybody's way.
func (t *attempt) scrubAnswer(h http.Header) {
	secret := t.secret()
	t.scrubbed(h, func(v string) bool { return control.Mentions(v, secret) })
}

// scrubbed changes the values that look suspicious in place.
func (t *attempt) scrubbed(h http.Header, suspicious func(string) bool) http.Header {
	for _, values := range h {
		for i, v := range values {
			if suspicious(v) {
				values[i] = string(t.scrub([]byte(v)))
			}
		}
	}
	return h
}

// clean takes the credential out of the upstream's own words in an outcome,
// which are stored and shown.
func (t *attempt) clean(o outcome.Outcome) outcome.Outcome {
	o.RawHint, o.ErrorType = string(t.scrub([]byte(o.RawHint))), string(t.scrub([]byte(o.ErrorType)))
	return o
}
