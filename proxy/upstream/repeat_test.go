package upstream

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// Ruling 67, as a table over everything that it looks at.
func TestFateOfATrip(t *testing.T) {
	now := time.Unix(2_000_000_000, 0)
	reset := &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	good := trip{reused: true, idle: time.Second, wrote: now}
	for name, c := range map[string]struct {
		change func(*trip)
		err    error
		want   fate
	}{
		"ruling 67 reset":                                   {nil, reset, lost},
		"ruling 67 end":                                     {nil, io.EOF, lost},
		"ruling 67 end in the middle":                       {nil, io.ErrUnexpectedEOF, lost},
		"ruling 67 the transport's own word":                {nil, errors.New("http: server closed idle connection"), lost},
		"ruling 67 a broken pipe":                           {nil, fmt.Errorf("transport connection broken: %w", syscall.EPIPE), lost},
		"ruling 67 five seconds":                            {func(tr *trip) { tr.wrote = now.Add(-5 * time.Second) }, reset, lost},
		"ruling 67 not written to the end":                  {func(tr *trip) { tr.wrote = time.Time{} }, reset, lost},
		"a second, of which the upstream counted the first": {func(tr *trip) { tr.idle = 999 * time.Millisecond }, reset, lost},
		"an hour idle":                                      {func(tr *trip) { tr.idle = time.Hour }, reset, lost},
		"Windows' reset":                                    {nil, &net.OpError{Op: "read", Err: os.NewSyscallError("wsarecv", wsaReset)}, lost},

		"a fresh connection":           {func(tr *trip) { tr.reused = false }, reset, failed},
		"idle under a second":          {func(tr *trip) { tr.idle = 900 * time.Millisecond }, reset, failed},
		"not idle at all":              {func(tr *trip) { tr.idle = 0 }, io.EOF, failed},
		"over five seconds":            {func(tr *trip) { tr.wrote = now.Add(-5*time.Second - 1) }, reset, failed},
		"a byte came":                  {func(tr *trip) { tr.answered = true }, reset, failed},
		"another error":                {nil, errors.New("tls: bad record MAC"), failed},
		"a malformed answer":           {nil, errors.New(`malformed HTTP response "x"`), failed},
		"a dial that was not answered": {func(tr *trip) { tr.reused = false }, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ETIMEDOUT)}, failed},

		"GOAWAY":                             {func(tr *trip) { tr.reused, tr.idle = false, 0 }, errors.New("http2: Transport received Server's graceful shutdown GOAWAY"), refused},
		"GOAWAY with an error":               {nil, errors.New("http2: Transport received GOAWAY from server ErrCode:ENHANCE_YOUR_CALM"), refused},
		"REFUSED_STREAM":                     {func(tr *trip) { tr.idle = 0 }, errors.New("stream error: stream ID 3; REFUSED_STREAM; received from peer"), refused},
		"REFUSED_STREAM after the headers":   {func(tr *trip) { tr.answered = true }, errors.New("stream error: stream ID 3; REFUSED_STREAM; received from peer"), failed},
		"GOAWAY above its stream":            {nil, errors.New("http2: server sent GOAWAY and closed the connection; LastStreamID=3, ErrCode=NO_ERROR"), failed},
		"PROTOCOL_ERROR":                     {nil, errors.New("stream error: stream ID 3; PROTOCOL_ERROR; received from peer"), failed},
		"case P55 no packet is acknowledged": {func(tr *trip) { tr.idle = 0 }, &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ETIMEDOUT)}, lost},
		"case P55 no ping is answered":       {func(tr *trip) { tr.idle = 0 }, errors.New("http2: client connection lost"), lost},
		"silence on a fresh connection":      {func(tr *trip) { tr.reused = false }, errors.New("http2: client connection lost"), failed},
	} {
		t.Run(name, func(t *testing.T) {
			tr := trip{reused: good.reused, idle: good.idle, wrote: good.wrote}
			if c.change != nil {
				c.change(&tr)
			}
			if got := tr.fate(c.err, now); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// closer is an upstream that answers the first request of each connection and
// closes the connection when a second one has reached it, before a handler sees
// that: the race that an upstream with a short idle time loses.
type closer struct {
	net.Listener
	reset bool // … with a reset
	// fresh closes at the first request, too.
	fresh   bool
	conns   atomic.Int32
	handled sync.Map // body to *atomic.Int32
	taken   sync.Map // the same for everything that arrived
}

func newCloser(t *testing.T) *closer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &closer{Listener: l}
	var done sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); done.Wait() })
	done.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.conns.Add(1)
			done.Go(func() { c.serve(conn) })
		}
	})
	return c
}

func (c *closer) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	r := bufio.NewReader(conn)
	for n := 1; ; n++ {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		raw, _ := io.ReadAll(req.Body)
		tally(&c.taken, string(raw))
		if n > 1 || c.fresh {
			if tcp, ok := conn.(*net.TCPConn); ok && c.reset {
				_ = tcp.SetLinger(0)
			}
			return
		}
		tally(&c.handled, string(raw))
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(raw), raw)
	}
}

func tally(m *sync.Map, key string) {
	n, _ := m.LoadOrStore(key, &atomic.Int32{})
	n.(*atomic.Int32).Add(1) //nolint:forcetypeassert,nolintlint // the map holds nothing else
}

func times(m *sync.Map, key string) int32 {
	n, ok := m.Load(key)
	if !ok {
		return 0
	}
	return n.(*atomic.Int32).Load() //nolint:forcetypeassert,nolintlint // the map holds nothing else
}

// post sends one call and returns its answer.
func post(ctx context.Context, c *Client, base, body string, change func(*Call)) (string, error) {
	call := Call{Method: http.MethodPost, BaseURL: base, Path: "/x", Header: http.Header{}, Body: []byte(body)}
	if change != nil {
		change(&call)
	}
	res, err := c.Do(ctx, call)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	return string(raw), err
}

// idleFor makes every reused connection look as if it had been idle that long.
func idleFor(d time.Duration) func(time.Duration) time.Duration {
	return func(time.Duration) time.Duration { return d }
}

func TestLostConnectionIsReplacedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		idle    time.Duration
		reset   bool
		header  http.Header
		ok      bool
		repeats int
	}{
		"ruling 67 closed":         {time.Second, false, nil, true, 1},
		"ruling 67 reset":          {time.Minute, true, nil, true, 1},
		"idle under a second":      {900 * time.Millisecond, false, nil, false, 0},
		"reset, under a second":    {0, true, nil, false, 0},
		"the transport's own rule": {0, false, http.Header{"Idempotency-Key": {"k"}, "X-Idempotency-Key": {"k"}}, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			up := newCloser(t)
			up.reset = c.reset
			client := New(Options{Idle: idleFor(c.idle)})
			t.Cleanup(client.Close)
			base := "http://" + up.Addr().String()
			if _, err := post(t.Context(), client, base, "first", nil); err != nil {
				t.Fatal(err)
			}
			var why []Lost
			got, err := post(t.Context(), client, base, "second", func(call *Call) {
				call.Header, call.Last = c.header, c.header
				call.Repeated = func(l Lost) { why = append(why, l) }
			})
			if (err == nil) != c.ok || c.ok && got != "second" || len(why) != c.repeats {
				t.Errorf("got %q, %v; sent again for %v", got, err, why)
			}
			if n := times(&up.taken, "second"); int(n) != 1+c.repeats {
				t.Errorf("it arrived %d times", n)
			}
		})
	}
	t.Run("a second loss is a failure", func(t *testing.T) {
		up := newCloser(t)
		client := New(Options{Idle: idleFor(time.Hour)})
		t.Cleanup(client.Close)
		base := "http://" + up.Addr().String()
		if _, err := post(t.Context(), client, base, "first", nil); err != nil {
			t.Fatal(err)
		}
		up.fresh = true
		if _, err := post(t.Context(), client, base, "second", nil); err == nil {
			t.Error("it was answered")
		}
		if n := times(&up.taken, "second"); n != 2 {
			t.Errorf("it arrived %d times", n)
		}
	})
	t.Run("a client that has left is not served again", func(t *testing.T) {
		up := newCloser(t)
		ctx, leave := context.WithCancel(t.Context())
		client := New(Options{Idle: func(time.Duration) time.Duration { leave(); return time.Hour }})
		t.Cleanup(client.Close)
		base := "http://" + up.Addr().String()
		if _, err := post(t.Context(), client, base, "first", nil); err != nil {
			t.Fatal(err)
		}
		if _, err := post(ctx, client, base, "second", nil); err == nil || times(&up.taken, "second") > 1 {
			t.Errorf("%v, arrived %d times", err, times(&up.taken, "second"))
		}
	})
}

// The time since the last byte counts, not the time since the first.
func TestLateLossIsAFailure(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration // of the last byte, until the connection is closed
		ok    bool
	}{
		"ruling 67 at once":              {0, true},
		"ruling 67 within five seconds":  {5 * time.Second, true},
		"ruling 67 after five seconds":   {5*time.Second + time.Millisecond, false},
		"ruling 67 after half a minute":  {30 * time.Second, false},
		"ruling 67 after a long silence": {20 * time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var served, conns atomic.Int32
				dial := func(context.Context, string, string) (net.Conn, error) {
					near, far := net.Pipe()
					fresh := conns.Add(1) > 1
					go func() {
						defer func() { _ = far.Close() }()
						r := bufio.NewReader(far)
						for n := 1; ; n++ {
							req, err := http.ReadRequest(r)
							if err != nil {
								return
							}
							_, _ = io.Copy(io.Discard, req.Body)
							if n > 1 && !fresh {
								<-time.After(c.after)
								return
							}
							served.Add(1)
							_, _ = io.WriteString(far, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
						}
					}()
					return near, nil
				}
				client := New(Options{Dial: dial, IdleTimeout: time.Hour})
				defer client.Close()
				if _, err := post(t.Context(), client, "http://10.0.0.1", "first", nil); err != nil {
					t.Fatal(err)
				}
				<-time.After(time.Second) // idle for just long enough
				got, err := post(t.Context(), client, "http://10.0.0.1", "second", nil)
				if (err == nil) != c.ok || c.ok && got != "ok" {
					t.Errorf("got %q, %v", got, err)
				}
				if want := map[bool]int32{true: 2, false: 1}[c.ok]; served.Load() != want || conns.Load() != want {
					t.Errorf("served %d over %d connections", served.Load(), conns.Load())
				}
			})
		})
	}
}

// An upstream that closes idle connections: every request is answered, and no
// handler sees one twice. BREAKWATER_LOST_POSTS sends that many to an upstream
// that really closes them after a second.
func TestUpstreamThatClosesIdleConnections(t *testing.T) {
	t.Run("each is answered and handled once", func(t *testing.T) {
		up := newCloser(t)
		client := New(Options{Idle: idleFor(time.Second)})
		t.Cleanup(client.Close)
		for i := range 200 {
			body := "request " + strconv.Itoa(i)
			if got, err := post(t.Context(), client, "http://"+up.Addr().String(), body, nil); err != nil || got != body {
				t.Fatalf("%d: %q, %v", i, got, err)
			}
			if n := times(&up.handled, body); n != 1 {
				t.Errorf("%d was handled %d times", i, n)
			}
		}
		if up.conns.Load() < 100 {
			t.Errorf("only %d connections: hardly any was lost", up.conns.Load())
		}
	})
	n, err := strconv.Atoi(os.Getenv("BREAKWATER_LOST_POSTS"))
	if err != nil || n <= 0 {
		return
	}
	t.Run("in real time", func(t *testing.T) { closesAfterASecond(t, n) })
}

func closesAfterASecond(t *testing.T, posts int) {
	var handled sync.Map
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		tally(&handled, string(raw))
		_, _ = w.Write(raw)
	}))
	s.Config.IdleTimeout = time.Second
	s.Start()
	t.Cleanup(s.Close)
	client := New(Options{})
	t.Cleanup(client.Close)
	var repeats, failures atomic.Int32
	const workers = 50
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := range posts / workers {
				body := fmt.Sprintf("worker %d request %d", w, i)
				got, err := post(t.Context(), client, s.URL, body, func(call *Call) { call.Repeated = func(Lost) { repeats.Add(1) } })
				if err != nil || got != body || times(&handled, body) != 1 {
					failures.Add(1)
					t.Errorf("%s: %q, %v, handled %d times", body, got, err, times(&handled, body))
				}
				// Around the second at which the upstream closes.
				<-time.After(time.Second + time.Duration((w*7+i*13)%21-10)*200*time.Microsecond)
			}
		})
	}
	all.Wait()
	t.Logf("%d POSTs, %d failed, %d sent again", posts/workers*workers, failures.Load(), repeats.Load())
}

// What HTTP/2 says about a stream decides, whatever the connection is.
func TestRefusedStream(t *testing.T) {
	cert, pool := tlsServer(t, nil)
	for name, c := range map[string]struct {
		server *retiring
		ok     bool
		asked  int32
	}{
		"REFUSED_STREAM":            {&retiring{resets: 7}, true, 2},
		"REFUSED_STREAM every time": {&retiring{resets: 7, always: true}, false, 2},
		"PROTOCOL_ERROR":            {&retiring{resets: 1}, false, 1},
		"CANCEL":                    {&retiring{resets: 8}, false, 1},
		"ENHANCE_YOUR_CALM":         {&retiring{resets: 11}, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: cert.TLS.Certificates, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() })
			c.server.Listener = l
			go c.server.serve()
			client := New(Options{RootCAs: pool})
			t.Cleanup(client.Close)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			got, err := ask(ctx, client, "https://"+l.Addr().String())
			if (err == nil) != c.ok || c.ok && got != "HTTP/2.0 one two end" || c.server.asked.Load() != c.asked {
				t.Errorf("got %q, %v; asked %d times", got, err, c.server.asked.Load())
			}
		})
	}
}

func TestTimesOfConnections(t *testing.T) {
	for name, c := range map[string]struct {
		o                        Options
		connect, handshake, idle time.Duration
	}{
		"as usual":            {Options{}, 30 * time.Second, 15 * time.Second, time.Minute},
		"a quick connect":     {Options{ConnectTimeout: 2 * time.Second}, 2 * time.Second, 2 * time.Second, time.Minute},
		"a slow connect":      {Options{ConnectTimeout: time.Minute}, time.Minute, 15 * time.Second, time.Minute},
		"connect without end": {Options{ConnectTimeout: -1}, 0, 15 * time.Second, time.Minute},
		"keep-alive":          {Options{IdleTimeout: 4 * time.Second}, 30 * time.Second, 15 * time.Second, 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			tr := c.o.plain()
			if d := c.o.connect(); d != c.connect || tr.TLSHandshakeTimeout != c.handshake || tr.IdleConnTimeout != c.idle {
				t.Errorf("connect %s, handshake %s, idle %s", d, tr.TLSHandshakeTimeout, tr.IdleConnTimeout)
			}
		})
	}
	t.Run("an idle connection is closed", func(t *testing.T) {
		closed := make(chan struct{}, 1)
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		s.Config.ConnState = func(_ net.Conn, st http.ConnState) {
			if st == http.StateClosed {
				closed <- struct{}{}
			}
		}
		s.Start()
		t.Cleanup(s.Close)
		client := New(Options{IdleTimeout: 10 * time.Millisecond})
		t.Cleanup(client.Close)
		if _, err := post(t.Context(), client, s.URL, "x", nil); err != nil {
			t.Fatal(err)
		}
		select {
		case <-closed:
		case <-time.After(20 * time.Second):
			t.Error("it is still open")
		}
	})
}
