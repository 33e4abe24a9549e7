package control

import (
	"context"
	"sync"
)

// banned collects connections whose accounts were banned and that are to be
// switched off. The engine reports them in the middle of a request, which must
// not wait for the store.
type banned struct {
	filled chan struct{} // holds a token while there are some

	mu  sync.Mutex
	ids []string
}

func (b *banned) add(id string) {
	b.mu.Lock()
	b.ids = append(b.ids, id)
	b.mu.Unlock()
	mark(b.filled)
}

func (b *banned) take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	ids := b.ids
	b.ids = nil
	return ids
}

// switchOffBanned does so until Close, as autoDisableBannedAccounts asks.
func (s *Service) switchOffBanned(ctx context.Context) {
	for {
		select {
		case <-s.stop:
			return
		case <-s.banned.filled:
		}
		for _, id := range s.banned.take() {
			off := false
			if _, err := s.EditConnection(ctx, id, ConnectionPatch{Active: &off}); err != nil {
				s.cfg.Log.Warn("a banned connection is not switched off", "connection", id, "error", err)
			}
		}
	}
}
