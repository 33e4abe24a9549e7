package cases

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"breakwater/proxy"
	"breakwater/proxy/control"
	"breakwater/tests/scenario"
)

// sendHalf sends a request over a raw connection and closes the client's side
// of it.
func sendHalf(t *testing.T, k *scenario.Kit, method, path, body string, headers ...string) net.Conn {
	t.Helper()
	c := k.Dial()
	_, err := fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s",
		method, path, strings.Join(headers, "\r\n"), len(body), body)
	if err == nil {
		err = c.(*net.TCPConn).CloseWrite()
	}
	if err == nil {
		err = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// gate is an upstream that answers when it is let, and notices when it is left.
type gate struct {
	url   string
	asked chan struct{} // a request has come
	let   chan struct{} // close it: the answers begin, or go on
	left  chan time.Time
}

// gated serves Messages: of a stream, the first word comes at once where begun is
// set.
func gated(t *testing.T, begun bool) *gate {
	t.Helper()
	g := &gate{asked: make(chan struct{}, 8), let: make(chan struct{}), left: make(chan time.Time, 8)}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		stream := strings.Contains(string(raw), `"stream":true`)
		if stream && begun {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, event("message_start", messageStart)+event("content_block_start", blockStart)+delta("Hel"))
			_ = http.NewResponseController(w).Flush()
		}
		g.asked <- struct{}{}
		select {
		case <-r.Context().Done():
			g.left <- time.Now()
			return
		case <-g.let:
		}
		if !stream {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"id":"m","type":"message","role":"assistant","model":"m1","content":[{"type":"text","text":"Hello"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		if !begun {
			_, _ = io.WriteString(w, event("message_start", messageStart)+event("content_block_start", blockStart))
		}
		_, _ = io.WriteString(w, delta("lo")+event("content_block_stop", `{"type":"content_block_stop","index":0}`)+
			event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}`)+event("message_stop", `{"type":"message_stop"}`))
	}))
	t.Cleanup(srv.Close)
	g.url = srv.URL + "/v1"
	return g
}

func delta(text string) string {
	return event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`+text+`"}}`)
}

// behind returns a Breakwater before the gate, with short times until the client
// gets signs of life.
func behind(t *testing.T, g *gate) *scenario.Kit {
	t.Helper()
	limits := proxy.DefaultLimits()
	limits.Hold, limits.Heartbeat = 50*time.Millisecond, 20*time.Millisecond
	k := scenario.StartWith(t, limits)
	k.Add("alpha", "demo", func(in *control.ConnectionInput) { in.BaseURL = g.url })
	combo := k.Do(http.MethodPost, "/api/combos", `{"name":"both","strategy":"priority","models":["alpha/m1"]}`, "Authorization", "Bearer "+k.Token)
	if combo.Status != http.StatusCreated {
		t.Fatalf("no combo: %d %s", combo.Status, combo.Body)
	}
	return k
}

// A client that closes its sending side after the request gets its answer whole,
// however long it waits (needs the system's help, so far on Linux alone).
func TestHalfClosedClient(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the other systems do not say which end is closed")
	}
	whole := scenario.NoStream(scenario.Messages)
	for name, tc := range map[string]struct {
		body  string
		begun bool
		want  string
	}{
		"a document":              {whole, false, "Hello"},
		"a combo":                 {strings.Replace(whole, "m1", "both", 1), false, "Hello"},
		"a stream that waits":     {scenario.Messages, false, "message_stop"},
		"a stream that has begun": {scenario.Messages, true, "message_stop"},
	} {
		t.Run(name, func(t *testing.T) {
			g := gated(t, tc.begun)
			k := behind(t, g)
			c := sendHalf(t, k, http.MethodPost, "/v1/messages", tc.body)
			<-g.asked
			<-time.After(200 * time.Millisecond) // several looks at the client
			close(g.let)
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if err != nil || res.StatusCode != 200 || !strings.Contains(string(got), tc.want) {
				t.Errorf("got %d %q, %v", res.StatusCode, got, err)
			}
			if row := newest(t, k, 1); row.Result != "answered" || row.Status != 200 {
				t.Errorf("recorded as %s %d", row.Result, row.Status)
			}
			if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF { //nolint:errorlint // a raw connection
				t.Errorf("the connection stays open: %d, %v", n, err)
			}
		})
	}
}

// What else a client may ask for before it closes its sending side is answered
// too, and a request that ended early is told so.
func TestHalfClosedClientOfOtherPaths(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the other systems do not say which end is closed")
	}
	k := scenario.Start(t)
	k.Pair()
	for name, tc := range map[string]struct{ request, want string }{
		"models":              {"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 200"},
		"HTTP/1.0":            {"GET /v1/models HTTP/1.0\r\nHost: localhost\r\n\r\n", "HTTP/1.0 200"},
		"management":          {"GET /api/state HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + k.Token + "\r\n\r\n", "HTTP/1.1 200"},
		"a path of nobody's":  {"GET /nope HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 404"},
		"a body cut short":    {"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{", "HTTP/1.1 400"},
		"a setting cut short": {"PATCH /api/settings HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + k.Token + "\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{", "HTTP/1.1 400"},
	} {
		c := k.Dial()
		_, err := io.WriteString(c, tc.request)
		if err == nil {
			err = c.(*net.TCPConn).CloseWrite()
		}
		if err == nil {
			err = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(got), tc.want) {
			t.Errorf("%s: got %.200q, %v", name, got, err)
		}
	}
}

// A client that leaves is noticed upstream at once, in whatever way and at
// whatever time it leaves: the usual abort of an agent is the first.
func TestClientThatLeaves(t *testing.T) {
	ways := map[string]func(*net.TCPConn) error{
		"closes":          func(c *net.TCPConn) error { return c.Close() },
		"resets":          func(c *net.TCPConn) error { return errors.Join(c.SetLinger(0), c.Close()) },
		"lingers":         func(c *net.TCPConn) error { return errors.Join(c.SetLinger(5), c.Close()) },
		"shuts both down": func(c *net.TCPConn) error { return errors.Join(c.CloseRead(), c.CloseWrite()) },
	}
	if runtime.GOOS == "linux" {
		ways["closes its sending side first"] = func(c *net.TCPConn) error {
			err := c.CloseWrite()
			<-time.After(100 * time.Millisecond)
			return errors.Join(err, c.Close())
		}
	}
	whole := scenario.NoStream(scenario.Messages)
	for phase, tc := range map[string]struct {
		body  string
		begun bool
	}{
		"while a document is made": {whole, false}, "in a combo": {strings.Replace(whole, "m1", "both", 1), false},
		"before the headers": {scenario.Messages, false}, "in mid-stream": {scenario.Messages, true},
	} {
		for way, leave := range ways {
			t.Run(way+" "+phase, func(t *testing.T) {
				g := gated(t, tc.begun)
				k := behind(t, g)
				c := k.Dial().(*net.TCPConn)
				if _, err := fmt.Fprintf(c, "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(tc.body), tc.body); err != nil {
					t.Fatal(err)
				}
				<-g.asked
				if err := leave(c); err != nil {
					t.Fatal(err)
				}
				gone := time.Now()
				select {
				case at := <-g.left:
					t.Logf("noticed after %v", at.Sub(gone))
				case <-time.After(5 * time.Second):
					t.Fatal("the upstream goes on")
				}
				if row := newest(t, k, 1); row.Result != "client_left" {
					t.Errorf("recorded as %s %d", row.Result, row.Status)
				}
				if c := k.Connection("alpha"); c.State != "serving" || c.Failed != 0 {
					t.Errorf("alpha is %s, failed %d", c.State, c.Failed)
				}
			})
		}
	}
}

// newest returns the newest row of the activity log once it has so many.
func newest(t *testing.T, k *scenario.Kit, n int) control.Activity {
	t.Helper()
	var rows []control.Activity
	k.Until("the rows of the log", func() bool {
		if err := k.Store.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		var err error
		if rows, err = k.Facade().Activity(t.Context(), control.ActivityQuery{Limit: n + 1}); err != nil {
			t.Fatal(err)
		}
		return len(rows) >= n
	})
	return rows[0]
}
