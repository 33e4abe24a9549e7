package control

import (
	"context"
	"sync"
)

// activityBacklog is how many activity and alert events wait for a subscriber
// that is slow; the oldest are dropped.
const activityBacklog = 256

// hub hands events to subscribers without ever waiting for one: each has the
// newest snapshot and a bounded backlog of its own.
type hub struct {
	mu   sync.Mutex
	subs map[*subscriber]struct{}
}

type subscriber struct {
	wake chan struct{} // holds one token while there is something to send

	mu       sync.Mutex
	snapshot *Snapshot
	backlog  []Event
}

func newHub() *hub { return &hub{subs: map[*subscriber]struct{}{}} }

// subscribe returns a channel that begins with first and closes with ctx.
func (h *hub) subscribe(ctx context.Context, first Snapshot) <-chan Event {
	s := &subscriber{wake: make(chan struct{}, 1), snapshot: &first}
	s.wake <- struct{}{}
	h.mu.Lock()
	h.subs[s] = struct{}{}
	h.mu.Unlock()
	out := make(chan Event)
	go func() {
		defer close(out)
		defer func() {
			h.mu.Lock()
			delete(h.subs, s)
			h.mu.Unlock()
		}()
		s.run(ctx, out)
	}()
	return out
}

// run sends what is due until ctx ends.
func (s *subscriber) run(ctx context.Context, out chan<- Event) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		for {
			e, ok := s.next()
			if !ok {
				break
			}
			select {
			case out <- e:
			case <-ctx.Done():
				return
			}
		}
	}
}

// next takes the oldest due event; a snapshot goes before what led to it is
// stale, so it is sent first.
func (s *subscriber) next() (Event, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.snapshot != nil {
		e := Event{Type: EventSnapshot, Snapshot: s.snapshot}
		s.snapshot = nil
		return e, true
	}
	if len(s.backlog) == 0 {
		return Event{}, false
	}
	e := s.backlog[0]
	s.backlog = s.backlog[1:]
	return e, true
}

// empty reports whether nobody listens.
func (h *hub) empty() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.subs) == 0
}

// publish hands an event to every subscriber.
func (h *hub) publish(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs {
		s.add(e)
	}
}

func (s *subscriber) add(e Event) {
	s.mu.Lock()
	if e.Type == EventSnapshot {
		s.snapshot = e.Snapshot
	} else {
		if len(s.backlog) >= activityBacklog {
			s.backlog = s.backlog[1:]
		}
		s.backlog = append(s.backlog, e)
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
