package cases

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"breakwater/proxy"
	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
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

// Who closes its side of the connection after the request cannot be told from
// one who left: it gets no answer, but never one that looks whole.
func TestHalfClosedClient(t *testing.T) {
	limits := proxy.DefaultLimits()
	limits.Hold, limits.Heartbeat = 50*time.Millisecond, 20*time.Millisecond
	k := scenario.StartWith(t, limits)
	alpha, _ := k.Pair()
	combo := k.Do(http.MethodPost, "/api/combos", `{"name":"both","strategy":"priority","models":["alpha/m1","beta/m1"]}`,
		"Authorization", "Bearer "+k.Token)
	if combo.Status != http.StatusCreated {
		t.Fatalf("no combo: %d %s", combo.Status, combo.Body)
	}
	seen := 0
	whole := scenario.NoStream(scenario.Messages)
	for name, body := range map[string]string{
		"a document": whole, "a stream": scenario.Messages, "a combo": strings.Replace(whole, "m1", "both", 1),
	} {
		t.Run(name, func(t *testing.T) {
			alpha.Reset()
			alpha.Script(simulator.OK("late").Delayed(time.Hour))
			c := sendHalf(t, k, http.MethodPost, "/v1/messages", body)
			if got, err := io.ReadAll(c); len(got) > 0 {
				t.Errorf("got %q, %v", got, err)
			}
			seen++
			if row := newest(t, k, seen); row.Result != "client_left" || row.Status != 499 {
				t.Errorf("recorded as %+v", row)
			}
		})
	}
	t.Run("a stream that has begun", func(t *testing.T) {
		alpha.Reset()
		alpha.Script(simulator.OK("one", "two").StallAfter(3, time.Hour))
		c := k.Dial()
		if _, err := fmt.Fprintf(c, "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(scenario.Messages), scenario.Messages); err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(c)
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		if err := c.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(res.Body); err == nil {
			t.Errorf("a torn stream ended cleanly: %q", got)
		}
	})
	for _, name := range []string{"alpha", "beta"} {
		if c := k.Connection(name); c.State != "serving" || c.Failed != 0 {
			t.Errorf("%s is %s, failed %d", name, c.State, c.Failed)
		}
	}
	if b := k.Breaker("demo"); b.FailureCount != 0 {
		t.Errorf("the breaker counted %d failures", b.FailureCount)
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
