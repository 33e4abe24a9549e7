package client

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"breakwater/proxy/dialect"
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
	for name, want := range map[string]string{"anthropic": "/v1/messages", "chat": "/v1/chat/completions", "responses": "/v1/responses"} {
		if err := c.Ask(t.Context(), name, "the-model"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if path != want || !strings.Contains(body, `"the-model"`) || auth != "" {
			t.Errorf("%s went to %s with %s and the credential %q", name, path, body, auth)
		}
	}
	for _, unknown := range []string{"", "Chat", "gemini", "openai"} {
		path = ""
		if err := c.Ask(t.Context(), unknown, "m"); err == nil || !strings.Contains(err.Error(), dialect.Choice()) || path != "" {
			t.Errorf("%q went to %q, %v", unknown, path, err)
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
