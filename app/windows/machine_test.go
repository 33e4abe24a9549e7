//go:build (cgo || ci) && !nogui

package windows

import (
	"errors"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"

	"breakwater/proxy/control"
)

// login is a start at sign-in in memory.
type login struct {
	on  bool
	err error
}

func (l *login) Enabled() bool { return l.on }

func (l *login) Set(on bool) error {
	if l.err == nil {
		l.on = on
	}
	return l.err
}

func TestStartAtSignInIsSwitched(t *testing.T) {
	b := newBench(t, "busy", pageSettings)
	b.wantHidden("Start at sign-in")
	l := &login{}
	b.options.Autostart = l
	b.redraw()
	b.wantShown("Start at sign-in")
	p := pageOf[*settings](b).general
	p.login.flip()
	if !l.on || !p.login.on {
		t.Error("not switched on")
	}
	l.err = errors.New("the folder is read-only")
	p.login.flip()
	b.wantShown("the folder is read-only")
	if !p.login.on {
		t.Error("the switch does not go back")
	}
}

func TestQuitAsksFirst(t *testing.T) {
	b := newBench(t, "busy", pageSettings)
	b.push("Quit Breakwater…")
	if b.fake.did("quit") {
		t.Fatal("it did not ask")
	}
	b.push("Quit")
	if !b.fake.did("quit") {
		t.Error(b.fake.calls)
	}
}

func TestChartCountsTheLastHour(t *testing.T) {
	b := newBench(t, "busy", "")
	b.wantShown("The last hour", "requests, ")
	p := pageOf[*overview](b)
	before := p.chart.bars[11]
	b.receive(control.Event{Type: control.EventActivity, Activity: &control.Activity{ID: 9000, At: b.clock, Result: "failed"}})
	b.clock = b.clock.Add(time.Second)
	b.redraw()
	if after := p.chart.bars[11]; after.Requests != before.Requests+1 || after.Failed != before.Failed+1 {
		t.Errorf("%+v, then %+v", before, after)
	}
	p.chart.Resize(fyne.NewSize(600, 56))
	p.chart.MouseIn(&desktop.MouseEvent{PointEvent: fyne.PointEvent{Position: fyne.NewPos(599, 5)}})
	if p.chart.under != 11 {
		t.Error("no bar under the pointer:", p.chart.under)
	}
}

func TestBannedConnectionsAreSwitchedOffOnWish(t *testing.T) {
	b := newBench(t, "busy", pageSettings)
	b.wantShown("Switch off what is banned")
	p := pageOf[*settings](b).general
	p.banned.flip()
	if !b.fake.settings.AutoDisableBanned || !p.banned.on {
		t.Error("not switched on")
	}
}
