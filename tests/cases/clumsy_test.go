package cases

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"breakwater/tests/scenario"
)

// What nobody can read back, or see, is refused where it is given.
func TestClumsyWrites(t *testing.T) {
	k := scenario.Start(t)
	origins := make([]string, 101)
	for i := range origins {
		origins[i] = fmt.Sprintf(`"http://a%d.example"`, i)
	}
	connection := func(name string) string { return `{"provider":"openai","name":"` + name + `","apiKey":"k"}` }
	for _, tt := range []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"a turned name", "POST", "/api/providers", connection(`\u202egnp`), 400, `"field":"name"`},
		{"a name without width", "POST", "/api/providers", connection(`x\u200b`), 400, `"field":"name"`},
		{"a name of joiners only", "POST", "/api/providers", connection(`\u200d`), 400, `"field":"name"`},
		{"a name that is no UTF-8", "POST", "/api/providers", connection("\xff"), 400, `"field":"name"`},
		{"a name with a joiner", "POST", "/api/providers", connection(`क्\u200dष`), 201, `"name"`},
		{"a key's name of two lines", "POST", "/api/keys", `{"name":"a\nb"}`, 400, `"field":"name"`},
		{"too many origins", "PATCH", "/api/settings", `{"allowedOrigins":[` + strings.Join(origins, ",") + `]}`, 400, "at most 100"},
		{"an empty tree", "PATCH", "/api/resilience", `{}`, 400, `"field":"body"`},
		{"a mark before the body", "PATCH", "/api/settings", "\ufeff" + `{"textScale":110}`, 200, `"textScale":110`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := k.Do(tt.method, tt.path, tt.body, "Authorization", "Bearer "+k.Token)
			if a.Status != tt.status || !strings.Contains(a.Body, tt.want) {
				t.Errorf("got %d %.300s", a.Status, a.Body)
			}
		})
	}
	t.Run("a compressed body", func(t *testing.T) {
		a := k.Do(http.MethodPatch, "/api/settings", "x", "Authorization", "Bearer "+k.Token, "Content-Encoding", "gzip")
		if a.Status != http.StatusUnsupportedMediaType || !strings.Contains(a.Body, "Content-Encoding") {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
	t.Run("a long body is refused before it is asked for", func(t *testing.T) {
		a := k.Do(http.MethodPatch, "/api/settings", strings.Repeat(" ", 2<<20), "Authorization", "Bearer "+k.Token, "Expect", "100-continue")
		if a.Status != http.StatusRequestEntityTooLarge {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
}
