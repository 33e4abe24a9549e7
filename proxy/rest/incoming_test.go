package rest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A body that does not come is not waited for: the answer comes, a refusal
// soon, and the connection is closed.
func TestASlowBodyIsNotWaitedFor(t *testing.T) {
	const in = "Authorization: Bearer " + testToken + "\r\n"
	const asJSON = "Content-Type: application/json\r\n"
	const sized, chunked = "Content-Length: 2000\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"
	for name, tc := range map[string]struct {
		line, rest string
		status     int
		wait       time.Duration
	}{
		"a stranger":                 {"POST /api/keys", asJSON + sized, 401, time.Hour},
		"a stranger in chunks":       {"POST /api/keys", asJSON + chunked, 401, time.Hour},
		"a wrong credential":         {"POST /api/keys", "Authorization: Bearer x\r\n" + asJSON + sized, 403, time.Hour},
		"another type":               {"POST /api/keys", in + "Content-Type: text/plain\r\n" + sized, 415, time.Hour},
		"no such path":               {"POST /api/nothing", in + asJSON + sized, 404, time.Hour},
		"no such path to a stranger": {"POST /api/nothing", asJSON + sized, 401, time.Hour},
		"no such method":             {"PUT /api/keys", in + asJSON + sized, 405, time.Hour},
		"a lease for nobody":         {"POST /api/v1/session-leases", asJSON + sized, 401, time.Hour},
		"health with a body":         {"GET /api/monitoring/health", sized, 408, time.Hour},
		"the state with a body":      {"GET /api/state", in + sized, 408, time.Hour},
		"events with a body":         {"GET /api/events", in + sized, 408, time.Hour},
		"a write":                    {"POST /api/keys", in + asJSON + sized, 408, 50 * time.Millisecond},
		"a write in chunks":          {"POST /api/keys", in + asJSON + chunked, 408, 50 * time.Millisecond},
		"a write that reads no body": {"POST /api/providers/a/test", in + asJSON + sized, 408, 50 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := newBenchWaiting(t, tc.wait).dial(t)
			if _, err := fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s", tc.line, tc.rest); err != nil {
				t.Fatal(err)
			}
			br := bufio.NewReader(conn)
			res, err := http.ReadResponse(br, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != tc.status || !strings.Contains(string(body), `"error"`) {
				t.Errorf("%d %s, %v, want %d", res.StatusCode, body, err, tc.status)
			}
			_ = res.Body.Close()
			if _, err := br.ReadByte(); err == nil {
				t.Error("the connection goes on")
			}
		})
	}
}

// A body that came whole leaves no deadline behind: neither while its handler
// works nor for what follows on the connection.
func TestABodyLeavesNoDeadline(t *testing.T) {
	b := newBenchWaiting(t, 100*time.Millisecond)
	conn := b.dial(t)
	br := bufio.NewReader(conn)
	for _, head := range []string{
		"POST /api/resilience/reset HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n",
		"GET /api/state HTTP/1.1\r\nContent-Length: 2\r\n",
	} {
		if _, err := fmt.Fprintf(conn, "%sHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n\r\n{}", head, testToken); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s, %v", head, res.StatusCode, body, err)
		}
		_ = res.Body.Close()
		// Longer than the wait: the next request finds the connection as it was.
		_ = conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		if _, err := br.ReadByte(); err == nil || !err.(net.Error).Timeout() { //nolint:errorlint // of the connection itself
			t.Fatalf("after %s: %v", head, err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	}
}
