package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"breakwater/proxy/client/facadetest"
	"breakwater/proxy/control"
)

func TestBodiesAreRefusedFieldByField(t *testing.T) {
	b := newBench(t)
	two(b.fake)
	field := func(name, message string) string { return `{"field":"` + name + `","message":"` + message + `"}` }
	for _, s := range []scenario{
		{name: "broken", method: "POST", path: "/api/providers", body: `{"a":`, want: []string{`{"error":{"message":"Invalid request","details":[` + field("body", "Invalid JSON body") + `]}}`}},
		{name: "nothing", method: "POST", path: "/api/providers", want: []string{field("body", "Invalid JSON body")}},
		{name: "two values", method: "POST", path: "/api/providers", body: `{} {}`, want: []string{field("body", "Invalid JSON body")}},
		{name: "no object", method: "PATCH", path: "/api/settings", body: `[1]`, want: []string{field("body", "Expected object")}},
		{name: "null", method: "PATCH", path: "/api/settings", body: `null`, want: []string{field("body", "Expected object")}},
		{name: "every unknown field", method: "POST", path: "/api/providers", body: `{"provider":"custom","a":1,"b":2}`, want: []string{field("a", "Unknown field"), field("b", "Unknown field")}},
		{name: "names are literal", method: "POST", path: "/api/providers", body: `{"Provider":"custom"}`, want: []string{field("Provider", "Unknown field")}},
		{name: "given twice", method: "PATCH", path: "/api/providers/a", body: `{"name":"x","name":"y"}`, want: []string{field("name", "Given twice")}},
		{name: "wrong types", method: "POST", path: "/api/providers", body: `{"provider":7,"priority":1.5,"inactive":"yes","dialects":"chat","models":["a",1,null]}`, want: []string{
			field("provider", "Expected string, got number"), field("priority", "Expected integer"),
			field("inactive", "Expected boolean, got string"), field("dialects", "Expected array"),
			field("models.1", "Expected string, got number"), field("models.2", "Expected a value"),
		}},
		{name: "nested", method: "POST", path: "/api/providers", body: `{"provider":"custom","providerSpecificData":{"baseUrl":1,"tag":"x"}}`, want: []string{
			field("providerSpecificData.baseUrl", "Expected string, got number"), field("providerSpecificData.tag", "Unknown field"),
		}},
		{name: "nested is no object", method: "POST", path: "/api/providers", body: `{"providerSpecificData":[]}`, want: []string{field("providerSpecificData", "Expected object")}},
		{name: "contradiction on adding", method: "POST", path: "/api/providers", body: `{"provider":"custom","baseUrl":"http://127.0.0.1:1","providerSpecificData":{"baseUrl":"http://127.0.0.1:2"}}`, want: []string{field("providerSpecificData.baseUrl", "Contradicts baseUrl")}},
		{name: "contradiction on editing", method: "PUT", path: "/api/providers/a", body: `{"disableCooling":true,"providerSpecificData":{"disableCooling":false}}`, want: []string{field("providerSpecificData.disableCooling", "Contradicts disableCooling")}},
		{name: "an array of objects", method: "PATCH", path: "/api/demo", body: `{"faults":[{"connectionId":"a","kind":"none","x":1},7]}`, want: []string{field("faults.0.x", "Unknown field"), field("faults.1", "Expected object")}},
		{name: "a map that is none", method: "PATCH", path: "/api/settings", body: `{"comboDefaults":5,"modelFacts":[],"providerOverrides":{"a":1}}`, want: []string{
			field("comboDefaults", "Expected object"), field("modelFacts", "Expected object"), field("providerOverrides.a", "Expected object"),
		}},
		{name: "inside a map", method: "PATCH", path: "/api/settings", body: `{"comboDefaults":{"maxRetries":1,"maxRetries":2},"tables":{"a":[{"width":"x"}]}}`, want: []string{
			field("comboDefaults.maxRetries", "Given twice"), field("tables.a.0.width", "Expected number, got string"),
		}},
		{name: "nested too deeply", method: "POST", path: "/api/combos", body: `{"name":"x","config":{"auto":` + strings.Repeat(`{"a":`, 70) + `"{"` + strings.Repeat(`}`, 70) + `}}`, want: []string{"Nested more than 64 levels"}},
		{name: "a setting of the tree twice", method: "PATCH", path: "/api/resilience", body: `{"requestQueue":{"maxWaitMs":5,"maxWaitMs":6}}`, want: []string{field("requestQueue.maxWaitMs", "Given twice")}},
		{name: "an unknown parameter", method: "GET", path: "/api/activity?since=yesterday&limit=1&limit=2", want: []string{field("limit", "Given twice"), field("since", "Unknown parameter")}},
		{name: "speed", method: "PATCH", path: "/api/demo", body: `{"speed":"fast"}`, want: []string{field("speed", "Expected number, got string")}},
		{name: "a body where none belongs", method: "POST", path: "/api/app/quit", body: `{"force":true}`, want: []string{field("force", "Unknown field")}},
		{name: "nothing to edit", method: "PATCH", path: "/api/providers/a", body: `{}`, want: []string{field("body", "No valid fields to update")}},
		{name: "nothing but null", method: "PATCH", path: "/api/providers/a", body: `{"name":null}`, want: []string{field("body", "No valid fields to update")}},
		{name: "no settings to edit", method: "PATCH", path: "/api/settings", body: `{}`, want: []string{field("body", "No valid fields to update")}},
		{name: "no ids", method: "PATCH", path: "/api/providers", body: `{}`, want: []string{field("ids", "Expected 1 to 100 ids"), field("isActive", "Required")}},
		{name: "too many ids", method: "PATCH", path: "/api/providers", body: `{"isActive":true,"ids":["a"` + strings.Repeat(`,"a"`, 100) + `]}`, want: []string{field("ids", "Expected 1 to 100 ids")}},
		{name: "no order", method: "POST", path: "/api/providers/reorder", body: `{}`, want: []string{field("ids", "Required")}},
		{name: "an id twice", method: "POST", path: "/api/providers/reorder", body: `{"ids":["a","b","a"]}`, want: []string{field("ids.2", "Given twice")}},
		{name: "paused is required", method: "POST", path: "/api/app/pause", body: `{}`, want: []string{field("paused", "Required")}},
		{name: "a pause without length", method: "POST", path: "/api/app/pause", body: `{"paused":true,"seconds":0}`, want: []string{field("seconds", "Expected 1 to 86400")}},
		{name: "a pause of more than a day", method: "POST", path: "/api/app/pause", body: `{"paused":true,"seconds":86401}`, want: []string{field("seconds", "Expected 1 to 86400")}},
		{name: "a length without pause", method: "POST", path: "/api/app/pause", body: `{"paused":false,"seconds":60}`, want: []string{field("seconds", "Expected with paused set to true only")}},
		{name: "a long model", method: "POST", path: "/api/providers/a/test", body: `{"validationModelId":"` + strings.Repeat("x", 501) + `"}`, want: []string{field("validationModelId", "Expected at most 500 characters")}},
		{name: "a long page", method: "POST", path: "/api/app/show", body: `{"page":"` + strings.Repeat("x", 201) + `"}`, want: []string{field("page", "Expected at most 200 characters")}},
		{name: "limit 0", method: "GET", path: "/api/activity?limit=0&before=-1&failedOnly=maybe", want: []string{
			field("limit", "Expected an integer from 1 to 500"), `"field":"before"`, field("failedOnly", "Expected true or false"),
		}},
		{name: "limit 501", method: "GET", path: "/api/activity?limit=501", want: []string{`"field":"limit"`}},
		{name: "offset", method: "GET", path: "/api/providers?offset=x", want: []string{`"field":"offset"`}},
		{name: "case 109 nothing named", method: "POST", path: "/api/resilience/cooldowns", body: `{}`, want: []string{"Provide connectionIds or set all to true"}},
		{name: "case 109 an empty list", method: "POST", path: "/api/resilience/cooldowns", body: `{"connectionIds":[]}`, want: []string{"Provide connectionIds or set all to true"}},
		{name: "case 109 unknown field", method: "POST", path: "/api/resilience/cooldowns", body: `{"all":true,"force":true}`, want: []string{field("force", "Unknown field")}},
		{name: "all is true or absent", method: "POST", path: "/api/resilience/cooldowns", body: `{"all":false}`, want: []string{field("all", "Expected true")}},
		{name: "all and ids", method: "POST", path: "/api/resilience/cooldowns", body: `{"all":true,"connectionIds":["a"]}`, want: []string{"Provide either connectionIds or all"}},
		{name: "provider without all", method: "POST", path: "/api/resilience/cooldowns", body: `{"connectionIds":["a"],"provider":"x"}`, want: []string{field("provider", "Only together with all")}},
		{name: "a long provider", method: "POST", path: "/api/resilience/cooldowns", body: `{"all":true,"provider":"` + strings.Repeat("x", 129) + `"}`, want: []string{field("provider", "Invalid provider")}},
		{name: "a long id", method: "POST", path: "/api/resilience/cooldowns", body: `{"connectionIds":["` + strings.Repeat("x", 129) + `"]}`, want: []string{`"field":"connectionIds"`}},
		{name: "too many to clear", method: "POST", path: "/api/resilience/cooldowns", body: `{"connectionIds":["a"` + strings.Repeat(`,"a"`, 1000) + `]}`, want: []string{`"field":"connectionIds"`}},
		{name: "case 111 provider of 129 characters", method: "GET", path: "/api/resilience/cooldowns?provider=" + strings.Repeat("x", 129), want: []string{field("provider", "Invalid provider")}},
		{name: "case 111 an empty provider", method: "GET", path: "/api/resilience/cooldowns?provider=", want: []string{field("provider", "Invalid provider")}},
	} {
		t.Run(s.name, func(t *testing.T) {
			s.status = 400
			s.header = map[string]string{}
			if isWrite(s.method) {
				s.header["Content-Type"] = "application/json; charset=utf-8"
			}
			b.run(t, s)
		})
	}
}

func TestRefusalsOfTheFacadeKeepTheirFields(t *testing.T) {
	b := newBench(t)
	b.run(t, scenario{
		method: "POST", path: "/api/providers", body: `{"provider":"anthropic","name":"A"}`, status: 400, calls: []string{"AddConnection"},
		want: []string{`{"error":{"message":"Invalid request","details":[{"field":"apiKey","message":"a key is needed"}]}}`},
	})
}

func TestBodyLimit(t *testing.T) {
	b := newBench(t)
	fill := func(n int) string {
		head, tail := `{"theme":"`, `"}`
		return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
	}
	b.run(t, scenario{method: "PATCH", path: "/api/settings", body: fill(MaxBody), status: 400, want: []string{"theme"}, calls: []string{"EditAllSettings"}})
	b.run(t, scenario{method: "PATCH", path: "/api/settings", body: fill(MaxBody + 1), status: 413, want: []string{"PAYLOAD_TOO_LARGE"}})
}

func TestContentTypes(t *testing.T) {
	b := newBench(t)
	for media, status := range map[string]int{
		"application/json": 200, "Application/JSON; charset=utf-8": 200, "text/plain": 415, "text/json": 415, "application/json; charset=utf-16": 415,
		"application/x-www-form-urlencoded": 415, "multipart/form-data; boundary=x": 415, "application/json, text/plain": 415,
	} {
		t.Run(media, func(t *testing.T) {
			b.run(t, scenario{method: "POST", path: "/api/app/pause", body: `{"paused":false}`, header: map[string]string{"Content-Type": media}, status: status})
		})
	}
	t.Run("none with a body", func(t *testing.T) {
		b.run(t, scenario{method: "POST", path: "/api/app/pause", body: `{"paused":false}`, header: map[string]string{"Content-Type": ""}, status: 415})
	})
	t.Run("none without a body", func(t *testing.T) {
		b.run(t, scenario{method: "POST", path: "/api/app/quit", status: 200})
	})
}

// FuzzDecode compares the strict decoder with encoding/json: what the strict
// one takes, the other takes as well and reads the same.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"provider":"custom","apiKey":"k","dialects":["chat"],"priority":3,"inactive":true}`,
		`{"providerSpecificData":{"baseUrl":"http://127.0.0.1","autoLimitReset":true}}`, `{"models":null}`,
		`{"name":"\u0000\ud800"}`, `{"priority":1e2}`, `{"priority":99999999999999999999}`, `{"name":1,"name":2}`, `[`, `{"":0}`, `{"dialects":[[]]}`,
	} {
		f.Add([]byte(seed))
	}
	for _, seed := range []string{
		`{"name":"K","scopes":["client"],"allowedConnections":["a"],"expiresAt":"2100-01-02T03:04:05Z"}`, `{"expiresAt":null}`,
		`{"expiresAt":"x"}`, `{"connectionId":"a","enabled":true}`, `{"theme":"dark","expectedRevision":3,"modelLockout":{}}`,
		`{"dryRun":false,"backup":{"format":1,"guide":{"providerErrorRules":{}},"secrets":{"kdf":"scrypt"}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		asJSON[providerInput](t, data)
		asJSON[control.KeyInput](t, data)
		asJSON[control.KeyPatch](t, data)
		asJSON[limitSwitch](t, data)
		// Raw parts are null in one reader and absent in the other.
		for _, dst := range []any{&control.AllSettingsPatch{}, &control.ImportRequest{}} {
			named(t, decodeObject(data, dst, nil))
		}
	})
}

// named checks that a refusal names fields; it reports whether there was one.
func named(t *testing.T, err error) bool {
	if err == nil {
		return false
	}
	if inv, ok := errors.AsType[*control.InvalidError](err); !ok || len(inv.Fields) == 0 {
		t.Fatalf("error %v, want named fields", err)
	}
	return true
}

// asJSON checks that what the strict decoder takes means the same to
// encoding/json.
func asJSON[T any](t *testing.T, data []byte) {
	var got, want T
	if named(t, decodeObject(data, &got, nil)) {
		return
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&want); err != nil {
		t.Fatalf("took %q, which encoding/json refuses: %v", data, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q is %+v, want %+v", data, got, want)
	}
}

func TestErrorsOfTheFacade(t *testing.T) {
	for _, tc := range []struct {
		name   string
		err    error
		status int
		want   string
	}{
		{"not found", control.ErrNotFound, 404, "NOT_FOUND"},
		{"no desktop", control.ErrNoDesktop, 409, "NO_DESKTOP"},
		{"too slow", fmt.Errorf("test: %w", context.DeadlineExceeded), 504, "TIMEOUT"},
		{"disk full", fmt.Errorf("store: %w: someone", control.ErrDiskFull), 507, "The disk is full"},
		{"read only", fmt.Errorf("store: %w: someone", control.ErrReadOnly), 503, "cannot be written"},
		{"busy", fmt.Errorf("store: %w: someone", control.ErrDatabaseBusy), 503, "Another program has locked"},
		{"gone", fmt.Errorf("store: %w: someone", control.ErrDatabaseGone), 503, "moved, deleted or replaced"},
		{"anything else", errors.New("disk /home/someone/db is full, key sk-secret"), 500, `"message":"Internal error"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t)
			b.fake.Fail = func(string) error { return tc.err }
			for _, path := range []string{"/api/state", "/api/catalog", "/api/activity", "/api/settings", "/api/demo", "/api/providers", "/api/providers/x", "/api/resilience/cooldowns"} {
				b.run(t, scenario{method: "GET", path: path, status: tc.status, want: []string{tc.want, "correlation_id"}, not: []string{"someone", "sk-secret"}, calls: facadeCall(path)})
			}
			if logged := strings.Contains(b.logs.String(), "someone"); logged != (tc.status >= 500 && tc.status != 504) {
				t.Errorf("logged: %v", logged)
			}
		})
	}
}

func TestCallerWhoLeavesIsNoFailure(t *testing.T) {
	logs := &logBuffer{}
	h := New(Options{
		Facade: facadetest.New(), Token: func() string { return testToken }, Log: slog.New(slog.NewTextHandler(logs, nil)),
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/state", nil)
	req.Header.Set("Authorization", "Bearer "+testToken)
	w := httptest.NewRecorder()
	w.Code = 0
	func() {
		defer func() {
			// The answer may have been ready all the same.
			if p := recover(); p != http.ErrAbortHandler && (p != nil || w.Body.Len() == 0) { //nolint:errorlint // it is that very value
				t.Errorf("the connection is not cut: %v", p)
			}
		}()
		h.ServeHTTP(w, req)
	}()
	if (w.Code != 0) != (w.Body.Len() > 0) || logs.String() != "" {
		t.Errorf("answered %d %s, logged %s", w.Code, w.Body, logs)
	}
}

func facadeCall(path string) []string {
	switch path {
	case "/api/catalog":
		return []string{"Providers"}
	case "/api/activity":
		return []string{"Activity"}
	case "/api/settings":
		return []string{"AllSettings"}
	case "/api/demo":
		return []string{"EditDemo"}
	}
	return []string{}
}
