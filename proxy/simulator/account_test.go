package simulator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"breakwater/proxy/dialect"
)

func TestAccountsAreToldApart(t *testing.T) {
	s, c := start(t, Options{})
	s.Account("alpha").SetKeys("k-alpha", "k-alpha-2")
	s.Account("beta")
	bearer := func(k string) http.Header { return http.Header{"Authorization": {"Bearer " + k}} }
	tests := []struct {
		name   string
		prefix string
		header http.Header
		want   string
		status int
	}{
		{"by x-api-key", "/v1", http.Header{"X-Api-Key": {"k-alpha"}}, "alpha", 200},
		{"by bearer", "/v1", bearer("k-alpha-2"), "alpha", 200},
		{"by a key that names it", "/v1", bearer(s.Account("beta").Key()), "beta", 200},
		{"by a new name in the key", "/v1", bearer("sk-sim-gamma"), "gamma", 200},
		{"by path, whatever the key", "/a/beta/v1", bearer("k-alpha"), "beta", 200},
		{"by path, without a key", "/a/beta/v1", nil, "beta", 200},
		{"by an escaped path", accountPath("two words/é") + "/v1", nil, "two words", 200},
		{"wrong key for the path", "/a/alpha/v1", bearer("k-other"), "alpha", 401},
		{"no key for the path", "/a/alpha/v1", nil, "alpha", 401},
		{"right key for the path", "/a/alpha/v1", bearer("k-alpha"), "alpha", 200},
		{"unknown key", "/v1", bearer("who"), "default", 200},
		{"other base path", "/api/anthropic/v1", bearer("k-alpha"), "alpha", 200},
		{"no version in the path", "", bearer("k-alpha"), "alpha", 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s.Reset()
			req := ask{dialect: dialect.Anthropic, header: tt.header}.request(t.Context(), s.BaseURL()+tt.prefix)
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || resp.StatusCode != tt.status {
				t.Errorf("status %d, %v", resp.StatusCode, err)
			}
			if text := gjson.GetBytes(body, "content.0.text").Str; tt.status == 200 && text != "Hello from the demo account "+tt.want+"." {
				t.Errorf("text %q", text)
			}
			if n := len(s.Account(tt.want).Requests()); n != 1 {
				t.Errorf("%d requests recorded", n)
			}
		})
	}
	s.Account("alpha").SetKeys()
	if got := (ask{dialect: dialect.Chat}).send(t, c, s.Account("alpha")); got.StatusCode != 200 {
		t.Errorf("without keys of its own: %d", got.StatusCode)
	}
}

func TestScriptsAreUsedUpInOrder(t *testing.T) {
	yes, no := true, false
	s, c := start(t, Options{Default: Status(418)})
	alpha := s.Account("alpha").Script(
		Status(501).For(When{Dialect: "responses"}),
		Status(502).For(When{Tools: &yes}),
		Status(503).Repeat(2).For(When{Stream: &no}),
		Status(504).For(When{Model: "other"}),
	).Then(OK().For(When{Stream: &yes}).Always())
	for i, tt := range []struct {
		ask  ask
		want int
	}{
		{ask{dialect: dialect.Chat}, 503},
		{ask{dialect: dialect.Chat, tools: true}, 502},
		{ask{dialect: dialect.Chat, tools: true}, 503},
		{ask{dialect: dialect.Responses}, 501},
		{ask{dialect: dialect.Responses}, 418},
		{ask{dialect: dialect.Anthropic, stream: true}, 200},
		{ask{dialect: dialect.Anthropic, stream: true}, 200},
		{ask{dialect: dialect.Anthropic}, 418},
	} {
		if got := tt.ask.send(t, c, alpha); got.StatusCode != tt.want {
			t.Errorf("request %d: %d, want %d", i, got.StatusCode, tt.want)
		}
	}
	left := alpha.Pending()
	if len(left) != 2 || left[0].Status != 504 || left[1].Times != Forever {
		t.Errorf("left %+v", left)
	}
	if n := alpha.Counters(); n.Requests != 8 || n.OK != 2 || n.Failed != 6 || n.InFlight != 0 {
		t.Errorf("counters %+v", n)
	}
	alpha.Script()
	if len(alpha.Pending()) != 0 {
		t.Error("an empty script leaves steps")
	}
}

func get(t *testing.T, c *http.Client, url string, header http.Header) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(req.Header, header)
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, body
}

func TestModelsInBothForms(t *testing.T) {
	s, c := start(t, Options{Models: []string{"m1", "m2", "m3"}})
	base := s.Account("alpha").BaseURL()
	anthropic := http.Header{"Anthropic-Version": {"2023-06-01"}}
	tests := []struct {
		path   string
		header http.Header
		status int
		query  string
		want   string
	}{
		{"/models", nil, 200, "data.#.id", `["m1","m2","m3"]`},
		{"/models", nil, 200, "object", `"list"`},
		{"/models/m2", nil, 200, "owned_by", `"simulator"`},
		{"/models/m9", nil, 404, "error.code", `"model_not_found"`},
		{"/models", anthropic, 200, "data.#.id", `["m1","m2","m3"]`},
		{"/models?limit=2", anthropic, 200, "data.#.id", `["m1","m2"]`},
		{"/models?limit=2", anthropic, 200, "has_more", `true`},
		{"/models?limit=2&after_id=m2", anthropic, 200, "first_id", `"m3"`},
		{"/models?after_id=m3", anthropic, 200, "last_id", `null`},
		{"/models/m2", anthropic, 200, "type", `"model"`},
		{"/models/m9", anthropic, 404, "error.type", `"not_found_error"`},
	}
	for _, tt := range tests {
		status, body := get(t, c, base+tt.path, tt.header)
		if got := gjson.GetBytes(body, tt.query).Raw; status != tt.status || got != tt.want {
			t.Errorf("%s %v: %d %s = %s", tt.path, tt.header, status, tt.query, got)
		}
	}
}

func TestOtherRoutes(t *testing.T) {
	s, c := start(t, Options{})
	alpha := s.Account("alpha")
	post := func(path, body string) (int, string) {
		resp, err := c.Post(alpha.BaseURL()+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	if status, body := post("/messages/count_tokens", `{"model":"m","messages":[]}`); status != 200 || !strings.Contains(body, `"input_tokens":7`) {
		t.Errorf("count_tokens: %d %s", status, body)
	}
	for path, want := range map[string]int{"/messages": 400, "/responses": 400, "/models": 405, "/embeddings": 404} {
		if status, _ := post(path, `{"messages":[]}`); status != want {
			t.Errorf("POST %s: %d", path, status)
		}
	}
	if status, body := post("/messages", `[1`); status != 400 || !strings.Contains(body, "invalid_request_error") {
		t.Errorf("broken body: %d %s", status, body)
	}
	// Ruling 46 is why Codex asks for this.
	if status, _ := get(t, c, alpha.BaseURL()+"/responses", http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}); status != 426 {
		t.Errorf("websocket: %d", status)
	}
	if status, _ := get(t, c, alpha.BaseURL()+"/responses", nil); status != 405 {
		t.Errorf("GET: %d", status)
	}
	if status, _ := get(t, c, s.BaseURL()+"/", nil); status != 200 {
		t.Errorf("root: %d", status)
	}
	alpha.Script(Status(404).For(When{Route: RouteCountTokens}), Status(500).For(When{Route: RouteModels}), Status(503).For(When{Route: RouteAny}))
	if status, _ := post("/messages/count_tokens", `{"model":"m"}`); status != 404 { // case P42
		t.Errorf("scripted count_tokens: %d", status)
	}
	if status, _ := get(t, c, alpha.BaseURL()+"/models", nil); status != 500 {
		t.Errorf("scripted models: %d", status)
	}
	if status, _ := get(t, c, alpha.BaseURL()+"/else", nil); status != 503 {
		t.Errorf("scripted other: %d", status)
	}
}

func TestRecords(t *testing.T) {
	s, c := start(t, Options{})
	alpha := s.Account("alpha").Script(Status(503), OK().CutAfter(1))
	a := ask{dialect: dialect.Anthropic, stream: true, header: http.Header{"X-Api-Key": {"k"}}}
	a.send(t, c, alpha)
	a.send(t, c, alpha)
	a.send(t, c, alpha)
	rs := alpha.Requests()
	if len(rs) != 3 {
		t.Fatalf("%d records", len(rs))
	}
	r := rs[0]
	if r.Method != "POST" || r.Path != "/a/alpha/v1/messages" || string(r.Body) != a.body() || r.BodySize != len(r.Body) ||
		r.Header.Get("X-Api-Key") != "k" || r.Header.Get("Host") == "" || r.Model != "m-1" || !r.Stream || r.Dialect != "anthropic" ||
		r.Route != RouteInference || r.At.IsZero() || r.DoneAt.Before(r.At) || !r.CancelledAt.IsZero() {
		t.Errorf("record %+v", r)
	}
	for i, want := range []string{"status 503", "text, cut", "auto"} {
		if rs[i].Answer != want || rs[i].Seq != int64(i+1) {
			t.Errorf("record %d: %q %d", i, rs[i].Answer, rs[i].Seq)
		}
	}
	if n := alpha.Counters(); n.Inference != 3 || n.OK != 1 || n.Failed != 2 || n.BytesSent != rs[0].BytesSent+rs[1].BytesSent+rs[2].BytesSent {
		t.Errorf("counters %+v", n)
	}
	alpha.Reset()
	if len(alpha.Requests()) != 0 || alpha.Counters() != (Counters{}) {
		t.Error("reset leaves records")
	}
}

func TestRecordsAreBounded(t *testing.T) {
	s, c := start(t, Options{Keep: 2, KeepBody: 4})
	alpha := s.Account("alpha")
	for range 5 {
		ask{dialect: dialect.Chat}.send(t, c, alpha)
	}
	rs := alpha.Requests()
	if len(rs) != 2 || rs[1].Seq != 5 || string(rs[1].Body) != `{"mo` || rs[1].BodySize < 10 {
		t.Errorf("records %+v", rs)
	}
	s, c = start(t, Options{Keep: -1, KeepBody: -1})
	ask{dialect: dialect.Chat}.send(t, c, s.Account("alpha"))
	if n := len(s.Account("alpha").Requests()); n != 0 || s.Account("alpha").Counters().Requests != 1 {
		t.Errorf("%d records kept", n)
	}
}

func TestAwaitSeesChanges(t *testing.T) {
	s, c := start(t, Options{})
	until := make(chan struct{})
	alpha := s.Account("alpha").Script(OK().HoldAfter(1, until))
	done := make(chan answered)
	go func() { done <- ask{dialect: dialect.Chat, stream: true}.send(t, c, alpha) }()
	rs, err := alpha.Await(t.Context(), func(rs []Request) bool { return len(rs) == 1 })
	if err != nil || !rs[0].DoneAt.IsZero() || alpha.Counters().InFlight != 1 {
		t.Errorf("in flight: %+v, %v", rs, err)
	}
	close(until)
	if got := <-done; got.err != nil {
		t.Error(got.err)
	}
	if _, err := alpha.Await(t.Context(), func(rs []Request) bool { return !rs[0].DoneAt.IsZero() }); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := alpha.Await(ctx, func([]Request) bool { return false }); !errors.Is(err, context.Canceled) {
		t.Errorf("await ended with %v", err)
	}
}

// Cases P21, P34: a client that goes away is noticed on real sockets, also
// while it does not read.
func TestLeavingIsNoticedOnSockets(t *testing.T) {
	s, _ := start(t, Options{})
	steps := map[string]Step{
		"in silence":             OK().StallAfter(1, Forever),
		"case P34 never reading": OK(strings.Repeat("x", 50<<20)).Split(64 << 10),
	}
	for name, st := range steps {
		t.Run(name, func(t *testing.T) {
			alpha := s.Account(name).Script(st)
			var d net.Dialer
			conn, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(s.BaseURL(), "http://"))
			if err != nil {
				t.Fatal(err)
			}
			body := ask{dialect: dialect.Anthropic, stream: true}.body()
			_, err = fmt.Fprintf(conn, "POST %s/v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s",
				accountPath(name), len(body), body)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			if err := conn.Close(); err != nil {
				t.Fatal(err)
			}
			rs, err := alpha.Await(t.Context(), func(rs []Request) bool { return !rs[0].DoneAt.IsZero() })
			if err != nil || rs[0].CancelledAt.IsZero() {
				t.Errorf("%+v, %v", rs, err)
			}
		})
	}
}

func TestManyClientsAtOnce(t *testing.T) {
	s, c := start(t, Options{})
	var wg sync.WaitGroup
	for i := range 8 {
		acc := s.Account([]string{"alpha", "beta"}[i%2])
		wg.Go(func() {
			for range 20 {
				for _, d := range spoken {
					got := ask{dialect: d, stream: true}.send(t, c, acc)
					if got.err != nil || !strings.Contains(string(got.body), acc.Name()) {
						t.Errorf("%s: %v", acc.Name(), got.err)
					}
				}
			}
		})
	}
	wg.Wait()
	for _, name := range []string{"alpha", "beta"} {
		if n := s.Account(name).Counters(); n.OK != 240 || n.InFlight != 0 || n.Cancelled != 0 {
			t.Errorf("%s %+v", name, n)
		}
	}
}

func TestStartAndClose(t *testing.T) {
	s := New(Options{})
	if s.BaseURL() != "" {
		t.Error("an address before the start")
	}
	if err := s.Start(t.Context(), "256.0.0.1:0"); err == nil {
		t.Error("listens nowhere")
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := s.Start(ctx, ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(ctx, ""); err == nil {
		t.Error("started twice")
	}
	cancel() // the end of the context closes the server
	<-s.done
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Start(t.Context(), ""); err == nil {
		t.Error("started after its end")
	}
}
