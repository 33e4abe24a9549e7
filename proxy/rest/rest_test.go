package rest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"breakwater/proxy/client/facadetest"
	"breakwater/proxy/control"
)

func demo2(f *facadetest.Fake) {
	f.Panel = &control.Demo{Faults: []control.Fault{{ConnectionID: "a", Kind: "none"}}, Kinds: []string{"none", "reset"}, Speed: 1}
}

// Every route in its plain use.
func TestRouteShapes(t *testing.T) {
	for _, s := range []scenario{
		{name: "state", method: "GET", path: "/api/state", before: two, status: 200, want: []string{`"seq":`, `"health":"well"`, `"connections":[{"id":"a"`, `"breakers":[]`}, head: map[string]string{"Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}},
		{name: "state of nothing", method: "GET", path: "/api/state", before: func(f *facadetest.Fake) {
			f.Change(func(s *control.Snapshot) { s.Connections, s.Breakers = nil, nil })
		}, status: 200, want: []string{`"connections":[]`, `"breakers":[]`}},
		{name: "events", method: "GET", path: "/api/events", status: 200, want: []string{"stream"}},
		{name: "catalog", method: "GET", path: "/api/catalog", status: 200, want: []string{`{"providers":[{"id":"anthropic"`}},
		{name: "models", method: "GET", path: "/api/models", before: two, status: 200, want: []string{`{"models":[{"connectionId":"a"`, `"models":[{"name":"claude-opus-5"`}, calls: []string{"KnownModels"}},
		{name: "providers", method: "GET", path: "/api/providers", before: two, status: 200, want: []string{`"total":2`, `"id":"a"`, `"id":"b"`}},
		{name: "a page of providers", method: "GET", path: "/api/providers?limit=1&offset=1", before: two, status: 200, want: []string{`"total":2`, `"id":"b"`}, not: []string{`"id":"a"`}},
		{name: "past the last page", method: "GET", path: "/api/providers?offset=9", before: two, status: 200, want: []string{`{"connections":[],"total":2}`}},
		{name: "add", method: "POST", path: "/api/providers", body: `{"provider":"anthropic","name":"Work","apiKey":"sk-ant-1","priority":3,"disableCooling":true}`, status: 201, want: []string{`{"connection":{"id":"c1","provider":"anthropic"`, `"name":"Work"`, `"hasSecret":true`, `"priority":3`, `"disableCooling":true`}, not: []string{"sk-ant-1"}},
		{name: "add with limits of its own", method: "POST", path: "/api/providers", body: `{"provider":"custom","name":"L","maxConcurrent":2,"group":"Team","providerSpecificData":{"tags":["eu"],"rotationOverrides":{"rotateOn429":false}}}`, status: 201, want: []string{`"maxConcurrent":2`, `"tags":["eu"]`, `"rotationOverrides":{"rotateOn429":false}`, `"group":"Team"`}},
		{name: "add with tags in both places", method: "POST", path: "/api/providers", body: `{"provider":"custom","tags":["a"],"providerSpecificData":{"tags":["a"]}}`, status: 400, want: []string{`"field":"providerSpecificData.tags","message":"Given twice"`}},
		{name: "add with an outbound proxy", method: "POST", path: "/api/providers", body: `{"provider":"custom","name":"P","providerSpecificData":{"proxyUrl":"direct"}}`, status: 201, want: []string{`"proxyUrl":"direct"`}},
		{name: "edit the outbound proxy", method: "PATCH", path: "/api/providers/a", before: two, body: `{"proxyUrl":"socks5://proxy.example:1080"}`, status: 200, want: []string{`"proxyUrl":"socks5://proxy.example:1080"`}, calls: []string{"EditConnection"}},
		{name: "case 53 limits of a connection", method: "PUT", path: "/api/providers/a", before: two, body: `{"rateLimitOverrides":{"rpm":"120"},"maxConcurrent":null,"providerSpecificData":{"tags":["eu"]}}`, status: 200, want: []string{`"rateLimitOverrides":{"rpm":120}`, `"tags":["eu"]`}, calls: []string{"EditConnection"}},
		{name: "case 56 a limit out of bounds", method: "PATCH", path: "/api/providers/a", before: two, body: `{"rateLimitOverrides":{"rpm":-1}}`, status: 400, want: []string{`"field":"rateLimitOverrides.rpm"`}, calls: []string{"EditConnection"}},
		{name: "add in the guide's words", method: "POST", path: "/api/providers", body: `{"provider":"custom","providerSpecificData":{"baseUrl":"http://127.0.0.1:9","disableCooling":true,"lowPriorityMode":true,"autoLimitReset":true}}`, status: 201, want: []string{`"baseUrl":"http://127.0.0.1:9"`, `"disableCooling":true`, `"lowPriorityMode":true`, `"autoLimitReset":true`}},
		{name: "add, said twice alike", method: "POST", path: "/api/providers", body: `{"provider":"custom","baseUrl":"http://127.0.0.1:9","providerSpecificData":{"baseUrl":"http://127.0.0.1:9"}}`, status: 201, want: []string{`"baseUrl":"http://127.0.0.1:9"`}},
		{name: "switch several", method: "PATCH", path: "/api/providers", body: `{"ids":["a","x"],"isActive":false}`, before: two, status: 200, want: []string{`{"message":"Updated 1 connection","notFound":["x"],"updated":1}`}, calls: []string{"EditConnection", "EditConnection"}},
		{name: "switch both", method: "PATCH", path: "/api/providers", body: `{"ids":["a","b"],"isActive":false}`, before: two, status: 200, want: []string{`{"message":"Updated 2 connections","notFound":[],"updated":2}`}},
		{name: "reorder", method: "POST", path: "/api/providers/reorder", body: `{"ids":["b","a"]}`, before: two, status: 200, want: []string{`{"ok":true}`}, calls: []string{"ReorderConnections"}},
		{name: "one", method: "GET", path: "/api/providers/b", before: two, status: 200, want: []string{`{"connection":{"id":"b"`}},
		{name: "one that is not there", method: "GET", path: "/api/providers/x", before: two, status: 404, want: []string{"NOT_FOUND"}},
		{name: "put", method: "PUT", path: "/api/providers/a", body: `{"name":"New"}`, before: two, status: 200, want: []string{`"name":"New"`, `"provider":"anthropic"`, `"isActive":true`}},
		{name: "patch", method: "PATCH", path: "/api/providers/a", body: `{"isActive":false,"providerSpecificData":{"lowPriorityMode":true}}`, before: two, status: 200, want: []string{`"name":"Work"`, `"isActive":false`, `"lowPriorityMode":true`}},
		{name: "a switch can be set back", method: "PATCH", path: "/api/providers/a", body: `{"providerSpecificData":{"disableCooling":false}}`, before: two, status: 200, calls: []string{"EditConnection"}},
		{name: "case 60 rateLimitProtection is ignored", method: "PUT", path: "/api/providers/a", body: `{"name":"New","rateLimitProtection":true}`, before: two, status: 200, want: []string{`"name":"New"`}, not: []string{`"rateLimitProtection":true`}},
		{name: "case 60 and is no field to update", method: "PATCH", path: "/api/providers/a", body: `{"rateLimitProtection":false}`, before: two, status: 400, want: []string{"No valid fields to update"}},
		{name: "edit one that is not there", method: "PATCH", path: "/api/providers/x", body: `{"name":"New"}`, before: two, status: 404, calls: []string{"EditConnection"}},
		{name: "delete", method: "DELETE", path: "/api/providers/a", before: two, status: 200, want: []string{`{"message":"Connection deleted"}`}, calls: []string{"DeleteConnection"}},
		{name: "delete one that is not there", method: "DELETE", path: "/api/providers/x", status: 404, calls: []string{"DeleteConnection"}},
		{name: "test", method: "POST", path: "/api/providers/a/test", before: func(f *facadetest.Fake) {
			two(f)
			f.Tested = control.TestResult{Valid: true, StatusCode: 200, LatencyMs: 12, TestedAt: t0, Diagnosis: control.Diagnosis{Type: "ok"}}
		}, status: 200, want: []string{`{"valid":true,"diagnosis":{"type":"ok"},"latencyMs":12,"statusCode":200,"testedAt":"2030-01-02T12:00:00Z"}`}},
		{name: "test with a model", method: "POST", path: "/api/providers/a/test", body: `{"validationModelId":"m"}`, before: two, status: 200, calls: []string{"TestConnection"}},
		{name: "test one that is not there", method: "POST", path: "/api/providers/x/test", status: 404, calls: []string{"TestConnection"}},
		{name: "reset", method: "POST", path: "/api/resilience/reset", before: breakers, status: 200, want: []string{`{"message":"Reset 4 circuit breakers","ok":true,"resetCount":4}`}, calls: []string{"ResetBreakers"}},
		{name: "reset one", method: "POST", path: "/api/resilience/reset?provider=custom", before: breakers, status: 200, want: []string{`{"message":"Reset 1 circuit breaker","ok":true,"resetCount":1}`}, calls: []string{"ResetBreaker"}},
		{name: "reset nobody", method: "POST", path: "/api/resilience/reset?provider=", status: 400, want: []string{"Invalid provider"}},
		{name: "reset with a slip", method: "POST", path: "/api/resilience/reset?providr=custom", status: 400, want: []string{`"field":"providr"`, "Unknown parameter"}, calls: []string{}},
		{name: "reset of two", method: "POST", path: "/api/resilience/reset?provider=custom&provider=openai", status: 400, want: []string{`"field":"provider"`, "Given twice"}, calls: []string{}},
		{name: "reset by way of health", method: "DELETE", path: "/api/monitoring/health", before: breakers, status: 200, want: []string{`"success":true`, `"resetCount":4`}, calls: []string{"ResetBreakers"}},
		{name: "activity", method: "GET", path: "/api/activity", before: rows, status: 200, want: []string{`{"activity":[{"id":3`, `"id":1,`}},
		{name: "activity before", method: "GET", path: "/api/activity?before=3&limit=1", before: rows, status: 200, want: []string{`"id":2,`}, not: []string{`"id":3,`, `"id":1,`}},
		{name: "activity of a connection", method: "GET", path: "/api/activity?connectionId=b", before: rows, status: 200, want: []string{`"id":2,`}, not: []string{`"id":3,`, `"id":1,`}},
		{name: "activity that failed", method: "GET", path: "/api/activity?failedOnly=true", before: rows, status: 200, want: []string{`"id":1,`}, not: []string{`"id":3,`, `"id":2,`}},
		{name: "no activity", method: "GET", path: "/api/activity", status: 200, want: []string{`{"activity":[]}`}},
		{name: "usage", method: "GET", path: "/api/usage?since=2030-01-02T00:00:00Z", before: spent, status: 200, want: []string{`{"since":"2030-01-02T00:00:00Z","until":null,"total":{"requests":2,"failed":0,"inputTokens":30,"outputTokens":3`, `"connectionName":"Work","model":"m"`}, not: []string{`"model":"old"`}},
		{name: "no usage", method: "GET", path: "/api/usage", status: 200, want: []string{`"since":null`, `"rows":[]`}},
		{name: "usage since nonsense", method: "GET", path: "/api/usage?since=yesterday&until=5", status: 400, want: []string{`"field":"since"`, `"field":"until"`}},
		{name: "rate limits", method: "GET", path: "/api/rate-limits", before: limited, status: 200, want: []string{`{"connections":[{"connectionId":"a","provider":"anthropic","name":"Work","rateLimitProtection":false,"enabled":true,"active":true,"queued":0,"running":2,"executing":2}`, `"connectionId":"b","provider":"custom","name":"Spare","rateLimitProtection":true,"enabled":true,"active":false`, `"overview":{"anthropic":{"a":{"queued":0,"running":2,"executing":2}},"custom":{"b":{`, `"lockouts":[{"provider":"anthropic"`, `"cacheStats":{}`}},
		{name: "rate limits without the automatism", method: "GET", path: "/api/rate-limits", before: unlimited, status: 200, want: []string{`"rateLimitProtection":false,"enabled":false,"active":false`}},
		{name: "protect", method: "POST", path: "/api/rate-limits", body: `{"connectionId":"a","enabled":true}`, before: two, status: 200, want: []string{`{"connectionId":"a","enabled":true,"success":true}`}, calls: []string{"SetRateLimitProtection"}},
		{name: "protect nobody", method: "POST", path: "/api/rate-limits", body: `{"connectionId":"x","enabled":true}`, status: 404, calls: []string{"SetRateLimitProtection"}},
		{name: "protect without saying what", method: "POST", path: "/api/rate-limits", body: `{}`, status: 400, want: []string{`"field":"connectionId"`, `"field":"enabled"`}},
		{name: "the other spelling", method: "POST", path: "/api/rate-limit", body: `{"connectionId":"a","enabled":true}`, status: 308, head: map[string]string{"Location": "/api/rate-limits"}, calls: []string{}},
		{name: "settings", method: "GET", path: "/api/settings", status: 200, want: []string{`{"notifications":true,"theme":"system","language":"","requireApiKey":false,"clientProfiles":true,"allowedOrigins":[],"activityLimit":10000,"claudeBaseUrl":"","egressProbeUrl":"","caFile":"","autoDisableBannedAccounts":false,"notify":{"breakers":true,"terminal":true,"nothingLeft":true,"lane":true,"limitReset":true,"quota":true,"quietFrom":"","quietUntil":""},"textScale":100,"reducedMotion":false,"tables":{},"modelLockout":{`, `"providerErrorRules":{}`, `"sessionAffinityTtlMs":0`}},
		{name: "edit settings", method: "PATCH", path: "/api/settings", body: `{"theme":"dark","notifications":false}`, status: 200, want: []string{`"theme":"dark"`, `"notifications":false`, `"activityLimit":10000`}},
		{name: "edit the guide's settings", method: "PATCH", path: "/api/settings", body: `{"modelLockout":{"enabled":true},"sessionAffinityTtlMs":60000,"theme":"dark"}`, status: 200, want: []string{`"theme":"dark"`, `"enabled":true`, `"sessionAffinityTtlMs":60000`}},
		{name: "resilience settings", method: "GET", path: "/api/resilience", status: 200, want: []string{`"requestQueue":{`, `"connectionCooldown":{"oauth":{`, `"origins":{`}},
		{name: "edit resilience settings", method: "PATCH", path: "/api/resilience", body: `{"p2cLatency":{"weight":10}}`, status: 200, want: []string{`"ok":true`, `"p2cLatency":{"weight":10}`}},
		{name: "a resilience setting out of bounds", method: "PATCH", path: "/api/resilience", body: `{"p2cLatency":{"weight":21}}`, status: 400, want: []string{`"field":"p2cLatency.weight"`}, calls: []string{"EditResilience"}},
		{name: "locked models, the longest first", method: "GET", path: "/api/resilience/model-cooldowns", before: locked, status: 200, want: []string{`{"items":[{"provider":"anthropic","connectionId":"a","model":"m2"`, `"failureCount":2`, `"model":"m1"`}},
		{name: "unlock a model", method: "DELETE", path: "/api/resilience/model-cooldowns", body: `{"provider":"anthropic","connection":"a","model":"m1"}`, before: locked, status: 200, want: []string{`"removed":true`}},
		{name: "unlock a model that is not locked", method: "DELETE", path: "/api/resilience/model-cooldowns", body: `{"provider":"anthropic","model":"m9"}`, before: locked, status: 200, want: []string{`"removed":false`}},
		{name: "unlock all", method: "DELETE", path: "/api/resilience/model-cooldowns", body: `{"all":true}`, before: locked, status: 200, want: []string{`"clearedAll":true`, `"removedCount":2`}},
		{name: "unlock without a model", method: "DELETE", path: "/api/resilience/model-cooldowns", body: `{"provider":"anthropic"}`, status: 400, want: []string{"provider and model are required"}},
		{name: "a setting that is wrong", method: "PATCH", path: "/api/settings", body: `{"theme":"loud"}`, status: 400, want: []string{`"field":"theme"`}, calls: []string{"EditAllSettings"}},
		{name: "export", method: "GET", path: "/api/export", before: two, status: 200, want: []string{`"format":1`, `"name":"Work"`}, not: []string{"apiKey", `"secrets"`}, calls: []string{"Export"}},
		{name: "export of nothing", method: "GET", path: "/api/export", status: 200, want: []string{`"connections":[]`}},
		{name: "export with keys", method: "POST", path: "/api/export", body: `{"passphrase":"a long passphrase"}`, before: two, status: 200, want: []string{`"secrets":{`}, not: []string{"passphrase"}, calls: []string{"Export"}},
		{name: "export with keys but no passphrase", method: "POST", path: "/api/export", body: `{}`, status: 400, want: []string{`"field":"passphrase"`}},
		{name: "import is a dry run by default", method: "POST", path: "/api/import", body: `{"backup":{"format":1,"exportedAt":"2030-01-02T03:04:05Z","connections":[{"provider":"custom","name":"New"},{"provider":"custom","name":"Work"}],"settings":{},"guide":{}}}`, before: two, status: 200, want: []string{`{"dryRun":true,"connections":[{"name":"New","action":"add"},{"name":"Work","action":"skip"}]`}, calls: []string{"Import"}},
		{name: "import", method: "POST", path: "/api/import", body: `{"dryRun":false,"backup":{"format":1,"connections":[{"provider":"custom","name":"New"}]}}`, before: two, status: 200, want: []string{`"dryRun":false`}, calls: []string{"Import", "AddConnection"}},
		{name: "import of another form", method: "POST", path: "/api/import", body: `{"backup":{"format":2}}`, status: 400, want: []string{`"field":"backup.format"`}, calls: []string{"Import"}},
		{name: "import with a wrong field", method: "POST", path: "/api/import", body: `{"backup":{"format":1,"connections":[{"provider":"custom","token":"x"}]}}`, status: 400, want: []string{`"field":"backup.connections.0.token"`}},
		{name: "show", method: "POST", path: "/api/app/show", body: `{"page":"activity"}`, before: func(f *facadetest.Fake) { f.Desktop = true }, status: 200, want: []string{`{"ok":true}`}, calls: []string{"ShowWindow"}},
		{name: "show without a desktop", method: "POST", path: "/api/app/show", body: `{"page":"activity"}`, status: 409, want: []string{`"code":"NO_DESKTOP"`}, calls: []string{"ShowWindow"}},
		{name: "pause", method: "POST", path: "/api/app/pause", body: `{"paused":true}`, status: 200, want: []string{`{"ok":true,"paused":true}`}, calls: []string{"SetPaused"}},
		{name: "pause for a while", method: "POST", path: "/api/app/pause", body: `{"paused":true,"seconds":900}`, status: 200, want: []string{`{"ok":true,"paused":true}`}, calls: []string{"PauseFor"}},
		{name: "quit", method: "POST", path: "/api/app/quit", status: 200, want: []string{`{"ok":true}`}, calls: []string{"Quit"}},
		{name: "demo", method: "GET", path: "/api/demo", before: demo2, status: 200, want: []string{`"speed":1`, `"kinds":["none","reset"]`}},
		{name: "edit demo", method: "PATCH", path: "/api/demo", body: `{"speed":60,"advanceMs":1000,"faults":[{"connectionId":"a","kind":"reset","count":2}]}`, before: demo2, status: 200, want: []string{`"speed":60`, `"kind":"reset","count":2`}},
		{name: "no demo", method: "GET", path: "/api/demo", status: 404, want: []string{"NOT_FOUND"}, calls: []string{"EditDemo"}},
	} {
		t.Run(s.name, func(t *testing.T) { newBench(t).run(t, s) })
	}
}

func breakers(f *facadetest.Fake) {
	last := t0.Add(-time.Minute)
	f.Change(func(s *control.Snapshot) {
		s.Health = control.HealthTrouble
		s.Breakers = []control.Breaker{
			{Provider: "anthropic", State: "OPEN", FailureCount: 12, LastFailure: &last, RetryAfterMs: 30000},
			{Provider: "custom", State: "DEGRADED", FailureCount: 7},
			{Provider: "openai", State: "HALF_OPEN"},
			{Provider: "test-x", State: "OPEN"},
		}
	})
}

func rows(f *facadetest.Fake) {
	tried := func(id string) []control.Step { return []control.Step{{Kind: control.StepAnswered, ConnectionID: id}} }
	f.AddActivity(control.Activity{ID: 1, Result: "failed", Trace: tried("a")})
	f.AddActivity(control.Activity{ID: 2, Result: "answered", Trace: tried("b")})
	f.AddActivity(control.Activity{ID: 3, Result: "answered", Trace: tried("a")})
}

func spent(f *facadetest.Fake) {
	for i, model := range []string{"old", "m", "m"} {
		f.AddActivity(control.Activity{
			ID: int64(i), At: t0.Add(time.Duration(min(i, 1)-1) * 24 * time.Hour), ConnectionID: "a", ConnectionName: "Work",
			Provider: "anthropic", Model: model, Usage: control.Usage{InputTokens: int64(10 * i), OutputTokens: int64(i)},
		})
	}
}

// limited has a connection that the queue takes by itself and one that the
// user put under it.
func limited(f *facadetest.Fake) {
	two(f)
	f.Change(func(s *control.Snapshot) {
		s.Connections[0].Lockouts = []control.Lockout{{Model: "m", Until: t0.Add(time.Minute)}}
		s.Connections[0].AuthType, s.Connections[0].InFlight = "apikey", 2
		s.Connections[1].AuthType, s.Connections[1].Active, s.Connections[1].RateLimitProtection = "oauth", false, true
	})
}

func unlimited(f *facadetest.Fake) {
	limited(f)
	if _, err := f.EditResilience(noContext, []byte(`{"requestQueue":{"autoEnableApiKeyProviders":false}}`)); err != nil {
		panic(err)
	}
}

func TestHeadHasNoBody(t *testing.T) {
	b := newBench(t)
	got := b.send(t, scenario{method: "HEAD", path: "/api/state"})
	if got.status != 200 || got.body != "" || got.header.Get("Content-Type") != "application/json" {
		t.Errorf("%+v", got)
	}
}

func TestEventsWithoutAStream(t *testing.T) {
	a := newAPI(Options{Facade: facadetest.New(), Token: func() string { return testToken }})
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/events", nil)
	req.Header.Set("X-Breakwater-Key", testToken)
	rec := httptest.NewRecorder()
	a.ServeHTTP(rec, req)
	if rec.Code != http.StatusServiceUnavailable || !strings.Contains(rec.Body.String(), "EVENTS_UNAVAILABLE") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

// The cooldown manager's answers (sheet §6.1).
func coolingFive(f *facadetest.Fake) {
	soon, past := t0.Add(28*time.Second), t0.Add(-time.Second)
	f.Change(func(s *control.Snapshot) {
		s.Connections = []control.Connection{
			{ID: "banned", Provider: "anthropic", Name: "B", Active: true, State: control.StateBanned, TestStatus: "banned", ErrorCode: 401},
			{ID: "cooling", Provider: "anthropic", Name: "C", Active: true, State: control.StateCooling, TestStatus: "unavailable", RateLimitedUntil: &soon, BackoffLevel: 2, ErrorCode: 429, LastErrorType: "rate_limited", LastErrorAt: &past},
			{ID: "healthy", Provider: "anthropic", Name: "H", Active: true, State: control.StateServing, TestStatus: "active"},
			{ID: "locked", Provider: "custom", Name: "L", Active: true, State: control.StateModelLocked, TestStatus: "active"},
			{ID: "late", Provider: "custom", Name: "P", Active: true, State: control.StateServing, TestStatus: "unavailable", RateLimitedUntil: &past},
		}
	})
}

func TestCooldownManager(t *testing.T) {
	const path = "/api/resilience/cooldowns"
	b := newBench(t)
	coolingFive(b.fake)
	t.Run("case 106 statuses without secrets", func(t *testing.T) {
		var got struct {
			Connections []cooldownRow `json:"connections"`
			GeneratedAt time.Time     `json:"generatedAt"`
		}
		body := b.run(t, scenario{method: "GET", path: path, status: 200, not: []string{"apiKey", "oken", "hasSecret"}, want: []string{
			`{"id":"healthy","provider":"anthropic","name":"H","authType":"","priority":0,"isActive":true,"status":"healthy","testStatus":"active","rateLimitedUntil":null,"cooldownRemainingMs":0,"backoffLevel":0,"errorCode":null,"lastErrorType":null,"lastErrorAt":null,"lockouts":[]}`,
		}})
		decodeInto(t, body, &got)
		status := map[string]string{}
		for _, c := range got.Connections {
			status[c.ID] = c.Status
		}
		want := map[string]string{"banned": "terminal", "cooling": "cooling_down", "healthy": "healthy", "locked": "model_locked", "late": "unavailable"}
		if d := cmp.Diff(want, status); d != "" {
			t.Error(d)
		}
		if c := got.Connections[1]; c.CooldownRemainingMs != 28000 || *c.ErrorCode != 429 || *c.LastErrorType != "rate_limited" {
			t.Errorf("cooling row %+v", c)
		}
		if got.Connections[4].CooldownRemainingMs != 0 || !got.GeneratedAt.Equal(t0) {
			t.Errorf("late row %+v at %v", got.Connections[4], got.GeneratedAt)
		}
	})
	t.Run("one provider", func(t *testing.T) {
		b.run(t, scenario{method: "GET", path: path + "?provider=custom", status: 200, want: []string{`"id":"locked"`}, not: []string{`"id":"cooling"`}})
		b.run(t, scenario{method: "GET", path: path + "?provider=nobody", status: 200, want: []string{`"connections":[]`}})
		b.run(t, scenario{method: "GET", path: path + "?providr=custom", status: 400, want: []string{"Unknown parameter"}})
	})
	t.Run("case 110 no credential", func(t *testing.T) {
		b.run(t, scenario{method: "POST", path: path, body: `{"all":true}`, header: map[string]string{"Authorization": ""}, status: 401})
	})
	t.Run("case 108 terminal ones stay", func(t *testing.T) {
		b.run(t, scenario{method: "POST", path: path, body: `{"connectionIds":["banned"]}`, status: 200, calls: []string{}, want: []string{`{"ok":true,"cleared":0,"unchanged":0,"skippedTerminal":1,"lockoutsCleared":0}`}})
	})
	t.Run("case 107 one cooling, one healthy, one unknown", func(t *testing.T) {
		b.run(t, scenario{method: "POST", path: path, body: `{"connectionIds":["cooling","healthy","nobody"]}`, status: 200, calls: []string{"ClearCooldown"}, want: []string{`"cleared":1,"unchanged":1,"skippedTerminal":0`}})
		b.run(t, scenario{method: "GET", path: path, status: 200, not: []string{`"status":"cooling_down"`}, want: []string{`"status":"terminal"`}})
	})
	t.Run("ruling 66 other waits are shown and cleared", func(t *testing.T) {
		soon := t0.Add(time.Minute)
		b.fake.Change(func(s *control.Snapshot) {
			s.Connections = []control.Connection{
				{ID: "paused", Provider: "openai", Name: "P", Active: true, State: control.StateCooling, Until: &soon, TestStatus: "active", Waits: []control.Wait{{Kind: control.WaitQueuePause, Until: &soon}}},
				{ID: "paced", Provider: "openai", Name: "Q", Active: true, State: control.StateServing, TestStatus: "active", Waits: []control.Wait{{Kind: control.WaitLearnedLimit, SpacingMs: 990, Limit: 60}}},
			}
		})
		b.run(t, scenario{method: "GET", path: path, status: 200, want: []string{
			`"id":"paused"`, `"status":"cooling_down"`, `"cooldownRemainingMs":60000`, `"waits":[{"kind":"queue_pause","until":"2030-01-02T12:01:00Z"}]`,
			`"waits":[{"kind":"learned_limit","spacingMs":990,"limit":60}]`,
		}})
		b.run(t, scenario{method: "POST", path: path, body: `{"all":true}`, status: 200, calls: []string{"ClearCooldown", "ClearCooldown"}, want: []string{`"cleared":2,"unchanged":0`}})
	})
	t.Run("case 108 all of a provider", func(t *testing.T) {
		coolingFive(b.fake)
		b.run(t, scenario{method: "POST", path: path, body: `{"all":true,"provider":"anthropic"}`, status: 200, want: []string{`"cleared":1,"unchanged":1,"skippedTerminal":1`}})
		b.run(t, scenario{method: "POST", path: path, body: `{"all":true}`, status: 200, want: []string{`"cleared":1,"unchanged":3,"skippedTerminal":1`}})
	})
	t.Run("a switched off one keeps its terminal state", func(t *testing.T) {
		b.fake.Change(func(s *control.Snapshot) { s.Connections[0].Active, s.Connections[0].State = false, control.StateOff })
		b.run(t, scenario{method: "POST", path: path, body: `{"connectionIds":["banned"]}`, status: 200, calls: []string{}, want: []string{`"skippedTerminal":1`}})
	})
}

func TestHealth(t *testing.T) {
	const path = "/api/monitoring/health"
	none := map[string]string{"Authorization": ""}
	t.Run("a stranger gets three words", func(t *testing.T) {
		b := newBench(t)
		b.advance(90 * time.Second)
		body := b.run(t, scenario{method: "GET", path: path, header: none, status: 200})
		if body != `{"status":"healthy","version":"1.2.3","uptime":90}`+"\n" {
			t.Errorf("got %s", body)
		}
	})
	t.Run("a wrong credential gets the same", func(t *testing.T) {
		b := newBench(t)
		for range failBurst + 5 {
			b.run(t, scenario{method: "GET", path: path, header: map[string]string{"Authorization": "Bearer guess"}, status: 200, not: []string{"circuitBreakers"}})
		}
		b.run(t, scenario{method: "GET", path: "/api/state", header: map[string]string{"Authorization": "Bearer guess"}, status: 429})
	})
	t.Run("methods", func(t *testing.T) {
		b := newBench(t)
		b.run(t, scenario{method: "OPTIONS", path: path, header: none, status: 204, head: map[string]string{"Allow": "DELETE, GET, HEAD, OPTIONS"}})
		b.run(t, scenario{method: "HEAD", path: path, header: none, status: 200})
		b.run(t, scenario{method: "DELETE", path: path, header: none, status: 401})
	})
	t.Run("words for the state", func(t *testing.T) {
		for h, want := range map[control.Health]string{
			control.HealthWell: "healthy", control.HealthDegraded: "degraded", control.HealthTrouble: "degraded", control.HealthDown: "unhealthy",
		} {
			b := newBench(t)
			b.fake.Change(func(s *control.Snapshot) { s.Health = h })
			b.run(t, scenario{method: "GET", path: path, header: none, status: 200, want: []string{`"status":"` + want + `"`}})
		}
	})
	t.Run("a failing facade is degraded, not an error", func(t *testing.T) {
		b := newBench(t)
		b.fake.Fail = func(string) error { return http.ErrAbortHandler }
		for _, header := range []map[string]string{none, {}} {
			b.run(t, scenario{method: "GET", path: path, header: header, status: 200, want: []string{`"status":"degraded"`}, not: []string{"abort", "null"}})
		}
	})
	t.Run("one look serves a second", func(t *testing.T) {
		b := newBench(t)
		looks := func() (n int) {
			for _, c := range b.fake.Calls() {
				if c == "Snapshot" {
					n++
				}
			}
			return n
		}
		for range 5 {
			b.run(t, scenario{method: "GET", path: path, header: none, status: 200})
		}
		if n := looks(); n != 1 {
			t.Errorf("%d looks, want 1", n)
		}
		b.advance(time.Second)
		b.run(t, scenario{method: "GET", path: path, header: none, status: 200})
		b.advance(-time.Hour) // a clock that steps back does not freeze the answer
		b.run(t, scenario{method: "GET", path: path, header: none, status: 200})
		if n := looks(); n != 3 {
			t.Errorf("%d looks, want 3", n)
		}
	})
}

func TestFullHealth(t *testing.T) {
	b := newBench(t)
	coolingFive(b.fake)
	breakers(b.fake)
	b.fake.Change(func(s *control.Snapshot) { s.Connections[2].InFlight = 3 })
	var got fullHealth
	body := b.run(t, scenario{method: "GET", path: "/api/monitoring/health", status: 200, not: []string{"test-x"}, want: []string{`"lastFailure":null`, `"goVersion":"go`}})
	decodeInto(t, body, &got)
	if want := (breakerCounts{Open: 1, HalfOpen: 1, Degraded: 1, Total: 3}); got.CircuitBreakers != want {
		t.Errorf("breakers %+v, want %+v", got.CircuitBreakers, want)
	}
	if row := got.ProviderHealth["anthropic"]; row.State != "OPEN" || row.Failures != 12 || row.RetryAfterMs != 30000 || row.LastFailure == nil {
		t.Errorf("provider health %+v", row)
	}
	if want := (providerSummary{Catalog: 2, Configured: 2, Active: 2, Monitored: 3}); got.ProviderSummary != want {
		t.Errorf("summary %+v, want %+v", got.ProviderSummary, want)
	}
	if got.ActiveConnections != 5 || got.Dedup.Requests != 3 || !got.SetupComplete || got.Health != control.HealthTrouble {
		t.Errorf("health %+v", got)
	}
	if want := []string{"anthropic", "custom"}; !cmp.Equal(got.AvailableProviders, want) {
		t.Errorf("available %v, want %v", got.AvailableProviders, want)
	}
	if got.Memory.HeapTotal == 0 || got.System.PID == 0 || !got.Timestamp.Equal(t0) {
		t.Errorf("system %+v", got.System)
	}
}

func TestConnectionHealth(t *testing.T) {
	at := func(d time.Duration) *time.Time { u := t0.Add(d); return &u }
	got := connectionHealth([]control.Connection{
		{Provider: "p", RateLimitedUntil: at(40 * time.Second)},
		{Provider: "p", RateLimitedUntil: at(28 * time.Second)},
		{Provider: "p"},
		{Provider: "q", RateLimitedUntil: at(-time.Second)},
		{RateLimitedUntil: at(time.Second)},
	}, t0)
	t.Run("case 66 two of three cool", func(t *testing.T) {
		if want := (cooling{2, 3, 28000}); got["p"] != want {
			t.Errorf("%+v, want %+v", got["p"], want)
		}
	})
	t.Run("case 68 past cooldowns and no provider", func(t *testing.T) {
		if want := (cooling{0, 1, 0}); got["q"] != want || len(got) != 2 {
			t.Errorf("%+v, want %+v for q alone beside p", got, want)
		}
	})
	if !strings.Contains(resetMessage(1), "1 circuit breaker") || strings.HasSuffix(resetMessage(1), "s") {
		t.Errorf("message %q", resetMessage(1))
	}
}

// locked is a connection with two locked models.
func locked(f *facadetest.Fake) {
	in := func(d time.Duration) time.Time { return t0.Add(d) }
	f.Change(func(s *control.Snapshot) {
		s.Connections = []control.Connection{{
			ID: "a", Provider: "anthropic", Name: "A", State: control.StateModelLocked, Lockouts: []control.Lockout{
				{Model: "m1", Reason: "rate_limited", Until: in(time.Minute), FailureCount: 1},
				{Model: "m2", Reason: "quota_exhausted", Until: in(time.Hour), FailureCount: 2},
			},
		}}
	})
}
