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

// A wrong address rests until somebody mends it, so that a 404 is one only when
// it is about the path (ruling 56).
func TestWrongAddress(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   bool
	}{
		{"Q08 a page", 404, "<html>not found</html>", true},
		{"Q08 a framework", 404, `{"error":{"message":"Invalid URL (POST /v1/v1/chat/completions)"}}`, true},
		{"Q08 the path in a field", 404, `{"status":404,"error":"Not Found","path":"/api/messages"}`, true},
		{"Q08 a route", 404, `{"message":"Route POST:/v1/responses not found","statusCode":404}`, true},
		{"Q08 a method", 405, `{"detail":"Method Not Allowed"}`, true},
		{"Q08 foreign", 404, `{"ok":false}`, true},
		{"the model", 404, `{"error":{"message":"The model zz does not exist","code":"model_not_found"}}`, false},
		{"the model and our path", 404, `{"error":{"message":"This model is not supported in the v1/chat/completions endpoint"}}`, false},
		{"a link to the documentation", 404, `{"error":{"message":"Unknown id, see the url https://acme.example/docs/api/messages"}}`, false},
		{"the model in a field", 405, `{"error":{"message":"model zz not found"}}`, false},
		{"nothing", 404, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Response(Input{Status: c.status, Body: []byte(c.body), Provider: "acme", Now: t0, Profile: apiKeyProfile})
			if got := o.Reason == outcome.ReasonWrongAddress; got != c.want || got && (o.Scope != outcome.ScopeConnection || o.Trips()) {
				t.Errorf("got %+v", o)
			}
		})
	}
}
