package events

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"breakwater/proxy/client/facadetest"
	"breakwater/proxy/control"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a handler on a real socket over a fake facade.
type bench struct {
	fake *facadetest.Fake
	h    *Handler
	srv  *httptest.Server
	http *http.Client
}

func newBench(t *testing.T) *bench {
	t.Helper()
	fake := facadetest.New()
	b := &bench{fake: fake, h: New(fake, nil), http: &http.Client{Transport: &http.Transport{}}}
	b.srv = httptest.NewServer(b.h)
	t.Cleanup(func() {
		b.h.Close()
		b.http.CloseIdleConnections()
		b.srv.Close()
	})
	return b
}

// reader reads the frames of one stream.
type reader struct {
	t    *testing.T
	body io.ReadCloser
	br   *bufio.Reader
}

// connect opens a stream and reads its first event, which is a snapshot.
func (b *bench) connect(t *testing.T, header ...string) *reader {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := b.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s, %v", resp.Status, resp.Header)
	}
	r := &reader{t: t, body: resp.Body, br: bufio.NewReader(resp.Body)}
	if ev := r.next(); ev.Type != control.EventSnapshot || ev.Snapshot == nil {
		t.Fatalf("first event %+v, want a snapshot", ev)
	}
	return r
}

// frame returns the lines of the next frame; nil at the end of the stream.
func (r *reader) frame() []string {
	r.t.Helper()
	var lines []string
	for {
		line, err := r.br.ReadString('\n')
		if err != nil {
			return nil
		}
		if line = strings.TrimSuffix(line, "\n"); line == "" {
			return lines
		}
		lines = append(lines, line)
	}
}

// next returns the next event; its Type is empty at the end of the stream.
func (r *reader) next() (ev control.Event) {
	r.t.Helper()
	for _, line := range r.frame() {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(data), &ev); err != nil {
				r.t.Fatalf("data %q: %v", data, err)
			}
		}
	}
	return ev
}

// nextActivity skips snapshots; -1 at the end of the stream.
func (r *reader) nextActivity() int64 {
	r.t.Helper()
	for {
		ev := r.next()
		if ev.Activity != nil {
			return ev.Activity.ID
		}
		if ev.Type == "" {
			return -1
		}
	}
}

// pipes is a listener whose connections are in memory, for synctest bubbles.
type pipes struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{accept: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { p.once.Do(func() { close(p.closed) }); return nil }

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7411} }

func (p *pipes) dial(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.accept <- far:
		return near, nil
	case <-p.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// get sends a request for the stream over a fresh connection.
func (p *pipes) get(t *testing.T) net.Conn {
	t.Helper()
	conn, err := p.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	return conn
}

// advance lets a bubble's time pass.
func advance(d time.Duration) { <-time.After(d) }
