package admission

import (
	"slices"
	"sync/atomic"
	"time"
)

// gate is one semaphore. Gates.mu guards it.
type gate struct {
	key     Key
	limit   int // not positive: none
	running int
	waiting int // requests in any queue that need this gate
	// queue holds those who wait because this gate is full, oldest first. Every
	// waiter stands in one queue only, that of a gate which has no room for it;
	// thus a gate with room has an empty queue and nobody is overtaken at it.
	queue   []*waiter
	until   time.Time // blocked until then, zero when it is not
	unblock *time.Timer
}

func (x *gate) room() bool {
	return x.until.IsZero() && (x.limit <= 0 || x.running < x.limit)
}

func (x *gate) idle() bool { return x.running == 0 && x.waiting == 0 && x.until.IsZero() }

// setLimit reports whether the limit was raised.
func (x *gate) setLimit(limit int) (raised bool) {
	limit = max(0, limit)
	raised = x.limit > 0 && (limit == 0 || limit > x.limit)
	x.limit = limit
	return raised
}

// waiter is a request that stands in a queue. Gates.mu guards it.
type waiter struct {
	seq      uint64
	permit   *Permit // not granted yet
	at       *gate   // whose queue it stands in; nil once it is out
	deadline time.Time
	granted  bool
	err      error
	ready    chan struct{}
}

func (w *waiter) settle(granted bool, err error) {
	w.granted, w.err = granted, err
	close(w.ready)
}

// join puts the waiter into a gate's queue, by age.
func (w *waiter) join(x *gate) {
	i := len(x.queue)
	for i > 0 && x.queue[i-1].seq > w.seq {
		i--
	}
	x.queue = append(x.queue, nil)
	copy(x.queue[i+1:], x.queue[i:])
	x.queue[i], w.at = w, x
}

// leave takes the waiter out of its queue.
func (w *waiter) leave() {
	x := w.at
	if x == nil {
		return
	}
	w.at = nil
	for i, other := range x.queue {
		if other == w {
			copy(x.queue[i:], x.queue[i+1:])
			x.queue[len(x.queue)-1] = nil
			x.queue = x.queue[:len(x.queue)-1]
			return
		}
	}
}

// Permit is the right to run. It is a lease: whoever has it defers Release at
// once (P60).
type Permit struct {
	owner    *Gates
	gates    []*gate
	inline   [4]*gate
	waiter   *waiter
	released atomic.Bool
}

// Release gives the permit back and lets the next ones in. Only the first call
// counts; a nil or zero permit is none.
func (p *Permit) Release() {
	if p == nil || p.owner == nil || !p.released.CompareAndSwap(false, true) {
		return
	}
	p.owner.mu.Lock()
	defer p.owner.mu.Unlock()
	p.owner.release(p)
}

// occupy counts the permit at its gates.
func (p *Permit) occupy() {
	for _, x := range p.gates {
		x.running++
	}
}

func (g *Gates) release(p *Permit) {
	p.released.Store(true)
	for _, x := range p.gates {
		x.running--
	}
	g.admit(p.gates)
	g.sweep(p.gates)
}

// maxSpare bounds how many idle gates are kept for the next use.
const maxSpare = 64

// gate returns the gate under key, a fresh one if there is none.
func (g *Gates) gate(key Key) *gate {
	x := g.gates[key]
	if x != nil {
		return x
	}
	if n := len(g.spare); n > 0 {
		x, g.spare = g.spare[n-1], g.spare[:n-1]
		*x = gate{key: key, queue: x.queue[:0]}
	} else {
		x = &gate{key: key}
	}
	g.gates[key] = x
	return x
}

// sweep forgets the gates that nobody uses.
func (g *Gates) sweep(list []*gate) {
	for _, x := range list {
		if !x.idle() || g.gates[x.key] != x {
			continue
		}
		delete(g.gates, x.key)
		if len(g.spare) < maxSpare {
			g.spare = append(g.spare, x)
		}
	}
}

// full returns the innermost gate without room, nil when all have some.
func full(list []*gate) *gate {
	for _, l := range slices.Backward(list) {
		if !l.room() {
			return l
		}
	}
	return nil
}

// admit lets in who can run now that something has changed at the listed gates:
// the oldest first. Whoever lacks room at another gate moves to the queue there.
func (g *Gates) admit(list []*gate) {
	for {
		w := oldest(list)
		if w == nil {
			return
		}
		w.leave()
		if x := full(w.permit.gates); x != nil {
			w.join(x)
			continue
		}
		w.permit.occupy()
		for _, y := range w.permit.gates {
			y.waiting--
		}
		w.settle(true, nil)
	}
}

// oldest returns the first of those who wait at a listed gate that has room.
func oldest(list []*gate) *waiter {
	var first *waiter
	for _, x := range list {
		if len(x.queue) > 0 && x.room() && (first == nil || x.queue[0].seq < first.seq) {
			first = x.queue[0]
		}
	}
	return first
}
