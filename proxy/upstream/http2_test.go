package upstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// ask sends one call.
func ask(ctx context.Context, c *Client, base string) (string, error) {
	res, err := c.Do(ctx, Call{Method: http.MethodPost, BaseURL: base, Path: "/x", Header: http.Header{}, Body: []byte(`{"model":"m"}`)})
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	return res.Proto + " " + string(raw), err
}

// tlsServer is an HTTP/2 server with a certificate of its own.
func tlsServer(t *testing.T, h http.HandlerFunc) (*httptest.Server, *x509.CertPool) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return s, pool
}

// tunnel carries bytes to an address until it is told to swallow those of the
// connections that are open: no reset, no end, just silence.
type tunnel struct {
	net.Listener
	to string

	mu      sync.Mutex
	swallow []*atomic.Bool
}

func newTunnel(t *testing.T, to string) *tunnel {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tn := &tunnel{Listener: l, to: to}
	var done sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); done.Wait() })
	done.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			done.Go(func() { tn.carry(c) })
		}
	})
	return tn
}

func (tn *tunnel) carry(c net.Conn) {
	up, err := net.Dial("tcp", tn.to)
	if err != nil {
		_ = c.Close()
		return
	}
	dead := &atomic.Bool{}
	tn.mu.Lock()
	tn.swallow = append(tn.swallow, dead)
	tn.mu.Unlock()
	var both sync.WaitGroup
	for _, pair := range [][2]net.Conn{{c, up}, {up, c}} {
		both.Go(func() {
			buf := make([]byte, 4096)
			for {
				n, err := pair[0].Read(buf)
				if n > 0 && !dead.Load() {
					_, _ = pair[1].Write(buf[:n])
				}
				if err != nil {
					if !dead.Load() || pair[0] == c {
						_ = pair[1].Close()
						_ = pair[0].Close()
					}
					return
				}
			}
		})
	}
	both.Wait()
}

// die makes the open connections silent and returns how many there were.
func (tn *tunnel) die() int {
	tn.mu.Lock()
	defer tn.mu.Unlock()
	for _, d := range tn.swallow {
		d.Store(true)
	}
	return len(tn.swallow)
}

func (tn *tunnel) count() int {
	tn.mu.Lock()
	defer tn.mu.Unlock()
	return len(tn.swallow)
}

// Case P55: a connection that died without a word is noticed by a ping, and
// the call goes out once more on a fresh one.
func TestDeadConnectionIsReplaced(t *testing.T) {
	t.Run("case P55 ping", func(t *testing.T) {
		s, pool := tlsServer(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
		tn := newTunnel(t, s.Listener.Addr().String())
		c := New(Options{RootCAs: pool, PingAfter: 100 * time.Millisecond, PingTimeout: 100 * time.Millisecond})
		t.Cleanup(c.Close)
		base := "https://" + tn.Addr().String()
		if got, err := ask(t.Context(), c, base); err != nil || got != `HTTP/2.0 {"model":"m"}` {
			t.Fatalf("got %q, %v", got, err)
		}
		if n := tn.die(); n != 1 {
			t.Fatalf("%d connections", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if got, err := ask(ctx, c, base); err != nil || got != `HTTP/2.0 {"model":"m"}` {
			t.Errorf("got %q, %v", got, err)
		}
		if n := tn.count(); n != 2 {
			t.Errorf("%d connections, want one fresh one", n)
		}
	})
	t.Run("case P55 sleep", func(t *testing.T) {
		s, pool := tlsServer(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
		tn := newTunnel(t, s.Listener.Addr().String())
		c := New(Options{RootCAs: pool})
		t.Cleanup(c.Close)
		base := "https://" + tn.Addr().String()
		if _, err := ask(t.Context(), c, base); err != nil {
			t.Fatal(err)
		}
		tn.die()
		c.clock.ahead.Add(-int64(time.Minute)) // the wall clock went on for a minute alone
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if got, err := ask(ctx, c, base); err != nil || tn.count() != 2 {
			t.Errorf("got %q, %v over %d connections", got, err, tn.count())
		}
	})
}

func TestSleepIsNoticed(t *testing.T) {
	var s skew
	second := int64(time.Second)
	for i, tt := range []struct {
		wall, mono int64 // seconds
		want       bool
	}{
		{1000, 0, false},  // the first look knows nothing
		{1010, 10, false}, // both went on
		{1016, 12, false}, // a clock that is corrected
		{1100, 15, true},  // 81 seconds of sleep
		{1110, 25, false},
		{1050, 30, false}, // set back by hand
		{1060, 40, false},
	} {
		if got := s.jumped(time.Duration((tt.wall - tt.mono) * second)); got != tt.want {
			t.Errorf("step %d: got %v", i, got)
		}
	}
}

// retiring is an HTTP/2 server that retires its first connection: it says
// GOAWAY as soon as a request's headers have come, at once or after data.
type retiring struct {
	net.Listener
	always    bool
	afterData bool
	resets    byte // with this error code the stream of the first request, in place of GOAWAY
	conns     atomic.Int32
	asked     atomic.Int32
	answers   uint32 // the stream that is answered after resets
}

const (
	frameData, frameHeaders, frameReset, frameSettings, framePing, frameGoAway = 0, 1, 3, 4, 6, 7
	flagAck, flagEnd, flagEndHeaders                                           = 1, 1, 4
)

func writeFrame(w io.Writer, kind, flags byte, stream uint32, payload []byte) {
	head := make([]byte, 9, 9+len(payload))
	head[0], head[1], head[2], head[3], head[4] = byte(len(payload)>>16), byte(len(payload)>>8), byte(len(payload)), kind, flags
	binary.BigEndian.PutUint32(head[5:], stream)
	_, _ = w.Write(append(head, payload...))
}

func (r *retiring) serve() {
	for {
		c, err := r.Accept()
		if err != nil {
			return
		}
		go r.conn(c, r.conns.Add(1) == 1 || r.always)
	}
}

func (r *retiring) conn(c net.Conn, retires bool) {
	defer func() { _ = c.Close() }()
	preface := make([]byte, 24)
	if _, err := io.ReadFull(c, preface); err != nil {
		return
	}
	writeFrame(c, frameSettings, 0, 0, nil)
	for {
		head := make([]byte, 9)
		if _, err := io.ReadFull(c, head); err != nil {
			return
		}
		payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(c, payload); err != nil {
			return
		}
		stream := binary.BigEndian.Uint32(head[5:])
		switch kind, flags := head[3], head[4]; {
		case kind == frameSettings && flags&flagAck == 0:
			writeFrame(c, frameSettings, flagAck, 0, nil)
		case kind == framePing && flags&flagAck == 0:
			writeFrame(c, framePing, flagAck, 0, payload)
		case kind == frameHeaders && r.resets != 0:
			if r.asked.Add(1) == 1 || r.always {
				writeFrame(c, frameReset, 0, stream, []byte{0, 0, 0, r.resets})
				continue
			}
			r.answers = stream
		case kind == frameHeaders && retires && !r.afterData:
			writeFrame(c, frameGoAway, 0, 0, make([]byte, 8))
		case r.resets != 0 && stream != r.answers:
		case kind == frameData && flags&flagEnd != 0 && (r.resets != 0 || !(retires && !r.afterData)):
			writeFrame(c, frameHeaders, flagEndHeaders, stream, []byte{0x88}) // :status 200
			writeFrame(c, frameData, 0, stream, []byte("one "))
			writeFrame(c, frameData, 0, stream, []byte("two "))
			if retires && r.resets == 0 {
				writeFrame(c, frameGoAway, 0, 0, make([]byte, 8))
				continue
			}
			writeFrame(c, frameData, flagEnd, stream, []byte("end"))
		}
	}
}

// Case P59: a connection that the upstream had retired takes no request with
// it; one whose answer has begun is not asked again.
func TestRetiredConnection(t *testing.T) {
	cert, pool := tlsServer(t, nil)
	for _, tt := range []struct {
		name   string
		server *retiring
		want   string
		ok     bool
		conns  int32
	}{
		{"case P59 before the answer", &retiring{}, "HTTP/2.0 one two end", true, 2},
		{"case P59 after two data frames", &retiring{afterData: true}, "HTTP/2.0 one two ", false, 1},
		{"case P59 every time", &retiring{always: true}, "", false, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: cert.TLS.Certificates, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() })
			tt.server.Listener = l
			go tt.server.serve()
			c := New(Options{RootCAs: pool})
			t.Cleanup(c.Close)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			got, err := ask(ctx, c, "https://"+l.Addr().String())
			if got != tt.want || (err == nil) != tt.ok || tt.server.conns.Load() != tt.conns {
				t.Errorf("got %q, %v over %d connections", got, err, tt.server.conns.Load())
			}
		})
	}
}
