package control

import (
	"context"
	"sync"
	"time"
)

// expiryLook is the longest wait for the end of a key's time: a clock that was
// set, or a machine that slept, is noticed after it.
const expiryLook = time.Minute

// keyNews tells of changes of the API keys; the zero value is ready.
type keyNews struct {
	mu   sync.Mutex
	next chan struct{}
}

// changed returns a channel that closes with the next change.
func (n *keyNews) changed() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next == nil {
		n.next = make(chan struct{})
	}
	return n.next
}

func (n *keyNews) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next != nil {
		close(n.next)
		n.next = nil
	}
}

// setKeys puts new keys in force and tells those who watch one.
func (s *Service) setKeys(keys []KeyRecord) {
	s.keys.Store(&keys)
	s.keyNews.tell()
}

// WhileAuthorized returns a context of ctx that ends as soon as none of the
// presented keys allows the scope any more, because it was deleted, switched
// off, narrowed or has expired. What lasts longer than a request, such as an
// event stream, lives by it. The caller calls the function when done.
func (s *Service) WhileAuthorized(ctx context.Context, scope string, presented ...string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	news := s.keyNews.changed() // before the look, so that no change is missed
	until, ok := s.authorizedUntil(scope, presented)
	if !ok {
		cancel()
		return ctx, cancel
	}
	go func() {
		defer cancel()
		for ok {
			if !s.awaitKeys(ctx, news, until) {
				return
			}
			news = s.keyNews.changed()
			until, ok = s.authorizedUntil(scope, presented)
		}
	}()
	return ctx, cancel
}

// awaitKeys waits for a change of the keys or for the moment until, zero never
// comes; it reports false when ctx has ended.
func (s *Service) awaitKeys(ctx context.Context, news <-chan struct{}, until time.Time) bool {
	var over <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(min(max(until.Sub(s.realNow()), time.Millisecond), expiryLook))
		defer t.Stop()
		over = t.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-news:
	case <-over:
	}
	return true
}

// authorizedUntil reports whether one of the keys allows the scope now, and up
// to when; zero means for ever.
func (s *Service) authorizedUntil(scope string, presented []string) (until time.Time, ok bool) {
	for _, secret := range presented {
		if k, known := s.findKey(secret); known && k.refuses(scope, s.realNow()) == nil {
			return k.ExpiresAt, true
		}
	}
	return time.Time{}, false
}
