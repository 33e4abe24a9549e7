package cases

import (
	"context"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/upstream"
	"breakwater/tests/scenario"
)

// mood is what an open connection to an upstream does.
type mood int32

const (
	healthy mood = iota
	broken       // it takes no byte more
	torn         // it breaks in the middle of what is written
	silent       // it swallows everything, in both directions
)

// wire opens connections to upstreams and can spoil those that are open.
type wire struct {
	mu     sync.Mutex
	conns  []*fickle
	closed chan struct{} // one token for each connection that was closed on our side
}

func newWire() *wire { return &wire{closed: make(chan struct{}, 16)} }

func (w *wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	f := &fickle{Conn: c, wire: w}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns = append(w.conns, f)
	return f, nil
}

// spoil changes the mood of the open connections; later ones are healthy.
func (w *wire) spoil(m mood) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		c.mood.Store(int32(m))
	}
}

func (w *wire) opened() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.conns)
}

type fickle struct {
	net.Conn
	wire *wire
	mood atomic.Int32
	once sync.Once
}

func (f *fickle) Write(p []byte) (int, error) {
	switch mood(f.mood.Load()) {
	case broken:
		return 0, syscall.EPIPE
	case torn:
		n, _ := f.Conn.Write(p[:len(p)/2])
		return n, syscall.ECONNRESET
	case silent:
		return len(p), nil
	}
	return f.Conn.Write(p)
}

func (f *fickle) Read(p []byte) (int, error) {
	for {
		n, err := f.Conn.Read(p)
		if err != nil || mood(f.mood.Load()) != silent {
			return n, err
		}
	}
}

func (f *fickle) Close() error {
	err := f.Conn.Close()
	f.once.Do(func() { f.wire.closed <- struct{}{} })
	return err
}

// pooled is a product with one upstream, or with a second one to go on with,
// over wires that can be spoiled.
type pooled struct {
	*scenario.Kit
	wire     *wire
	asked    atomic.Int32 // whole requests that reached the first upstream
	idle     func()       // drops the connections that the first upstream keeps
	fellBack atomic.Int32
	http     atomic.Int32 // the protocol's major version of the last request
}

func startPooled(t *testing.T, secure bool, names ...string) *pooled {
	t.Helper()
	p := &pooled{wire: newWire()}
	answer := func(asked *atomic.Int32) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return
			}
			asked.Add(1)
			p.http.Store(int32(r.ProtoMajor))
			sendStream(w, wholeStream)
		}
	}
	first := httptest.NewUnstartedServer(answer(&p.asked))
	o := upstream.Options{Dial: p.wire.dial, PingAfter: 100 * time.Millisecond, PingTimeout: 100 * time.Millisecond}
	if secure {
		first.EnableHTTP2 = true
		first.StartTLS()
		o.RootCAs = x509.NewCertPool()
		o.RootCAs.AddCert(first.Certificate())
	} else {
		first.Start()
	}
	t.Cleanup(first.Close)
	p.idle = first.CloseClientConnections
	second := httptest.NewServer(answer(&p.fellBack))
	t.Cleanup(second.Close)
	p.Kit = scenario.StartBehind(t, o)
	for i, name := range names {
		base := []string{first.URL, second.URL}[i]
		p.Add(name, "demo", func(in *control.ConnectionInput) { in.BaseURL = base + "/v1" })
	}
	if a := p.Post("/v1/messages", scenario.Messages); a.Status != 200 || p.wire.opened() != 1 {
		t.Fatalf("%d over %d connections: %s", a.Status, p.wire.opened(), a.Body)
	}
	return p
}

// A connection that is kept open between two requests may be dead when it is
// needed. What nothing of was sent goes out once more; what was sent in part may
// have been taken and is not repeated behind the client's back.
func TestDeadPooledConnections(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*pooled)
	}{
		{"case P59 closed by the upstream while idle", func(p *pooled) {
			p.idle()
			<-p.wire.closed // the transport has seen it
		}},
		{"case P59 broken before a byte was sent", func(p *pooled) { p.wire.spoil(broken) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := startPooled(t, false, "alpha")
			c.spoil(p)
			a := p.Post("/v1/messages", scenario.Messages)
			if a.Status != 200 || a.Err != nil || a.Body != wholeStream {
				t.Errorf("%d, %v: %s", a.Status, a.Err, a.Body)
			}
			if p.asked.Load() != 2 || p.wire.opened() != 2 {
				t.Errorf("asked %d times over %d connections", p.asked.Load(), p.wire.opened())
			}
			if c := p.Connection("alpha"); c.State != "serving" || c.Failed != 0 {
				t.Errorf("alpha is %s, failed %d", c.State, c.Failed)
			}
		})
	}
	t.Run("case P59 sent in part is not sent again", func(t *testing.T) {
		p := startPooled(t, false, "alpha")
		p.wire.spoil(torn)
		if a := p.Post("/v1/messages", scenario.Messages); a.Status != 502 {
			t.Errorf("%d: %s", a.Status, a.Body)
		}
		if p.asked.Load() != 1 || p.wire.opened() != 1 {
			t.Errorf("asked %d times over %d connections", p.asked.Load(), p.wire.opened())
		}
	})
	t.Run("case P59 sent in part goes to the next connection", func(t *testing.T) {
		p := startPooled(t, false, "alpha", "beta")
		p.wire.spoil(torn)
		a := p.Post("/v1/messages", scenario.Messages)
		if a.Status != 200 || a.Body != wholeStream || p.asked.Load() != 1 || p.fellBack.Load() != 1 {
			t.Errorf("%d, asked %d and %d times: %s", a.Status, p.asked.Load(), p.fellBack.Load(), a.Body)
		}
	})
}

// An HTTP/2 connection that has died without a word is found by a ping, and the
// request moves on to a fresh one: the client notices nothing but the wait.
func TestSilentHTTP2Connection(t *testing.T) {
	t.Run("case P59 ping over TLS", func(t *testing.T) {
		p := startPooled(t, true, "alpha")
		if p.http.Load() != 2 {
			t.Fatalf("HTTP/%d", p.http.Load())
		}
		p.wire.spoil(silent)
		a := p.Post("/v1/messages", scenario.Messages)
		if a.Status != 200 || a.Err != nil || a.Body != wholeStream {
			t.Errorf("%d, %v: %s", a.Status, a.Err, a.Body)
		}
		if p.asked.Load() != 2 || p.wire.opened() != 2 {
			t.Errorf("asked %d times over %d connections", p.asked.Load(), p.wire.opened())
		}
		if c, b := p.Connection("alpha"), p.Breaker("demo"); c.State != "serving" || c.Failed != 0 || b.FailureCount != 0 {
			t.Errorf("alpha is %s, failed %d, breaker %d", c.State, c.Failed, b.FailureCount)
		}
	})
}
