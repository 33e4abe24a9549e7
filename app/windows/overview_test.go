//go:build (cgo || ci) && !nogui

package windows

import (
	"testing"

	"fyne.io/fyne/v2/test"

	"breakwater/proxy/control"
)

func TestOverviewTellsQuotasServingAndFailures(t *testing.T) {
	b := newBench(t, "busy", "")
	b.wantShown("Claude quotas", "Five hours", "Week, Opus", "Under way: 2 at Anthropic · home. Waiting for a turn: 2.", "Failures of the last hour", "402, quota used up")
	p := pageOf[*overview](b)
	test.Tap(p.fails.rows[0])
	if b.current.key() != pageActivity {
		t.Error("a failure does not lead to its request")
	}
	b.goTo("")
	b.fake.snap.Breakers[3].State = "HALF_OPEN"
	b.sync()
	if s := p.brk.rows[3].cells[2].(*strip); len(s.shown.Parts) != 2 || len(s.shown.Ticks) != 1 {
		t.Errorf("%+v", s.shown)
	}
	calm := newBench(t, "well", "")
	calm.fake.snap.Connections[0].Usage = nil
	calm.activity = nil
	calm.sync()
	calm.redraw()
	calm.wantHidden("Claude quotas")
	calm.wantShown("None. What an upstream refuses or breaks is summed up here")
}

func TestOverviewStaysShortWithManyConnections(t *testing.T) {
	b := newBench(t, "busy", "")
	for range 30 {
		b.fake.snap.Connections = append(b.fake.snap.Connections, control.Connection{ID: "x", Name: "more", State: control.StateServing, Active: true})
	}
	b.sync()
	b.wantShown("27 more connections")
	if n := len(pageOf[*overview](b).conns.rows); n != 10 {
		t.Error(n, "rows")
	}
}
