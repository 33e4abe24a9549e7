package events

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"breakwater/proxy/control"
)

func snapshotMessage(seq uint64) message { return message{kind: control.EventSnapshot, seq: seq} }
func activityMessage(seq uint64) message { return message{kind: control.EventActivity, seq: seq} }

func drain(q *queue) (out []message) {
	for {
		m, ok := q.take()
		if !ok {
			return out
		}
		out = append(out, m)
	}
}

func TestQueueSendsTheWaitingSnapshotFirst(t *testing.T) {
	q := newQueue()
	q.put(activityMessage(1))
	q.put(activityMessage(2))
	q.put(snapshotMessage(7))
	got := drain(q)
	want := []message{snapshotMessage(7), activityMessage(1), activityMessage(2)}
	if !slices.EqualFunc(got, want, same) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestQueueKeepsTheNewerSnapshot(t *testing.T) {
	q := newQueue()
	q.put(snapshotMessage(9))
	q.put(snapshotMessage(8)) // asked for earlier, arrived later
	if got := drain(q); len(got) != 1 || got[0].seq != 9 {
		t.Errorf("got %v, want the snapshot 9 alone", got)
	}
}

func TestQueueStarvesNeitherKind(t *testing.T) {
	q := newQueue()
	for i := range uint64(10) {
		q.put(activityMessage(i))
	}
	var activities int
	for i := range uint64(20) {
		q.put(snapshotMessage(i)) // one new snapshot for every event taken
		if m, _ := q.take(); m.kind == control.EventActivity {
			activities++
		}
	}
	if activities != 10 {
		t.Errorf("%d of 10 activities came through", activities)
	}
}

func same(a, b message) bool { return a.kind == b.kind && a.seq == b.seq }

// The model: the newest snapshot that was not taken, and the last backlog
// events that were not taken, in order.
func TestQueueAgainstAModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		q := newQueue()
		var snapshot *message
		var others []message
		var seq uint64
		rt.Repeat(map[string]func(*rapid.T){
			"snapshot": func(*rapid.T) {
				seq++
				m := snapshotMessage(seq)
				snapshot = &m
				q.put(m)
			},
			"burst": func(rt *rapid.T) {
				for range rapid.IntRange(1, backlog).Draw(rt, "n") {
					seq++
					m := activityMessage(seq)
					others = append(others, m)
					q.put(m)
				}
				others = others[max(0, len(others)-backlog):]
			},
			"take": func(rt *rapid.T) {
				m, ok := q.take()
				switch {
				case !ok:
					if snapshot != nil || len(others) > 0 {
						rt.Fatal("nothing taken although something waits")
					}
				case m.kind == control.EventSnapshot:
					if snapshot == nil || m.seq != snapshot.seq {
						rt.Fatalf("took snapshot %d, want %v", m.seq, snapshot)
					}
					snapshot = nil
				default:
					if len(others) == 0 || m.seq != others[0].seq {
						rt.Fatalf("took event %d, want the first of %v", m.seq, others)
					}
					others = others[1:]
				}
			},
			"": func(rt *rapid.T) {
				if len(q.others) > backlog {
					rt.Fatalf("%d events wait", len(q.others))
				}
			},
		})
	})
}
