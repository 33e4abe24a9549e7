package cases

import (
	"strconv"
	"strings"
	"testing"

	"breakwater/tests/scenario"
)

// A connection's key that was pasted where a name belongs is refused: names are
// shown, logged and exported.
func TestAKeyIsNoName(t *testing.T) {
	k := scenario.Start(t)
	alpha, _ := k.Pair()
	secret := scenario.Key(0)
	id := k.Connection("alpha").ID
	for _, tt := range []struct{ name, method, path, body, field string }{
		{"P50 a new connection", "POST", "/api/providers", `{"provider":"openai","name":"SECRET","apiKey":"sk-other-0123456789abcdef"}`, "name"},
		{"P50 a new connection with the key itself", "POST", "/api/providers", `{"provider":"openai","name":"my sk-new-0123456789abcdef","apiKey":"sk-new-0123456789abcdef"}`, "name"},
		{"P50 a group", "PATCH", "/api/providers/" + id, `{"group":"SECRET"}`, "group"},
		{"P50 a default model", "PATCH", "/api/providers/" + id, `{"defaultModel":"SECRET"}`, "defaultModel"},
		{"P50 an API key", "POST", "/api/keys", `{"name":"SECRET"}`, "name"},
		{"P50 a combo", "POST", "/api/combos", `{"name":"c-SECRET","models":["claude-sonnet-4-5"]}`, "name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := k.Do(tt.method, tt.path, strings.ReplaceAll(tt.body, "SECRET", secret), "Authorization", "Bearer "+k.Token)
			if a.Status != 400 || !strings.Contains(a.Body, tt.field) || strings.Contains(a.Body, secret) {
				t.Errorf("got %d %s", a.Status, strings.ReplaceAll(a.Body, secret, "SECRET"))
			}
		})
	}
	t.Run("P50 a model", func(t *testing.T) {
		a := k.Post("/v1/messages", strings.Replace(scenario.Messages, `"m1"`, strconv.Quote(secret), 1))
		if a.Status != 400 || strings.Contains(a.Body, secret) {
			t.Errorf("got %d %s", a.Status, strings.ReplaceAll(a.Body, secret, "SECRET"))
		}
		if n := len(alpha.Requests()); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
		if log := k.Do("GET", "/api/activity", "", "Authorization", "Bearer "+k.Token); strings.Contains(log.Body, secret) {
			t.Error("the activity holds it")
		}
	})
}
