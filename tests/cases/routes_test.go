package cases

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"breakwater/proxy/control"
	"breakwater/proxy/rest"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// apiScenario is one request to the management API of the whole product, and
// what must come of it.
type apiScenario struct {
	route  string // as in rest.Routes
	name   string
	query  string
	body   string
	cred   string // "" is the management token; "none", "client" and "lease" are keys
	status int
	want   []string // the answer contains; {id} stands for alpha's id
	not    []string // it does not contain
	event  control.EventType
	to     string // of the event's change
	before func(k *scenario.Kit)
}

// apiScenarios are in an order in which each finds what it needs. Every route
// has at least one; the last one ends the program.
func apiScenarios() []apiScenario {
	cool := func(k *scenario.Kit) {
		k.Sim.Account("alpha").Script(simulator.Status(429).WithRetryAfter(1 << 40))
		k.Post("/v1/messages", scenario.Messages)
	}
	lock := func(k *scenario.Kit) {
		k.Sim.Account("alpha").Script(simulator.Status(404).WithError(simulator.Error{Type: "not_found_error", Message: "model: m1"}))
		k.Post("/v1/messages", scenario.Messages)
	}
	const secret = "sk-sim-"
	return []apiScenario{
		{route: "GET /api/state", status: 200, want: []string{`"connections"`, `"{id}"`}, not: []string{secret}},
		{route: "GET /api/state", name: "none", cred: "none", status: 401, want: []string{"AUTH_001"}, not: []string{"{id}"}},
		{route: "GET /api/state", name: "case 151 a client's key", cred: "client", status: 403, not: []string{"{id}"}},
		{route: "GET /api/state", name: "case 150 garbage", cred: "garbage", status: 403, want: []string{"Invalid management token"}},
		{route: "GET /api/catalog", status: 200, want: []string{`"anthropic"`}},
		{route: "GET /api/models", status: 200, want: []string{`"connection":"alpha"`}, not: []string{secret}},
		{route: "GET /api/openapi.json", status: 200, want: []string{`"3.1.0"`, "/api/v1/session-leases", "/metrics"}},
		{route: "GET /api/providers", status: 200, query: "?limit=1", want: []string{`"total":2`}, not: []string{secret, "beta"}},
		{route: "GET /api/providers", name: "a bad limit", query: "?limit=x", status: 400, want: []string{`"field":"limit"`}},
		{route: "POST /api/providers", status: 201, body: `{"provider":"demo","name":"gamma","apiKey":"sk-sim-gamma","baseUrl":"http://127.0.0.1:9"}`, want: []string{`"gamma"`}, not: []string{"sk-sim-gamma"}, event: control.EventSnapshot},
		{route: "POST /api/providers", name: "an unknown field", body: `{"provider":"demo","rateLimit":1}`, status: 400, want: []string{`"rateLimit"`}},
		{route: "PATCH /api/providers", status: 200, body: `{"ids":["{id}","zzz"],"isActive":true}`, want: []string{`"updated":1`, `"notFound":["zzz"]`}},
		{route: "POST /api/providers/reorder", status: 200, body: `{"ids":["{id}"]}`, want: []string{`"ok":true`}, event: control.EventSnapshot},
		{route: "GET /api/providers/{id}", status: 200, want: []string{`"alpha"`}, not: []string{secret}},
		{route: "PUT /api/providers/{id}", status: 200, body: `{"name":"alpha","rateLimitProtection":true}`, want: []string{`"rateLimitProtection":false`}, event: control.EventSnapshot},
		{route: "PATCH /api/providers/{id}", status: 200, body: `{"defaultModel":"m1"}`, want: []string{`"defaultModel":"m1"`}, event: control.EventSnapshot},
		{route: "PATCH /api/providers/{id}", name: "nothing", body: `{}`, status: 400, want: []string{"No valid fields"}},
		{route: "POST /api/providers/{id}/test", status: 200, want: []string{`"valid":true`, `"type":"ok"`}, not: []string{secret}},
		{route: "GET /api/providers/{id}/usage", name: "not Claude's", status: 400, want: []string{"only Claude subscription"}},
		{route: "POST /api/providers/{id}/leave-lane", name: "not Claude's", status: 400, want: []string{"only Claude subscription"}},
		{route: "POST /api/providers/{id}/check-reset", name: "not Claude's", status: 400, want: []string{"only Claude subscription"}},
		{route: "GET /api/resilience", status: 200, want: []string{`"requestQueue"`, `"origins"`}},
		{route: "PATCH /api/resilience", status: 200, body: `{"requestQueue":{"maxQueueDepth":9}}`, want: []string{`"ok":true`, `"maxQueueDepth":9`}, event: control.EventSettings, to: "resilience"},
		{route: "PATCH /api/resilience", name: "case 44 nothing", body: `{}`, status: 400, want: []string{"Must provide resilience settings to update"}},
		{route: "GET /api/resilience/model-cooldowns", status: 200, want: []string{`"model":"m1"`, `"expiresAt"`}, before: lock},
		{route: "DELETE /api/resilience/model-cooldowns", name: "case 70 without credentials", cred: "none", body: `{"all":true}`, status: 401},
		{route: "DELETE /api/resilience/model-cooldowns", name: "case 72 nothing", body: `{}`, status: 400, want: []string{"provider and model are required"}},
		{route: "DELETE /api/resilience/model-cooldowns", name: "case 71 all", body: `{"all":true}`, status: 200, want: []string{`"ok":true`, `"clearedAll":true`}, event: control.EventLockout, to: "free"},
		{route: "GET /api/resilience/cooldowns", name: "case 106", status: 200, want: []string{`"status":"cooling_down"`, `"status":"healthy"`, `"generatedAt"`}, not: []string{secret, "apiKey"}, before: cool},
		{route: "GET /api/resilience/cooldowns", name: "case 111 a provider of 129 characters", query: "?provider=" + strings.Repeat("p", 129), status: 400, want: []string{"Invalid provider"}},
		{route: "GET /api/resilience/cooldowns", name: "case 111 an empty provider", query: "?provider=", status: 400, want: []string{"Invalid provider"}},
		{route: "POST /api/resilience/cooldowns", name: "case 110 without credentials", cred: "none", body: `{"all":true}`, status: 401},
		{route: "POST /api/resilience/cooldowns", name: "case 109 nothing", body: `{}`, status: 400, want: []string{"Provide connectionIds or set all to true"}},
		{route: "POST /api/resilience/cooldowns", name: "case 109 an unknown field", body: `{"all":true,"x":1}`, status: 400},
		{route: "POST /api/resilience/cooldowns", name: "case 107", body: `{"all":true,"provider":"demo"}`, status: 200, want: []string{`"cleared":1`, `"unchanged":2`, `"skippedTerminal":0`}, event: control.EventCooldown, to: "active"},
		{route: "POST /api/resilience/reset", status: 200, want: []string{`"ok":true`, `"resetCount"`}},
		{route: "GET /api/monitoring/health", name: "a stranger", cred: "none", status: 200, want: []string{`"status"`}, not: []string{"alpha", "memoryUsage"}},
		{route: "GET /api/monitoring/health", status: 200, want: []string{`"circuitBreakers"`, `"connectionHealth"`}},
		{route: "OPTIONS /api/monitoring/health", cred: "none", status: 204},
		{route: "DELETE /api/monitoring/health", status: 200, want: []string{`"success":true`}},
		{route: "GET /api/activity", status: 200, query: "?limit=1&failedOnly=true", want: []string{`"trace"`}, not: []string{secret}},
		{route: "GET /api/usage", status: 200, want: []string{`"rows"`, `"total"`}},
		{route: "GET /api/rate-limits", status: 200, want: []string{`"queued":0`, `"overview"`, `"cacheStats"`}},
		{route: "POST /api/rate-limits", status: 200, body: `{"connectionId":"{id}","enabled":false}`, want: []string{`"success":true`}, event: control.EventSnapshot},
		{route: "POST /api/rate-limits", name: "nobody", body: `{"connectionId":"zzz","enabled":true}`, status: 404},
		{route: "GET /api/rate-limit", status: 200, want: []string{`"overview"`}}, // through the redirect
		{route: "POST /api/rate-limit", status: 200, body: `{"connectionId":"{id}","enabled":true}`, want: []string{`"success":true`}},
		{route: "GET /metrics", status: 200, want: []string{"breakwater_requests_total", `breakwater_attempts_total{provider="demo",class="failure"}`, "breakwater_queue_depth"}, not: []string{secret}},
		{route: "GET /metrics", name: "a stranger", cred: "none", status: 401, not: []string{"breakwater_"}},
		{route: "GET /api/settings", status: 200, want: []string{`"revision"`, `"modelLockout"`}},
		{route: "PATCH /api/settings", status: 200, body: `{"sessionAffinityTtlMs":60000}`, want: []string{`"sessionAffinityTtlMs":60000`}, event: control.EventSettings, to: "settings"},
		{route: "PATCH /api/settings", name: "an old revision", body: `{"theme":"dark","expectedRevision":0}`, status: 409, want: []string{"SETTINGS_REVISION_CONFLICT", `"currentRevision"`}},
		{route: "GET /api/combos", status: 200, want: []string{`"combos":[]`}},
		{route: "POST /api/combos", status: 201, body: `{"name":"fast","models":["m1"]}`, want: []string{`"fast"`}, event: control.EventSnapshot},
		{route: "POST /api/combos", name: "the name again", body: `{"name":"fast","models":["m1"]}`, status: 400, want: []string{"COMBO_004"}},
		{route: "POST /api/combos/reorder", status: 200, body: `{"ids":["{combo}"]}`},
		{route: "GET /api/combos/{id}", status: 200, want: []string{`"fast"`}},
		{route: "POST /api/combos/preview", status: 200, body: `{"id":"{combo}"}`, want: []string{`"strategy":"priority"`, `"targets":[`}, not: []string{secret}},
		{route: "POST /api/combos/preview", name: "a draft that cannot be", status: 400, body: `{"draft":{"name":"*","models":[]}}`, want: []string{"COMBO_002"}},
		{route: "POST /api/drill", name: "a combo that leads nowhere", status: 400, body: `{"combo":"{combo}","faults":[]}`, want: []string{`"field":"combo"`}},
		{route: "PATCH /api/combos/{id}", name: "a place for it", status: 200, body: `{"models":["alpha/m1"]}`},
		{route: "POST /api/drill", status: 200, body: `{"combo":"{combo}","faults":[],"requests":2}`, want: []string{`"answered":2`}, not: []string{secret}},
		{route: "POST /api/drill", name: "a fault of nobody", status: 400, body: `{"combo":"{combo}","faults":[{"connectionId":"zzz","kind":"stall"}]}`, want: []string{`"field":"faults"`}},
		{route: "PUT /api/combos/{id}", status: 200, body: `{"description":"quick"}`, want: []string{`"quick"`}},
		{route: "PATCH /api/combos/{id}", status: 200, body: `{"strategy":"random"}`, want: []string{`"random"`}},
		{route: "DELETE /api/combos/{id}", status: 200, want: []string{`"success":true`}},
		{route: "GET /api/keys", status: 200, want: []string{`"total":2`, "sk-…"}, not: []string{"{key}"}},
		{route: "POST /api/keys", status: 201, body: `{"name":"more"}`, want: []string{`"sk-`, `"client"`}},
		{route: "PATCH /api/keys/{id}", status: 200, body: `{"isActive":true}`, want: []string{`"isActive":true`}, not: []string{"{key}"}},
		{route: "POST /api/v1/session-leases", cred: "lease", status: 200, body: `{"action":"acquire","model":"m1"}`, want: []string{`"ACTIVE"`}, not: []string{"{id}"}, event: control.EventLease, to: "ACTIVE"},
		{route: "POST /api/v1/session-leases", name: "the management token", status: 401, body: `{"action":"acquire","model":"m1"}`, want: []string{"LEASE_API_KEY_INVALID"}},
		{route: "OPTIONS /api/v1/session-leases", cred: "none", status: 204},
		{route: "GET /api/session-leases", status: 200, want: []string{`"total":1`, `"connectionName":"beta"`, `"generation":1`, `"until"`}, not: []string{"vlo_", "ownerHash"}},
		{route: "GET /api/session-leases", name: "a bad offset", query: "?offset=x", status: 400, want: []string{`"field":"offset"`}},
		{route: "GET /api/session-leases", name: "the owner's key", cred: "lease", status: 403, not: []string{"beta"}},
		{route: "DELETE /api/session-leases/{id}", name: "the owner's key", cred: "lease", status: 403},
		{route: "DELETE /api/session-leases/{id}", status: 200, want: []string{`"ok":true`}, event: control.EventLease, to: "INVALIDATED"},
		{route: "DELETE /api/session-leases/{id}", name: "again", status: 404},
		{route: "POST /api/v1/session-leases", name: "after its end", cred: "lease", status: 409, body: `{"action":"renew","generation":1}`, want: []string{"LEASE_FENCE_STALE"}},
		{route: "POST /api/v1/session-leases", name: "once more", cred: "lease", status: 200, body: `{"action":"acquire","model":"m1"}`, want: []string{`"generation":2`}},
		{route: "DELETE /api/keys/{id}", status: 200, want: []string{`"message"`}, event: control.EventLease, to: "INVALIDATED"},
		{route: "GET /api/export", status: 200, want: []string{`"alpha"`}, not: []string{secret}},
		{route: "POST /api/export", status: 200, body: `{"passphrase":"a long passphrase"}`, want: []string{`"alpha"`}, not: []string{secret}},
		{route: "POST /api/import", name: "nonsense", body: `{"backup":{}}`, status: 400},
		{route: "POST /api/app/show", body: `{"page":"activity"}`, status: 409, want: []string{"NO_DESKTOP"}},
		{route: "POST /api/app/pause", status: 200, body: `{"paused":true}`, want: []string{`"paused":true`}, event: control.EventSnapshot},
		{route: "GET /api/demo", status: 404},
		{route: "PATCH /api/demo", status: 404, body: `{"speed":2}`},
		{route: "GET /api/events", status: 200},
		{route: "DELETE /api/providers/{id}", status: 200, want: []string{`"message"`}, event: control.EventSnapshot},
		{route: "DELETE /api/providers/{id}", name: "again", status: 404},
		{route: "POST /api/app/quit", name: "without credentials", cred: "none", status: 401},
		{route: "POST /api/app/quit", status: 200, want: []string{`"ok":true`}},
	}
}

func TestEveryRouteOfTheProduct(t *testing.T) {
	k := scenario.Start(t)
	k.Pair()
	id := k.Connection("alpha").ID
	client := addKey(t, k, control.KeyInput{Name: "client"})
	lease := control.APIKey{}
	combo, held := "", ""
	l := listen(t, k)
	seen := map[string]bool{}
	for _, s := range apiScenarios() {
		seen[s.route] = true
		ok := t.Run(strings.TrimSpace(s.route+" "+s.name), func(t *testing.T) {
			if s.before != nil {
				s.before(k)
			}
			switch {
			case s.route == "GET /api/keys":
				lease = leaseKey(t, k, "beta")
			case strings.Contains(s.route, "/api/combos/") && combo == "":
				list, err := k.Facade().Combos(t.Context())
				if err != nil || len(list) != 1 {
					t.Fatalf("combos %v %v", list, err)
				}
				combo = list[0].ID
			case strings.Contains(s.route, "/api/session-leases/") && held == "":
				list, err := k.Facade().Leases(t.Context())
				if err != nil || len(list) != 1 {
					t.Fatalf("leases %v %v", list, err)
				}
				held = list[0].ID
			}
			fill := strings.NewReplacer("{id}", id, "{combo}", combo, "{key}", client.Key).Replace
			method, path, _ := strings.Cut(s.route, " ")
			switch {
			case strings.Contains(path, "/api/combos/"):
				path = strings.ReplaceAll(path, "{id}", combo)
			case strings.Contains(path, "/api/session-leases/"):
				path = strings.ReplaceAll(path, "{id}", held)
			case strings.Contains(path, "/api/keys/"):
				path = strings.ReplaceAll(path, "{id}", lease.ID)
			}
			headers := map[string][]string{
				"": {"Authorization", "Bearer " + k.Token}, "none": nil, "client": {"X-Breakwater-Key", client.Key}, "garbage": {"Authorization", "Bearer garbage"},
				"lease": {"Authorization", "Bearer " + lease.Key, "X-OmniRoute-Lease-Owner", "vlo_" + strings.Repeat("a", 43)},
			}[s.cred]
			if s.route == "GET /api/events" {
				method = http.MethodHead // the stream has no end
			}
			a := k.Do(method, fill(path)+s.query, fill(s.body), headers...)
			if a.Err != nil || a.Status != s.status {
				t.Fatalf("%d %s %v, want %d", a.Status, a.Body, a.Err, s.status)
			}
			for _, w := range s.want {
				if !strings.Contains(a.Body, fill(w)) {
					t.Errorf("%s lacks %s", a.Body, fill(w))
				}
			}
			for _, w := range s.not {
				if strings.Contains(a.Body, fill(w)) {
					t.Errorf("%s tells %s", a.Body, fill(w))
				}
			}
			if s.event != "" {
				l.t = t
				l.next(s.event, s.to)
			}
		})
		if !ok {
			return // the next ones build on it
		}
	}
	for _, rt := range rest.Routes() {
		if name := rt.Method + " " + rt.Path; !seen[name] {
			t.Errorf("%s has no scenario", name)
		}
	}
}

// Every route that writes is refused without a credential, from a foreign
// page, as a form could send it, and under a name that rebinds. The list is
// the router's own.
func TestEveryWriteIsRefusedToOthers(t *testing.T) {
	k := scenario.Start(t)
	k.Pair()
	writes := 0
	for _, rt := range rest.Routes() {
		if slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, rt.Method) {
			continue
		}
		writes++
		path := strings.ReplaceAll(rt.Path, "{id}", k.Connection("alpha").ID)
		token := []string{"Authorization", "Bearer " + k.Token}
		if rt.Client {
			token[1] = "Bearer " + addKey(t, k, control.KeyInput{}).Key
		}
		for name, tc := range map[string]struct {
			headers []string
			status  int
		}{
			"no credential":    {nil, 401},
			"a foreign origin": {append([]string{"Origin", "https://evil.example"}, token...), 403},
			"text/plain":       {append([]string{"Content-Type", "text/plain"}, token...), 415},
			"a rebinding host": {append([]string{"Host", "evil.example:7411"}, token...), 403},
		} {
			if a := k.Do(rt.Method, path, "{}", tc.headers...); a.Status != tc.status {
				t.Errorf("%s %s with %s: %d %s, want %d", rt.Method, rt.Path, name, a.Status, a.Body, tc.status)
			}
		}
	}
	if writes < 20 {
		t.Errorf("only %d routes write", writes)
	}
	if snap, err := k.Facade().Snapshot(t.Context()); err != nil || len(snap.Connections) != 2 || snap.Paused {
		t.Errorf("something was done all the same: %v", err)
	}
}
