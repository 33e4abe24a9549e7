package control

import (
	"testing"
	"testing/synctest"
	"time"
)

// Notices has none to tell.
func (*memory) Notices() []Notice { return nil }

// OnNotice has nobody to call.
func (*memory) OnNotice(func()) {}

func TestPauseEndsByItselfAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, newMemory())
		events, err := b.Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		// Several snapshots may wait; the newest counts.
		hear := func() (paused bool) {
			for {
				synctest.Wait()
				select {
				case e := <-events:
					paused = e.Snapshot != nil && e.Snapshot.Paused
				default:
					return paused
				}
			}
		}
		if hear() {
			t.Error("paused from the start")
		}
		if err := b.PauseFor(t.Context(), 15*time.Minute); err != nil {
			t.Fatal(err)
		}
		if pause(time.Second); !hear() {
			t.Error("nobody hears of the pause")
		}
		pause(14*time.Minute + 58*time.Second)
		if !b.Paused() {
			t.Error("it ended early")
		}
		pause(2 * time.Second)
		if b.Paused() {
			t.Error("it did not end")
		}
		if hear() {
			t.Error("nobody hears of its end")
		}
		b.Close()
	})
}

func TestPauseWithoutEndLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, newMemory())
		for _, d := range []time.Duration{0, -time.Second, MaxPause + 1} {
			if b.PauseFor(t.Context(), d) == nil || b.Paused() {
				t.Errorf("a pause of %v was taken", d)
			}
		}
		if err := b.SetPaused(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		pause(48 * time.Hour)
		if !b.Paused() {
			t.Error("it ended by itself")
		}
		if err := b.PauseFor(t.Context(), time.Minute); err != nil || !b.Paused() {
			t.Error("a later pause replaces it: ", err)
		}
		pause(time.Minute)
		if b.Paused() {
			t.Error("the later pause did not end")
		}
		b.Close()
	})
}
