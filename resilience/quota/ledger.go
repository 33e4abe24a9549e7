package quota

import (
	"sync"
	"time"
)

// Ledger holds the last known quota of every connection. It is memory only.
type Ledger struct {
	mu    sync.RWMutex
	known map[string]*Snapshot // each is replaced whole
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger { return &Ledger{known: map[string]*Snapshot{}} }

// See takes in the headers of an answer.
func (l *Ledger) See(connection string, h map[string][]string, now time.Time) {
	if s, ok := FromHeaders(h, now); ok {
		l.Put(connection, s)
	}
}

// Put takes in a newer snapshot; windows it does not speak of stay.
func (l *Ledger) Put(connection string, s Snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old := l.known[connection]; old != nil {
		s = old.Merge(s)
	} else {
		s = Snapshot{}.Merge(s)
	}
	l.known[connection] = &s
}

// Get returns what is known of a connection, nil for nothing. The snapshot is
// not to be changed.
func (l *Ledger) Get(connection string) *Snapshot {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.known[connection]
}

// Forget drops what is known of a connection: it was removed, has another
// credential, or its limit was reset.
func (l *Ledger) Forget(connection string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, connection)
}
