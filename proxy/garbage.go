package proxy

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// The garbage collector's percentages (see debug.SetGCPercent). The heap of a
// proxy is a few megabytes, so that the collector at its usual pace runs all the
// time and takes a third of the CPU that a request costs; let the garbage grow
// to four times of so little and it hardly shows. While many requests run their
// memory counts more than that.
const (
	RelaxedGC = 400
	UsualGC   = 100
)

// Between these many requests at once the pace stays as it is.
const (
	manyRequests = 64
	fewRequests  = 32
)

// When memory goes back to the system. Left to itself the runtime keeps what a
// burst or a few large bodies took: the heap is only looked at when it grows, and
// after the traffic it does not.
const (
	// restAfter is the time from the end of a request to the look at the memory. It
	// doubles, at most so often, while the looks bring little.
	restAfter    = time.Second
	maxDoublings = 1
	// busyRequests ended within that time mean that the memory is still in use.
	busyRequests = 10
	// smallMemory is what a Breakwater at rest may hold, in bytes.
	smallMemory = 24 << 20
	// growth is how much more than after the last time is worth the work.
	growth = 8 << 20
)

// OwnPace says what the proxy may do about the process's memory: the user's own
// GOGC wins, and "off" also means that nothing is collected for its own sake.
func OwnPace(gogc string) (paces, gives bool) { return gogc == "", gogc != "off" }

// collector paces the garbage collector by how many requests run, and gives
// memory back after them. Both are the process's own affair, so only the program
// switches them on.
type collector struct {
	paces   bool
	gives   bool
	running atomic.Int64
	ended   atomic.Int64 // requests, since the last look
	due     atomic.Bool  // a look at the memory
	poor    atomic.Int64 // releases in a row that brought little

	mu      sync.Mutex
	kept    int64 // bytes held after the memory was last given back
	ran     int64 // requests that ran then, and hold what was kept
	held    func() int64
	release func()
	after   func(time.Duration, func())
}

func newCollector(paces, gives bool) *collector {
	if paces {
		debug.SetGCPercent(RelaxedGC)
	}
	return &collector{
		paces: paces, gives: gives, held: heldMemory, release: releaseMemory,
		after: func(d time.Duration, f func()) { time.AfterFunc(d, f) },
	}
}

func (c *collector) enter() {
	if c.running.Add(1) == manyRequests && c.paces {
		debug.SetGCPercent(UsualGC)
	}
}

func (c *collector) leave() {
	if c.running.Add(-1) == fewRequests && c.paces {
		debug.SetGCPercent(RelaxedGC)
	}
}

// rest marks the end of a request of any kind: the last one asks for a look.
func (c *collector) rest() {
	if !c.gives {
		return
	}
	c.ended.Add(1)
	if !c.due.Load() && c.due.CompareAndSwap(false, true) {
		c.after(restAfter<<min(c.poor.Load(), maxDoublings), c.look)
	}
}

// look gives memory back unless the traffic still makes use of it. Without a
// request there is no further look.
func (c *collector) look() {
	ended := c.ended.Swap(0)
	if ended > busyRequests {
		c.after(restAfter, c.look)
		return
	}
	c.due.Store(false) // before the work: a request that ends meanwhile asks for the next
	c.mu.Lock()
	defer c.mu.Unlock()
	held := c.held()
	if held <= smallMemory || held < c.kept+growth && c.ran == 0 {
		return
	}
	c.ran = c.running.Load()
	c.release()
	if c.kept = c.held(); held-c.kept >= growth {
		c.poor.Store(0)
	} else {
		c.poor.Add(1)
	}
}

// releaseMemory collects twice, as what lies in pools is let go by the second
// time, and returns what is free.
func releaseMemory() {
	runtime.GC()
	debug.FreeOSMemory()
}

// heldMemory is what the runtime has of the system's memory, in bytes. It costs
// some microseconds.
func heldMemory() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64() - sample[1].Value.Uint64()) //nolint:gosec // the memory of one machine
}
