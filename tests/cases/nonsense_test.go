package cases

import (
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/tests/scenario"
)

// nonsenseVariable names how many requests of TestUpstreamNonsense meet nonsense;
// the full figure is 5000.
const nonsenseVariable = "BREAKWATER_NONSENSE"

// An upstream that speaks nonsense of every kind beside a healthy connection:
// each request is answered within seven seconds, whatever the nonsense is; the
// log shows no fault of ours, and nothing is left behind.
func TestUpstreamNonsense(t *testing.T) {
	requests := 240
	if v := os.Getenv(nonsenseVariable); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			t.Fatal(err)
		}
		requests = n
	}
	log.SetOutput(io.Discard) // the transport speaks of answers that nobody asked for
	defer log.SetOutput(os.Stderr)
	before := runtime.NumGoroutine()
	up := newNonsense(t)
	t.Run(fmt.Sprint(requests, " requests"), func(t *testing.T) { facesNonsense(t, up, requests) })
	settled(t, before+up.goroutines())
	if n := up.awaitClosed(10 * time.Second); n != 0 {
		t.Errorf("%d connections to the upstream are still open", n)
	}
}

func facesNonsense(t *testing.T, up *nonsense, requests int) {
	const workers, within = 40, 7 * time.Second
	k := scenario.Start(t)
	odd := k.Add("odd", "demo-oauth", func(in *control.ConnectionInput) { in.BaseURL = up.url() })
	k.Add("alpha", "demo")
	var next, healthy, slowest atomic.Int64
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			// While the connection rests, others answer without it: they do not count.
			for i := next.Add(1); up.spoken.Load() < int64(requests) && i <= int64(10*requests); i = next.Add(1) {
				rearm(t, k, odd.ID)
				ask := asks[i%int64(len(asks))]
				began := time.Now()
				a := k.Do("POST", ask.path, ask.body, "X-Session-Id", strconv.FormatInt(i, 10)) // a session asks a refuser last
				took := time.Since(began)
				slowest.Store(max(slowest.Load(), int64(took)))
				switch {
				case a.Status < 200 || a.Status > 599:
					t.Errorf("request %d has no answer: %d, %v", i, a.Status, a.Err)
				case took > within:
					t.Errorf("request %d took %v: %d %.200s", i, took, a.Status, a.Body)
				case a.Status == 200 && a.From() == "alpha":
					healthy.Add(1)
				case a.Status >= 500 && a.Status != 502:
					t.Errorf("request %d is answered with %d beside a healthy connection: %.200s", i, a.Status, a.Body)
				}
			}
		})
	}
	done.Wait()
	for _, name := range []string{"odd", "alpha"} {
		awaitIdle(t, k, name)
	}
	for _, word := range []string{"fault in Breakwater", "panic"} {
		if text := k.Log.String(); strings.Contains(text, word) {
			at := strings.Index(text, word)
			t.Errorf("the log says %q: %.2000s", word, text[max(at-200, 0):])
		}
	}
	t.Logf("%d requests, %d nonsense answers, %d answered by alpha, slowest %v", next.Load()-workers, up.spoken.Load(), healthy.Load(), time.Duration(slowest.Load()).Round(time.Millisecond))
	if n := up.spoken.Load(); n < int64(requests) || healthy.Load() < int64(requests)/2 {
		t.Errorf("only %d requests met nonsense, %d were answered by alpha", n, healthy.Load())
	}
}

// rearm puts the connection back into routing, whatever was concluded from the
// nonsense before.
func rearm(t *testing.T, k *scenario.Kit, id string) {
	t.Helper()
	res, err := k.Facade().TestConnection(t.Context(), id)
	if err != nil || !res.Valid {
		t.Errorf("the test says %+v, %v", res, err)
	}
	if err := k.Facade().ClearCooldown(t.Context(), id); err != nil { // a stated wait outlasts a test (ruling 66)
		t.Error(err)
	}
	if _, err := k.Facade().ResetBreakers(t.Context()); err != nil {
		t.Error(err)
	}
}

// answerOf writes one nonsensical answer. Only an error's body stalls: how long
// a good answer may pause is another matter.
func answerOf(r *rand.Rand) (raw string, stalls bool) {
	var b strings.Builder
	for range flood(r) {
		b.WriteString("HTTP/1.1 " + pick(r, "100 Continue", "102 Processing", "103 Early Hints", "199 Odd") + "\r\nX-A: b\r\n\r\n")
	}
	status := oddStatus(r)
	b.WriteString(pick(r, "HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/1.x", "ICY", "") + " " + status + "\r\n")
	encoding := pick(r, "", "", "", "gzip", "deflate", "br", "zstd", "rot13", "gzip, gzip", "deflate, br", ",")
	body := oddBody(r, encoding)
	chunked := oddHeaders(&b, r, encoding, len(body))
	b.WriteString("\r\n")
	if chunked {
		body = oddChunks(r, body)
	}
	b.WriteString(body)
	refuses := status >= "300" && status <= "599" && len(status) > 3 && status[3] == ' '
	return b.String(), refuses && r.IntN(5) == 0
}

func pick(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }

// flood is how many informational answers go before.
func flood(r *rand.Rand) int {
	switch r.IntN(20) {
	case 0:
		return 20_000
	case 1, 2:
		return 1 + r.IntN(9)
	}
	return 0
}

func oddStatus(r *rand.Rand) string {
	if r.IntN(4) == 0 {
		return pick(r, "-1 Less", "-10 Less", "2000 Long", "20 Short", "abc Odd", "2x0 Odd", "", "\x00\x01\xff", "200", " 200 OK", strings.Repeat("9", 300))
	}
	if r.IntN(4) == 0 {
		return fmt.Sprintf("%03d Any", r.IntN(1000))
	}
	return pick(r, "000 None", "001 One", "099 Almost", "101 Switching Protocols", "200 OK", "200 OK", "204 No Content", "205 Reset Content", "206 Partial Content",
		"299 Odd", "304 Not Modified", "302 Found", "307 Moved", "400 Bad Request", "401 Unauthorized", "402 Payment Required", "403 Forbidden", "404 Not Found",
		"408 Timeout", "413 Large", "429 Too Many", "429 Too Many", "451 Legal", "499 Closed", "500 Broken", "502 Bad", "503 Busy", "503 Busy", "504 Late", "529 Overloaded", "599 Last", "600 More", "999 Most")
}

func oddBody(r *rand.Rand, encoding string) string {
	body := pick(r, "", "{", "{}", "[]", "null", "<html>busy</html>", "\x00\xff\xfe", `{"error":{"message":"rate limit","type":"rate_limit_error"}}`, `{"error":null}`,
		`{"error":"`+strings.Repeat("x", 100_000)+`"}`, strings.Repeat("[", 5000), "data: {\n\n", "event: error\ndata: {\"type\":\"error\"}\n\n", ": ping\n\n", "data: [DONE]\n\n",
		"\x1f\x8b", "\x28\xb5\x2f\xfd", `{"choices":[]}`, `{"type":"message","content":[]}`, "\ufeff{}")
	form, _, _ := strings.Cut(encoding, ",")
	if form == "" || r.IntN(4) == 0 {
		return body // an encoding that is only claimed, or none
	}
	raw := packed(strings.TrimSpace(form), body)
	if len(raw) > 0 && r.IntN(2) == 0 {
		raw = raw[:r.IntN(len(raw))]
	}
	return raw
}

// oddHeaders writes the headers and tells whether the body is announced in
// chunks.
func oddHeaders(b *strings.Builder, r *rand.Rand, encoding string, size int) (chunked bool) {
	put := func(name, value string) { b.WriteString(name + ": " + value + "\r\n") }
	put("Content-Type", pick(r, "application/json", "application/json", "text/event-stream", "text/html", "text/event-stream; charset=\xff", ""))
	if encoding != "" {
		put("Content-Encoding", encoding)
	}
	switch r.IntN(8) {
	case 0, 1:
		put("Content-Length", strconv.Itoa(size))
	case 2:
		put("Content-Length", pick(r, "-1", "abc", "+5", "99999999999999999999", "0x10", "5, 5", strconv.Itoa(size+10), "67108864"))
	case 3:
		put("Content-Length", strconv.Itoa(size))
		put("Content-Length", strconv.Itoa(size+r.IntN(2)))
	case 4:
		put("Transfer-Encoding", pick(r, "identity", "gzip", "chunked, chunked", "CHUNKED", "x"))
		chunked = true
	case 5, 6:
		put("Transfer-Encoding", "chunked")
		chunked = true
	}
	switch r.IntN(12) {
	case 0:
		put("X-Huge", strings.Repeat("h", 300<<10))
	case 1:
		for i := range 3000 {
			put("X-"+strconv.Itoa(i), "v")
		}
	case 2:
		b.WriteString(pick(r, "no colon\r\n", ": no name\r\n", " folded: x\r\n", "Bad Name: x\r\n", "X-Nul: a\x00b\r\n", "X-Cr: a\rb\r\n"))
	case 3:
		put("Retry-After", pick(r, "-1", "1e9", "soon", "99999999999999999999", "Wed, 99 Jan 2030", "0", "NaN"))
	case 4:
		put("Upgrade", "websocket")
		put("Connection", pick(r, "Upgrade", "close", "Content-Type", "keep-alive, X-A"))
	}
	return chunked
}

func oddChunks(r *rand.Rand, body string) string {
	whole := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	return pick(r, whole, whole, fmt.Sprintf("%x\r\n%s\r\n", len(body)+5, body), "zz\r\n"+body, "-5\r\nhello\r\n0\r\n\r\n", "ffffffffffffffffff\r\n"+body,
		"5;"+strings.Repeat("e", 20_000)+"\r\nhello\r\n0\r\n\r\n", fmt.Sprintf("%x\r\n%s0\r\n\r\n", len(body), body), whole[:len(whole)-2]+"Trailer: x\r\n", whole+"extra")
}
