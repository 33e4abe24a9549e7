package client

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAskSpeaksEachDialectWithoutTheToken(t *testing.T) {
	var path, body, auth string
	status, answer := http.StatusOK, `{}`
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		path, body, auth = r.URL.Path, string(b), r.Header.Get("Authorization")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	defer srv.Close()
	c := New(srv.URL, "secret-token", Options{})
	defer c.Close()
	for dialect, want := range map[string]string{"anthropic": "/v1/messages", "chat": "/v1/chat/completions", "responses": "/v1/responses"} {
		if err := c.Ask(t.Context(), dialect, "the-model"); err != nil {
			t.Errorf("%s: %v", dialect, err)
		}
		if path != want || !strings.Contains(body, `"the-model"`) || auth != "" {
			t.Errorf("%s went to %s with %s and the credential %q", dialect, path, body, auth)
		}
	}
	status, answer = http.StatusUnauthorized, `{"error":{"message":"a key is needed"}}`
	if err := c.Ask(t.Context(), "chat", "m"); err == nil || err.Error() != "a key is needed" || Unauthorised(err) {
		t.Errorf("a refusal gave %v", err)
	}
	answer = `nothing to read`
	if err := c.Ask(t.Context(), "chat", "m"); err == nil || err.Error() != "status 401" {
		t.Errorf("a refusal without words gave %v", err)
	}
	if err := New("http://example.com", "t", Options{}).Ask(t.Context(), "chat", "m"); err == nil {
		t.Error("another machine was asked")
	}
}
