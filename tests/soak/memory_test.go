package soak

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"breakwater/proxy/client"
	"breakwater/proxy/control"
)

// The program's memory comes back when the traffic is over: that of large bodies
// within five seconds, that of a burst of streams within a minute. Measured is
// what the system counts, of the real program.
func TestMemoryIsGivenBack(t *testing.T) {
	if os.Getenv("BREAKWATER_MEMORY") == "" {
		t.Skip("BREAKWATER_MEMORY=1 runs it: a minute, 10 000 connections, and a gigabyte of traffic")
	}
	t.Run("large bodies", func(t *testing.T) {
		m := measured(t)
		before := m.resident(t)
		peak := m.during(t, func() { m.many(20, 4, func() { m.send(t, http.DefaultClient, strings.Repeat("x", 30<<20), false) }) })
		m.returns(t, before, peak, spare, 5*time.Second)
	})
	t.Run("one large body", func(t *testing.T) {
		m := measured(t)
		before := m.resident(t)
		peak := m.during(t, func() { m.many(1, 1, func() { m.send(t, http.DefaultClient, strings.Repeat("x", 60<<20), false) }) })
		m.returns(t, before, peak, spare, 5*time.Second)
	})
	t.Run("large bodies beside a stream that goes on", func(t *testing.T) {
		m := measured(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go m.hang(ctx)
		before := m.resident(t)
		peak := m.during(t, func() { m.many(20, 4, func() { m.send(t, http.DefaultClient, strings.Repeat("x", 30<<20), false) }) })
		m.returns(t, before, peak, spare, 5*time.Second)
	})
	for name, keep := range map[string]int{"5 000 streams": 10, "5 000 streams over connections that are kept": 5000} {
		t.Run(name, func(t *testing.T) {
			m := measured(t)
			c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: keep}}
			defer c.CloseIdleConnections()
			before := m.resident(t)
			m.open.Add(5000)
			peak := m.during(t, func() { m.many(5000, 5000, func() { m.send(t, c, "hi", true) }) })
			m.returns(t, before, peak, spareOfBurst, time.Minute)
		})
	}
}

// What the program may keep beyond what it held before, in bytes. The runtime
// never lets go of what it knows of goroutines, of which a burst has many.
const (
	spare        = 16 << 20
	spareOfBurst = 48 << 20
)

// memory is a running program with an upstream that takes its time.
type memory struct {
	program
	open sync.WaitGroup // streams that have not begun yet
	all  chan struct{}  // closed when all have
	once sync.Once
}

func measured(t *testing.T) *memory {
	t.Helper()
	m := &memory{program: startProgram(t), all: make(chan struct{})}
	srv := httptest.NewServer(http.HandlerFunc(m.answer))
	t.Cleanup(srv.Close)
	api := client.New(m.url, m.token, client.Options{})
	defer api.Close()
	_, err := api.AddConnection(t.Context(), control.ConnectionInput{
		Provider: "custom", Name: "own", APIKey: "fake-key-of-own", BaseURL: srv.URL + "/v1", Dialects: []string{"chat"}, DefaultModel: "big", Models: []string{"big"},
	})
	if err != nil {
		t.Fatal(err)
	}
	m.send(t, http.DefaultClient, "hi", false)
	return m
}

// answer is a short document, or a stream that lasts until all have begun.
func (m *memory) answer(w http.ResponseWriter, r *http.Request) {
	head := make([]byte, 200)
	n, _ := io.ReadFull(r.Body, head)
	_, _ = io.Copy(io.Discard, r.Body)
	if !bytes.Contains(head[:n], []byte(`"stream":true`)) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	piece := func(text string) {
		_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", text)
		_ = http.NewResponseController(w).Flush()
	}
	piece("one")
	if bytes.Contains(head[:n], []byte("hang")) {
		<-r.Context().Done()
		return
	}
	m.open.Done()
	m.once.Do(func() { go func() { m.open.Wait(); close(m.all) }() })
	<-m.all
	for range 20 {
		piece(strings.Repeat("word ", 10))
	}
	_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}

// hang keeps a stream open until ctx ends.
func (m *memory) hang(ctx context.Context) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url+"/v1/chat/completions", strings.NewReader(`{"model":"big","stream":true,"messages":[{"role":"user","content":"hang"}]}`))
	if err != nil {
		return
	}
	if res, err := http.DefaultClient.Do(req); err == nil {
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
}

// many does something n times, so many at once.
func (m *memory) many(n, atOnce int, do func()) {
	turns, work := make(chan struct{}, atOnce), sync.WaitGroup{}
	for range n {
		turns <- struct{}{}
		work.Go(func() { defer func() { <-turns }(); do() })
	}
	work.Wait()
}

func (m *memory) send(t *testing.T, c *http.Client, text string, stream bool) {
	body := fmt.Sprintf(`{"model":"big","stream":%v,"messages":[{"role":"user","content":"%s"}]}`, stream, text)
	res, err := c.Post(m.url+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	raw, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("got %d %.200s, %v", res.StatusCode, raw, err)
	}
}

// during returns the most that the program held while do ran.
func (m *memory) during(t *testing.T, do func()) (peak int64) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return peak
		case <-tick.C:
			peak = max(peak, m.resident(t))
		}
	}
}

// returns waits until the program holds hardly more than before.
func (m *memory) returns(t *testing.T, before, peak, spare int64, within time.Duration) {
	t.Helper()
	began, now := time.Now(), m.resident(t)
	for now > before+spare && time.Since(began) < within {
		<-time.After(100 * time.Millisecond)
		now = m.resident(t)
	}
	t.Logf("before %d MiB, peak %d MiB, %v after the end %d MiB", before>>20, peak>>20, time.Since(began).Round(100*time.Millisecond), now>>20)
	if now > before+spare {
		t.Errorf("still %d MiB more than before", (now-before)>>20)
	}
}

// resident returns what the system counts of the program's memory, in bytes.
func (m *memory) resident(t *testing.T) int64 {
	t.Helper()
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(m.pid) + "/status")
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(raw)) {
		if text, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			n, err := strconv.ParseInt(strings.Fields(text)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("the system does not count it")
	return 0
}
