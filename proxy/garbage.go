package proxy

import (
	"runtime/debug"
	"sync/atomic"
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

// collector paces the garbage collector by how many requests run. It is the
// process's own affair, so only the program switches it on.
type collector struct {
	on      bool
	running atomic.Int64
}

func newCollector(on bool) *collector {
	if on {
		debug.SetGCPercent(RelaxedGC)
	}
	return &collector{on: on}
}

func (c *collector) enter() {
	if c.running.Add(1) == manyRequests && c.on {
		debug.SetGCPercent(UsualGC)
	}
}

func (c *collector) leave() {
	if c.running.Add(-1) == fewRequests && c.on {
		debug.SetGCPercent(RelaxedGC)
	}
}
