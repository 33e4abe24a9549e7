package control

import "sync"

// backlog holds what the engine tells in the middle of a request, which must
// not wait for it to be worked off.
type backlog[T any] struct {
	filled chan struct{} // holds a token while there is something

	mu    sync.Mutex
	items []T
}

func newBacklog[T any]() *backlog[T] { return &backlog[T]{filled: make(chan struct{}, 1)} }

func (b *backlog[T]) add(item T) {
	b.mu.Lock()
	b.items = append(b.items, item)
	b.mu.Unlock()
	mark(b.filled)
}

// take empties the backlog; the oldest item comes first.
func (b *backlog[T]) take() []T {
	b.mu.Lock()
	defer b.mu.Unlock()
	items := b.items
	b.items = nil
	return items
}
