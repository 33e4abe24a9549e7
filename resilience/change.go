package resilience

import (
	"sync"
	"sync/atomic"
	"time"
)

// ChangeKind is what a change is about.
type ChangeKind string

// The kinds of change.
const (
	ChangeBreaker  ChangeKind = "breaker"  // From, To are breaker states
	ChangeCooldown ChangeKind = "cooldown" // Until, Reason
	ChangeTerminal ChangeKind = "terminal" // To is banned, expired, credits_exhausted or wrong_address
	ChangeCleared  ChangeKind = "cleared"  // the connection's errors are forgotten
	ChangeLockout  ChangeKind = "lockout"  // To is the model, Until zero when lifted
	// ChangeAttention is a connection that refuses again and again: it is asked
	// last. To is needs_attention.
	ChangeAttention ChangeKind = "attention"
)

// Change tells that something a person can see has changed.
type Change struct {
	Seq        uint64 // strictly increasing in the order of delivery
	At         time.Time
	Kind       ChangeKind
	Provider   string
	Connection string
	From, To   string
	Until      time.Time
	Reason     string
}

// item is one delivery: a change, or a state to store.
type item struct {
	change *Change
	save   func(Store)
}

// outbox carries changes and writes out of the locks: they are queued while
// the lock that guards them is held, which fixes their order, and delivered
// after it is released. One goroutine delivers at a time.
type outbox struct {
	store    Store
	onChange func(Change)
	pending  atomic.Bool

	mu         sync.Mutex
	seq        uint64
	queue      []item
	delivering bool
}

// change queues a change. It may be called with any lock of the engine held.
func (o *outbox) change(c Change) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seq++
	c.Seq = o.seq
	if o.onChange != nil {
		o.queue = append(o.queue, item{change: &c})
		o.pending.Store(true)
	}
}

// save queues a write. It may be called with any lock of the engine held.
func (o *outbox) save(f func(Store)) {
	if o.store == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue = append(o.queue, item{save: f})
	o.pending.Store(true)
}

// flush delivers what is queued. It must be called without any lock. While
// another goroutine delivers, or from within a delivery, it returns at once:
// the items go out after those before them.
func (o *outbox) flush() {
	if !o.pending.Load() || !o.begin() {
		return
	}
	for it, ok := o.next(); ok; it, ok = o.next() {
		if it.change != nil {
			o.onChange(*it.change)
		} else {
			it.save(o.store)
		}
	}
}

// begin makes the caller the one who delivers.
func (o *outbox) begin() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.delivering {
		return false
	}
	o.delivering = true
	return true
}

// next returns the next item, or ends the delivery.
func (o *outbox) next() (item, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) == 0 {
		o.queue, o.delivering = nil, false
		o.pending.Store(false)
		return item{}, false
	}
	it := o.queue[0]
	o.queue = o.queue[1:]
	return it, true
}
