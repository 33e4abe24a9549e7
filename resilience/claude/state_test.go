package claude

import (
	"testing"
	"time"
)

// TestStateTable walks every (state, event) pair of a lane: what the event is
// answered with, and the state after it.
func TestStateTable(t *testing.T) {
	const idle, active, cooling, spent = LaneIdle, LaneActive, LaneCoolingOff, LaneBudgetSpent
	now := at(time.Minute)
	bring := map[LaneState]func(*bench){
		idle:   func(*bench) {},
		active: func(b *bench) { b.active(0) },
		cooling: func(b *bench) {
			b.want(b.call(b.active(startMargin), t0, 429, says("slow-status", "slot_busy")), ended(EndMaxWait))
		},
		spent: func(b *bench) {
			h := says("slow-status", "budget_exhausted", "slow-budget-reset", epoch(at(24*time.Hour)))
			b.want(b.call(b.active(0), t0, 429, h), ended(EndBudget))
		},
	}
	type event struct {
		name string
		do   func(*bench) Decision
	}
	answer := func(sw Switches, code int, h headers) func(*bench) Decision {
		return func(b *bench) Decision { return b.call(b.open(now, sw), now, code, h) }
	}
	type cell struct {
		d  Decision
		to LaneState
	}
	pause, capacity := waits(20*time.Second, ViaBusy), waits(20*time.Second, ViaCapacity)
	// Outside the lane three states answer alike, but for the wall's offer.
	for _, c := range []struct {
		event
		out    Decision // idle, cooling off, budget spent
		in     Decision // active
		after  LaneState
		enters bool // idle alone enters the lane
	}{
		{event{"the wall", answer(lowOn, 429, wall())}, nothing, ended(EndWall), idle, true},
		{event{"the wall, switched off", answer(bothOff, 429, wall())}, nothing, nothing, active, false},
		{event{"the wall, reset on", answer(autoOn, 429, wall())}, askReset, askReset, active, false},
		{event{"the wall, both on", answer(bothOn, 429, wall())}, askReset, ended(EndWall), idle, false},
		{event{"the wall, weekly", answer(bothOn, 429, wall("representative-claim", "seven_day"))}, nothing, ended(EndWall), idle, true},
		{event{"control arm", answer(lowOn, 429, wall("slow-offer", "control"))}, nothing, ended(EndWall), idle, false},
		{event{"no offer", answer(lowOn, 429, wall("slow-offer", ""))}, nothing, ended(EndWall), idle, false},
		{event{"raced wall", func(b *bench) Decision { return raced(b.open(now, lowOn), now, 429, wall()) }}, nothing, accepted, active, true},
		{event{"raced answer", func(b *bench) Decision { return raced(b.open(now, lowOn), now, 200, says("slow-status", "active")) }}, nothing, nothing, active, false},
		{event{"burst", answer(lowOn, 429, headers{"retry-after": {"3"}})}, nothing, nothing, active, false},
		{event{"slot busy", answer(lowOn, 429, says("slow-status", "slot_busy"))}, nothing, pause, active, false},
		{event{"weekly", answer(lowOn, 429, says("slow-status", "weekly_limit"))}, nothing, ended(EndWeekly), idle, false},
		{event{"budget", answer(lowOn, 429, says("slow-status", "budget_exhausted"))}, nothing, ended(EndBudget), idle, false},
		{event{"off", answer(lowOn, 429, says("slow-status", "off"))}, nothing, ended(EndOff), idle, false},
		{event{"ineligible", answer(lowOn, 429, says("slow-status", "ineligible"))}, nothing, ended(EndIneligible), idle, false},
		{event{"overage", answer(lowOn, 200, says("slow-status", "ineligible", "overage-in-use", "true"))}, nothing, ended(EndExtraUsage), idle, false},
		{event{"overloaded", answer(lowOn, 529, nil)}, nothing, capacity, active, false},
		{event{"served slow", answer(lowOn, 200, says("slow-status", "active"))}, nothing, nothing, active, false},
		{event{"served", answer(lowOn, 200, says("slow-status", "not_needed"))}, nothing, nothing, active, false},
		{event{"rollover", answer(lowOn, 200, says("5h-reset", epoch(wallReset.Add(5*time.Hour))))}, nothing, ended(EndReset), idle, false},
		{event{"rollover on a 429", answer(lowOn, 429, says("5h-reset", epoch(wallReset.Add(5*time.Hour))))}, nothing, nothing, active, false},
		{event{"server error", answer(lowOn, 500, says("slow-status", "weekly_limit"))}, nothing, nothing, active, false},
		{event{"unauthorised", answer(lowOn, 401, nil)}, nothing, nothing, active, false},
		{event{"operator", func(b *bench) Decision { b.lanes.End(now, "c1"); return Decision{} }}, nothing, nothing, idle, false},
	} {
		row := map[LaneState]cell{idle: {c.out, idle}, active: {c.in, c.after}, cooling: {c.out, cooling}, spent: {c.out, spent}}
		if c.enters {
			row[idle] = cell{accepted, active}
		}
		for from, want := range row {
			t.Run(string(from)+", "+c.name, func(t *testing.T) {
				b := newBench(t)
				bring[from](b)
				got := cell{c.do(b), idle}
				for _, st := range b.lanes.Status(now, "c1") {
					got.to = st.State
				}
				if got != want {
					t.Errorf("-> %+v, want %+v", got, want)
				}
			})
		}
	}
	t.Run("every state ends by itself", func(t *testing.T) {
		for from := range bring {
			b := newBench(t)
			bring[from](b)
			later := at(9 * 24 * time.Hour)
			for _, st := range b.lanes.Status(later, "c1") {
				if st.State != idle || !st.Until.IsZero() {
					t.Errorf("from %s: %+v", from, st)
				}
			}
			if d := b.call(b.open(later, lowOn), later, 429, wall("reset", epoch(later.Add(time.Hour)))); d != accepted {
				t.Errorf("from %s: %+v", from, d)
			}
		}
	})
}
