package oauth

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"breakwater/resilience/clock"
)

func members(n int, every time.Duration) (list []Member) {
	for i := range n {
		list = append(list, Member{fmt.Sprintf("connection-%d", i), every})
	}
	return list
}

func TestRotaSpreadsTheLooks(t *testing.T) {
	r := NewRota()
	r.Set(t0, members(20, time.Hour))
	seen, last, now := map[string]bool{}, time.Time{}, t0
	for range 20 {
		id, at, ok := r.Next(now)
		if !ok || seen[id] {
			t.Fatalf("%q comes again", id)
		}
		if at.Before(t0.Add(30*time.Minute)) || at.After(t0.Add(time.Hour)) && at.Sub(last) > LookGap {
			t.Errorf("%s at %s", id, at.Sub(t0))
		}
		if !last.IsZero() && at.Sub(last) < LookGap {
			t.Errorf("%s comes %s after the one before", id, at.Sub(last))
		}
		seen[id], last, now = true, at, at
		r.Looked(at, id)
	}
}

func TestRotaFollowsItsMembers(t *testing.T) {
	r := NewRota()
	if _, _, ok := r.Next(t0); ok {
		t.Error("nobody has a turn")
	}
	r.Set(t0, []Member{{"a", time.Hour}, {"off", 0}})
	id, first, ok := r.Next(t0)
	if id != "a" || !ok {
		t.Errorf("%q has the first turn", id)
	}
	r.Set(t0.Add(time.Minute), members(1, time.Hour))
	r.Set(t0.Add(2*time.Minute), []Member{{"a", time.Hour}})
	if _, again, _ := r.Next(t0); !again.Equal(first.Add(2 * time.Minute)) {
		t.Error("a member that was away for a while begins anew")
	}
	r.Set(t0.Add(3*time.Minute), []Member{{"a", time.Hour}})
	if _, again, _ := r.Next(t0); !again.Equal(first.Add(2 * time.Minute)) {
		t.Error("a member lost its place")
	}
	r.Set(t0.Add(3*time.Minute), []Member{{"a", 10 * time.Minute}})
	if _, at, _ := r.Next(t0); at.After(t0.Add(13 * time.Minute)) {
		t.Errorf("a shorter interval waits until %s", at.Sub(t0))
	}
	r.Looked(t0.Add(20*time.Minute), "a")
	if _, at, _ := r.Next(t0.Add(20 * time.Minute)); !at.Equal(t0.Add(30 * time.Minute)) {
		t.Errorf("after a look the next is at %s", at.Sub(t0))
	}
	if _, at, _ := r.Next(t0); at.After(t0.Add(10 * time.Minute)) {
		t.Errorf("after the clock was set back the next is at %s", at.Sub(t0))
	}
	r.Looked(t0, "gone")
}

// TestRotaProperties drives a rota over changing members and a clock that
// jumps: looks keep their distance, and nobody waits longer than the interval
// and everybody else's turn.
func TestRotaProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r, c := NewRota(), clock.NewFake(t0)
		list := members(rapid.IntRange(1, 12).Draw(rt, "members"), time.Duration(rapid.IntRange(10, 90).Draw(rt, "minutes"))*time.Minute)
		seen, last := map[string]time.Time{}, time.Time{}
		for range rapid.IntRange(1, 60).Draw(rt, "looks") {
			now := c.Now()
			r.Set(now, list)
			for _, m := range list {
				if seen[m.ID].IsZero() || seen[m.ID].After(now) {
					seen[m.ID] = now
				}
			}
			id, at, _ := r.Next(now)
			if at.After(now) {
				c.Set(at)
			}
			now = c.Now()
			if !last.IsZero() && now.After(last) && now.Sub(last) < LookGap {
				rt.Fatalf("%s after the last look", now.Sub(last))
			}
			r.Looked(now, id)
			seen[id], last = now, now
			for _, m := range list {
				if wait := now.Sub(seen[m.ID]); wait > m.Every+time.Duration(len(list))*LookGap {
					rt.Fatalf("%s has waited for %s of %s", m.ID, wait, m.Every)
				}
			}
			if rapid.Bool().Draw(rt, "sleeps") {
				// The machine was asleep, or the clock was set back.
				c.Advance(rapid.SampledFrom([]time.Duration{-2 * time.Hour, 8 * time.Hour}).Draw(rt, "by"))
				clear(seen)
			}
		}
	})
}
