package proxy

import (
	"net"
	"net/http"
	"slices"
	"strings"

	"breakwater/proxy/control"
)

// isLoopbackHost reports whether a Host header names this machine. A page that
// rebinds its own name to 127.0.0.1 sends its name here (case P49).
func isLoopbackHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), ".")
	return control.LoopbackHost(host)
}

// guard refuses what a web page could send: a foreign Host, an Origin that is
// not allowed by name, a cross-site fetch. Preflights of allowed origins are
// answered here.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopbackHost(r.Host) {
			s.plainError(w, r, http.StatusForbidden, "foreign_host", "This proxy answers only to loopback names such as 127.0.0.1 and localhost.")
			return
		}
		origins := r.Header.Values("Origin")
		if len(origins) == 0 {
			if slices.ContainsFunc(r.Header.Values("Sec-Fetch-Site"), foreignSite) {
				s.plainError(w, r, http.StatusForbidden, "cross_site", "Requests from web pages are refused.")
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		if !s.originsAllowed(origins) {
			s.plainError(w, r, http.StatusForbidden, "foreign_origin", "This origin is not in the setting allowedOrigins.")
			return
		}
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", origins[0])
		h.Add("Vary", "Origin")
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE, OPTIONS")
			h.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
			h.Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// originsAllowed judges every value: none is excused by another one, and an
// empty one, a list or "null" is in no setting. An origin is compared whole,
// never a part of it (case P48).
func (s *Server) originsAllowed(origins []string) bool {
	allowed := s.svc.Config().AllowedOrigins
	return !slices.ContainsFunc(origins, func(o string) bool { return !slices.Contains(allowed, o) })
}

// foreignSite reports whether a browser says that another site's page asks.
func foreignSite(v string) bool {
	return strings.Contains(v, "cross-site") || strings.Contains(v, "same-site")
}
