package proxy

import (
	"runtime/debug"
	"testing"
)

// percent reads the collector's pace, which can only be read by setting it.
func percent() int {
	p := debug.SetGCPercent(UsualGC)
	debug.SetGCPercent(p)
	return p
}

func TestCollectorHurriesWhenManyRequestsRun(t *testing.T) {
	before := debug.SetGCPercent(UsualGC)
	defer debug.SetGCPercent(before)
	c := newCollector(true)
	if p := percent(); p != RelaxedGC {
		t.Errorf("idle: %d", p)
	}
	for range manyRequests {
		c.enter()
	}
	if p := percent(); p != UsualGC {
		t.Errorf("many: %d", p)
	}
	for range manyRequests - fewRequests - 1 {
		c.leave()
	}
	if p := percent(); p != UsualGC {
		t.Errorf("fewer: %d", p)
	}
	c.leave()
	if p := percent(); p != RelaxedGC {
		t.Errorf("few: %d", p)
	}
}

func TestCollectorIsLeftAloneInOtherPrograms(t *testing.T) {
	before := percent()
	c := newCollector(false)
	for range 2 * manyRequests {
		c.enter()
	}
	if p := percent(); p != before {
		t.Errorf("it was changed to %d", p)
	}
}
