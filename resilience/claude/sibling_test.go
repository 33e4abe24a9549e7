package claude

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

func TestBudget(t *testing.T) {
	spent := func(t *testing.T, pairs ...string) *bench {
		b := newBench(t)
		b.want(b.call(b.active(0), t0, 429, says(append(pairs, "slow-status", "budget_exhausted")...)), ended(EndBudget))
		return b
	}
	enters := func(b *bench, now time.Time) bool {
		h := wall("reset", epoch(now.Add(time.Hour)))
		return b.call(b.open(now, lowOn), now, 429, h) == accepted
	}
	t.Run("T34 the budget is remembered", func(t *testing.T) {
		b := spent(t, "slow-budget-reset", epoch(at(48*time.Hour)))
		if st := b.status(t0); st.State != LaneBudgetSpent || !st.Until.Equal(at(48*time.Hour)) || st.Reason != EndBudget {
			t.Errorf("status %+v", st)
		}
		if enters(b, at(time.Minute)) || !enters(b, at(48*time.Hour+time.Millisecond)) {
			t.Error("the budget's memory is wrong")
		}
	})
	t.Run("T35 for eight days at most", func(t *testing.T) {
		b := spent(t, "slow-budget-reset", epoch(at(30*24*time.Hour)))
		if st := b.status(t0); !st.BudgetSpentUntil.Equal(at(8 * 24 * time.Hour)) {
			t.Errorf("until %s", st.BudgetSpentUntil)
		}
	})
	t.Run("the weekly reset stands in, nothing remembers nothing", func(t *testing.T) {
		if st := spent(t, "7d-reset", epoch(at(24*time.Hour))).status(t0); !st.BudgetSpentUntil.Equal(at(24 * time.Hour)) {
			t.Errorf("until %s", st.BudgetSpentUntil)
		}
		if st := spent(t).status(t0); !st.BudgetSpentUntil.IsZero() || st.State != LaneIdle {
			t.Errorf("status %+v", st)
		}
	})
}

func TestSiblings(t *testing.T) {
	t.Run("T41 refused beside the acceptance", func(t *testing.T) {
		b := newBench(t)
		b.active(0)
		b.want(raced(b.open(t0, lowOn), t0, 429, wall()), accepted)
		b.wantActive(t0, true)
	})
	t.Run("T42 answered beside the acceptance", func(t *testing.T) {
		b := newBench(t)
		b.active(0)
		b.want(raced(b.open(t0, lowOn), t0, 200, says("slow-status", "active", "slow-max-wait", "60")), nothing)
		b.want(raced(b.open(t0, lowOn), t0, 429, headers{"retry-after": {"3"}}), nothing)
		if st := b.status(t0); st.RequestsServed != 0 || st.MaxWait != 20*time.Minute {
			t.Errorf("status %+v", st)
		}
	})
	t.Run("T43 refused in the lane", func(t *testing.T) {
		b := newBench(t)
		b.want(b.call(b.active(0), t0, 429, wall()), ended(EndWall))
	})
	t.Run("T44 keys are apart", func(t *testing.T) {
		b := newBench(t)
		b.active(0)
		for _, k := range []Key{{Connection: "c2"}, KeyOf("c1", "sk-ant-oat-x", true)} {
			if _, _, send := b.lanes.Open(k, lowOn, t0, 0).Header(t0); send {
				t.Errorf("the lane of c1 serves %s", k)
			}
		}
	})
	t.Run("T45 the oldest of too many is given up", func(t *testing.T) {
		b := newBench(t)
		b.active(0)
		for i := range maxKeys {
			r := b.lanes.Open(Key{Connection: fmt.Sprint("x", i)}, lowOn, t0, 0)
			if i == maxKeys-1 {
				b.wantActive(t0, true)
			}
			b.call(r, t0, 429, wall())
		}
		b.wantActive(t0, false)
		if n := len(b.lanes.known.entries); n != maxKeys || len(b.lanes.known.order) != maxKeys {
			t.Errorf("%d keys are kept", n)
		}
	})
	t.Run("T48 twenty at once", func(t *testing.T) {
		b := newBench(t)
		requests := make([]*Request, 20)
		for i := range requests { // all are under way when the wall is met
			requests[i] = b.open(t0, lowOn)
			requests[i].Header(t0)
		}
		got := make([]Decision, len(requests))
		var wg sync.WaitGroup
		for i, r := range requests {
			wg.Go(func() { got[i] = r.Answer(t0, 429, wall()) })
		}
		wg.Wait()
		for _, d := range got {
			b.want(d, accepted)
		}
		if len(b.notes) != 1 {
			t.Errorf("entered %d times", len(b.notes))
		}
	})
	t.Run("a sibling's wait was too long for all", func(t *testing.T) { // §1.6, row 27
		b := newBench(t)
		b.active(0)
		waiter, other := b.open(t0, lowOn), b.lanes.Open(keyOfTest, lowOn, t0, startMargin)
		busy := says("slow-status", "slot_busy")
		b.want(b.call(waiter, t0, 429, busy), waits(20*time.Second, ViaBusy))
		b.want(b.call(other, t0, 429, busy), ended(EndMaxWait))
		b.want(b.call(waiter, at(20*time.Second), 429, busy), nothing)
	})
}

func TestOperator(t *testing.T) {
	t.Run("T46 ended by a person", func(t *testing.T) {
		b := newBench(t)
		r := b.active(0)
		b.want(b.call(r, t0, 429, says("slow-status", "slot_busy")), waits(20*time.Second, ViaBusy))
		b.lanes.End(at(time.Second), "c1")
		if st := b.status(at(time.Second)); st.State != LaneIdle || st.Reason != EndOperator || !st.Since.Equal(at(time.Second)) {
			t.Errorf("status %+v", st)
		}
		if b.stamped(at(time.Second), bothOff) || b.stamped(at(time.Second), lowOn) {
			t.Error("the header outlives the lane")
		}
		// Ruling 22: who waited goes on without the lane, and does not bring it back.
		b.want(b.call(r, at(20*time.Second), 429, wall()), nothing)
		b.want(b.call(b.open(at(21*time.Second), lowOn), at(21*time.Second), 429, wall()), accepted)
	})
	t.Run("all logins of the connection", func(t *testing.T) {
		b := newBench(t)
		for _, bearer := range []string{"sk-ant-oat-a", "sk-ant-oat-b"} {
			b.want(b.call(b.lanes.Open(KeyOf("c1", bearer, true), lowOn, t0, 0), t0, 429, wall()), accepted)
		}
		other := b.lanes.Open(Key{Connection: "c2"}, lowOn, t0, 0)
		b.want(b.call(other, t0, 429, wall()), accepted)
		b.lanes.End(t0, "c1")
		b.wantActive(t0, false)
		if _, _, send := other.Header(t0); !send {
			t.Error("another connection's lane ended too")
		}
	})
	t.Run("ruling 22 a switch counts from the next request", func(t *testing.T) {
		b := newBench(t)
		before := b.open(t0, bothOff)
		b.active(0)
		if _, _, send := before.Header(t0); send {
			t.Error("a request from before the switch joined the lane")
		}
		b.want(before.Answer(t0, 429, wall()), nothing)
		if !b.stamped(t0, lowOn) {
			t.Error("the next request did not join the lane")
		}
	})
	t.Run("a removed connection is forgotten", func(t *testing.T) {
		b := newBench(t)
		r := b.active(0)
		b.lanes.Forget("c1")
		b.want(b.call(r, t0, 429, wall()), nothing)
		if len(b.lanes.Status(t0, "c1")) != 0 {
			t.Error("something is left")
		}
	})
	t.Run("nobody need listen", func(t *testing.T) {
		s := NewLanes(func() float64 { return 0.5 }, nil)
		if d := s.Open(keyOfTest, lowOn, t0, 0).Answer(t0, 429, wall()); d != accepted {
			t.Errorf("decision %+v", d)
		}
	})
}
