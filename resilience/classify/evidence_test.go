package classify

import (
	"testing"

	"breakwater/resilience/outcome"
)

// A 400 that speaks of the account or the key is judged as what it means
// (ruling 55 a).
func TestFaultOfAnAccountToldWith400(t *testing.T) {
	for _, c := range []struct {
		name, body string
		auth       Auth
		want       outcome.Terminal
	}{
		{"Q01", `{"type":"error","error":{"type":"invalid_request_error","message":"This organization has been disabled."}}`, AuthOAuth, outcome.Banned},
		{"Q01 for a key", `{"error":{"message":"Your organization has been disabled by an administrator"}}`, AuthKey, outcome.Banned},
		{"Q02", `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, AuthKey, outcome.Expired},
		{"Q02 as an object", `{"error":{"code":400,"details":[{"reason":"API_KEY_INVALID"}]}}`, AuthKey, outcome.Expired},
		{"Q02 expired", `{"error":{"code":400,"message":"API key expired. Please renew the API key."}}`, AuthKey, outcome.Expired},
		{"Q03", `{"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***34."}`, AuthKey, outcome.Expired},
		{"Q07 roles", `{"error":{"message":"messages: roles must alternate"}}`, AuthKey, outcome.NotTerminal},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Response(Input{Status: 400, Body: []byte(c.body), Provider: "gemini", Auth: c.auth, Now: t0})
			if o.Terminal != c.want || (c.want != outcome.NotTerminal && !o.Fallback) {
				t.Errorf("terminal %q, fallback %v, want %q", o.Terminal, o.Fallback, c.want)
			}
		})
	}
}
