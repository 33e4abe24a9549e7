package events

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"breakwater/proxy/control"
)

// counting counts the packets that a client would get.
type counting struct {
	*httptest.ResponseRecorder
	packets int
}

func (c *counting) FlushError() error { c.packets++; return nil }

// A burst that waits already goes out in one packet; the last event of it is
// never held back.
func TestABurstCostsOnePacket(t *testing.T) {
	w := &counting{ResponseRecorder: httptest.NewRecorder()}
	c := newClient(&Handler{writeTimeout: time.Second}, w, func() {})
	c.writer.rc = http.NewResponseController(w)
	for id := range uint64(5) {
		c.queue.put(message{kind: control.EventActivity, seq: id})
	}
	for range 5 {
		if _, ok := c.queue.take(); !ok {
			t.Fatal("the queue is short")
		}
		c.writer.Flush()
		<-c.writer.flushed // the pump goes on either way
	}
	if w.packets != 1 {
		t.Errorf("%d packets", w.packets)
	}
}

func TestASnapshotThatWasOvertakenIsForgotten(t *testing.T) {
	q := newQueue()
	q.put(message{kind: control.EventSnapshot, seq: 7})
	if m, ok := q.take(); !ok || m.seq != 7 {
		t.Fatal("no snapshot")
	}
	q.put(message{kind: control.EventSnapshot, seq: 3})
	if q.waits() {
		t.Error("an older snapshot waits")
	}
	q.put(message{kind: control.EventSnapshot, seq: 8})
	if m, ok := q.take(); !ok || m.seq != 8 {
		t.Errorf("took %d", m.seq)
	}
}
