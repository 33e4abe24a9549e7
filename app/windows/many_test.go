//go:build (cgo || ci) && !nogui

package windows

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"

	"breakwater/proxy/control"
)

// The size that the window has to bear.
const (
	manyConnections = 1000
	manyRequests    = 100_000
)

// manyState is a proxy with many connections and a long log.
func manyState(f *fake, now time.Time) {
	shapes := f.snap.Connections
	f.snap.Connections = nil
	for i := range manyConnections {
		c := shapes[i%len(shapes)]
		c.ID, c.Name, c.Priority = fmt.Sprintf("m%d", i), fmt.Sprintf("%s %d", c.Name, i), i+1
		f.snap.Connections = append(f.snap.Connections, c)
	}
	shape := f.rows[:6]
	f.rows = make([]control.Activity, manyRequests)
	for i := range f.rows {
		a := shape[i%len(shape)]
		a.ID, a.At, a.ConnectionID = int64(manyRequests-i), now.Add(-time.Duration(i)*50*time.Millisecond), fmt.Sprintf("m%d", i%manyConnections)
		f.rows[i] = a
	}
}

func newManyBench(t *testing.T) *bench {
	b := newBench(t, "busy", "")
	manyState(b.fake, noon)
	b.win.Resize(fyne.NewSize(1000, 680))
	b.activity = nil
	b.take(b.fake.snap)
	b.loadActivity()
	p := pageOf[*activity](b)
	for len(b.activity) < activityKept && !p.whole {
		p.older()
	}
	return b
}

// best is the least time that a step takes of several: what else the machine
// does is not the window's.
func best(n int, step func(i int)) time.Duration {
	least := time.Hour
	for i := range n {
		start := time.Now()
		step(i)
		least = min(least, time.Since(start))
	}
	return least
}

// threeQuarters is the time within which three quarters of the steps stay.
func threeQuarters(n int, step func(i int)) time.Duration {
	took := make([]time.Duration, n)
	for i := range took {
		took[i] = best(1, func(int) { step(i) })
	}
	slices.Sort(took)
	return took[n*3/4]
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// shownRows counts the rows that a list draws.
func shownRows(l *pickList) int {
	n := 0
	walk(l, func(o fyne.CanvasObject) bool {
		if _, ok := o.(*row); ok {
			n++
		}
		return false
	})
	return n
}

// TestManyConnectionsAndRequestsStayQuick holds the window to its budgets: a
// page opens within 300 ms, and what a frame of scrolling costs besides painting
// the pixels, which is the graphics card's, fits into 16.6 ms.
func TestManyConnectionsAndRequestsStayQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a while")
	}
	b := newManyBench(t)
	if len(b.activity) != activityKept {
		t.Fatal(len(b.activity), "requests are held")
	}
	before := heap()
	for _, page := range []string{pageConnections, pageActivity, pageCooldowns, pageOverview, pageProviders + "/openai", pageCombos, pageSettings, pageSettings + "/" + sectionResilience} {
		opened := best(3, func(int) {
			b.goTo("demo")
			key, _, _ := strings.Cut(page, "/")
			delete(b.frame.built, key)
			pageOf[*settings](b).section = sectionGeneral
			b.goTo(page)
		})
		again := best(9, func(int) { b.clock = b.clock.Add(time.Second); b.redraw() })
		t.Logf("%-20s opens in %v, is drawn again in %v", page, opened.Round(100*time.Microsecond), again.Round(10*time.Microsecond))
		if opened > 300*time.Millisecond {
			t.Errorf("%s opens in %v", page, opened)
		}
		if again > 16600*time.Microsecond {
			t.Errorf("%s is drawn again in %v", page, again)
		}
	}
	scroll := func(page string, list *pickList, height float32) {
		b.goTo(page)
		if n := shownRows(list); n < 3 {
			t.Fatalf("%s shows %d rows", page, n)
		}
		frame := threeQuarters(200, func(i int) { list.ScrollToOffset(float32(i) * height * 1.7) })
		t.Logf("%-18s scrolls a frame in %v", page, frame.Round(10*time.Microsecond))
		if frame > 16600*time.Microsecond {
			t.Errorf("%s scrolls a frame in %v", page, frame)
		}
	}
	scroll(pageConnections, b.connectionsPage().list, 48)
	scroll(pageActivity, pageOf[*activity](b).list, 34)
	scroll(pageCooldowns, pageOf[*cooldowns](b).conns.list, 48)
	painted := best(3, func(int) { b.win.Canvas().Capture() })
	t.Logf("painting the whole window without a graphics card takes %v", painted.Round(time.Millisecond))
	for i := range 2000 {
		a := b.activity[0]
		a.ID++
		b.clock = b.clock.Add(50 * time.Millisecond)
		b.receive(control.Event{Type: control.EventActivity, Activity: &a})
		if i%20 == 0 {
			b.take(b.fake.snap)
		}
	}
	grown := heap() - before
	t.Logf("after all pages and 2000 more requests the heap has grown by %.1f MiB", float64(grown)/(1<<20))
	if grown > 30<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
}
