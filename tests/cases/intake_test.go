package cases

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// Cases P46 to P49: probes, preflights, and what a web page could send.
func TestGuard(t *testing.T) {
	k := scenario.Start(t)
	k.Add("alpha", "demo")
	if _, err := k.Facade().EditSettings(t.Context(), control.SettingsPatch{AllowedOrigins: &[]string{"http://localhost:5173"}}); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, method, path string
		headers            []string
		want               int
	}{
		{"case P46 HEAD /api/hello", "HEAD", "/api/hello", nil, 200},
		{"case P46 GET /api/hello", "GET", "/api/hello", nil, 200},
		{"HEAD /", "HEAD", "/", nil, 200},
		{"case P47 preflight of an allowed origin", "OPTIONS", "/v1/messages", []string{"Origin", "http://localhost:5173", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization, content-type"}, 204},
		{"case P47 preflight of another origin", "OPTIONS", "/v1/messages", []string{"Origin", "http://localhost:5174", "Access-Control-Request-Method", "POST"}, 403},
		{"case P48 origin that begins like localhost", "POST", "/api/providers", []string{"Origin", "http://localhost.evil.example:3200"}, 403},
		{"case P48 origin that begins like 127.0.0.1", "POST", "/api/providers", []string{"Origin", "http://127.0.0.1.evil.example"}, 403},
		{"case P49 foreign host", "GET", "/v1/models", []string{"Host", "evil.example:20128"}, 403},
		{"case P49 localhost with a dot", "GET", "/v1/models", []string{"Host", "localhost."}, 200},
		{"case P49 IPv6 loopback", "GET", "/v1/models", []string{"Host", "[::1]:20128"}, 200},
		{"case P49 bare 127.0.0.1", "GET", "/v1/models", []string{"Host", "127.0.0.1"}, 200},
		{"cross-site fetch without an origin", "GET", "/v1/models", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"management without a token", "GET", "/api/state", nil, 401},
		{"management with a wrong token", "GET", "/api/state", []string{"Authorization", "Bearer x"}, 403},
		{"management with the token", "GET", "/api/state", []string{"Authorization", "Bearer " + k.Token}, 200},
		{"health is public", "GET", "/api/monitoring/health", nil, 200},
		{"a WebSocket for Responses", "GET", "/v1/responses", []string{"Upgrade", "websocket", "Connection", "Upgrade"}, 426},
		{"unknown path", "POST", "/v2/messages", nil, 404},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := k.Do(tt.method, tt.path, "", tt.headers...)
			if a.Status != tt.want {
				t.Errorf("got %d, want %d: %s", a.Status, tt.want, a.Body)
			}
			if tt.method == "HEAD" && a.Body != "" {
				t.Errorf("HEAD has a body: %q", a.Body)
			}
		})
	}
	if n := len(k.Sim.Account("alpha").Requests()); n != 0 {
		t.Errorf("%d of these reached the upstream", n)
	}
	if strings.Contains(k.Log.String(), "hello") {
		t.Errorf("probes fill the log: %s", k.Log)
	}
}

// Case P37: compressed request bodies are read, bombs and torn ones refused,
// and none of it is a penalty.
func TestCompressedRequests(t *testing.T) {
	zip := func(raw string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write([]byte(raw))
		_ = w.Close()
		return b.String()
	}
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	small := string(enc.EncodeAll([]byte(`{"model":"m1","input":"hi"}`), nil))
	bomb := string(enc.EncodeAll(append([]byte(`{"model":"m1","input":"`), bytes.Repeat([]byte("x"), 200<<20)...), nil))
	tests := []struct {
		name, encoding, body string
		want                 int
	}{
		{"case P37 zstd", "zstd", small, 200},
		{"gzip", "gzip", zip(`{"model":"m1","input":"hi"}`), 200},
		{"case P37 bomb", "zstd", bomb, 413},
		{"case P37 torn", "zstd", small[:len(small)-3], 400},
		{"unknown encoding", "lzma", "x", 415},
	}
	k := scenario.Start(t)
	k.Add("alpha", "demo")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := k.Post("/v1/responses", tt.body, "Content-Encoding", tt.encoding)
			if a.Status != tt.want {
				t.Fatalf("got %d, want %d: %s", a.Status, tt.want, a.Body)
			}
			if a.Status != 200 && a.ErrorMessage() == "" {
				t.Errorf("no message: %s", a.Body)
			}
		})
	}
	for _, r := range k.Sim.Account("alpha").Requests() {
		if string(r.Body) != `{"model":"m1","input":"hi"}` || r.Header.Get("Content-Encoding") != "" {
			t.Errorf("upstream saw %q with encoding %q", r.Body, r.Header.Get("Content-Encoding"))
		}
	}
	if c := k.Connection("alpha"); c.State != "serving" {
		t.Errorf("alpha is %s", c.State)
	}
}

// Cases P38 and P39: sizes.
func TestSizes(t *testing.T) {
	k := scenario.Start(t)
	k.Add("alpha", "demo")
	big := func(mib int) string {
		return `{"model":"m1","max_tokens":1,"messages":[{"role":"user","content":"` + strings.Repeat("x", mib<<20) + `"}]}`
	}
	t.Run("case P38 33 MiB pass", func(t *testing.T) {
		if a := k.Post("/v1/messages", big(33)); a.Status != 200 {
			t.Errorf("got %d %.300s", a.Status, a.Body)
		}
	})
	t.Run("case P38 over the cap", func(t *testing.T) {
		a := k.Post("/v1/messages", big(65))
		if a.Status != 413 || !strings.Contains(a.Body, `"request_too_large"`) || !strings.Contains(a.Body, "64 MiB") {
			t.Errorf("got %d, %v, %.300s", a.Status, a.Err, a.Body)
		}
	})
	t.Run("case P38 announced over the cap", func(t *testing.T) {
		for path, kind := range map[string]string{"/v1/messages": `"request_too_large"`, "/v1/chat/completions": `"code":"body_too_large"`, "/v1/responses": `"code":"body_too_large"`} {
			c := k.Dial()
			if _, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 104857600\r\n\r\n", path); err != nil {
				t.Fatal(err)
			}
			if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(c)
			if err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 413 ") || !strings.Contains(string(got), kind) {
				t.Errorf("%s: got %v, %.300s", path, err, got)
			}
		}
	})
	t.Run("case P39 long headers pass, the cookie stays here", func(t *testing.T) {
		betas := make([]string, 30)
		for i := range betas {
			betas[i] = fmt.Sprintf("some-beta-%d-2025-01-01", i)
		}
		k.Sim.Account("alpha").Script(simulator.OK().WithHeader("X-Long", strings.Repeat("y", 20<<10)))
		a := k.Post("/v1/messages", scenario.Messages, "Cookie", strings.Repeat("c", 40<<10), "Anthropic-Beta", strings.Join(betas, ","))
		if a.Status != 200 || len(a.Header.Get("X-Long")) != 20<<10 {
			t.Fatalf("got %d, %d bytes of header", a.Status, len(a.Header.Get("X-Long")))
		}
		rs := k.Sim.Account("alpha").Requests()
		h := rs[len(rs)-1].Header
		if h.Get("Cookie") != "" || h.Get("Anthropic-Beta") != strings.Join(betas, ",") {
			t.Errorf("upstream saw cookie of %d bytes, betas %q", len(h.Get("Cookie")), h.Get("Anthropic-Beta"))
		}
	})
	t.Run("case P39 2 MiB of headers", func(t *testing.T) {
		if a := k.Post("/v1/messages", scenario.Messages, "X-Long", strings.Repeat("y", 2<<20)); a.Status != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("got %d, %v", a.Status, a.Err)
		}
	})
}

// A path of the management API that is none answers in its form.
func TestAPIRootSpeaksJSON(t *testing.T) {
	k := scenario.Start(t)
	for _, path := range []string{"/api", "/api/", "/api/nothing", "/api//providers", "/api/providers/../state"} {
		a := k.Do(http.MethodGet, path, "", "Authorization", "Bearer "+k.Token)
		if a.Status != http.StatusNotFound || !strings.Contains(a.ErrorMessage(), "/api/openapi.json") {
			t.Errorf("%s: got %d %s", path, a.Status, a.Body)
		}
	}
}

// Bad requests are told so in the client's dialect and reach nobody.
func TestBadRequests(t *testing.T) {
	k := scenario.Start(t)
	k.Add("alpha", "demo")
	for name, body := range map[string]string{
		"empty": "", "no JSON": "hello", "an array": `[{"model":"m1"}]`, "torn": `{"model":"m1","messages":[{`,
		"no model": `{"messages":[]}`, "model is a number": `{"model":7}`, "two models": `{"model":"a","x":1,"model":"b"}`,
		"escaped second model": `{"model":"a","mod\u0065l":"b"}`, "trailing text": `{"model":"a"} x`,
	} {
		for _, path := range []string{"/v1/messages", "/v1/chat/completions", "/v1/responses"} {
			t.Run(name+path, func(t *testing.T) {
				a := k.Post(path, body)
				if a.Status != 400 || a.ErrorMessage() == "" || !strings.Contains(a.Body, `"invalid_request_error"`) {
					t.Errorf("got %d: %s", a.Status, a.Body)
				}
			})
		}
	}
	if n := len(k.Sim.Account("alpha").Requests()); n != 0 {
		t.Errorf("%d bad requests reached the upstream", n)
	}
}

// Cases P43 to P45: what the upstream sees of a model name.
func TestModelNames(t *testing.T) {
	tests := []struct{ name, asked, wantModel, wantBy string }{
		{"case P43 the window suffix stays here", "alpha/claude-x-9[1m]", "claude-x-9", "alpha"},
		{"case P44 a bare name takes the first", "claude-x-9", "claude-x-9", "alpha"},
		{"case P44 a prefix always wins", "beta/claude-x-9", "claude-x-9", "beta"},
		{"a provider's id is a prefix", "demo-oauth/m1", "m1", "gamma"},
		{"case P45 only the first segment is ours", "alpha/org/pa/claude-x", "org/pa/claude-x", "alpha"},
		{"case P45 an unknown first segment is the model's", "org/claude-x", "org/claude-x", "alpha"},
	}
	k := scenario.Start(t)
	k.Pair()
	k.Add("gamma", "demo-oauth")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := `{"max_tokens":3, "model" : "` + tt.asked + `","messages":[{"role":"user","content":"the model is \"` + tt.asked + `\""}]}`
			a := k.Post("/v1/messages", body, "Anthropic-Beta", "context-1m-2025-08-07")
			if a.Status != 200 || a.From() != tt.wantBy {
				t.Fatalf("got %d from %q: %s", a.Status, a.From(), a.Body)
			}
			rs := k.Sim.Account(tt.wantBy).Requests()
			got := rs[len(rs)-1]
			if want := strings.Replace(body, tt.asked, tt.wantModel, 1); string(got.Body) != want {
				t.Errorf("upstream saw %s, want %s", got.Body, want)
			}
			if got.Header.Get("Anthropic-Beta") != "context-1m-2025-08-07" {
				t.Errorf("the beta header became %q", got.Header.Get("Anthropic-Beta"))
			}
		})
	}
}

// Case P42: a provider without count_tokens is not punished for it.
func TestCountTokens(t *testing.T) {
	t.Run("case P42", func(t *testing.T) {
		k := scenario.Start(t)
		k.Add("alpha", "demo")
		alpha := k.Sim.Account("alpha")
		alpha.Script(simulator.Status(404).WithBody("application/json", `{"error":{"message":"no route"}}`).For(simulator.When{Route: simulator.RouteCountTokens}))
		if a := k.Post("/v1/messages/count_tokens?beta=true", scenario.NoStream(scenario.Messages)); a.Status != 404 {
			t.Fatalf("got %d %s", a.Status, a.Body)
		}
		if a := k.Post("/v1/messages", scenario.Messages); a.Status != 200 || a.From() != "alpha" {
			t.Errorf("afterwards %d %s", a.Status, a.Body)
		}
		if c := k.Connection("alpha"); c.State != "serving" {
			t.Errorf("alpha is %s", c.State)
		}
	})
}

// Case P20: what is wrong with a request is no failure of the upstream.
func TestRequestFaultsArePassedOn(t *testing.T) {
	for _, status := range []int{400, 409, 413, 422} {
		t.Run(fmt.Sprintf("case P20 status %d", status), func(t *testing.T) {
			k := scenario.Start(t)
			k.Add("alpha", "demo")
			alpha := k.Sim.Account("alpha")
			body := `{"error":{"code":"context_length_exceeded","message":"prompt is too long"}}`
			alpha.Script(simulator.Status(status).WithBody("application/json", body).Repeat(20))
			for range 20 {
				if a := k.Post("/v1/chat/completions", scenario.Chat); a.Status != status || a.Body != body {
					t.Fatalf("got %d %s", a.Status, a.Body)
				}
			}
			if a := k.Post("/v1/chat/completions", scenario.Chat); a.Status != 200 || a.From() != "alpha" {
				t.Errorf("the good one: %d %s", a.Status, a.Body)
			}
			if b := k.Breaker("demo"); b.FailureCount != 0 || b.State != "CLOSED" || k.Connection("alpha").State != "serving" {
				t.Errorf("breaker %s with %d failures, alpha is %s", b.State, b.FailureCount, k.Connection("alpha").State)
			}
		})
	}
}

// A model that an upstream does not know is told to the client as it came, and
// other models stay in use.
func TestUnknownModelIsPassedOn(t *testing.T) {
	k := scenario.Start(t)
	k.Add("alpha", "demo")
	body := `{"error":{"message":"The model m1 does not exist","type":"invalid_request_error","code":"model_not_found"}}`
	k.Sim.Account("alpha").Script(simulator.Status(404).WithBody("application/json", body))
	if a := k.Post("/v1/chat/completions", scenario.Chat); a.Status != 404 || a.Body != body {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	if a := k.Post("/v1/chat/completions", strings.Replace(scenario.Chat, "m1", "m2", 1)); a.Status != 200 {
		t.Errorf("another model: %d %s", a.Status, a.Body)
	}
}

// Case P50: no part of a key is ever shown.
func TestNoKeyIsShown(t *testing.T) {
	t.Run("case P50", func(t *testing.T) {
		const key = "sk-test-AAAA1111BBBB2222"
		k := scenario.Start(t)
		k.Add("alpha", "demo", func(in *control.ConnectionInput) { in.APIKey = key })
		alpha := k.Sim.Account("alpha").SetKeys(key)
		alpha.Script(simulator.Status(401).WithError(simulator.Error{Message: "the key " + key + " is wrong"}), simulator.Status(503).WithError(simulator.Error{Message: key}))
		var shown strings.Builder
		for range 2 {
			a := k.Post("/v1/messages", scenario.Messages, "X-Api-Key", key, "Authorization", "Bearer "+key)
			shown.WriteString(a.Body)
			if err := k.Facade().ClearCooldown(t.Context(), k.Connection("alpha").ID); err != nil {
				t.Fatal(err)
			}
		}
		shown.WriteString(k.Log.String())
		shown.WriteString(k.Do("GET", "/api/state", "", "Authorization", "Bearer "+k.Token).Body)
		shown.WriteString(k.Do("GET", "/api/activity", "", "Authorization", "Bearer "+k.Token).Body)
		for i := 0; i+6 <= len(key); i++ {
			if part := key[i : i+6]; part != "sk-tes" && strings.Contains(shown.String(), part) {
				t.Fatalf("%q of the key is shown", part)
			}
		}
	})
}
