package proxy

import (
	"net"
	"net/http"
	"net/url"
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
		origin := r.Header.Get("Origin")
		if origin == "" {
			if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
				s.plainError(w, r, http.StatusForbidden, "cross_site", "Requests from web pages are refused.")
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		if !s.originAllowed(origin) {
			s.plainError(w, r, http.StatusForbidden, "foreign_origin", "This origin is not in the setting allowedOrigins.")
			return
		}
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", origin)
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

// originAllowed compares the whole origin, never a part of it (case P48).
func (s *Server) originAllowed(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false
	}
	return slices.Contains(s.svc.Config().AllowedOrigins, u.Scheme+"://"+u.Host)
}

// bearer returns the Bearer token of an Authorization header.
func bearer(h http.Header) string {
	scheme, token, ok := strings.Cut(h.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
