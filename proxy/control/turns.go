package control

import (
	"context"
	"sync"
)

// turns gives one caller at a time a turn for a name. A turn may last as long as
// the user takes to unlock the keychain; only callers of the same name wait for
// it, and no longer than their context.
type turns struct {
	mu    sync.Mutex
	taken map[string]*turn
}

type turn struct {
	free  chan struct{} // holds a token while nobody has the turn
	users int           // who have it or wait for it
}

// take waits for the turn of a name. What it returns gives it back.
func (t *turns) take(ctx context.Context, name string) (give func(), err error) {
	t.mu.Lock()
	if t.taken == nil {
		t.taken = map[string]*turn{}
	}
	mine := t.taken[name]
	if mine == nil {
		mine = &turn{free: make(chan struct{}, 1)}
		mine.free <- struct{}{}
		t.taken[name] = mine
	}
	mine.users++
	t.mu.Unlock()
	select {
	case <-mine.free:
		return func() { mine.free <- struct{}{}; t.leave(name) }, nil
	case <-ctx.Done():
		t.leave(name)
		return nil, ctx.Err()
	}
}

func (t *turns) leave(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken[name].users--; t.taken[name].users == 0 {
		delete(t.taken, name)
	}
}
