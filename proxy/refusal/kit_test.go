package refusal

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"breakwater/proxy/dialect"
	"breakwater/resilience"
	"breakwater/resilience/outcome"
)

// now is the tests' present, core its counterpart in core time.
var (
	now  = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	core = time.Date(2040, 1, 2, 3, 4, 5, 0, time.UTC)
)

func toReal(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(now.Add(t.Sub(core)))
}

// The clients whose profiles differ.
var (
	claudeCode = profile("X-Claude-Code-Session-Id", "s")
	codex      = profile("Originator", "codex_cli_rs")
	openCode   = profile("User-Agent", "opencode/1")
	unknown    = dialect.DefaultProfile()
)

func profile(name, value string) dialect.Profile {
	return dialect.ProfileOf(func(n string) string {
		if n == name {
			return value
		}
		return ""
	})
}

func request(edit ...func(*Request)) *Request {
	q := &Request{Dialect: dialect.Anthropic, Client: unknown, Model: "m", Now: now}
	for _, e := range edit {
		e(q)
	}
	return q
}

func by(p dialect.Profile) func(*Request) { return func(q *Request) { q.Client = p } }
func in(d dialect.Dialect) func(*Request) { return func(q *Request) { q.Dialect = d } }
func leased(q *Request)                   { q.Leases = true }
func selected(id string) func(*Request)   { return func(q *Request) { q.Selected = id } }
func has(body []byte, path string) string { return gjson.GetBytes(body, path).String() }
func secs(n float64) time.Duration        { return time.Duration(n * float64(time.Second)) }
func same(t *testing.T, what, got, want any) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func failure(status int, r outcome.Reason, edit ...func(*resilience.Failure)) resilience.Failure {
	f := resilience.Failure{
		Connection: "id1", Name: "Work", Provider: "p", Model: "m", Header: http.Header{},
		Outcome: outcome.Outcome{Class: outcome.Failure, Scope: outcome.ScopeConnection, Reason: r, Status: status, Fallback: true},
	}
	for _, e := range edit {
		e(&f)
	}
	return f
}

func limited(left time.Duration) resilience.Failure {
	return failure(429, outcome.ReasonRateLimit, func(f *resilience.Failure) { f.Until = core.Add(left) })
}

func silent(f *resilience.Failure)  { f.Header = nil }
func neutral(f *resilience.Failure) { f.Outcome.Class = outcome.Neutral }
func code(c string) func(*resilience.Failure) {
	return func(f *resilience.Failure) { f.Code = c }
}

// contains fails when a text lacks one of the parts.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q lacks %q", text, p)
		}
	}
}
