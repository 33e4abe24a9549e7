package simulator

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/tidwall/gjson"

	"breakwater/proxy/dialect"
)

// order sends a control request and returns status and body.
func order(t *testing.T, s *Server, method, path, body string, mod ...func(*http.Request)) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:1"+path, strings.NewReader(body))
	for _, m := range mod {
		m(r)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	b, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(b)
}

func TestControlOverHTTP(t *testing.T) {
	s, c := start(t, Options{})
	alpha := s.Account("alpha")
	steps := `[{"kind":"status","status":503,"times":2,"retryAfter":{"seconds":7}},
		{"kind":"raw","contentType":"text/event-stream","pieces":["data: 1\n\n","base64:/w=="],"stalls":[{"after":1,"for":"1ms"}]},
		{"kind":"text","delay":1.5,"break":{"kind":"reset","after":-2}}]`
	status, body := order(t, s, http.MethodPut, "/__sim/accounts/alpha/script", steps)
	if status != 200 || gjson.Get(body, "script.#").Int() != 3 {
		t.Fatalf("%d %s", status, body)
	}
	got := ask{dialect: dialect.Chat, stream: true}.send(t, c, alpha)
	if got.StatusCode != 503 || got.Header.Get("Retry-After") != "7" {
		t.Errorf("first %d %v", got.StatusCode, got.Header)
	}
	ask{dialect: dialect.Chat, stream: true}.send(t, c, alpha)
	if got := (ask{dialect: dialect.Chat, stream: true}).send(t, c, alpha); string(got.body) != "data: 1\n\n\xff" {
		t.Errorf("raw %q", got.body)
	}
	if got := (ask{dialect: dialect.Chat, stream: true}).send(t, c, alpha); got.err == nil {
		t.Error("no reset")
	}
	status, body = order(t, s, http.MethodPut, "/__sim/accounts/beta/fault", `{"kind":"rate_limit","retryAfterSeconds":60,"count":3}`)
	if status != 200 || s.Account("beta").CurrentFault() != (Fault{Kind: FaultRateLimit, RetryAfterSeconds: 60, Count: 3}) {
		t.Errorf("fault %d %s", status, body)
	}
	status, body = order(t, s, http.MethodGet, "/__sim/state", "")
	if status != 200 || gjson.Get(body, "accounts.#.name").Raw != `["alpha","beta"]` && !strings.Contains(body, `"beta"`) {
		t.Errorf("state %d %s", status, body)
	}
	if gjson.Get(body, "accounts.0.counters.failed").Int() != 3 || gjson.Get(body, "accounts.1.fault.kind").Str != FaultRateLimit {
		t.Errorf("state %s", body)
	}
	_, body = order(t, s, http.MethodGet, "/__sim/requests?account=alpha", "")
	if gjson.Get(body, "#").Int() != 4 || gjson.Get(body, "0.body").Exists() {
		t.Errorf("requests %s", body)
	}
	_, body = order(t, s, http.MethodGet, "/__sim/requests?body=1", "")
	if !gjson.Get(body, "0.body").Exists() {
		t.Errorf("requests %s", body)
	}
	status, body = order(t, s, http.MethodPost, "/__sim/reset", "")
	if status != 200 || gjson.Get(body, "accounts.1.fault.kind").Str != FaultNone || alpha.Counters().Requests != 0 {
		t.Errorf("reset %d %s", status, body)
	}
}

func TestControlRefusesWhatItCannotPlay(t *testing.T) {
	s := New(Options{})
	for _, tt := range []struct {
		path, body, want string
	}{
		{"/__sim/accounts/a/script", `{"kind":"text"}`, "cannot be read"},
		{"/__sim/accounts/a/script", `[{"kind":"text","colour":"red"}]`, "colour"},
		{"/__sim/accounts/a/script", `[{"kind":"text"},{"kind":"song"}]`, "step 1: unknown kind"},
		{"/__sim/accounts/a/script", `[] []`, "goes on"},
		{"/__sim/accounts/a/script", `[{"kind":"text","delay":"soon"}]`, "cannot be read"},
		{"/__sim/accounts/a/fault", `{"kind":"flood"}`, "unknown fault"},
		{"/__sim/accounts/a/fault", `nonsense`, "cannot be read"},
	} {
		if status, body := order(t, s, http.MethodPut, tt.path, tt.body); status != 400 || !strings.Contains(body, tt.want) {
			t.Errorf("%s: %d %s", tt.body, status, body)
		}
	}
	if status, _ := order(t, s, http.MethodGet, "/__sim/else", ""); status != 404 {
		t.Errorf("unknown path: %d", status)
	}
	if status, _ := order(t, s, http.MethodPost, "/__sim/state", ""); status != 405 {
		t.Errorf("wrong method: %d", status)
	}
}

func TestControlIsForThisMachineOnly(t *testing.T) {
	s := New(Options{})
	for host, want := range map[string]int{
		"127.0.0.1:80": 200, "localhost:9": 200, "LOCALHOST": 200, "[::1]:7": 200, "::1": 200, "127.9.9.9": 200,
		"example.com": 403, "localhost.example.com": 403, "10.0.0.1:80": 403, "": 403, "127.0.0.1.nip.io": 403,
	} {
		if status, _ := order(t, s, http.MethodGet, "/__sim/state", "", func(r *http.Request) { r.Host = host }); status != want {
			t.Errorf("Host %q: %d", host, status)
		}
	}
	if status, _ := order(t, s, http.MethodPost, "/__sim/reset", "", func(r *http.Request) { r.Header.Set("Origin", "http://localhost:5173") }); status != 403 {
		t.Errorf("with an Origin: %d", status)
	}
}

// What the state shows can be sent back as a script.
func TestStepsSurviveJSON(t *testing.T) {
	yes := true
	steps := []Step{
		Auto(),
		Status(429).WithRetryAfterDate(time.Minute).WithUnified(UnifiedLimit{Status: "rejected", ResetIn: Duration(time.Hour)}).Repeat(3),
		Raw("text/event-stream", "caf\xc3", "\xa9", "base64:x", "").InChunks(1, 2),
		OK("a").Think("", "b").Split(-1).WithUsage(Usage{Input: 1}).WithStop("length").Always(),
		CallTool("Bash", `{"command":"ls"}`).For(When{Tools: &yes, Route: RouteAny}),
		OK().StallAfter(1, Forever).KeepAliveAt(0, "ping", time.Second, Forever).BareErrorAfter(2, Error{Code: "c"}).CRLF().Encoded(Zstd),
		OK().Delayed(1500*time.Millisecond).Paced(time.Millisecond).WithHeader("X-A", "b"),
	}
	b, err := json.Marshal(steps)
	if err != nil {
		t.Fatal(err)
	}
	var back []Step
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(steps, back, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(Step{})); d != "" {
		t.Error(d)
	}
}

func TestDurationsInJSON(t *testing.T) {
	for in, want := range map[string]time.Duration{`"2s"`: 2 * time.Second, `250`: 250 * time.Millisecond, `"forever"`: Forever, `0.5`: 500 * time.Microsecond} {
		var d Duration
		if err := json.Unmarshal([]byte(in), &d); err != nil || time.Duration(d) != want {
			t.Errorf("%s: %v, %v", in, time.Duration(d), err)
		}
	}
	var d Duration
	if err := json.Unmarshal([]byte(`{}`), &d); err == nil {
		t.Error("an object is no duration")
	}
}
