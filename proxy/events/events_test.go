package events

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"breakwater/proxy/client/facadetest"
	"breakwater/proxy/control"
)

func TestStreamFollowsTheFacade(t *testing.T) {
	b := newBench(t)
	r := b.connect(t)
	b.fake.Change(func(s *control.Snapshot) { s.Paused = true })
	if ev := r.next(); ev.Snapshot == nil || !ev.Snapshot.Paused {
		t.Errorf("got %+v, want the paused snapshot", ev)
	}
	b.fake.AddActivity(control.Activity{ID: 5, Model: "two\nlines"})
	if ev := r.next(); ev.Activity == nil || ev.Activity.Model != "two\nlines" {
		t.Errorf("got %+v, want the activity", ev)
	}
	b.fake.Publish(control.Event{Type: control.EventAlert, Alert: &control.Alert{Kind: control.AlertBreakerOpen}})
	if ev := r.next(); ev.Alert == nil || ev.Alert.Kind != control.AlertBreakerOpen {
		t.Errorf("got %+v, want the alert", ev)
	}
	b.fake.Publish(control.Event{Type: control.EventShow, Page: "activity"})
	if ev := r.next(); ev.Type != control.EventShow || ev.Page != "activity" {
		t.Errorf("got %+v, want the show event", ev)
	}
}

// The frame that browsers and scripts see.
func TestFrameForm(t *testing.T) {
	b := newBench(t)
	r := b.connect(t, "Last-Event-ID", "no number")
	b.fake.Publish(control.Event{Type: control.EventShow, Page: ":a"})
	lines := r.frame()
	if len(lines) != 4 {
		t.Fatalf("frame %q, want four lines", lines)
	}
	id, ok := strings.CutPrefix(lines[0], "id: ")
	if _, err := strconv.ParseUint(id, 10, 64); !ok || err != nil {
		t.Errorf("line %q, want a numeric id", lines[0])
	}
	for i, want := range []string{`data: {"type":"show","page":":a"}`, "event: show", "retry: 1000"} {
		if lines[i+1] != want {
			t.Errorf("line %q, want %q", lines[i+1], want)
		}
	}
}

// The ids of a stream count up from its first frame, in the order of its frames,
// whoever else listens and however events are joined.
func TestIdsCountUp(t *testing.T) {
	b := newBench(t)
	other := b.connect(t)
	b.fake.AddActivity(control.Activity{ID: 1})
	other.nextActivity()
	r := b.connect(t)
	for i := range 40 {
		b.fake.AddActivity(control.Activity{ID: int64(i)})
		b.fake.Change(func(s *control.Snapshot) { s.Paused = i%2 == 0 })
	}
	last := uint64(1) // the first snapshot
	for seen := 0; seen < 20; {
		for _, line := range r.frame() {
			if text, ok := strings.CutPrefix(line, "id: "); ok {
				id, err := strconv.ParseUint(text, 10, 64)
				if err != nil || id <= last || id > last+uint64(seen)+1 {
					t.Fatalf("id %q after %d", text, last)
				}
				last = id
			}
			if strings.HasPrefix(line, "data: ") {
				seen++
			}
		}
	}
}

func TestSnapshotListsAreNeverNull(t *testing.T) {
	b := newBench(t)
	b.fake.Change(func(s *control.Snapshot) { s.Connections, s.Breakers = nil, nil })
	m, err := b.h.encode(control.Event{Type: control.EventSnapshot, Snapshot: &control.Snapshot{}})
	if err != nil || strings.Contains(string(m.data), "null") {
		t.Errorf("encoded %s, %v", m.data, err)
	}
}

func TestFacadeIsSubscribedOnlyWhileSomebodyListens(t *testing.T) {
	b := newBench(t)
	b.fake.WaitSubscribers(0)
	one := b.connect(t)
	b.fake.WaitSubscribers(1)
	two := b.connect(t)
	one.body.Close()
	b.fake.AddActivity(control.Activity{ID: 1})
	if got := two.nextActivity(); got != 1 {
		t.Errorf("second client got %d after the first left, want 1", got)
	}
	b.fake.WaitSubscribers(1)
	two.body.Close()
	b.fake.WaitSubscribers(0)
	three := b.connect(t)
	b.fake.WaitSubscribers(1)
	b.fake.AddActivity(control.Activity{ID: 2})
	if got := three.nextActivity(); got != 2 {
		t.Errorf("later client got %d, want 2", got)
	}
	count := 0
	for _, call := range b.fake.Calls() {
		if call == "Subscribe" {
			count++
		}
	}
	if count != 2 {
		t.Errorf("%d subscriptions, want 2: one for each time that somebody listened", count)
	}
}

func TestCloseLeavesNoGoroutines(t *testing.T) {
	before := goleak.IgnoreCurrent()
	b := newBench(t)
	readers := make([]*reader, 20)
	for i := range readers {
		readers[i] = b.connect(t)
	}
	if got := b.h.Clients(); got != 20 {
		t.Fatalf("%d clients, want 20", got)
	}
	b.h.Close()
	for i, r := range readers {
		if ev := r.next(); ev.Type != "" {
			t.Errorf("client %d got %+v after the end", i, ev)
		}
	}
	b.h.Close()
	resp, err := b.http.Get(b.srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a closed handler answers %s", resp.Status)
	}
	b.http.CloseIdleConnections()
	b.srv.Close()
	b.fake.WaitSubscribers(0)
	goleak.VerifyNone(t, before)
}

func TestClientsAreCutWhenTheFacadeEnds(t *testing.T) {
	b := newBench(t)
	one, two := b.connect(t), b.connect(t)
	b.fake.WaitSubscribers(1)
	b.fake.EndStreams()
	if a, c := one.next(), two.next(); a.Type != "" || c.Type != "" {
		t.Errorf("got %+v and %+v, want the ends of the streams", a, c)
	}
	b.connect(t) // a new subscription serves the next client
}

func TestRefusals(t *testing.T) {
	broken := errors.New("secret detail")
	for _, tc := range []struct {
		name, method, fails string
		status              int
		allow               string
	}{
		{"the facade has no stream", http.MethodGet, "Subscribe", http.StatusServiceUnavailable, ""},
		{"the facade has no snapshot", http.MethodGet, "Snapshot", http.StatusServiceUnavailable, ""},
		{"a post", http.MethodPost, "", http.StatusMethodNotAllowed, "GET, HEAD"},
		{"a head", http.MethodHead, "", http.StatusOK, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fake := facadetest.New()
			fake.Fail = func(method string) error {
				if method == tc.fails {
					return broken
				}
				return nil
			}
			h := New(fake, nil)
			defer h.Close()
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), tc.method, "/api/events", nil))
			if rec.Code != tc.status || rec.Header().Get("Allow") != tc.allow {
				t.Errorf("%d, Allow %q", rec.Code, rec.Header().Get("Allow"))
			}
			if strings.Contains(rec.Body.String(), "secret") {
				t.Errorf("the answer tells %s", rec.Body)
			}
			if rec.Code >= 400 && !strings.HasPrefix(rec.Body.String(), `{"error":{"code":"`) {
				t.Errorf("the answer is %s, want an error envelope", rec.Body)
			}
			fake.WaitSubscribers(0)
			if n := h.Clients(); n != 0 {
				t.Errorf("%d clients are left", n)
			}
		})
	}
}

// brokenWriter fails every write, as a transport does that does not end the
// request's context by itself.
type brokenWriter struct{ *httptest.ResponseRecorder }

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestFailedWriteEndsTheStream(t *testing.T) {
	fake := facadetest.New()
	h := New(fake, nil)
	defer h.Close()
	h.ServeHTTP(brokenWriter{httptest.NewRecorder()}, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	fake.WaitSubscribers(0)
}

func TestEventsOfAnEarlierSubscriptionAreDropped(t *testing.T) {
	h := New(facadetest.New(), nil)
	defer h.Close()
	earlier, present := &subscription{}, &subscription{}
	c := &client{queue: newQueue()}
	h.sub, h.clients[c] = present, struct{}{}
	h.broadcast(earlier, activityMessage(1))
	h.broadcast(present, activityMessage(2))
	delete(h.clients, c)
	if got := drain(c.queue); len(got) != 1 || got[0].seq != 2 {
		t.Errorf("got %v, want the second event alone", got)
	}
}

// The snapshot with which a subscription begins is older than the one that the
// client was sent first, and may come later.
func TestOlderSnapshotIsNotSent(t *testing.T) {
	b := newBench(t)
	r := b.connect(t)
	b.fake.WaitSubscribers(1)
	m := snapshotMessage(1)
	m.data = []byte(`{"type":"snapshot","snapshot":{"seq":1}}`)
	b.h.mu.Lock()
	sub := b.h.sub
	b.h.mu.Unlock()
	b.h.broadcast(sub, m)
	for id := range int64(2) { // one may overtake what waits, two do not
		b.fake.AddActivity(control.Activity{ID: id})
		if ev := r.next(); ev.Activity == nil || ev.Activity.ID != id {
			t.Errorf("got %+v, want the activity %d", ev, id)
		}
	}
}

// A client that stops reading fills its own socket, and nothing else: the
// other one gets every event, and the stuck one is cut after the write timeout.
func TestStuckClientIsCutAndDelaysNobody(t *testing.T) {
	fake := facadetest.New()
	h := New(fake, nil)
	h.writeTimeout = time.Second
	closed := make(chan string, 10)
	var conns atomic.Int32
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if conns.Add(1) == 1 { // the stuck one: its buffers fill soon
			_ = c.(*net.TCPConn).SetWriteBuffer(4096)
		}
		return ctx
	}
	srv.Config.ConnState = func(c net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			closed <- c.RemoteAddr().String()
		}
	}
	srv.Start()
	b := &bench{fake: fake, h: h, srv: srv, http: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(func() { h.Close(); b.http.CloseIdleConnections(); srv.Close() })

	stuck, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer stuck.Close()
	_ = stuck.(*net.TCPConn).SetReadBuffer(4096)
	if _, err := io.WriteString(stuck, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	r := b.connect(t)
	big := strings.Repeat("x", batchBytes) // a batch of its own
	for id := int64(1); id <= 20; id++ {
		fake.AddActivity(control.Activity{ID: id, Model: big})
		if got := r.nextActivity(); got != id {
			t.Fatalf("healthy client got %d, want %d", got, id)
		}
	}
	if got := <-closed; got != stuck.LocalAddr().String() {
		t.Errorf("%s was cut, want the stuck client %s", got, stuck.LocalAddr())
	}
	if n := h.Clients(); n != 1 {
		t.Errorf("%d clients are left, want 1", n)
	}
}

// The same in exact time: with a pipe for a socket the first unread byte
// blocks, the cut comes after WriteTimeout to the tick, and the other client's
// events take no longer than a batch does.
func TestStuckClientIsCutAfterTheWriteTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, fake, line, stop := bubble(0)
		defer stop()
		stuck := line.get(t)
		defer stuck.Close()
		healthy := newReader(t, line.get(t))
		healthy.next()
		start := time.Now()
		const n = 30
		for id := int64(1); id <= n; id++ {
			fake.AddActivity(control.Activity{ID: id})
			if got := healthy.nextActivity(); got != id {
				t.Fatalf("healthy client got %d, want %d", got, id)
			}
		}
		if d := time.Since(start); d > (n-1)*activityEvery {
			t.Errorf("the healthy client was delayed by %v", d)
		}
		if n := h.Clients(); n != 2 {
			t.Fatalf("%d clients, want 2 before the timeout", n)
		}
		advance(WriteTimeout)
		synctest.Wait()
		if n := h.Clients(); n != 1 {
			t.Errorf("%d clients, want the healthy one alone", n)
		}
	})
}

func TestCloseInterruptsAWriteThatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _, line, stop := bubble(0)
		stuck := line.get(t)
		defer stuck.Close()
		synctest.Wait()
		start := time.Now()
		h.Close()
		if d := time.Since(start); d != 0 {
			t.Errorf("Close took %v beside a stuck client", d)
		}
		stop()
	})
}

func TestHeartbeatOnlyInSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, fake, line, stop := bubble(0)
		defer stop()
		r := newReader(t, line.get(t))
		r.next()
		start := time.Now()
		for range 3 {
			if got := r.frame(); len(got) != 1 || got[0] != ": heartbeat" {
				t.Fatalf("got %q, want a heartbeat", got)
			}
		}
		if d := time.Since(start); d != 3*Heartbeat {
			t.Errorf("three heartbeats came within %v, want %v", d, 3*Heartbeat)
		}
		advance(Heartbeat / 2)
		fake.AddActivity(control.Activity{ID: 1})
		r.nextActivity()
		start = time.Now()
		if r.frame(); time.Since(start) != Heartbeat {
			t.Errorf("a heartbeat came %v after an event, want %v", time.Since(start), Heartbeat)
		}
	})
}

func TestTimeoutsOfTheServerDoNotEndTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, fake, line, stop := bubble(5 * time.Second)
		defer stop()
		r := newReader(t, line.get(t))
		r.next()
		advance(time.Minute / 3)
		fake.AddActivity(control.Activity{ID: 1})
		if got := r.nextActivity(); got != 1 {
			t.Errorf("got %d after the timeouts, want 1", got)
		}
	})
}

// bubble serves a handler over pipes; stop ends everything.
func bubble(timeout time.Duration) (h *Handler, fake *facadetest.Fake, line *pipes, stop func()) {
	fake, line = facadetest.New(), newPipes()
	h = New(fake, nil)
	srv := &http.Server{Handler: h, ReadTimeout: timeout, WriteTimeout: timeout}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(line)
	}()
	return h, fake, line, func() {
		h.Close()
		_ = srv.Close()
		<-done
	}
}

// newReader reads the head of the answer off a raw connection.
func newReader(t *testing.T, conn net.Conn) *reader {
	t.Helper()
	t.Cleanup(func() { conn.Close() })
	r := &reader{t: t, body: conn}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	r.br = bufio.NewReader(resp.Body) // without the chunks
	return r
}
