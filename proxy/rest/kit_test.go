package rest

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"breakwater/proxy/client/facadetest"
	"breakwater/proxy/control"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testToken = "bw-management-0123456789abcdef"

// t0 is the time of every test here.
var t0 = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

// bench is the API on a real socket over a fake facade, with a clock that
// stands still.
type bench struct {
	fake *facadetest.Fake
	url  string
	logs *logBuffer
	http *http.Client

	mu  sync.Mutex
	now time.Time
}

type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return newBenchWith(t, nil)
}

func newBenchWith(t *testing.T, key func(...string) error) *bench {
	t.Helper()
	return newBenchOf(t, Options{Key: key})
}

// newBenchWaiting has a wait of its own for the bodies of requests.
func newBenchWaiting(t *testing.T, wait time.Duration) *bench {
	t.Helper()
	return newBenchOf(t, Options{BodyWait: wait})
}

// dial opens a raw connection.
func (b *bench) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	return conn
}

func newBenchOf(t *testing.T, o Options) *bench {
	t.Helper()
	b := &bench{fake: facadetest.New(), logs: &logBuffer{}, now: t0, http: &http.Client{
		Transport:     &http.Transport{},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	srv := httptest.NewServer(New(Options{
		Facade: b.fake,
		Events: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "stream") }),
		Token:  func() string { return testToken },
		Log:    slog.New(slog.NewTextHandler(b.logs, nil)),
		Now:    b.clock,

		Key: o.Key, BodyWait: o.BodyWait,
	}))
	b.url = srv.URL
	t.Cleanup(func() {
		b.http.CloseIdleConnections()
		srv.Close()
		if strings.Contains(b.logs.String(), testToken) {
			t.Error("the token is in the log")
		}
	})
	return b
}

func (b *bench) clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *bench) advance(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

// scenario is one request and what must come of it.
type scenario struct {
	name   string
	method string
	path   string
	body   string
	header map[string]string // overrides; an empty value takes the header away
	before func(*facadetest.Fake)

	status int
	want   []string // the answer contains
	not    []string // the answer does not contain
	calls  []string // of the facade, besides Snapshot
	head   map[string]string
}

func (b *bench) run(t *testing.T, s scenario) string {
	t.Helper()
	if s.before != nil {
		s.before(b.fake)
	}
	earlier := len(b.fake.Calls())
	got := b.send(t, s)
	body := got.body
	conforms(t, s, got)
	if got.status != s.status {
		t.Errorf("%s %s: %d, want %d; %s", s.method, s.path, got.status, s.status, body)
	}
	for _, w := range s.want {
		if !strings.Contains(body, w) {
			t.Errorf("answer %s lacks %s", body, w)
		}
	}
	for _, w := range s.not {
		if strings.Contains(body, w) {
			t.Errorf("answer %s tells %s", body, w)
		}
	}
	for k, v := range s.head {
		if got.header.Get(k) != v {
			t.Errorf("header %s is %q, want %q", k, got.header.Get(k), v)
		}
	}
	calls := slices.DeleteFunc(b.fake.Calls()[earlier:], func(c string) bool { return c == "Snapshot" })
	if s.calls != nil && !slices.Equal(calls, s.calls) || s.status >= 400 && s.calls == nil && len(calls) > 0 {
		t.Errorf("facade calls %v, want %v", calls, s.calls)
	}
	return body
}

type answer struct {
	status int
	header http.Header
	body   string
}

func (b *bench) send(t *testing.T, s scenario) answer {
	t.Helper()
	var body io.Reader
	if s.body != "" {
		body = strings.NewReader(s.body)
	}
	req, err := http.NewRequestWithContext(t.Context(), s.method, b.url+s.path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range s.header {
		if v == "" {
			req.Header.Del(k)
		} else {
			req.Header.Set(k, v)
		}
	}
	resp, err := b.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(data)}
}

// two puts two connections into the fake.
func two(f *facadetest.Fake) {
	f.Change(func(s *control.Snapshot) {
		s.Connections = []control.Connection{
			{ID: "a", Provider: "anthropic", Name: "Work", Priority: 1, Active: true, State: control.StateServing, TestStatus: "active"},
			{ID: "b", Provider: "custom", Name: "Spare", Priority: 2, Active: true, State: control.StateServing, TestStatus: "active"},
		}
	})
}

func decodeInto(t *testing.T, body string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), v); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
}
