package cases

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"breakwater/tests/scenario"
)

// After a burst only some of the clients' connections stay open; none is closed
// before its answer, and a few agents keep theirs.
func TestConnectionsKeptAfterABurst(t *testing.T) {
	const burst = 600
	k := scenario.Start(t)
	ask := func(c net.Conn) bool {
		if _, err := fmt.Fprint(c, "GET /api/hello HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		answer := make([]byte, 4096)
		n, err := c.Read(answer)
		if err != nil {
			t.Fatal(err)
		}
		return closes(t, string(answer[:n]))
	}
	open := make([]net.Conn, burst)
	for i := range open {
		open[i] = k.Dial()
		if ask(open[i]) && i < 100 {
			t.Fatalf("connection %d is closed", i)
		}
	}
	kept := 0
	for _, c := range open {
		if _, err := fmt.Fprint(c, "GET /api/hello HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			continue
		}
		if n, err := c.Read(make([]byte, 4096)); n > 0 && err == nil {
			kept++
		}
	}
	if kept < 100 || kept > 300 {
		t.Errorf("%d connections were kept", kept)
	}
}

// closes reports whether an answer is the last of its connection.
func closes(t *testing.T, answer string) bool {
	t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(strings.NewReader(answer)), nil)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", res, err)
	}
	_ = res.Body.Close()
	return res.Close
}
