package refusal

import (
	"net/http"
	"testing"
	"time"

	"breakwater/proxy/dialect"
	"breakwater/resilience"
	"breakwater/resilience/outcome"
)

// What a refusal looks like that is forwarded (guide for clients §1, rulings 41
// and 42).
func TestTame(t *testing.T) {
	for _, tt := range []struct {
		name   string
		client dialect.Profile
		status int
		wait   time.Duration
		in     http.Header
		want   http.Header
	}{
		{"a short wait stays", claudeCode, 429, 0, http.Header{"Retry-After": {"7"}}, http.Header{"Retry-After": {"7"}}},
		{"a long one is capped", claudeCode, 429, 0, http.Header{"Retry-After": {"3600"}}, http.Header{"Retry-After": {"59"}}},
		{"sixty is too long", claudeCode, 503, 0, http.Header{"Retry-After": {"60"}}, http.Header{"Retry-After": {"59"}}},
		{"a fraction is rounded up", claudeCode, 429, 0, http.Header{"Retry-After": {"2.1"}}, http.Header{"Retry-After": {"3"}}},
		{"zero becomes one", claudeCode, 429, 0, http.Header{"Retry-After": {"0"}}, http.Header{"Retry-After": {"1"}}},
		{"a date becomes seconds", claudeCode, 429, 0, http.Header{"Retry-After": {"Wed, 02 Jan 2030 03:04:25 GMT"}}, http.Header{"Retry-After": {"20"}}},
		{"a far date is capped", claudeCode, 429, 0, http.Header{"Retry-After": {"Wed, 02 Jan 2999 03:05:05 GMT"}}, http.Header{"Retry-After": {"59"}}},
		{"rubbish becomes one", claudeCode, 429, 0, http.Header{"Retry-After": {"soon"}}, http.Header{"Retry-After": {"1"}}},
		{"unknown clients get what was said", unknown, 429, 0, http.Header{"Retry-After": {"3600"}}, http.Header{"Retry-After": {"3600"}}},
		{"a 429 without a wait gets one", unknown, 429, 4 * time.Second, http.Header{}, http.Header{"Retry-After": {"4"}}},
		{"a 429 without any wait gets a second", claudeCode, 429, 0, http.Header{}, http.Header{"Retry-After": {"1"}}},
		{"a 500 gets none", claudeCode, 500, 0, http.Header{}, http.Header{}},
		{
			"the wall is stripped", claudeCode, 429, 0,
			http.Header{"Retry-After": {"7"}, "Anthropic-Ratelimit-Unified-Status": {"allowed"}, "Anthropic-Ratelimit-Unified-5h-Reset": {"1"}, "Anthropic-Ratelimit-Requests-Limit": {"9"}},
			http.Header{"Retry-After": {"7"}, "Anthropic-Ratelimit-Requests-Limit": {"9"}},
		},
		{"no x-should-retry: false on what can be tried again", claudeCode, 500, 0, http.Header{"X-Should-Retry": {"false"}, "Request-Id": {"r"}}, http.Header{"Request-Id": {"r"}}},
		{"x-should-retry: true stays", claudeCode, 429, 0, http.Header{"X-Should-Retry": {"true"}, "Retry-After": {"1"}}, http.Header{"X-Should-Retry": {"true"}, "Retry-After": {"1"}}},
		{"a 400 stays as it is", claudeCode, 400, 0, http.Header{"X-Should-Retry": {"false"}, "Retry-After": {"3600"}}, http.Header{"X-Should-Retry": {"false"}, "Retry-After": {"3600"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := tt.in.Clone()
			request(by(tt.client)).tame(h, tt.status, tt.wait)
			if len(h) != len(tt.want) {
				t.Fatalf("got %v, want %v", h, tt.want)
			}
			for name := range tt.want {
				same(t, name, h.Get(name), tt.want.Get(name))
			}
		})
	}
}

func TestForward(t *testing.T) {
	said := failure(429, outcome.ReasonRateLimit, func(f *resilience.Failure) {
		f.Header = http.Header{"Content-Type": {"text/plain"}, "Retry-After": {"600"}, "Anthropic-Ratelimit-Unified-Status": {"rejected"}}
		f.Body, f.Outcome.Cooldown = []byte("slow down"), secs(600)
	})
	q := request(by(claudeCode), selected("id1"))
	t.Run("as it came", func(t *testing.T) {
		a := q.Forward(&said, false)
		same(t, "body", string(a.Body), "slow down")
		same(t, "Content-Type", a.Header.Get("Content-Type"), "text/plain")
		same(t, "Retry-After", a.Header.Get("Retry-After"), "59")
		same(t, "wall", a.Header.Get("Anthropic-Ratelimit-Unified-Status"), "")
		same(t, "selected", a.Header.Get(HeaderSelected), "id1")
		same(t, "forwarded", a.Forwarded, true)
	})
	t.Run("untouched", func(t *testing.T) {
		a := q.Forward(&said, true)
		same(t, "Retry-After", a.Header.Get("Retry-After"), "600")
		same(t, "wall", a.Header.Get("Anthropic-Ratelimit-Unified-Status"), "rejected")
	})
	t.Run("the failure keeps its headers", func(t *testing.T) {
		same(t, "Retry-After", http.Header(said.Header).Get("Retry-After"), "600")
	})
	t.Run("without a body", func(t *testing.T) {
		f := failure(404, outcome.ReasonNotFound)
		a := q.Forward(&f, false)
		same(t, "Content-Type", a.Header.Get("Content-Type"), "application/json")
		contains(t, has(a.Body, "error.message"), "Work refused the request with status 404.")
	})
	t.Run("not from an upstream", func(t *testing.T) {
		f := failure(504, outcome.ReasonLocalTimeout, silent)
		f.Body = []byte("leftover")
		a := q.Forward(&f, false)
		same(t, "code", has(a.Body, "error.code"), "local_timeout")
	})
	t.Run("as an event", func(t *testing.T) {
		a := request(by(codex), in(dialect.Responses)).Forward(&said, false)
		contains(t, string(a.Event), "response.failed", "rate_limit_exceeded", "Please try again in 59s.")
	})
}
