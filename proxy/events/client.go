package events

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/r3labs/sse/v2"
)

// client is one connected reader with its own stream, queue and writer.
type client struct {
	h      *Handler
	cancel context.CancelFunc // of the context that the stream lives by
	queue  *queue
	writer *deadlineWriter
}

func newClient(h *Handler, w http.ResponseWriter, cancel context.CancelFunc) *client {
	q := newQueue()
	return &client{h: h, cancel: cancel, queue: q, writer: &deadlineWriter{
		ResponseWriter: w, rc: http.NewResponseController(w), more: q.waits,
		timeout: h.writeTimeout, fail: cancel, flushed: make(chan struct{}, 1),
	}}
}

// cut ends the client's stream at once, even in the middle of a write.
func (c *client) cut() {
	c.cancel()
	c.writer.abort()
}

// serve runs the stream until the client leaves or is cut.
func (c *client) serve(ctx context.Context, r *http.Request) {
	id := strconv.FormatUint(c.h.nextID.Add(1), 10)
	c.h.server.CreateStream(id)

	// The server reads the stream's name from the query and refuses a last
	// event id that is no number; there is no replay, so none is handed on.
	req := r.WithContext(ctx)
	req.URL = &url.URL{Path: r.URL.Path, RawQuery: url.Values{"stream": {id}}.Encode()}
	req.Header = r.Header.Clone()
	req.Header.Del("Last-Event-ID")

	var pump sync.WaitGroup
	pump.Go(func() { c.pump(ctx, id) })
	c.h.server.ServeHTTP(c.writer, req)
	// ServeHTTP ends when the subscriber was taken off its stream, which is
	// the moment from which the stream may be closed without a leak.
	c.cancel()
	pump.Wait()
	c.h.server.RemoveStream(id)
	c.writer.finish()
}

// pump publishes one event at a time and waits until it has been written, so
// that the stream's buffers stay empty and the queue can drop what is stale.
func (c *client) pump(ctx context.Context, id string) {
	beat := time.NewTimer(c.h.heartbeat)
	defer beat.Stop()
	for sent := uint64(1); c.written(ctx); sent++ {
		m, ok := c.next(ctx, beat)
		if !ok {
			return
		}
		if !c.h.server.TryPublish(id, m.event(sent)) {
			c.cancel() // cannot happen while one event is under way at most
			return
		}
		beat.Reset(c.h.heartbeat)
	}
}

// written waits for the writer's last flush; the first is the header's, which
// tells that the subscriber is registered.
func (c *client) written(ctx context.Context) bool {
	select {
	case <-c.writer.flushed:
		return true
	case <-ctx.Done():
		return false
	}
}

// next waits for the next event, or for the time of a heartbeat.
func (c *client) next(ctx context.Context, beat *time.Timer) (message, bool) {
	for {
		if m, ok := c.queue.take(); ok {
			return m, true
		}
		select {
		case <-c.queue.filled:
		case <-beat.C:
			return message{}, true
		case <-ctx.Done():
			return message{}, false
		}
	}
}

// event returns a fresh event of the sse server under that id; the zero message
// is a heartbeat, a comment without data.
func (m message) event(id uint64) *sse.Event {
	if m.kind == "" {
		return &sse.Event{Comment: []byte("heartbeat")}
	}
	return &sse.Event{ID: []byte(strconv.FormatUint(id, 10)), Event: []byte(m.kind), Data: m.data, Retry: []byte(restMs)}
}

// deadlineWriter gives every write and flush a deadline, reports failures,
// which the sse server ignores, and tells when a flush is done.
type deadlineWriter struct {
	http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration
	fail    context.CancelFunc
	flushed chan struct{}
	// more tells that a further event is due; what was written then waits for
	// it, so that a burst costs one packet.
	more func() bool

	mu      sync.Mutex
	busy    bool
	aborted bool
}

// Write writes within the deadline.
func (w *deadlineWriter) Write(p []byte) (n int, err error) {
	err = w.timed(func() error {
		n, err = w.ResponseWriter.Write(p)
		return err
	})
	return n, err
}

// Flush sends what was written within the deadline, and tells the pump.
func (w *deadlineWriter) Flush() {
	if w.more() {
		w.signal()
		return
	}
	if w.timed(w.rc.Flush) == nil {
		w.signal()
	}
}

func (w *deadlineWriter) signal() {
	select {
	case w.flushed <- struct{}{}:
	default:
	}
}

func (w *deadlineWriter) timed(write func() error) error {
	if err := w.begin(); err != nil {
		return err
	}
	err := write()
	w.mu.Lock()
	w.busy = false
	w.mu.Unlock()
	if err != nil {
		w.fail()
	}
	return err
}

func (w *deadlineWriter) begin() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.aborted {
		return context.Canceled
	}
	w.busy = true
	// A writer without deadlines, such as a recorder's, just has none.
	_ = w.rc.SetWriteDeadline(time.Now().Add(w.timeout))
	return nil
}

// finish leaves a little time for the end of the response.
func (w *deadlineWriter) finish() {
	_ = w.rc.SetWriteDeadline(time.Now().Add(time.Second))
}

// abort makes a write that is under way return, and every later one fail.
func (w *deadlineWriter) abort() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.aborted = true
	if w.busy {
		_ = w.rc.SetWriteDeadline(time.Unix(1, 0))
	}
}
