package proxy

import (
	"net/http"
	"testing"
	"time"

	"breakwater/proxy/dialect"
)

// What a refusal looks like that is handed on (guide for clients §1, rulings
// 41 and 42).
func TestTame(t *testing.T) {
	claude := dialect.ProfileOf(func(name string) string { return map[string]string{"X-Claude-Code-Session-Id": "s"}[name] })
	unknown := dialect.DefaultProfile()
	for _, tt := range []struct {
		name   string
		client dialect.Profile
		status int
		wait   time.Duration
		in     http.Header
		want   http.Header
	}{
		{"a short wait stays", claude, 429, 0, http.Header{"Retry-After": {"7"}}, http.Header{"Retry-After": {"7"}}},
		{"a long one is capped", claude, 429, 0, http.Header{"Retry-After": {"3600"}}, http.Header{"Retry-After": {"59"}}},
		{"sixty is too long", claude, 503, 0, http.Header{"Retry-After": {"60"}}, http.Header{"Retry-After": {"59"}}},
		{"a fraction is rounded up", claude, 429, 0, http.Header{"Retry-After": {"2.1"}}, http.Header{"Retry-After": {"3"}}},
		{"zero becomes one", claude, 429, 0, http.Header{"Retry-After": {"0"}}, http.Header{"Retry-After": {"1"}}},
		{"a date becomes seconds", claude, 429, 0, http.Header{"Retry-After": {"Wed, 02 Jan 2999 03:05:05 GMT"}}, http.Header{"Retry-After": {"59"}}},
		{"rubbish becomes one", claude, 429, 0, http.Header{"Retry-After": {"soon"}}, http.Header{"Retry-After": {"1"}}},
		{"unknown clients get what was said", unknown, 429, 0, http.Header{"Retry-After": {"3600"}}, http.Header{"Retry-After": {"3600"}}},
		{"a 429 without a wait gets one", unknown, 429, 4 * time.Second, http.Header{}, http.Header{"Retry-After": {"4"}}},
		{"a 429 without any wait gets a second", claude, 429, 0, http.Header{}, http.Header{"Retry-After": {"1"}}},
		{"a 500 gets none", claude, 500, 0, http.Header{}, http.Header{}},
		{
			"the wall is stripped", claude, 429, 0,
			http.Header{"Retry-After": {"7"}, "Anthropic-Ratelimit-Unified-Status": {"allowed"}, "Anthropic-Ratelimit-Unified-5h-Reset": {"1"}, "Anthropic-Ratelimit-Requests-Limit": {"9"}},
			http.Header{"Retry-After": {"7"}, "Anthropic-Ratelimit-Requests-Limit": {"9"}},
		},
		{"no x-should-retry: false on what can be tried again", claude, 500, 0, http.Header{"X-Should-Retry": {"false"}, "Request-Id": {"r"}}, http.Header{"Request-Id": {"r"}}},
		{"x-should-retry: true stays", claude, 429, 0, http.Header{"X-Should-Retry": {"true"}, "Retry-After": {"1"}}, http.Header{"X-Should-Retry": {"true"}, "Retry-After": {"1"}}},
		{"a 400 stays as it is", claude, 400, 0, http.Header{"X-Should-Retry": {"false"}, "Retry-After": {"3600"}}, http.Header{"X-Should-Retry": {"false"}, "Retry-After": {"3600"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := tt.in.Clone()
			(&exchange{client: tt.client}).tame(h, tt.status, tt.wait)
			if len(h) != len(tt.want) {
				t.Fatalf("got %v, want %v", h, tt.want)
			}
			for name := range tt.want {
				if h.Get(name) != tt.want.Get(name) {
					t.Errorf("%s: got %q, want %q", name, h.Get(name), tt.want.Get(name))
				}
			}
		})
	}
}
