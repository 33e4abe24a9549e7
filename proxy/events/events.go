// Package events publishes state changes as an event stream.
package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/r3labs/sse/v2"

	"breakwater/proxy/control"
)

const (
	// Heartbeat is the longest silence on a connected stream: a comment line
	// then tells the client that its peer is alive.
	Heartbeat = 30 * time.Second
	// WriteTimeout is how long one write to a client may take before the
	// client is cut.
	WriteTimeout = 10 * time.Second
	// backlog is how many events besides the snapshot wait for a slow client.
	backlog = 256
	// restMs is what clients are told to wait before they reconnect.
	restMs = "1000"
)

var errClosed = errors.New("the event stream is closed")

// Source is the part of control.Facade that the stream needs.
type Source interface {
	Snapshot(ctx context.Context) (control.Snapshot, error)
	Subscribe(ctx context.Context) (<-chan control.Event, error)
}

// Handler serves GET /api/events: a snapshot first, then every event of the
// facade, each as one frame whose event field is the type and whose data is
// the control.Event as JSON. It holds one subscription to the facade for all
// its clients, and none while no client is connected.
//
// Every client gets a stream of its own from the sse server. One stream for
// all would stand still for everybody as soon as one client stopped reading.
type Handler struct {
	source Source
	log    *slog.Logger
	server *sse.Server
	nextID atomic.Uint64 // of a stream

	heartbeat, writeTimeout time.Duration

	mu      sync.Mutex
	closed  bool
	clients map[*client]struct{}
	sub     *subscription // nil while no client is connected
	serving sync.WaitGroup
	relays  sync.WaitGroup
}

// subscription is one life of the subscription to the facade. Events of an
// older life are dropped.
type subscription struct {
	cancel context.CancelFunc
	over   <-chan struct{}
}

// message is an event, or a batch of them, encoded once for all clients.
type message struct {
	kind control.EventType
	data []byte
	seq  uint64 // of a snapshot
}

// New returns a handler that streams source's events.
func New(source Source, log *slog.Logger) *Handler {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := sse.New()
	s.AutoReplay, s.AutoStream = false, false
	// An event's JSON has no line breaks, and those between the frames of a batch
	// are meant.
	s.SplitData = false
	s.BufferSize = 1 // a client's pump has one event under way at most
	// A connection that carried a stream keeps the stream's write deadline.
	s.Headers["Connection"] = "close"
	return &Handler{
		source: source, log: log, server: s,
		heartbeat: Heartbeat, writeTimeout: WriteTimeout,
		clients: map[*client]struct{}{},
	}
}

// ServeHTTP streams events until the client leaves, the context of its request
// ends, or Close is called.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
	case http.MethodHead:
		w.Header().Set("Content-Type", "text/event-stream")
		return
	default:
		w.Header().Set("Allow", "GET, HEAD")
		fail(w, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "Method not allowed")
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	c := newClient(h, w, cancel)
	// A caller who loses his right is cut, even in the middle of a write.
	defer context.AfterFunc(ctx, c.cut)()
	if err := h.join(ctx, c); err != nil {
		h.refuse(w, err)
		return
	}
	defer h.leave(c)
	snap, err := h.source.Snapshot(ctx)
	if err != nil {
		h.refuse(w, err)
		return
	}
	first, err := h.encode(control.Event{Type: control.EventSnapshot, Snapshot: &snap})
	if err != nil {
		h.refuse(w, err)
		return
	}
	c.queue.put(first)
	c.serve(ctx, r)
}

func (h *Handler) refuse(w http.ResponseWriter, err error) {
	if errors.Is(err, context.Canceled) {
		panic(http.ErrAbortHandler) // the client has left; an empty 200 would be a lie
	}
	h.log.Warn("event stream refused", "error", err)
	w.Header().Set("Retry-After", "1")
	fail(w, http.StatusServiceUnavailable, "EVENTS_UNAVAILABLE", "The event stream is not available")
}

// fail answers with the management API's error envelope.
func fail(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"error":{"code":%q,"message":%q}}`+"\n", code, message)
}

// Clients returns how many clients are connected.
func (h *Handler) Clients() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.clients)
}

// Close cuts every client, waits until all goroutines have ended, and refuses
// clients from then on. It may be called more than once.
func (h *Handler) Close() {
	h.mu.Lock()
	h.closed = true
	clients := make([]*client, 0, len(h.clients))
	for c := range h.clients {
		clients = append(clients, c)
	}
	h.mu.Unlock()
	// The sse server leaks a goroutine for every client that is still there
	// when it closes, so they all leave first.
	for _, c := range clients {
		c.cut()
	}
	h.serving.Wait()
	h.relays.Wait()
	h.server.Close()
}

// join registers a client; the first one starts the subscription. The facade
// is asked with the lock held, so that no second client can start another one;
// it never calls back into the handler.
func (h *Handler) join(ctx context.Context, c *client) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errClosed
	}
	if h.sub == nil {
		// The subscription is for all clients: it outlives this one.
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		events, err := h.source.Subscribe(ctx)
		if err != nil {
			cancel()
			return err
		}
		sub := &subscription{cancel: cancel, over: ctx.Done()}
		h.sub = sub
		h.relays.Go(func() { h.relay(sub, events) })
	}
	h.clients[c] = struct{}{}
	h.serving.Add(1)
	return nil
}

// leave forgets a client; the last one ends the subscription.
func (h *Handler) leave(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.clients, c)
	if len(h.clients) == 0 && h.sub != nil {
		h.sub.cancel()
		h.sub = nil
	}
	h.serving.Done()
}

// relay hands the facade's events to every client, all but snapshots in
// batches. When the facade ends the stream by itself, the clients are cut: they
// reconnect and get a snapshot.
func (h *Handler) relay(sub *subscription, events <-chan control.Event) {
	defer sub.cancel()
	var b batch
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case ev, ok := <-events:
			if !ok {
				h.ended(sub)
				return
			}
			h.take(sub, &b, ev)
		case <-timer.C:
		}
		if b.data.Len() == 0 {
			timer.Stop()
		} else if wait := time.Until(b.due); wait > 0 {
			timer.Reset(wait)
		} else {
			h.flush(sub, &b)
		}
	}
}

// take puts an event into the batch. A snapshot goes out by itself, because a
// newer one takes its place in the queues, and what came before it goes first.
func (h *Handler) take(sub *subscription, b *batch, ev control.Event) {
	m, err := h.encode(ev)
	switch {
	case err != nil:
		h.log.Error("event not encoded", "type", string(ev.Type), "error", err)
	case ev.Type == control.EventSnapshot:
		h.flush(sub, b)
		h.broadcast(sub, m)
	default:
		b.add(m, time.Now())
	}
}

func (h *Handler) flush(sub *subscription, b *batch) {
	if m, ok := b.take(time.Now()); ok {
		h.broadcast(sub, m)
	}
}

// ended cuts the clients of a subscription that is over.
func (h *Handler) ended(sub *subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sub != sub {
		return
	}
	h.sub = nil
	for c := range h.clients {
		c.cut()
	}
}

// broadcast queues a message for every client and wakes them in groups.
func (h *Handler) broadcast(sub *subscription, m message) {
	h.mu.Lock()
	if h.sub != sub {
		h.mu.Unlock()
		return
	}
	woken := make([]*client, 0, len(h.clients))
	for c := range h.clients {
		if c.queue.add(m) {
			woken = append(woken, c)
		}
	}
	h.mu.Unlock()
	for i, c := range woken {
		if i > 0 && i%wakeGroup == 0 && !sub.pause(wakePause) {
			return
		}
		c.queue.signal()
	}
}

// pause waits; it reports false when the subscription is over.
func (s *subscription) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.over:
		return false
	}
}

func (h *Handler) encode(ev control.Event) (message, error) {
	m := message{kind: ev.Type}
	if s := ev.Snapshot; s != nil {
		m.seq = s.Seq
		if s.Connections == nil || s.Breakers == nil || s.Combos == nil {
			whole := *s // lists, never null, for clients in other languages
			if whole.Connections == nil {
				whole.Connections = []control.Connection{}
			}
			if whole.Combos == nil {
				whole.Combos = []control.ComboBrief{}
			}
			if whole.Breakers == nil {
				whole.Breakers = []control.Breaker{}
			}
			ev.Snapshot = &whole
		}
	}
	var err error
	m.data, err = json.Marshal(ev)
	return m, err
}
