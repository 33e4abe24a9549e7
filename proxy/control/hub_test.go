package control

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestHubNeverWaitsForASubscriber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		h := newHub()
		stuck := h.subscribe(ctx, Snapshot{Seq: 1}) // is not read
		out := h.subscribe(ctx, Snapshot{Seq: 1})
		if e := <-out; e.Type != EventSnapshot || e.Snapshot.Seq != 1 {
			t.Fatalf("the stream begins with %+v", e)
		}
		synctest.Wait()
		for id := range int64(2 * activityBacklog) {
			h.publish(Event{Type: EventActivity, Activity: &Activity{ID: id}})
			h.publish(Event{Type: EventSnapshot, Snapshot: &Snapshot{Seq: uint64(id) + 2}})
		}
		var seq uint64
		var ids []int64
		for range activityBacklog + 1 {
			switch e := <-out; e.Type {
			case EventSnapshot:
				seq = e.Snapshot.Seq
			case EventActivity:
				ids = append(ids, e.Activity.ID)
			}
		}
		if seq != 2*activityBacklog+1 {
			t.Errorf("the newest snapshot is %d", seq)
		}
		for i, id := range ids[1:] {
			if id <= ids[i] {
				t.Fatalf("out of order: %d after %d", id, ids[i])
			}
		}
		cancel()
		for range out {
		}
		for range stuck {
		}
		if !h.empty() {
			t.Error("subscribers are left behind")
		}
	})
}
