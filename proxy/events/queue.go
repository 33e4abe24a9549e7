package events

import (
	"context"
	"sync"
)

// Queue holds what a slow reader has not taken yet. A state replaces the state
// that is still waiting, in its place, because only the newest one counts;
// other values wait in order up to a limit, beyond which the oldest is lost.
// So a reader that stands still costs a fixed amount of memory and no writer
// ever waits. The zero value is not usable; see NewQueue.
type Queue[T any] struct {
	limit int

	mu     sync.Mutex
	items  []queued[T]
	others int // values that are not states
	filled chan struct{}
}

type queued[T any] struct {
	value T
	state bool
}

// NewQueue returns a queue that keeps at most limit values besides the state.
func NewQueue[T any](limit int) *Queue[T] {
	return &Queue[T]{limit: limit, filled: make(chan struct{}, 1)}
}

// PutState queues the newest state. It never blocks.
func (q *Queue[T]) PutState(v T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range q.items {
		if q.items[i].state {
			q.items[i].value = v
			return
		}
	}
	q.items = append(q.items, queued[T]{v, true})
	q.signal()
}

// PutFirst queues a state in front of everything that waits; a state that is
// waiting already is newer and takes the front place instead.
func (q *Queue[T]) PutFirst(v T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	first := queued[T]{v, true}
	items := make([]queued[T], 1, len(q.items)+1)
	for _, it := range q.items {
		if it.state {
			first = it
			continue
		}
		items = append(items, it)
	}
	items[0] = first
	q.items = items
	q.signal()
}

// Put queues a value that is not a state. It never blocks.
func (q *Queue[T]) Put(v T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.others == q.limit {
		q.dropOldest()
	}
	q.items = append(q.items, queued[T]{v, false})
	q.others++
	q.signal()
}

func (q *Queue[T]) dropOldest() {
	for i := range q.items {
		if !q.items[i].state {
			q.items = append(q.items[:i], q.items[i+1:]...)
			q.others--
			return
		}
	}
}

func (q *Queue[T]) signal() {
	select {
	case q.filled <- struct{}{}:
	default:
	}
}

// Filled receives when something may be waiting; take it with Take.
func (q *Queue[T]) Filled() <-chan struct{} { return q.filled }

// Take removes the value that waited longest; ok is false when none waits.
func (q *Queue[T]) Take() (v T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		return v, false
	}
	it := q.items[0]
	q.items[0] = queued[T]{}
	if q.items = q.items[1:]; len(q.items) == 0 {
		q.items = nil // lets go of the array that it was cut from
	} else {
		q.signal()
	}
	if !it.state {
		q.others--
	}
	return it.value, true
}

// Next waits for a value; ok is false when ctx ended first.
func (q *Queue[T]) Next(ctx context.Context) (v T, ok bool) {
	for {
		if v, ok = q.Take(); ok {
			return v, true
		}
		select {
		case <-q.filled:
		case <-ctx.Done():
			return v, false
		}
	}
}
