package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/r3labs/sse/v2"

	"breakwater/proxy/control"
)

const (
	// maxEvent is the largest event in bytes; r3labs' own limit of 64 KiB is
	// less than a long snapshot.
	maxEvent = 16 << 20
)

// Subscribe opens the event stream and keeps it open until ctx ends, which
// closes the channel. A lost stream is opened again, with growing pauses, and
// begins with a new snapshot. While the server cannot be reached, the reader
// gets the last snapshot with its health set to down. An error is returned
// only for what no waiting cures: a bad URL or a refused token.
func (c *Client) Subscribe(ctx context.Context) (<-chan control.Event, error) {
	if c.err != nil {
		return nil, c.err
	}
	s := &subscription{
		c: c, queue: newMailbox(),
		last:  control.Snapshot{Endpoint: c.base, Connections: []control.Connection{}, Breakers: []control.Breaker{}},
		first: make(chan error, 1),
	}
	ctx, cancel := context.WithCancel(ctx)
	go s.run(ctx)
	select {
	case err := <-s.first:
		if err != nil && Unauthorised(err) {
			cancel()
			return nil, err
		}
	case <-ctx.Done():
	}
	out := make(chan control.Event)
	go func() {
		defer cancel()
		defer close(out)
		s.queue.deliver(ctx, out)
	}()
	return out, nil
}

// subscription is one subscriber's stream with all its reconnects. Its fields
// but the queue and first belong to run's goroutine and to the handler that
// the stream calls on that goroutine.
type subscription struct {
	c     *Client
	queue *mailbox
	last  control.Snapshot
	down  bool // the reader has been told
	alive bool // the present stream has brought an event
	first chan error
}

// run opens the stream again and again until ctx ends.
func (s *subscription) run(ctx context.Context) {
	pause := s.c.opts.MinRetry
	for attempt := 0; ctx.Err() == nil; attempt++ {
		s.alive = false
		err := s.open(ctx)
		if ctx.Err() != nil {
			break
		}
		s.opened(err)
		if s.alive {
			pause = s.c.opts.MinRetry
		} else {
			// A stream that merely ended gets one silent attempt.
			s.tellDown()
		}
		if !wait(ctx, pause) {
			break
		}
		pause = min(2*pause, s.c.opts.MaxRetry)
	}
	s.opened(ctx.Err())
}

// opened reports how the very first attempt went.
func (s *subscription) opened(err error) {
	select {
	case s.first <- err:
	default:
	}
}

// tellDown shows the reader that nobody is there, once.
func (s *subscription) tellDown() {
	if s.down {
		return
	}
	s.down = true
	snap := s.last
	snap.Health, snap.At = control.HealthDown, time.Now().UTC()
	s.queue.put(control.Event{Type: control.EventSnapshot, Snapshot: &snap})
}

// open reads one stream to its end.
func (s *subscription) open(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The clock of a silent stream starts before the dial, so that a server
	// that accepts and never answers is noticed as well.
	silent := time.AfterFunc(min(readTimeout, s.c.opts.Silence), cancel)
	defer silent.Stop()

	client := sse.NewClient(s.c.base+"/api/events", sse.ClientMaxBufferSize(maxEvent))
	client.Connection = &http.Client{
		Transport:     watched{next: s.c.http.Transport, timer: silent, silence: s.c.opts.Silence},
		CheckRedirect: s.c.http.CheckRedirect,
	}
	client.ReconnectStrategy = noRetry{} // its own ignores the context
	client.Headers["Authorization"] = "Bearer " + s.c.token
	client.ResponseValidator = func(_ *sse.Client, resp *http.Response) error { return s.validate(resp) }
	return client.SubscribeRawWithContext(ctx, s.receive)
}

func (s *subscription) validate(resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		s.opened(nil)
		return nil
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return errors.Join(answerError(resp.StatusCode, data), err)
}

// receive takes one event of the stream. What is not whole, such as the last
// event of a cut stream, is dropped: the next stream begins with a snapshot.
func (s *subscription) receive(msg *sse.Event) {
	var ev control.Event
	if json.Unmarshal(msg.Data, &ev) != nil || ev.Type == "" {
		return
	}
	s.alive = true
	if ev.Type == control.EventSnapshot {
		if ev.Snapshot == nil {
			return
		}
		s.last, s.down = *ev.Snapshot, false
	}
	s.queue.put(ev)
}

// wait pauses; it reports false when ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// noRetry makes r3labs return after one attempt; a negative pause is its sign
// to stop.
type noRetry struct{}

func (noRetry) NextBackOff() time.Duration { return -1 }
func (noRetry) Reset()                     {}

// watched winds the silence timer up whenever bytes arrive, heartbeats
// included, which never reach the handler.
type watched struct {
	next    http.RoundTripper
	timer   *time.Timer
	silence time.Duration
}

func (w watched) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := w.next.RoundTrip(r)
	if err == nil {
		w.timer.Reset(w.silence)
		resp.Body = watchedBody{ReadCloser: resp.Body, watched: w}
	}
	return resp, err
}

type watchedBody struct {
	io.ReadCloser
	watched
}

func (b watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.timer.Reset(b.silence)
	}
	return n, err
}
