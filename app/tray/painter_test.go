package tray

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"breakwater/app/tray/menu"
	"breakwater/proxy/control"
)

// paper is a surface that notes what is painted and when.
type paper struct {
	start time.Time
	notes []string
	items []menu.Item
}

func (p *paper) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf("%v ", time.Since(p.start).Truncate(time.Millisecond))+fmt.Sprintf(format, args...))
}

func (p *paper) icon(h control.Health) { p.note("icon %s", h) }
func (p *paper) tooltip(text string)   { p.note("tooltip %s", text) }
func (p *paper) build(items []menu.Item) {
	p.items = items
	p.note("build %d", len(items))
}

func (p *paper) update(old, now []menu.Item) {
	if menu.Shape(old) != menu.Shape(now) || menu.Fingerprint(old) != menu.Fingerprint(p.items) {
		panic("update from something that is not on the paper")
	}
	p.items = now
	p.note("update %s", now[2].Label)
}

// painting runs a painter in a bubble and returns its paper after do.
func painting(t *testing.T, do func(updates chan<- control.Snapshot)) []string {
	t.Helper()
	var notes []string
	synctest.Test(t, func(t *testing.T) {
		p := &paper{start: time.Now()}
		painter := painter{surface: p, loc: time.UTC}
		painter.start()
		updates := make(chan control.Snapshot, 1)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			painter.loop(ctx, updates)
		}()
		do(updates)
		synctest.Wait()
		stop()
		<-done
		notes = p.notes
	})
	return notes
}

func snapshot(h control.Health, state control.State, until *time.Time) control.Snapshot {
	return control.Snapshot{
		Health: h, Endpoint: "http://127.0.0.1:7411",
		Connections: []control.Connection{{ID: "a", Provider: "p", ProviderName: "P", Name: "a", Active: true, State: state, Until: until}},
	}
}

// wait lets the bubble's time pass; no real time does.
func wait(d time.Duration) { <-time.After(d) }

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("painted\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestPainterDrawsOnlyWhatChanged(t *testing.T) {
	well := snapshot(control.HealthWell, control.StateServing, nil)
	notes := painting(t, func(updates chan<- control.Snapshot) {
		updates <- well
		wait(time.Second)
		busy := well
		busy.Seq = 7 // counters move, nothing to be seen does
		updates <- busy
		wait(time.Second)
		updates <- snapshot(control.HealthDegraded, control.StateDegraded, nil)
		wait(time.Hour)
	})
	expect(t, notes,
		"0s icon down", "0s build 3",
		"0s icon well", "0s build 9", "0s tooltip Breakwater · 1 of 1 connections serving",
		"2s icon degraded", "2s update ◐  P · a — degraded")
}

func TestPainterDrawsAtMostOnceASecond(t *testing.T) {
	states := []control.State{control.StateServing, control.StateDegraded, control.StateProbing}
	notes := painting(t, func(updates chan<- control.Snapshot) {
		for n := range 100 {
			updates <- snapshot(control.HealthWell, states[n%3], nil)
			wait(10 * time.Millisecond)
		}
		updates <- snapshot(control.HealthWell, control.StateExpired, nil)
		wait(time.Hour)
	})
	draws := 0
	for _, n := range notes {
		if strings.Contains(n, "update") {
			draws++
		}
	}
	if draws > 3 {
		t.Errorf("%d updates in one second:\n%s", draws, strings.Join(notes, "\n"))
	}
	if last := notes[len(notes)-1]; !strings.Contains(strings.Join(notes, "\n"), "P · a — expired") {
		t.Errorf("the newest state was lost, last is %q", last)
	}
}

func TestPainterCountsDownByMinutesAndThenSleeps(t *testing.T) {
	notes := painting(t, func(updates chan<- control.Snapshot) {
		until := time.Now().Add(2*time.Minute + 30*time.Second)
		updates <- snapshot(control.HealthTrouble, control.StateCooling, &until)
		wait(24 * time.Hour)
	})
	expect(t, notes[4:],
		"0s tooltip Breakwater · 0 of 1 connections serving, next in 3 min",
		"30s update ◔  P · a — cooling 2 min",
		"30s tooltip Breakwater · 0 of 1 connections serving, next in 2 min",
		"1m30s update ◔  P · a — cooling 1 min",
		"1m30s tooltip Breakwater · 0 of 1 connections serving, next in 1 min",
		"2m30s update ◔  P · a — cooling",
		"2m30s tooltip Breakwater · 0 of 1 connections serving")
}

func TestPainterShowsAnUnknownHealthAsDown(t *testing.T) {
	notes := painting(t, func(updates chan<- control.Snapshot) {
		updates <- snapshot(control.HealthWell, control.StateServing, nil)
		wait(time.Second)
		updates <- snapshot("odd", control.StateServing, nil)
		wait(time.Second)
	})
	if last := notes[len(notes)-1]; last != "1s icon down" {
		t.Errorf("%q", last)
	}
}

func TestPainterEndsWithItsUpdates(t *testing.T) {
	painting(t, func(updates chan<- control.Snapshot) { close(updates) })
}
