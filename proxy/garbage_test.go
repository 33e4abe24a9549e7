package proxy

import (
	"runtime/debug"
	"testing"
	"time"
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
	c := newCollector(true, false)
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
	c := newCollector(false, false)
	for range 2 * manyRequests {
		c.enter()
	}
	if p := percent(); p != before {
		t.Errorf("it was changed to %d", p)
	}
}

// memoryOf is a collector over memory that a test makes up.
type memoryOf struct {
	*collector
	held     int64
	free     int64 // of it, what a release gives back
	released int
	looks    []func()
	delay    time.Duration // until the last of them
}

func newMemory() *memoryOf {
	m := &memoryOf{collector: newCollector(false, true)}
	m.collector.held = func() int64 { return m.held }
	m.collector.release = func() { m.released++; m.held -= m.free; m.free = 0 }
	m.collector.after = func(d time.Duration, f func()) { m.looks, m.delay = append(m.looks, f), d }
	return m
}

// request takes memory of which it leaves all behind.
func (m *memoryOf) request(bytes int64) {
	m.enter()
	m.held, m.free = m.held+bytes, m.free+bytes
	m.leave()
	m.collector.rest()
}

// settle lets the next looks happen, until none is left, and returns how many.
func (m *memoryOf) settle() (n int) {
	for ; len(m.looks) > 0 && n < 100; n++ {
		f := m.looks[0]
		m.looks = m.looks[1:]
		f()
	}
	return n
}

func TestMemoryIsGivenBackOnceTheTrafficRests(t *testing.T) {
	m := newMemory()
	m.held = 10 << 20
	for range 10 {
		m.request(100 << 10)
	}
	if n := m.settle(); n != 1 || m.released != 0 {
		t.Errorf("after small requests: %d looks, %d releases", n, m.released)
	}
	m.request(30 << 20)
	if n := m.settle(); n != 1 || m.released != 1 || m.held > smallMemory {
		t.Errorf("after a large body: %d looks, %d releases, %d held", n, m.released, m.held)
	}
	if len(m.looks) != 0 {
		t.Error("it looks again without a request")
	}
}

func TestMemoryIsKeptWhileTheTrafficUsesIt(t *testing.T) {
	m := newMemory()
	for range busyRequests + 1 {
		m.request(10 << 20)
	}
	m.looks[0]()
	if m.released != 0 || len(m.looks) != 2 {
		t.Errorf("in the traffic: %d releases, %d looks", m.released, len(m.looks))
	}
	m.looks = m.looks[1:]
	if m.settle(); m.released != 1 {
		t.Errorf("after it: %d releases", m.released)
	}
}

func TestMemoryThatIsInUseIsNotCollectedAgainAndAgain(t *testing.T) {
	m := newMemory()
	m.held = 100 << 20 // of which nothing is free
	for range 10 {
		m.request(0)
		m.settle()
	}
	if m.released != 1 {
		t.Errorf("%d releases", m.released)
	}
	m.request(growth)
	if m.settle(); m.released != 2 {
		t.Errorf("after growth: %d releases", m.released)
	}
}

func TestWhatARunningRequestHeldIsGivenBackWhenItEnds(t *testing.T) {
	m := newMemory()
	m.enter() // a long stream with a large body
	m.held = 100 << 20
	m.request(0)
	m.settle()
	m.free = 90 << 20
	m.leave()
	m.collector.rest()
	if m.settle(); m.released != 2 || m.held > smallMemory {
		t.Errorf("%d releases, %d held", m.released, m.held)
	}
}

func TestLooksThatBringLittleComeLessOften(t *testing.T) {
	m := newMemory()
	m.enter() // a stream that goes on and holds what there is
	m.held = 100 << 20
	for i, want := range []time.Duration{1, 2, 2, 2, 2} {
		m.request(0)
		if m.settle(); m.delay != want*time.Second || m.released != i+1 {
			t.Errorf("look %d after %v, %d releases", i, m.delay, m.released)
		}
	}
	m.request(growth)
	m.settle()
	if m.request(0); m.delay != restAfter {
		t.Errorf("after one that brought much: %v", m.delay)
	}
}

func TestTheProgramsMemoryCanBeRead(t *testing.T) {
	if n := heldMemory(); n < 1<<20 || n > 1<<40 {
		t.Errorf("it holds %d bytes", n)
	}
}

func TestTheUsersOwnPaceWins(t *testing.T) {
	for gogc, want := range map[string][2]bool{"": {true, true}, "100": {false, true}, "800": {false, true}, "off": {false, false}} {
		if paces, gives := OwnPace(gogc); paces != want[0] || gives != want[1] {
			t.Errorf("GOGC=%q: %v, %v", gogc, paces, gives)
		}
	}
}
