package client

import (
	"context"
	"sync"

	"breakwater/proxy/control"
)

// backlog is how many events besides the snapshot wait for a slow reader; the
// oldest are lost.
const backlog = 256

// mailbox stands between the stream and its reader, so that a reader who
// stands still keeps nothing but himself waiting: of snapshots only the newest
// waits, of other events a bounded number.
type mailbox struct {
	filled chan struct{} // holds a token while something may wait

	mu       sync.Mutex
	snapshot *control.Event
	others   []control.Event
	turn     bool // the others come next: neither kind starves the other
}

func newMailbox() *mailbox { return &mailbox{filled: make(chan struct{}, 1)} }

func (m *mailbox) put(ev control.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ev.Type == control.EventSnapshot {
		m.snapshot = &ev
	} else {
		if len(m.others) == backlog {
			m.others = m.others[1:]
		}
		m.others = append(m.others, ev)
	}
	select {
	case m.filled <- struct{}{}:
	default:
	}
}

func (m *mailbox) take() (ev control.Event, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.snapshot != nil && (!m.turn || len(m.others) == 0):
		ev, m.snapshot, m.turn = *m.snapshot, nil, true
		return ev, true
	case len(m.others) > 0:
		ev, m.others, m.turn = m.others[0], m.others[1:], false
		return ev, true
	}
	return control.Event{}, false
}

// deliver hands everything to out until ctx ends.
func (m *mailbox) deliver(ctx context.Context, out chan<- control.Event) {
	for {
		ev, ok := m.take()
		if !ok {
			select {
			case <-m.filled:
				continue
			case <-ctx.Done():
				return
			}
		}
		select {
		case out <- ev:
		case <-ctx.Done():
			return
		}
	}
}
