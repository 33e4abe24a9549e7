package events

import (
	"bytes"
	"time"

	"breakwater/proxy/control"
)

const (
	// activityEvery and changeEvery are the least times between a batch and the
	// next one: a busy proxy wakes its clients a few times a second, not once a
	// request. A single event after a silence goes out at once.
	activityEvery = 250 * time.Millisecond
	changeEvery   = 50 * time.Millisecond
	// batchBytes is when a batch goes out before its time.
	batchBytes = 256 << 10
	// wakeGroup clients are woken together, the next ones wakePause later: all
	// at once would keep the requests waiting for a processor.
	wakeGroup = 8
	wakePause = 2 * time.Millisecond
)

// batch collects events that go out together, as one run of frames that is
// written once for all clients. The zero value is empty and was never sent.
type batch struct {
	kind control.EventType // of the last one
	data bytes.Buffer
	sent time.Time // when the last batch went out
	due  time.Time // when this one must
}

// add joins an event to the batch. The head and the foot of the whole run are
// the sse server's; what is between two frames is part of the data, which the
// server passes on as it is. Only the first frame has an id: each stream counts
// its own, and the run is the same for all.
func (b *batch) add(m message, now time.Time) {
	every := changeEvery
	if m.kind == control.EventActivity {
		every = activityEvery
	}
	due := b.sent.Add(every)
	if b.data.Len() == 0 {
		b.due = due
	} else {
		b.data.WriteString("\nevent: " + string(b.kind) + "\nretry: " + restMs + "\n\ndata: ")
	}
	b.data.Write(m.data)
	b.kind = m.kind
	if due.Before(b.due) {
		b.due = due
	}
	if b.data.Len() >= batchBytes {
		b.due = now
	}
}

// take empties the batch; ok is false when nothing was in it.
func (b *batch) take(now time.Time) (m message, ok bool) {
	if b.data.Len() == 0 {
		return message{}, false
	}
	m = message{kind: b.kind, data: bytes.Clone(b.data.Bytes())}
	b.data.Reset()
	b.sent = now
	return m, true
}
