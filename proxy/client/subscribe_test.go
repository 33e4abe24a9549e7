package client

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"breakwater/proxy/client/facadetest"
	"breakwater/proxy/control"
	"breakwater/proxy/events"
	"breakwater/proxy/rest"
)

// quick makes reconnects quick enough for a test on real sockets.
var quick = Options{MinRetry: 5 * time.Millisecond, MaxRetry: 20 * time.Millisecond}

// product is the API over a fake facade at an address that survives restarts.
type product struct {
	fake   *facadetest.Fake
	addr   string
	stream *events.Handler
	srv    *http.Server
	done   chan struct{}
}

func startProduct(t *testing.T, addr string) *product {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	p := serveProduct(ln)
	t.Cleanup(p.stop)
	return p
}

func serveProduct(ln net.Listener) *product {
	p := &product{fake: facadetest.New(), addr: ln.Addr().String(), done: make(chan struct{})}
	p.stream = events.New(p.fake, nil)
	p.srv = &http.Server{Handler: rest.New(rest.Options{
		Facade: p.fake, Events: p.stream, Token: func() string { return "t" },
	})}
	go func() {
		defer close(p.done)
		_ = p.srv.Serve(ln)
	}()
	return p
}

func (p *product) stop() {
	p.stream.Close()
	_ = p.srv.Close()
	<-p.done
}

func subscribe(t *testing.T, c *Client) <-chan control.Event {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, err := c.Subscribe(ctx)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		for range out { // ends with the context
		}
		c.Close()
	})
	return out
}

func nextSnapshot(t *testing.T, out <-chan control.Event, fits func(control.Snapshot) bool) control.Snapshot {
	t.Helper()
	for ev := range out {
		if ev.Snapshot != nil && fits(*ev.Snapshot) {
			return *ev.Snapshot
		}
	}
	t.Fatal("the stream ended")
	return control.Snapshot{}
}

func always(control.Snapshot) bool { return true }
func isDown(s control.Snapshot) bool {
	return s.Health == control.HealthDown
}

func TestRestartOfTheServer(t *testing.T) {
	p := startProduct(t, "127.0.0.1:0")
	p.fake.Change(func(s *control.Snapshot) { s.Version = "1" })
	out := subscribe(t, New("http://"+p.addr, "t", quick))
	if s := nextSnapshot(t, out, always); s.Version != "1" {
		t.Fatalf("first snapshot %+v", s)
	}
	last := "1"
	for _, version := range []string{"2", "3"} {
		p.stop()
		if s := nextSnapshot(t, out, isDown); s.Version != last {
			t.Errorf("while down: %+v, want the last state with health down", s)
		}
		p = startProduct(t, p.addr)
		p.fake.Change(func(s *control.Snapshot) { s.Version = version })
		if s := nextSnapshot(t, out, func(s control.Snapshot) bool { return !isDown(s) && s.Version != "1.2.3" }); s.Version != version {
			t.Errorf("after the restart: %+v", s)
		}
		last = version
	}
	p.fake.AddActivity(control.Activity{ID: 8})
	for ev := range out {
		if ev.Activity != nil && ev.Activity.ID == 8 {
			return
		}
	}
	t.Error("the new stream brought no activity")
}

func TestServerThatIsNotThereYet(t *testing.T) {
	p := startProduct(t, "127.0.0.1:0")
	p.stop()
	out := subscribe(t, New("http://"+p.addr, "t", quick))
	if s := nextSnapshot(t, out, always); !isDown(s) || s.Endpoint != "http://"+p.addr || s.Connections == nil {
		t.Errorf("first snapshot %+v, want down", s)
	}
	startProduct(t, p.addr)
	nextSnapshot(t, out, func(s control.Snapshot) bool { return !isDown(s) })
}

// A stream that ends cleanly is opened again, without a word of alarm.
func TestCleanEndIsFollowedByANewStream(t *testing.T) {
	p := startProduct(t, "127.0.0.1:0")
	out := subscribe(t, New("http://"+p.addr, "t", quick))
	nextSnapshot(t, out, always)
	for range 3 {
		p.fake.WaitSubscribers(1)
		p.fake.EndStreams()
		if s := nextSnapshot(t, out, always); isDown(s) {
			t.Error("a clean end was shown as down")
		}
	}
}

func TestRefusedTokenIsAnError(t *testing.T) {
	p := startProduct(t, "127.0.0.1:0")
	c := New("http://"+p.addr, "wrong", quick)
	defer c.Close()
	if _, err := c.Subscribe(t.Context()); !Unauthorised(err) {
		t.Errorf("got %v, want a refusal", err)
	}
	p.fake.WaitSubscribers(0)
}

func TestLargeAndBrokenEvents(t *testing.T) {
	big := strings.Repeat("x", 2<<20)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, data := range []string{
			`{"type":"snapshot","snapshot":{"endpoint":"` + big + `"}}`,
			`{"type":"snapshot"}`, `{"type":`, `[]`, `{}`,
			`{"type":"show","page":"after"}`,
		} {
			_, _ = io.WriteString(w, ": note\ndata: "+data+"\n\n")
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer srv.Close()
	c := New(srv.URL, "t", quick)
	ctx, cancel := context.WithCancel(t.Context())
	out, err := c.Subscribe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if ev := <-out; ev.Snapshot == nil || len(ev.Snapshot.Endpoint) != len(big) {
		t.Errorf("the large event came as %.80v", ev)
	}
	if ev := <-out; ev.Page != "after" {
		t.Errorf("got %+v, want the event behind the broken ones", ev)
	}
	cancel()
	for range out {
	}
	c.Close()
}

// pipes is a network in memory for a bubble: one listener that can be closed,
// so that dials are refused, and opened again.
type pipes struct {
	mu   sync.Mutex
	line chan net.Conn
	gone chan struct{}
}

func (p *pipes) open() net.Listener {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line, p.gone = make(chan net.Conn), make(chan struct{})
	return &pipeListener{line: p.line, gone: p.gone}
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	p.mu.Lock()
	line, gone := p.line, p.gone
	p.mu.Unlock()
	near, far := net.Pipe()
	select {
	case line <- far:
		return near, nil
	case <-gone:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type pipeListener struct {
	line chan net.Conn
	gone chan struct{}
	once sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.line:
		return c, nil
	case <-l.gone:
		return nil, net.ErrClosed
	}
}
func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.gone) }); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7411} }

const bubbleURL = "http://127.0.0.1:7411"

// A peer that dies without a word is noticed after the silence, although the
// connection looks open; heartbeats keep a quiet stream alive for ever.
func TestSilentPeer(t *testing.T) {
	t.Run("heartbeats keep it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			net := &pipes{}
			p := serveProduct(net.open())
			c := New(bubbleURL, "t", Options{dial: net.dial})
			ctx, cancel := context.WithCancel(t.Context())
			out, err := c.Subscribe(ctx)
			if err != nil {
				t.Fatal(err)
			}
			<-out
			select {
			case ev := <-out:
				t.Errorf("a quiet stream brought %+v", ev)
			case <-time.After(time.Hour):
			}
			subscriptions := 0
			for _, call := range p.fake.Calls() {
				if call == "Subscribe" {
					subscriptions++
				}
			}
			if subscriptions != 1 {
				t.Errorf("%d subscriptions in a quiet hour, want 1", subscriptions)
			}
			cancel()
			for range out {
			}
			c.Close()
			p.stop()
		})
	})
	t.Run("silence ends it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			net := &pipes{}
			requests := make(chan time.Time, 100)
			dead := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests <- time.Now()
				_, _ = io.WriteString(w, "data: {\"type\":\"snapshot\",\"snapshot\":{}}\n\n")
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			})}
			done := make(chan struct{})
			ln := net.open()
			go func() { defer close(done); _ = dead.Serve(ln) }()
			c := New(bubbleURL, "t", Options{dial: net.dial})
			ctx, cancel := context.WithCancel(t.Context())
			out, err := c.Subscribe(ctx)
			if err != nil {
				t.Fatal(err)
			}
			first := <-requests
			if d := (<-requests).Sub(first); d != 75*time.Second+250*time.Millisecond {
				t.Errorf("the second attempt came after %v", d)
			}
			cancel()
			for range out {
			}
			c.Close()
			_ = dead.Close()
			<-done
		})
	})
	t.Run("no answer at all is down", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			net := &pipes{}
			hung := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })}
			done := make(chan struct{})
			ln := net.open()
			go func() { defer close(done); _ = hung.Serve(ln) }()
			c := New(bubbleURL, "t", Options{dial: net.dial})
			ctx, cancel := context.WithCancel(t.Context())
			start := time.Now()
			out, err := c.Subscribe(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if ev := <-out; ev.Snapshot == nil || !isDown(*ev.Snapshot) || time.Since(start) != readTimeout {
				t.Errorf("after %v came %+v", time.Since(start), ev)
			}
			cancel()
			for range out {
			}
			c.Close()
			_ = hung.Close()
			<-done
		})
	})
}

// The pauses grow to their limit, and the end of the context cuts one short.
func TestPausesGrowAndEndWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var dials []time.Time
		c := New(bubbleURL, "t", Options{dial: func(context.Context, string, string) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			dials = append(dials, time.Now())
			return nil, net.ErrClosed
		}})
		ctx, cancel := context.WithCancel(t.Context())
		out, err := c.Subscribe(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if ev := <-out; !isDown(*ev.Snapshot) {
			t.Errorf("first event %+v", ev)
		}
		select {
		case ev := <-out:
			t.Errorf("down was told twice: %+v", ev)
		case <-time.After(time.Minute):
		}
		start := time.Now()
		cancel()
		for range out {
		}
		synctest.Wait() // nothing is left but this goroutine
		if d := time.Since(start); d != 0 {
			t.Errorf("the end took %v", d)
		}
		mu.Lock()
		defer mu.Unlock()
		want := []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second}
		for i, w := range want {
			if got := dials[i+1].Sub(dials[i]); got != w {
				t.Errorf("pause %d is %v, want %v", i, got, w)
			}
		}
	})
}

func TestMailboxKeepsTheNewest(t *testing.T) {
	m := newMailbox()
	for i := range 3 * backlog {
		m.put(control.Event{Type: control.EventActivity, Activity: &control.Activity{ID: int64(i)}})
		m.put(control.Event{Type: control.EventSnapshot, Snapshot: &control.Snapshot{Seq: uint64(i)}})
	}
	var got []control.Event
	for {
		ev, ok := m.take()
		if !ok {
			break
		}
		got = append(got, ev)
	}
	if len(got) != backlog+1 || got[0].Snapshot == nil || got[0].Snapshot.Seq != 3*backlog-1 {
		t.Fatalf("%d events, the first is %+v", len(got), got[0])
	}
	if first := got[1].Activity.ID; first != 2*backlog {
		t.Errorf("oldest activity %d, want %d", first, 2*backlog)
	}
	m.put(control.Event{Type: control.EventActivity})
	m.put(control.Event{Type: control.EventActivity})
	starved := true
	for range 3 {
		m.put(control.Event{Type: control.EventSnapshot})
		if ev, _ := m.take(); ev.Type == control.EventActivity {
			starved = false
		}
	}
	if starved {
		t.Error("snapshots starve the other events")
	}
}
