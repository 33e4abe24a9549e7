package events

import (
	"sync"

	"breakwater/proxy/control"
)

// queue holds what one client has not been sent yet. A newer snapshot takes
// the place of the one that waits, because only the newest counts; the other
// events wait in order up to a limit, beyond which the oldest is lost. So a
// client that stands still costs a bounded amount of memory, and nobody waits
// for it.
type queue struct {
	filled chan struct{} // holds a token while something may wait

	mu       sync.Mutex
	snapshot *message
	others   []message
	sent     uint64 // the number of the snapshot that was taken last
	turn     bool   // the others come next: neither kind starves the other
}

func newQueue() *queue { return &queue{filled: make(chan struct{}, 1)} }

// put queues an event and tells; it never blocks.
func (q *queue) put(m message) {
	if q.add(m) {
		q.signal()
	}
}

// add queues an event; it reports false for one that is of no use any more.
func (q *queue) add(m message) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case m.kind != control.EventSnapshot:
		if len(q.others) == backlog {
			q.others = q.others[1:]
		}
		q.others = append(q.others, m)
	case m.seq < q.sent:
		return false // overtaken by the snapshot that was sent first
	case q.snapshot == nil || q.snapshot.seq <= m.seq:
		q.snapshot = &m
	}
	return true
}

func (q *queue) signal() {
	select {
	case q.filled <- struct{}{}:
	default:
	}
}

// waits reports whether anything is due.
func (q *queue) waits() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.snapshot != nil || len(q.others) > 0
}

// take removes what is due next; ok is false when nothing waits. A snapshot
// that waits at the first call comes first.
func (q *queue) take() (m message, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.snapshot != nil && (!q.turn || len(q.others) == 0):
		m, q.snapshot, q.turn = *q.snapshot, nil, true
		q.sent = m.seq
		return m, true
	case len(q.others) > 0:
		m, q.others, q.turn = q.others[0], q.others[1:], false
		return m, true
	}
	return message{}, false
}
