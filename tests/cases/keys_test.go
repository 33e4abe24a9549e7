package cases

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"breakwater/proxy/control"
	"breakwater/proxy/rest"
	"breakwater/resilience/exclusion"
	"breakwater/tests/scenario"
)

// addKey makes an API key, under a name of its own when it is given none.
func addKey(t *testing.T, k *scenario.Kit, in control.KeyInput) control.APIKey {
	t.Helper()
	if in.Name == "" {
		keys, err := k.Facade().Keys(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		in.Name = fmt.Sprintf("Key %d", len(keys)+1)
	}
	key, err := k.Facade().AddKey(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func requireKey(t *testing.T, k *scenario.Kit) {
	t.Helper()
	if _, err := k.Facade().EditSettings(t.Context(), control.SettingsPatch{RequireAPIKey: new(true)}); err != nil {
		t.Fatal(err)
	}
}

// A key is taken in the three places of ruling 33 and is refused, with the
// reason, when it is not in force.
func TestClientKeys(t *testing.T) {
	k := scenario.Start(t)
	k.Pair()
	good, manage := addKey(t, k, control.KeyInput{}), addKey(t, k, control.KeyInput{Scopes: []string{control.ScopeManage}})
	off := addKey(t, k, control.KeyInput{})
	if _, err := k.Facade().EditKey(t.Context(), off.ID, control.KeyPatch{Active: new(false)}); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name           string
		headers        []string
		free, required int // statuses without and with RequireAPIKey
		code           string
	}{
		{"no key", nil, 200, 401, "AUTH_002"},
		{"a foreign key", []string{"Authorization", "Bearer sk-foreign"}, 200, 401, "AUTH_002"},
		{"as a bearer", []string{"Authorization", "Bearer " + good.Key}, 200, 200, ""},
		{"as x-api-key", []string{"X-Api-Key", good.Key}, 200, 200, ""},
		{"in our own header", []string{"X-Breakwater-Key", good.Key}, 200, 200, ""},
		{"in our own header beside the client's own login", []string{"X-Breakwater-Key", good.Key, "Authorization", "Bearer sk-ant-oat01-x"}, 200, 200, ""},
		{"the management token", []string{"X-Api-Key", k.Token}, 200, 200, ""},
		{"a key that manages only", []string{"X-Api-Key", manage.Key}, 200, 403, "key_scope"},
		{"a key that is switched off", []string{"X-Api-Key", off.Key}, 403, 403, "key_disabled"},
		{"in the URL", []string{"X-Not", "?key=" + good.Key}, 200, 401, "AUTH_002"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, required := range []bool{false, true} {
				if _, err := k.Facade().EditSettings(t.Context(), control.SettingsPatch{RequireAPIKey: &required}); err != nil {
					t.Fatal(err)
				}
				want := tc.free
				if required {
					want = tc.required
				}
				a := k.Post("/v1/messages", scenario.Messages, tc.headers...)
				if a.Status != want || want >= 400 && !strings.Contains(a.Body, tc.code) {
					t.Errorf("required %v: %d %s, want %d %s", required, a.Status, a.Body, want, tc.code)
				}
				if list := k.Do(http.MethodGet, "/v1/models", "", tc.headers...); list.Status != want {
					t.Errorf("required %v: the list of models answers %d, want %d", required, list.Status, want)
				}
			}
		})
	}
}

// A key's allowedConnections and allowedModels bound what its requests use;
// failover does not leave them.
func TestKeysLimitConnectionsAndModels(t *testing.T) {
	k := scenario.Start(t)
	alpha, beta := k.Pair()
	requireKey(t, k)
	only := addKey(t, k, control.KeyInput{AllowedConnections: []string{k.Connection("beta").ID}, AllowedModels: []string{"m*"}})
	header := []string{"X-Api-Key", only.Key}
	if a := k.Post("/v1/messages", scenario.Messages, header...); a.From() != "beta" {
		t.Errorf("answered by %q, want beta although alpha comes first", a.From())
	}
	step := k.Last().Trace[0]
	if step.Kind != control.StepSkipped || step.Reason != string(exclusion.KeyNotAllowed) || step.ConnectionName != "alpha" {
		t.Errorf("the trace begins with %+v", step)
	}
	before := len(alpha.Requests())
	a := k.Post("/v1/messages", strings.Replace(scenario.Messages, `"model":"`, `"model":"alpha/`, 1), header...)
	if a.Status != 403 || !strings.Contains(a.Body, "connection_not_allowed") {
		t.Errorf("asking for alpha by name: %d %s", a.Status, a.Body)
	}
	if len(alpha.Requests()) != before {
		t.Error("alpha was asked")
	}
	if _, err := k.Facade().EditKey(t.Context(), only.ID, control.KeyPatch{AllowedModels: &[]string{"gpt-*"}}); err != nil {
		t.Fatal(err)
	}
	before = len(beta.Requests())
	a = k.Post("/v1/messages", scenario.Messages, header...)
	if a.Status != 403 || !strings.Contains(a.Body, "model_not_allowed") || len(beta.Requests()) != before {
		t.Errorf("another model: %d %s", a.Status, a.Body)
	}
}

// No part of a client's key reaches an upstream.
func TestKeysStayHere(t *testing.T) {
	k := scenario.Start(t)
	alpha, _ := k.Pair()
	key := addKey(t, k, control.KeyInput{}).Key
	for _, headers := range [][]string{
		{"Authorization", "Bearer " + key}, {"X-Api-Key", key}, {"X-Breakwater-Key", key}, {"Api-Key", key}, {"X-Goog-Api-Key", key}, {"Cookie", "key=" + key},
	} {
		k.Post("/v1/messages", scenario.Messages, headers...)
	}
	for _, r := range alpha.Requests() {
		for name, values := range r.Header {
			if slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, key) }) {
				t.Errorf("the header %s took the key upstream", name)
			}
		}
	}
	if n := len(alpha.Requests()); n != 6 {
		t.Errorf("%d requests reached alpha, want 6", n)
	}
}

// Keys survive a restart; a key with the scope manage opens the management
// API, one without does not (case 151).
func TestKeysManageAcrossARestart(t *testing.T) {
	k := scenario.Start(t)
	manage, client := addKey(t, k, control.KeyInput{Scopes: []string{control.ScopeManage}}), addKey(t, k, control.KeyInput{})
	for range 2 {
		if a := k.Do(http.MethodGet, "/api/state", "", "Authorization", "Bearer "+manage.Key); a.Status != 200 {
			t.Errorf("case 151 with manage: %d", a.Status)
		}
		if a := k.Do(http.MethodGet, "/api/state", "", "Authorization", "Bearer "+client.Key); a.Status != 403 {
			t.Errorf("case 151 without manage: %d", a.Status)
		}
		k.Restart()
	}
	if err := k.Facade().DeleteKey(t.Context(), manage.ID); err != nil {
		t.Fatal(err)
	}
	if a := k.Do(http.MethodGet, "/api/state", "", "Authorization", "Bearer "+manage.Key); a.Status != 403 {
		t.Errorf("a deleted key: %d", a.Status)
	}
}

// A page in a browser reaches no route of the management API, not even with a
// credential (cases P47 to P49).
func TestPagesDoNotReachTheManagementAPI(t *testing.T) {
	k := scenario.Start(t)
	for _, rt := range rest.Routes() {
		path := strings.ReplaceAll(rt.Path, "{id}", "x")
		for name, headers := range map[string][]string{
			"a foreign origin":    {"Origin", "https://evil.example"},
			"a file":              {"Origin", "null"},
			"a cross-site fetch":  {"Sec-Fetch-Site", "cross-site"},
			"a same-site fetch":   {"Sec-Fetch-Site", "same-site"},
			"a name that rebinds": {"Host", "evil.example"},
			"a name like our own": {"Host", "localhost.evil.example:7411"},
			"a preflight":         {"Origin", "https://evil.example", "Access-Control-Request-Method", rt.Method},
		} {
			a := k.Do(rt.Method, path, "{}", append([]string{"Authorization", "Bearer " + k.Token}, headers...)...)
			if a.Status != http.StatusForbidden || a.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s %s from %s: %d, want 403", rt.Method, path, name, a.Status)
			}
		}
	}
}
