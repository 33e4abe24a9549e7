package rest

import "testing"

// A parameter that no route knows is named and refused, not passed over.
func TestUnknownParametersAreRefused(t *testing.T) {
	b := newBench(t)
	for _, path := range []string{
		"/api/state", "/api/catalog", "/api/settings", "/api/rate-limits", "/api/activity", "/api/usage",
		"/api/resilience", "/api/resilience/cooldowns", "/api/resilience/model-cooldowns",
	} {
		t.Run(path, func(t *testing.T) {
			b.run(t, scenario{method: "GET", path: path, status: 200})
			b.run(t, scenario{method: "GET", path: path + "?colour=red", status: 400, want: []string{`"field":"colour"`, "Unknown parameter"}, calls: []string{}})
		})
	}
}
