// Package admission provides the permits, queues and waits that a request
// passes before it is sent.
package admission

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Unbounded is the Depth of a queue without a bound; 0 never lets anybody wait.
const Unbounded = -1

// DefaultWait is how long a request waits for its gates when nothing else is
// said (sheet §4.2).
const DefaultWait = 30 * time.Second

// Need is one gate that a request must pass, with the limit in force.
type Need struct {
	Key Key
	// Cap is how many may run at once. Not positive means no limit: the request
	// passes, and is counted, so that a limit set later holds for it too.
	Cap int
	// Depth is how many may wait: Unbounded, or 0 for none.
	Depth int
}

// Gates are all the gates of a process. A request takes every gate it needs or
// none; while it waits it holds nothing (guide §4). See NewGates.
type Gates struct {
	mu    sync.Mutex
	seq   uint64
	gates map[Key]*gate
	spare []*gate
}

// NewGates returns gates that nobody has passed.
func NewGates() *Gates { return &Gates{gates: map[Key]*gate{}} }

// Acquire waits until every gate has room and takes them all. timeout bounds
// the wait, DefaultWait when it is not positive. The limits given replace the
// ones before; of a key given twice the stricter counts.
//
// A refusal is an *Error; when ctx ends, its cause is returned, and the request
// is never let in afterwards (P61). The permit must be released: defer that at
// once.
func (g *Gates) Acquire(ctx context.Context, timeout time.Duration, needs ...Need) (*Permit, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if timeout <= 0 {
		timeout = DefaultWait
	}
	p, err := g.enter(timeout, needs)
	if err != nil || p.waiter == nil {
		return p, err
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-p.waiter.ready:
	case <-ctx.Done():
	case <-timer.C:
	}
	return g.outcome(ctx, p, timeout)
}

// enter takes the gates, or queues for them: then the permit has a waiter.
func (g *Gates) enter(timeout time.Duration, needs []Need) (*Permit, error) {
	p := &Permit{owner: g}
	p.gates = p.inline[:0]
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.resolve(p, needs) {
		g.admit(p.gates) // a limit was raised: those who wait go first
	}
	x := full(p.gates)
	if x == nil {
		p.occupy()
		return p, nil
	}
	if err := x.refuses(timeout, depthOf(needs, x.key)); err != nil {
		g.sweep(p.gates)
		return nil, err
	}
	g.seq++
	p.waiter = &waiter{
		seq: g.seq, permit: p, deadline: time.Now().Add(timeout), ready: make(chan struct{}),
	}
	for _, y := range p.gates {
		y.waiting++
	}
	p.waiter.join(x)
	return p, nil
}

// refuses returns the refusal of a request that must not wait at the gate.
func (x *gate) refuses(timeout time.Duration, depth int) error {
	if held := time.Until(x.until); held > timeout {
		return x.refusal(SemaphoreTimeout, "is held back for %s, longer than this request may wait", held)
	}
	if depth >= 0 && len(x.queue) >= depth {
		return x.refusal(SemaphoreQueueFull, "has no free place and %d waiting", len(x.queue))
	}
	return nil
}

// resolve finds the gates of a request and sets their limits. It reports
// whether a limit was raised.
func (g *Gates) resolve(p *Permit, needs []Need) (raised bool) {
	for i := range needs {
		x, limit := g.gate(needs[i].Key), needs[i].Cap
		if slices.Contains(p.gates, x) {
			limit = stricter(limit, x.limit)
		} else {
			p.gates = append(p.gates, x)
		}
		raised = x.setLimit(limit) || raised
	}
	return raised
}

// outcome ends a wait: with the permit, a refusal, or the cause of ctx.
func (g *Gates) outcome(ctx context.Context, p *Permit, timeout time.Duration) (*Permit, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := p.waiter
	p.waiter = nil
	if !w.granted {
		for _, x := range p.gates {
			x.waiting--
		}
		defer g.sweep(p.gates)
	}
	switch {
	case ctx.Err() != nil: // also when the grant came at the same moment (P61)
		w.leave()
		if w.granted {
			g.release(p)
		}
		return nil, context.Cause(ctx)
	case w.granted:
		return p, nil
	case w.err != nil:
		return nil, w.err
	default:
		x := w.at
		w.leave()
		return nil, x.refusal(SemaphoreTimeout, "had no free place within %s", timeout)
	}
}

// SetLimit changes the limit of a gate that is in use; the next request would
// bring it along anyway. Lowering it stops nobody who runs (P61).
func (g *Gates) SetLimit(key Key, limit int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if x := g.gates[key]; x != nil && x.setLimit(limit) {
		g.admit([]*gate{x})
	}
}

// drainLag is how much later than its block a combo's or account's own gate
// opens (sheet §4.3).
const drainLag = 50 * time.Millisecond

// Block lets nobody pass the gate for d; those who run go on. Who cannot wait
// that long is refused at once instead of waiting in vain (P12). A block that
// ends later stays.
func (g *Gates) Block(key Key, d time.Duration) {
	if d <= 0 {
		return
	}
	if key.Level >= Combo {
		d += drainLag
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	x := g.gate(key)
	until := time.Now().Add(d)
	if !until.After(x.until) {
		return
	}
	if x.unblock != nil {
		x.unblock.Stop()
	}
	x.until = until
	x.unblock = time.AfterFunc(d, func() { g.unblocked(x, until) })
	g.refuse(func(w *waiter) *Error {
		if !slices.Contains(w.permit.gates, x) || !w.deadline.Before(until) {
			return nil
		}
		return x.refusal(SemaphoreTimeout, "is held back for %s, longer than this request may wait", d)
	})
}

// unblocked ends the block that was set until then.
func (g *Gates) unblocked(x *gate, until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if x.until.Equal(until) {
		g.open(x)
	}
}

func (g *Gates) open(x *gate) {
	if x.unblock != nil {
		x.unblock.Stop()
	}
	x.until, x.unblock = time.Time{}, nil
	list := []*gate{x}
	g.admit(list)
	g.sweep(list)
}

// Reset refuses everybody who waits for a gate that match accepts and lifts the
// blocks there. Those who run, and the limits, stay.
func (g *Gates) Reset(match func(Key) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refuse(func(w *waiter) *Error {
		for _, x := range w.permit.gates {
			if match(x.key) {
				return x.refusal(SemaphoreReset, "was reset")
			}
		}
		return nil
	})
	for _, x := range g.list() {
		if match(x.key) && !x.until.IsZero() {
			g.open(x)
		}
	}
}

// refuse settles every waiter for whom why gives a refusal.
func (g *Gates) refuse(why func(*waiter) *Error) {
	for _, x := range g.list() {
		for _, w := range slices.Clone(x.queue) {
			if err := why(w); err != nil {
				w.leave()
				w.settle(false, err)
			}
		}
	}
}

func (g *Gates) list() []*gate {
	list := make([]*gate, 0, len(g.gates))
	for _, x := range g.gates {
		list = append(list, x)
	}
	return list
}

func (x *gate) refusal(code Code, format string, args ...any) *Error {
	return &Error{
		Code: code, RetryAfter: max(0, time.Until(x.until)), Elsewhere: true,
		Message: fmt.Sprintf("Breakwater's gate %s %s.", x.key, fmt.Sprintf(format, args...)),
	}
}

func depthOf(needs []Need, key Key) int {
	for _, n := range needs {
		if n.Key == key {
			return n.Depth
		}
	}
	return Unbounded
}

// stricter returns the smaller of two limits; not positive is none.
func stricter(a, b int) int {
	switch {
	case a <= 0:
		return max(0, b)
	case b <= 0:
		return a
	default:
		return min(a, b)
	}
}
