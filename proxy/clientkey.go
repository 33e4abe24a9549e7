package proxy

import (
	"crypto/subtle"
	"errors"
	"net/http"

	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/proxy/scrub"
)

// grant returns what a client may use, or why it may use nothing (ruling 33).
// No key is needed on loopback unless the setting asks for one; a key of ours
// limits its bearer either way, and is refused once it is no longer in force.
func (s *Server) grant(r *http.Request) (control.Grant, error) {
	presented := []string{r.Header.Get("X-Breakwater-Key"), bearer(r.Header), r.Header.Get("X-Api-Key")}
	for _, given := range presented {
		if given != "" && subtle.ConstantTimeCompare([]byte(given), []byte(s.token)) == 1 {
			return control.Grant{}, nil
		}
	}
	g, err := s.svc.Authorize(control.ScopeClient, presented...)
	stranger := errors.Is(err, control.ErrKeyUnknown) || errors.Is(err, control.ErrKeyScope)
	if stranger && !s.svc.Config().RequireAPIKey {
		return control.Grant{}, nil
	}
	return g, err
}

// own reports whether a text holds our token or a key of ours, which no provider
// may see whatever header it came in (ruling 33).
func (s *Server) own(text string) bool {
	return scrub.Mentions(text, s.token) || control.HoldsOwnKey(text)
}

// keyRefusal is the answer to a client that may not use the proxy (settings
// sheet §2.13).
func keyRefusal(err error) dialect.Refusal {
	ref := dialect.Refusal{Status: http.StatusForbidden, Type: "permission_error"}
	switch {
	case errors.Is(err, control.ErrKeyDisabled):
		ref.Code, ref.Message = "key_disabled", "This Breakwater key is switched off."
	case errors.Is(err, control.ErrKeyExpired):
		ref.Code, ref.Message = "key_expired", "This Breakwater key has expired."
	case errors.Is(err, control.ErrKeyScope):
		ref.Code, ref.Message = "key_scope", "This Breakwater key lacks the scope client."
	default:
		return dialect.Refusal{
			Status: http.StatusUnauthorized, Type: "authentication_error", Code: "AUTH_002",
			Message: "This Breakwater asks for a key. Send it as X-Breakwater-Key, or as the API key of the client.",
		}
	}
	return ref
}

// modelRefused refuses a model that the client's key does not allow.
func (x *exchange) modelRefused() *refusal {
	if x.grant.AllowsModel(x.body.Model) {
		return nil
	}
	return &refusal{Refusal: dialect.Refusal{
		Status: http.StatusForbidden, Type: "permission_error", Code: "model_not_allowed",
		Message: "This Breakwater key does not allow the model " + x.body.Model + ".",
	}}
}
