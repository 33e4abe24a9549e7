package claude

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

func TestActivation(t *testing.T) {
	t.Run("T6 fresh key", func(t *testing.T) {
		b := newBench(t)
		b.wantActive(t0, false)
		if b.stamped(t0, bothOn) || len(b.lanes.Status(t0, "c1")) != 0 {
			t.Error("a fresh key has a lane")
		}
	})
	t.Run("T7 T8 the activation test and the snapshot", func(t *testing.T) {
		b := newBench(t)
		r := b.open(t0, lowOn)
		for _, h := range []headers{
			wall("slow-offer", "control"), wall("slow-offer", ""), wall("reset", epoch(t0)), wall("reset", ""),
		} {
			b.want(b.call(r, t0, 429, h), nothing)
			b.wantActive(t0, false)
		}
		b.want(b.call(r, t0, 429, wall()), accepted)
		var u unified = readUnified(wall())
		if b.lanes.accept(t0, keyOfTest, &u) {
			t.Error("accepted twice")
		}
		want := LaneStatus{
			Key: keyOfTest, State: LaneActive, Since: t0, Until: wallReset.Add(time.Minute),
			RetryAfter: 20 * time.Second, MaxWait: 20 * time.Minute,
		}
		if st := b.status(t0); st != want {
			t.Errorf("snapshot %+v, want %+v", st, want)
		}
	})
	for _, c := range []struct {
		id, retry, maxWait string
		wantRetry, wantMax time.Duration
	}{
		{"T9", "1", "999999", 5 * time.Second, 6 * time.Hour},
		{"T10", "100000", "1", 10 * time.Minute, time.Minute},
		{"absent", "", "", 20 * time.Second, 20 * time.Minute},
		{"beyond any clock", "1e300", "1e300", 10 * time.Minute, 6 * time.Hour},
	} {
		t.Run(c.id+" hints are clamped", func(t *testing.T) {
			b := newBench(t)
			b.want(b.call(b.open(t0, lowOn), t0, 429, wall("slow-retry-after", c.retry, "slow-max-wait", c.maxWait)), accepted)
			if st := b.status(t0); st.RetryAfter != c.wantRetry || st.MaxWait != c.wantMax {
				t.Errorf("retry after %s, at most %s", st.RetryAfter, st.MaxWait)
			}
		})
	}
	t.Run("T11 the five-hour reset stands in", func(t *testing.T) {
		b := newBench(t)
		b.want(b.call(b.open(t0, lowOn), t0, 429, wall("reset", "", "5h-reset", epoch(at(2*time.Hour)))), accepted)
		if st := b.status(t0); !st.Until.Equal(at(2*time.Hour + time.Minute)) {
			t.Errorf("until %s", st.Until)
		}
	})
	t.Run("T12 the grace after the reset", func(t *testing.T) {
		b := newBench(t)
		b.active(0)
		end := wallReset.Add(time.Minute)
		b.wantActive(end.Add(-time.Millisecond), true)
		if b.stamped(end, lowOn) {
			t.Error("the header outlives the lane")
		}
		st := b.status(end)
		if st.State != LaneIdle || st.Reason != EndReset || !st.Since.Equal(end) || !st.Until.IsZero() {
			t.Errorf("status %+v", st)
		}
	})
	t.Run("a reset beyond a week is clamped", func(t *testing.T) {
		b := newBench(t)
		b.want(b.call(b.open(t0, lowOn), t0, 429, wall("reset", "1800003600000000")), accepted)
		if st := b.status(t0); !st.Until.Equal(at(7*24*time.Hour + time.Minute)) {
			t.Errorf("until %s", st.Until)
		}
	})
	t.Run("every change is told, in order", func(t *testing.T) {
		b := newBench(t)
		b.active(0)
		b.wantActive(at(2*time.Hour), false)
		want := []LaneChange{
			{Key: keyOfTest, At: t0, Entered: true, Until: wallReset.Add(time.Minute)},
			{Key: keyOfTest, At: wallReset.Add(time.Minute), Reason: EndReset},
		}
		if fmt.Sprint(b.notes) != fmt.Sprint(want) {
			t.Errorf("notes %+v", b.notes)
		}
	})
}

func TestTheWall(t *testing.T) {
	t.Run("T13 accepted", func(t *testing.T) {
		b := newBench(t)
		b.want(b.call(b.open(t0, lowOn), t0, 429, wall()), accepted)
		b.wantActive(t0, true)
	})
	t.Run("T14 not opted in", func(t *testing.T) {
		b := newBench(t)
		b.want(b.call(b.open(t0, bothOff), t0, 429, wall()), nothing)
		b.wantActive(t0, false)
	})
	t.Run("T15 a burst", func(t *testing.T) {
		b := newBench(t)
		b.want(b.call(b.open(t0, bothOn), t0, 429, headers{"retry-after": {"3"}}), nothing)
	})
	t.Run("T16 the reset goes first", func(t *testing.T) {
		b := newBench(t)
		r := b.open(t0, bothOn)
		b.want(b.call(r, t0, 429, wall()), askReset)
		b.want(r.AfterReset(t0, true), viaReset)
		b.want(r.AfterReset(t0, true), nothing) // said once
		b.wantActive(t0, false)
		if _, _, send := r.Header(t0); send {
			t.Error("the retry after a reset carries the header")
		}
	})
	t.Run("T17 no reset, so the lane", func(t *testing.T) {
		b := newBench(t)
		r := b.open(t0, bothOn)
		b.want(b.call(r, t0, 429, wall()), askReset)
		b.want(r.AfterReset(t0, false), accepted)
		b.wantActive(t0, true)
	})
	t.Run("T18 another window cannot be reset", func(t *testing.T) {
		b := newBench(t)
		b.want(b.call(b.open(t0, autoOn), t0, 429, wall("representative-claim", "seven_day")), nothing)
		b.want(b.call(b.open(t0, bothOn), t0, 429, wall("representative-claim", "seven_day")), accepted)
		b = newBench(t)
		b.want(b.call(b.open(t0, bothOn), t0, 429, wall("representative-claim", "")), askReset)
	})
	t.Run("T19 reset alone, not granted", func(t *testing.T) {
		b := newBench(t)
		r := b.open(t0, autoOn)
		b.want(b.call(r, t0, 429, wall()), askReset)
		b.want(r.AfterReset(t0, false), nothing)
		b.wantActive(t0, false)
	})
	t.Run("a reset that does not help is not asked for again", func(t *testing.T) {
		b := newBench(t)
		r := b.open(t0, bothOn)
		b.want(b.call(r, t0, 429, wall()), askReset)
		b.want(r.AfterReset(t0, true), viaReset)
		b.want(b.call(r, t0, 429, wall()), accepted)
		r = b.open(t0, autoOn)
		b.want(b.call(r, t0, 429, wall()), askReset)
		b.want(r.AfterReset(t0, true), viaReset)
		b.want(b.call(r, t0, 429, wall()), nothing)
	})
	t.Run("a sibling entered the lane while the reset was asked for", func(t *testing.T) {
		b := newBench(t)
		r := b.open(t0, bothOn)
		b.want(b.call(r, t0, 429, wall()), askReset)
		b.active(0)
		b.want(r.AfterReset(at(time.Second), false), accepted)
		if len(b.notes) != 1 {
			t.Errorf("entered %d times", len(b.notes))
		}
	})
}

func TestInTheLane(t *testing.T) {
	t.Run("T20 served", func(t *testing.T) {
		b := newBench(t)
		r := b.active(0)
		b.want(b.call(r, t0, 200, says("slow-status", "active", "slow-budget-utilization", "0.25")), nothing)
		b.want(b.call(r, t0, 200, says("slow-status", "not_needed")), nothing)
		st := b.status(t0)
		if st.RequestsServed != 1 || st.RequestsServedStandard != 1 || !st.BudgetKnown || st.BudgetUtilization != 0.25 {
			t.Errorf("status %+v", st)
		}
	})
	t.Run("T21 to T25 waiting for a slot", func(t *testing.T) {
		b := newBench(t)
		r := b.active(0)
		busy := says("slow-status", "slot_busy")
		b.want(b.call(r, t0, 429, busy), waits(20*time.Second, ViaBusy)) // T21
		b.dice = 1
		b.want(b.call(r, at(20*time.Second), 429, busy), waits(26*time.Second, ViaBusy)) // T22
		b.dice = 0
		b.want(b.call(r, at(46*time.Second), 429, busy), waits(14*time.Second, ViaBusy)) // T23
		maxWait := 20 * time.Minute
		b.want(b.call(r, at(maxWait-time.Second), 429, busy), waits(time.Second, ViaBusy))
		b.want(b.call(r, at(maxWait), 429, busy), ended(EndMaxWait)) // T24
		st := b.status(at(maxWait))
		if st.State != LaneCoolingOff || st.Reason != EndMaxWait || !st.Until.Equal(at(maxWait+10*time.Minute)) {
			t.Errorf("status %+v", st)
		}
		b.want(b.call(b.open(at(maxWait), lowOn), at(maxWait+time.Second), 429, wall()), nothing) // T25
		b.want(b.call(b.open(at(maxWait), lowOn), at(maxWait+10*time.Minute), 429, wall()), accepted)
	})
	t.Run("T26 no capacity", func(t *testing.T) {
		b := newBench(t)
		r := b.active(0)
		b.want(b.call(r, t0, 529, nil), waits(20*time.Second, ViaCapacity))
		b.want(b.call(r, at(time.Second), 529, says("slow-status", "active")), waits(20*time.Second, ViaCapacity))
	})
	t.Run("T27 overload with another status is no wait", func(t *testing.T) {
		b := newBench(t)
		b.want(b.call(b.active(0), t0, 529, says("slow-status", "weekly_limit")), nothing)
		b.wantActive(t0, true)
	})
	for status, reason := range endings {
		t.Run("T28 "+string(status), func(t *testing.T) {
			b := newBench(t)
			b.want(b.call(b.active(0), t0, 429, says("slow-status", string(status))), ended(reason))
			b.wantActive(t0, false)
		})
	}
	for inUse, reason := range map[string]EndReason{"true": EndExtraUsage, "false": EndIneligible, "": EndIneligible} {
		t.Run("T29 overage "+inUse, func(t *testing.T) {
			b := newBench(t)
			b.want(b.call(b.active(0), t0, 429, says("slow-status", "ineligible", "overage-in-use", inUse)), ended(reason))
		})
	}
	t.Run("T36 the wall again", func(t *testing.T) {
		for _, h := range []headers{
			says("status", "rejected", "representative-claim", "seven_day"), says("overage-status", "rejected", "slow-status", "???"),
		} {
			b := newBench(t)
			b.want(b.call(b.active(0), t0, 429, h), ended(EndWall))
		}
	})
	t.Run("T37 a burst keeps the lane", func(t *testing.T) {
		b := newBench(t)
		b.want(b.call(b.active(0), t0, 429, headers{"retry-after": {"3"}}), nothing)
		b.wantActive(t0, true)
	})
	t.Run("T38 a later five-hour window", func(t *testing.T) {
		b := newBench(t)
		r := b.active(0)
		b.want(b.call(r, t0, 200, says("5h-reset", epoch(wallReset.Add(59*time.Second)))), nothing)
		b.want(b.call(r, t0, 200, says("5h-reset", epoch(wallReset.Add(60*time.Second)))), ended(EndReset))
	})
	t.Run("T39 overage on any status", func(t *testing.T) {
		for _, code := range []int{200, 400, 429, 503, 529} {
			b := newBench(t)
			b.want(b.call(b.active(0), t0, code, says("slow-status", "ineligible", "overage-in-use", "true")), ended(EndExtraUsage))
		}
	})
	t.Run("T40 other statuses on an answer end nothing", func(t *testing.T) {
		b := newBench(t)
		b.want(b.call(b.active(0), t0, 200, says("slow-status", "weekly_limit")), nothing)
		b.wantActive(t0, true)
	})
}

func TestWaitsAndDeadlines(t *testing.T) {
	busy := says("slow-status", "slot_busy")
	// A ceiling is the start timeout without its margin.
	t.Run("T30 the request's own deadline", func(t *testing.T) {
		b := newBench(t)
		r := b.active(8*time.Second + startMargin)
		b.want(b.call(r, t0, 429, busy), waits(8*time.Second, ViaBusy))
		b.want(b.call(r, at(8*time.Second), 429, busy), ended(EndMaxWait))
	})
	t.Run("T31 no time left", func(t *testing.T) {
		for _, budget := range []time.Duration{startMargin, time.Second} {
			b := newBench(t)
			b.want(b.call(b.active(budget), t0, 429, busy), ended(EndMaxWait))
		}
	})
	t.Run("T32 no deadline", func(t *testing.T) {
		b := newBench(t)
		b.want(b.call(b.active(0), t0, 429, busy), waits(20*time.Second, ViaBusy))
	})
	t.Run("T33 an answer begins a new wait", func(t *testing.T) {
		for _, served := range []string{"active", "not_needed"} {
			b := newBench(t)
			r := b.active(0)
			b.want(b.call(r, t0, 429, busy), waits(20*time.Second, ViaBusy))
			b.want(b.call(r, at(19*time.Minute), 200, says("slow-status", served)), nothing)
			b.want(b.call(r, at(19*time.Minute), 429, busy), waits(20*time.Second, ViaBusy))
			b.want(b.call(r, at(38*time.Minute), 429, busy), waits(20*time.Second, ViaBusy))
		}
	})
	t.Run("a wait of an earlier lane is not continued", func(t *testing.T) {
		b := newBench(t)
		r := b.active(0)
		b.want(b.call(r, t0, 429, busy), waits(20*time.Second, ViaBusy))
		b.want(b.call(b.open(t0, lowOn), t0, 429, says("slow-status", "off")), ended(EndOff))
		b.want(b.call(r, at(15*time.Minute), 429, wall()), accepted)
		b.want(b.call(r, at(25*time.Minute), 429, busy), waits(20*time.Second, ViaBusy))
	})
	t.Run("T47 time counts once", func(t *testing.T) {
		b := newBench(t)
		r := b.active(60 * time.Second)
		now := t0
		for {
			d := b.call(r, now, 429, busy)
			if d.Action != Retry {
				b.want(d, ended(EndMaxWait))
				break
			}
			now = now.Add(d.Delay)
		}
		if now != at(55*time.Second) {
			t.Errorf("gave up after %s", now.Sub(t0))
		}
	})
	t.Run("time before the wall counts too", func(t *testing.T) {
		b := newBench(t)
		r := b.lanes.Open(keyOfTest, lowOn, t0, 60*time.Second)
		b.want(b.call(r, at(50*time.Second), 429, wall()), accepted)
		b.want(b.call(r, at(50*time.Second), 429, busy), waits(5*time.Second, ViaBusy))
	})
	t.Run("a clock that is set back prolongs nothing", func(t *testing.T) {
		b := newBench(t)
		r := b.active(60 * time.Second)
		b.want(b.call(r, t0, 429, busy), waits(20*time.Second, ViaBusy))
		b.want(b.call(r, at(40*time.Second), 429, busy), waits(15*time.Second, ViaBusy))
		b.want(b.call(r, at(55*time.Second-3*time.Hour), 429, busy), ended(EndMaxWait))
	})
}

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
