//go:build (cgo || ci) && !nogui

package windows

import (
	"testing"
	"time"

	"fyne.io/fyne/v2"

	"breakwater/proxy/control"
)

func TestLeasesAreListedAndEnded(t *testing.T) {
	b := newBench(t, "busy", "settings/leases")
	b.win.Resize(fyne.NewSize(1000, 680))
	b.wantShown("2 connections are held exclusively.", "Anthropic · home", "night build", "owner 3fa94c01", "in 40 s", "a key that is gone", "until 14:00")
	if !counting(b.ui, b.now()) {
		t.Error("the time that is left does not count down")
	}
	p := pageOf[*settings](b).leases
	p.list.TypedKey(&fyne.KeyEvent{Name: fyne.KeyDelete})
	b.wantShown("End the lease of Anthropic · home?")
	b.push("End")
	if !b.fake.did("end lease l1") {
		t.Error(b.fake.calls)
	}
	b.wantShown("One connection is held exclusively.")
	b.fake.leases = nil
	b.fake.snap.Connections[1].LeasedUntil = control.RealTime(noon.Add(time.Minute))
	b.sync() // the snapshot tells of another holder
	b.redraw()
	b.wantShown("Nobody holds a connection", "No connection is held exclusively.")
	if counting(b.ui, b.now()) {
		t.Error("nothing counts down")
	}
}

func TestNetworkTellsWaysInAndOut(t *testing.T) {
	b := newBench(t, "busy", "settings/network")
	b.wantShown("127.0.0.1:7411   [::1]:7411", "ssh -N -L 7411:127.0.0.1:7411 user@host", "breakwater --port 7412", "api.z.ai", "203.0.113.7", "not known yet")
	b.fields()[0].SetText("https://ip.example/")
	b.push("Save")
	if b.fake.settings.EgressProbeURL != "https://ip.example/" {
		t.Error(b.fake.settings)
	}
	b.fake.refuse = control.Invalid("claudeBaseUrl", "must be a URL")
	b.fields()[1].SetText("nonsense")
	b.push("Save")
	b.wantShown("Must be a URL.")
}
