package events

import (
	"testing"
	"testing/synctest"
	"time"

	"breakwater/proxy/client/facadetest"
	"breakwater/proxy/control"
)

// reading runs a test in a bubble with one client that has its snapshot.
func reading(t *testing.T, do func(t *testing.T, fake *facadetest.Fake, r *reader)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		_, fake, line, stop := bubble(0)
		defer stop()
		r := newReader(t, line.get(t))
		r.next()
		do(t, fake, r)
	})
}

// A single event comes at once; what follows within a quarter of a second
// comes with it, whole and in order, each in a frame of its own.
func TestActivityComesInBatches(t *testing.T) {
	reading(t, func(t *testing.T, fake *facadetest.Fake, r *reader) {
		start := time.Now()
		fake.AddActivity(control.Activity{ID: 1})
		if id := r.nextActivity(); id != 1 || time.Since(start) != 0 {
			t.Errorf("the first event %d came after %v", id, time.Since(start))
		}
		for id := int64(2); id <= 40; id++ {
			fake.AddActivity(control.Activity{ID: id})
			advance(time.Millisecond)
		}
		for id := int64(2); id <= 40; id++ {
			if got := r.nextActivity(); got != id {
				t.Fatalf("got %d, want %d", got, id)
			}
		}
		if d := time.Since(start); d != activityEvery {
			t.Errorf("the batch came after %v, want %v", d, activityEvery)
		}
	})
}

// A change of state does not wait for the activity before it, and takes it
// along in the order of things.
func TestAChangeTakesTheActivityAlong(t *testing.T) {
	reading(t, func(t *testing.T, fake *facadetest.Fake, r *reader) {
		start := time.Now()
		fake.AddActivity(control.Activity{ID: 1})
		r.nextActivity()
		fake.AddActivity(control.Activity{ID: 2})
		fake.Publish(control.Event{Type: control.EventBreaker, Change: &control.Change{To: "OPEN"}})
		fake.AddActivity(control.Activity{ID: 3})
		if a, b := r.next(), r.next(); a.Activity == nil || a.Activity.ID != 2 || b.Type != control.EventBreaker || b.Change == nil {
			t.Errorf("got %+v and %+v", a, b)
		}
		if id := r.nextActivity(); id != 3 {
			t.Errorf("got %d, want 3", id)
		}
		if d := time.Since(start); d != changeEvery {
			t.Errorf("the change came after %v, want %v", d, changeEvery)
		}
	})
}

// Many clients are woken a few at a time, and all of them get everything.
func TestManyClientsAreWokenInGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, fake, line, stop := bubble(0)
		defer stop()
		const n = 5 * wakeGroup
		var readers []*reader
		for range n {
			r := newReader(t, line.get(t))
			r.next()
			readers = append(readers, r)
		}
		synctest.Wait()
		start := time.Now()
		fake.AddActivity(control.Activity{ID: 1})
		for i, r := range readers {
			if id := r.nextActivity(); id != 1 {
				t.Errorf("client %d got %d", i, id)
			}
		}
		if d := time.Since(start); d != 4*wakePause {
			t.Errorf("all were woken within %v, want %v", d, 4*wakePause)
		}
		if h.Clients() != n {
			t.Errorf("%d clients are left", h.Clients())
		}
	})
}

// A subscription that ends does not wait for clients that are still to be
// woken.
func TestWakingEndsWithTheSubscription(t *testing.T) {
	over := make(chan struct{})
	close(over)
	if (&subscription{over: over}).pause(time.Hour) {
		t.Error("the pause went on")
	}
	h := New(facadetest.New(), nil)
	defer h.Close()
	sub := &subscription{over: over}
	h.sub = sub
	for range 3 * wakeGroup {
		h.clients[&client{queue: newQueue()}] = struct{}{}
	}
	h.broadcast(sub, activityMessage(1))
	for c := range h.clients {
		if !c.queue.waits() {
			t.Error("a client was left out")
		}
	}
	clear(h.clients)
}
