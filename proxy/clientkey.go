package proxy

import (
	"crypto/subtle"
	"errors"
	"net/http"

	"breakwater/proxy/control"
	"breakwater/proxy/scrub"
	"breakwater/proxy/upstream"
)

// grant returns what a client may use, or why it may use nothing (ruling 33).
// No key is needed on loopback unless the setting asks for one; a key of ours
// limits its bearer either way, and is refused once it is no longer in force.
func (s *Server) grant(r *http.Request) (control.Grant, error) {
	presented := []string{r.Header.Get("X-Breakwater-Key"), upstream.Bearer(r.Header), r.Header.Get("X-Api-Key")}
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
