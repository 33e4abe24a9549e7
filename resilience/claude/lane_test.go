package claude

import (
	"fmt"
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
	b := newBench(t)
	t.Run("T7 the activation test", func(t *testing.T) {
		r := b.open(t0, lowOn)
		for _, h := range []headers{
			wall("slow-offer", "control"), wall("slow-offer", ""), wall("reset", epoch(t0)), wall("reset", ""),
		} {
			b.want(b.call(r, t0, 429, h), nothing)
			b.wantActive(t0, false)
		}
		b.want(b.call(r, t0, 429, wall()), accepted)
		u := readUnified(wall())
		if b.lanes.accept(t0, keyOfTest, &u) {
			t.Error("accepted twice")
		}
	})
	t.Run("T8 the snapshot after it", func(t *testing.T) {
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
	t.Run("full speed after a reset, although a sibling entered the lane", func(t *testing.T) {
		b := newBench(t)
		r := b.open(t0, bothOn)
		b.want(b.call(r, t0, 429, wall()), askReset)
		b.active(0)
		b.want(r.AfterReset(t0, true), viaReset)
		if _, _, send := r.Header(t0); send {
			t.Error("the retry carries the header")
		}
		b.want(r.Answer(t0, 429, wall()), accepted)
		if _, _, send := r.Header(t0); !send {
			t.Error("the next one does not")
		}
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

func TestWaitingForASlot(t *testing.T) {
	b := newBench(t)
	r := b.active(0)
	busy, maxWait := says("slow-status", "slot_busy"), 20*time.Minute
	for _, c := range []struct {
		id    string
		dice  float64
		after time.Duration
		want  Decision
	}{
		{"T21 even dice", 0.5, 0, waits(20*time.Second, ViaBusy)},
		{"T22 highest", 1, 20 * time.Second, waits(26*time.Second, ViaBusy)},
		{"T23 lowest", 0, 46 * time.Second, waits(14*time.Second, ViaBusy)},
		{"the rest of the wait", 0.5, maxWait - time.Second, waits(time.Second, ViaBusy)},
		{"T24 too long", 0.5, maxWait, ended(EndMaxWait)},
	} {
		t.Run(c.id, func(t *testing.T) {
			b.t, b.dice = t, c.dice
			b.want(b.call(r, at(c.after), 429, busy), c.want)
		})
	}
	t.Run("T25 the cool-off", func(t *testing.T) {
		b.t = t
		st := b.status(at(maxWait))
		if st.State != LaneCoolingOff || st.Reason != EndMaxWait || !st.Until.Equal(at(maxWait+10*time.Minute)) {
			t.Errorf("status %+v", st)
		}
		b.want(b.call(b.open(at(maxWait), lowOn), at(maxWait+time.Second), 429, wall()), nothing)
		b.want(b.call(b.open(at(maxWait), lowOn), at(maxWait+10*time.Minute), 429, wall()), accepted)
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
		b = newBench(t) // the lane's own bound
		r = b.active(0)
		b.want(b.call(r, t0, 429, says("slow-status", "slot_busy", "slow-max-wait", "60")), waits(20*time.Second, ViaBusy))
		b.want(b.call(r, at(20*time.Second-3*time.Hour), 429, busy), waits(20*time.Second, ViaBusy))
		b.want(b.call(r, at(60*time.Second-3*time.Hour), 429, busy), ended(EndMaxWait))
	})
}
