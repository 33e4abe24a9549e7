package cases

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"breakwater/tests/scenario"
)

// Sixty clients announce a body of 64 MiB each and send one byte of it: nothing
// is set aside for what has not come, so the process stays small and serves the
// others.
func TestAnnouncedBodiesCostNothing(t *testing.T) {
	const clients, most = 60, 64 << 20
	k := scenario.Start(t)
	k.Add("alpha", "demo")
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(256 << 20))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	conns := make([]net.Conn, clients)
	for i := range conns {
		conns[i] = k.Dial()
		expect := ""
		if i%2 == 1 {
			expect = "Expect: 100-continue\r\n"
		}
		path := asks[i%len(asks)].path
		if _, err := fmt.Fprintf(conns[i], "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n{", path, 64<<20, expect); err != nil {
			t.Fatal(err)
		}
	}
	// Each of them is being read when its buffer exists; a client that waits for
	// the word to go on gets it then.
	for i := 1; i < clients; i += 2 {
		line := make([]byte, len("HTTP/1.1 100"))
		if _, err := io.ReadFull(conns[i], line); err != nil || string(line) != "HTTP/1.1 100" {
			t.Fatalf("client %d: %q, %v", i, line, err)
		}
	}
	if a := k.Post("/v1/messages", scenario.Messages); a.Status != 200 || a.From() != "alpha" {
		t.Errorf("beside them: %d %s", a.Status, a.Body)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > most {
		t.Errorf("%d MiB were allocated for %d bytes", got>>20, clients)
	}
	for _, c := range conns {
		_ = c.Close() // the rest never comes
	}
	if log := k.Log.String(); strings.Contains(log, "fault in Breakwater") {
		t.Error(log)
	}
}
