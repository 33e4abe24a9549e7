package rest

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"breakwater/proxy/client/facadetest"
)

// documented is the API's first part as users were promised it.
var documented = []string{
	"GET /api/state", "GET /api/events", "GET /api/catalog", "GET /api/models", "GET /api/openapi.json",
	"GET /api/providers", "POST /api/providers", "PATCH /api/providers", "POST /api/providers/reorder",
	"GET /api/providers/{id}", "PUT /api/providers/{id}", "PATCH /api/providers/{id}", "DELETE /api/providers/{id}",
	"POST /api/providers/{id}/test", "POST /api/providers/{id}/leave-lane", "POST /api/providers/{id}/check-reset",
	"GET /api/providers/{id}/usage",
	"GET /api/resilience", "PATCH /api/resilience", "GET /api/resilience/model-cooldowns", "DELETE /api/resilience/model-cooldowns",
	"POST /api/resilience/reset", "GET /api/resilience/cooldowns", "POST /api/resilience/cooldowns",
	"GET /api/monitoring/health", "OPTIONS /api/monitoring/health", "DELETE /api/monitoring/health",
	"GET /api/activity", "GET /api/usage", "GET /api/rate-limits", "POST /api/rate-limits", "GET /api/rate-limit", "POST /api/rate-limit",
	"GET /metrics",
	"GET /api/settings", "PATCH /api/settings",
	"GET /api/combos", "POST /api/combos", "POST /api/combos/reorder", "POST /api/combos/preview", "GET /api/combos/{id}",
	"PUT /api/combos/{id}", "PATCH /api/combos/{id}", "DELETE /api/combos/{id}", "POST /api/drill",
	"GET /api/keys", "POST /api/keys", "PATCH /api/keys/{id}", "DELETE /api/keys/{id}",
	"POST /api/v1/session-leases", "OPTIONS /api/v1/session-leases",
	"GET /api/session-leases", "DELETE /api/session-leases/{id}",
	"GET /api/export", "POST /api/export", "POST /api/import",
	"POST /api/app/show", "POST /api/app/pause", "POST /api/app/quit",
	"GET /api/demo", "PATCH /api/demo",
}

// public are the only routes that a stranger may use (ruling 32).
var public = []string{"GET /api/monitoring/health", "OPTIONS /api/monitoring/health", "OPTIONS /api/v1/session-leases"}

func TestRoutesAreTheDocumentedOnes(t *testing.T) {
	var got, open []string
	for _, rt := range Routes() {
		name := rt.Method + " " + rt.Path
		got = append(got, name)
		if rt.Public {
			open = append(open, name)
		}
		if rt.About == "" {
			t.Errorf("%s is not described", name)
		}
	}
	if !slices.Equal(got, documented) {
		t.Errorf("routes\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(documented, "\n"))
	}
	if !slices.Equal(open, public) {
		t.Errorf("public routes %v, want %v", open, public)
	}
}

func TestMuxServesEveryRoute(t *testing.T) {
	a := newAPI(Options{Facade: facadetest.New()})
	for _, rt := range Routes() {
		path := strings.ReplaceAll(rt.Path, "{id}", "some-id")
		want := rt.Method + " " + rt.Path
		if _, got := a.mux.Handler(httptest.NewRequestWithContext(t.Context(), rt.Method, path, nil)); got != want {
			t.Errorf("%s %s goes to %q, want %q", rt.Method, path, got, want)
		}
	}
}

// Every route but the public ones refuses a stranger before it looks at
// anything else; every write refuses what a page's form could send.
func TestEveryRouteIsGuarded(t *testing.T) {
	b := newBench(t)
	for _, rt := range Routes() {
		path := strings.ReplaceAll(rt.Path, "{id}", "a")
		name := rt.Method + " " + rt.Path
		if rt.Client {
			continue // TestLeaseRoute has its checks
		}
		if !rt.Public {
			t.Run(name+" without a credential", func(t *testing.T) {
				b.run(t, scenario{
					method: rt.Method, path: path, body: "{", header: map[string]string{"Authorization": ""},
					status: http.StatusUnauthorized, want: []string{"AUTH_001", "Authentication required"}, calls: []string{},
				})
			})
		}
		if isWrite(rt.Method) {
			t.Run(name+" as text/plain", func(t *testing.T) {
				b.run(t, scenario{
					method: rt.Method, path: path, body: "{}", header: map[string]string{"Content-Type": "text/plain"},
					status: http.StatusUnsupportedMediaType, want: []string{"Content-Type must be application/json"}, calls: []string{},
				})
			})
			t.Run(name+" as text/plain without a body", func(t *testing.T) {
				b.run(t, scenario{
					method: rt.Method, path: path, header: map[string]string{"Content-Type": "text/plain"},
					status: http.StatusUnsupportedMediaType, calls: []string{},
				})
			})
		}
	}
}

func TestUnroutedPaths(t *testing.T) {
	b := newBench(t)
	for _, s := range []scenario{
		{name: "no such route", method: "GET", path: "/api/nothing", status: 404, want: []string{"NOT_FOUND", "no such route", "openapi.json"}},
		{name: "strangers cannot tell", method: "GET", path: "/api/nothing", header: map[string]string{"Authorization": ""}, status: 401},
		{name: "an unclean path", method: "GET", path: "/api//state", status: 404},
		{name: "an unclean path of a stranger", method: "GET", path: "/api/x/../state", header: map[string]string{"Authorization": ""}, status: 401},
		{name: "a trailing slash", method: "GET", path: "/api/state/", status: 404},
		{name: "wrong method", method: "DELETE", path: "/api/state", status: 405, want: []string{"METHOD_NOT_ALLOWED"}, head: map[string]string{"Allow": "GET, HEAD"}},
		{name: "wrong method of an item", method: "POST", path: "/api/providers/x", status: 405, head: map[string]string{"Allow": "DELETE, GET, HEAD, PATCH, PUT"}},
		{name: "hello is the proxy's", method: "GET", path: "/api/hello", status: 404},
		{name: "a name of a route as an id", method: "GET", path: "/api/providers/reorder", status: 404, want: []string{"Not found"}},
	} {
		t.Run(s.name, func(t *testing.T) { b.run(t, s) })
	}
}
