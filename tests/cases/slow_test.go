package cases

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"breakwater/proxy"
	"breakwater/tests/scenario"
)

// slowKit waits a quarter of a second for clients.
func slowKit(t *testing.T) *scenario.Kit {
	limits := proxy.DefaultLimits()
	limits.Head, limits.Upload = 250*time.Millisecond, 250*time.Millisecond
	k := scenario.StartWith(t, limits)
	k.Add("alpha", "demo")
	return k
}

// trickle writes pieces with a pause before each.
func trickle(c net.Conn, pause time.Duration, pieces ...string) {
	for _, p := range pieces {
		<-time.After(pause)
		if _, err := io.WriteString(c, p); err != nil {
			return
		}
	}
}

// A request body that stops coming, or comes in drops, is given up with a 408 in
// the dialect's form; one that comes on may take its time. Nobody is penalised.
func TestSlowRequestBodies(t *testing.T) {
	long := strings.Replace(scenario.NoStream(scenario.Messages), `"hi"`, `"`+strings.Repeat("x", 40<<10)+`"`, 1)
	head := func(path string, n int) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", path, n)
	}
	var steps, drops []string
	for rest := long; rest != ""; rest = rest[min(len(rest), 8<<10):] {
		steps = append(steps, rest[:min(len(rest), 8<<10)])
	}
	for range 20 {
		drops = append(drops, " ")
	}
	for _, tt := range []struct {
		name, path string
		length     int
		pause      time.Duration
		pieces     []string
		status     int
		want       string
	}{
		{"stops", "/v1/messages", 1000, 0, []string{`{"model":`}, 408, `"type":"error"`},
		{"never begins, chat", "/v1/chat/completions", 1000, 0, nil, 408, `"param":null`},
		{"comes in drops", "/v1/messages", 1000, 60 * time.Millisecond, drops, 408, `"code":"request_body_timeout"`},
		{"comes on", "/v1/messages", len(long), 100 * time.Millisecond, steps, 200, "alpha"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := slowKit(t)
			c := k.Dial()
			if _, err := io.WriteString(c, head(tt.path, tt.length)); err != nil {
				t.Fatal(err)
			}
			go trickle(c, tt.pause, tt.pieces...)
			began := time.Now()
			in := bufio.NewReader(c)
			res, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if err != nil || res.StatusCode != tt.status || !strings.Contains(string(body), tt.want) {
				t.Errorf("%d %v after %v: %s", res.StatusCode, err, time.Since(began), body)
			}
			if tt.status == 408 {
				if _, err := in.ReadByte(); err == nil {
					t.Error("the connection goes on")
				}
			}
			if c := k.Connection("alpha"); c.Failed != 0 || c.State != "serving" {
				t.Errorf("alpha is %s, failed %d", c.State, c.Failed)
			}
		})
	}
}

// A connection on which a slow body was read whole serves the next request.
func TestConnectionAfterASlowBody(t *testing.T) {
	k := slowKit(t)
	c := k.Dial()
	in := bufio.NewReader(c)
	body := scenario.NoStream(scenario.Messages)
	for range 3 {
		if _, err := fmt.Fprintf(c, "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", len(body)); err != nil {
			t.Fatal(err)
		}
		trickle(c, 100*time.Millisecond, body[:10], body[10:])
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != 200 {
			t.Fatalf("%d, %v", res.StatusCode, err)
		}
		_ = res.Body.Close()
		<-time.After(300 * time.Millisecond)
	}
}

// Headers that do not arrive end the connection.
func TestSlowRequestHeaders(t *testing.T) {
	k := slowKit(t)
	c := k.Dial()
	go trickle(c, 50*time.Millisecond, "POST /v1/messages HTTP/1.1\r\n", "Host: localhost\r\n", "A: b\r\n", "C: d\r\n", "E: f\r\n", "G: h\r\n", "I: j\r\n")
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	_, err := io.Copy(io.Discard, c)
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		t.Error("the connection is still open")
	}
}

// What is refused before its body was read is refused soon, though net/http
// would wait for the body.
func TestARefusalDoesNotWaitForTheBody(t *testing.T) {
	for name, tc := range map[string]struct {
		head   string
		status int
	}{
		"no such path":   {"POST /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\n", 404},
		"a foreign host": {"POST /api/keys HTTP/1.1\r\nHost: evil.example\r\n", 403},
		"a stranger":     {"POST /api/keys HTTP/1.1\r\nHost: 127.0.0.1\r\n", 401},
	} {
		t.Run(name, func(t *testing.T) {
			conn := scenario.Start(t).Dial()
			_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
			if _, err := io.WriteString(conn, tc.head+"Content-Length: 2000\r\n\r\n{"); err != nil {
				t.Fatal(err)
			}
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != tc.status {
				t.Errorf("%d, want %d", res.StatusCode, tc.status)
			}
		})
	}
}
