package rest

import (
	"net/http/httptest"
	"testing"

	"breakwater/proxy/client/facadetest"
	"breakwater/proxy/control"
)

// keyed puts a connection and a key into the fake.
func keyed(f *facadetest.Fake) {
	two(f)
	for _, in := range []control.KeyInput{{Name: "Laptop"}, {Name: "Script", Scopes: []string{"manage"}}} {
		if _, err := f.AddKey(noContext, in); err != nil {
			panic(err)
		}
	}
}

var noContext = httptest.NewRequest("GET", "/", nil).Context()

func TestKeys(t *testing.T) {
	for _, s := range []scenario{
		{name: "list", method: "GET", path: "/api/keys", before: keyed, status: 200, want: []string{`{"keys":[{"id":"k1","name":"Laptop","key":"sk-…fake","scopes":["client"],"allowedConnections":[],"allowedModels":[],"expiresAt":null,"isActive":true`, `"total":2,"allowKeyReveal":false}`}, not: []string{"sk-whole"}},
		{name: "a page", method: "GET", path: "/api/keys?limit=1&offset=1", before: keyed, status: 200, want: []string{`"id":"k2"`, `"total":2`}, not: []string{`"id":"k1"`}},
		{name: "no keys", method: "GET", path: "/api/keys", status: 200, want: []string{`{"keys":[],"total":0`}},
		{name: "a wrong page", method: "GET", path: "/api/keys?limit=x", status: 400, want: []string{`"field":"limit"`}},
		{name: "make", method: "POST", path: "/api/keys", body: `{"name":"Desk","scopes":["client","lease:exclusive"],"allowedConnections":["a"],"allowedModels":["claude-*"],"expiresAt":"2100-01-02T03:04:05Z"}`, before: two, status: 201, want: []string{`"key":"sk-whole-key-1-fake"`, `"allowedConnections":["a"]`, `"expiresAt":"2100-01-02T03:04:05Z"`}},
		{name: "case 148 lease key for everything", method: "POST", path: "/api/keys", body: `{"name":"Desk","scopes":["lease:exclusive"],"allowedConnections":[]}`, status: 400, want: []string{`"code":"LEASE_KEY_POLICY_INVALID"`, `"type":"lease_error"`}, calls: []string{"AddKey"}},
		{name: "case 148 on change", method: "PATCH", path: "/api/keys/k1", body: `{"scopes":["lease:exclusive"]}`, before: keyed, status: 400, want: []string{`"code":"LEASE_KEY_POLICY_INVALID"`}, calls: []string{"EditKey"}},
		{name: "no name", method: "POST", path: "/api/keys", body: `{}`, status: 400, want: []string{`"field":"name"`}, calls: []string{"AddKey"}},
		{name: "too many scopes", method: "POST", path: "/api/keys", body: `{"name":"N","scopes":["","","","","","","","","","","","","","","","","","","","","","","","","","","","","","","","",""]}`, status: 400, want: []string{"at most 32"}},
		{name: "a wrong time", method: "POST", path: "/api/keys", body: `{"name":"N","expiresAt":"tomorrow"}`, status: 400, want: []string{`"field":"expiresAt"`, "Expected a time"}},
		{name: "an unknown field", method: "POST", path: "/api/keys", body: `{"name":"N","key":"sk-mine"}`, status: 400, want: []string{`"field":"key"`, "Unknown field"}, not: []string{"sk-mine"}},
		{name: "change", method: "PATCH", path: "/api/keys/k1", body: `{"isActive":false,"expiresAt":"2100-01-02T03:04:05Z"}`, before: keyed, status: 200, want: []string{`"isActive":false`, `"name":"Laptop"`, `"expiresAt":"2100-01-02T03:04:05Z"`}},
		{name: "null takes the expiry away", method: "PATCH", path: "/api/keys/k1", body: `{"expiresAt":null}`, before: keyed, status: 200, want: []string{`"expiresAt":null`}, calls: []string{"EditKey"}},
		{name: "change nothing", method: "PATCH", path: "/api/keys/k1", body: `{}`, before: keyed, status: 400, want: []string{"No valid fields to update"}},
		{name: "change one that is not there", method: "PATCH", path: "/api/keys/x", body: `{"name":"N"}`, status: 404, want: []string{`"code":"NOT_FOUND"`, "Key not found"}, calls: []string{"EditKey"}},
		{name: "delete", method: "DELETE", path: "/api/keys/k1", before: keyed, status: 200, want: []string{"Key deleted"}, calls: []string{"DeleteKey"}},
		{name: "delete one that is not there", method: "DELETE", path: "/api/keys/x", status: 404, want: []string{"Key not found"}, calls: []string{"DeleteKey"}},
	} {
		t.Run(s.name, func(t *testing.T) {
			b := newBench(t)
			if s.before != nil {
				s.before(b.fake)
				s.before = nil
			}
			b.run(t, s)
		})
	}
}

// A key with the scope manage opens the management API like the token.
func TestKeysOfTheManagementAPI(t *testing.T) {
	key := func(presented ...string) error {
		for _, p := range presented {
			switch p {
			case "sk-manage":
				return nil
			case "sk-client":
				return control.ErrKeyScope
			case "sk-expired":
				return control.ErrKeyExpired
			case "sk-off":
				return control.ErrKeyDisabled
			}
		}
		return control.ErrKeyUnknown
	}
	for _, tc := range []struct {
		name, header, value string
		status              int
		code                string
	}{
		{"case 151 with manage", "Authorization", "Bearer sk-manage", 200, ""},
		{"with manage in our own header", "X-Breakwater-Key", "sk-manage", 200, ""},
		{"case 151 without manage", "Authorization", "Bearer sk-client", 403, "KEY_SCOPE"},
		{"expired", "Authorization", "Bearer sk-expired", 403, "KEY_REFUSED"},
		{"switched off", "Authorization", "Bearer sk-off", 403, "KEY_REFUSED"},
		{"unknown", "Authorization", "Bearer sk-guess", 403, "INVALID_MANAGEMENT_TOKEN"},
		{"never from x-api-key", "X-Api-Key", "sk-manage", 401, "AUTH_001"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBenchWith(t, key)
			s := scenario{method: "GET", path: "/api/state", header: map[string]string{"Authorization": "", tc.header: tc.value}, status: tc.status, want: []string{tc.code}}
			for range failBurst + 2 {
				if tc.status == 403 && tc.code != "INVALID_MANAGEMENT_TOKEN" || tc.status == 200 {
					b.run(t, s) // a key that we know is no guess and counts as none
				}
			}
			b.run(t, s)
		})
	}
}
