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

func TestNetworkListsWaysOutAndTakesAuthorities(t *testing.T) {
	b := newBench(t, "busy", "settings/network")
	b.fake.snap.Connections[0].ProxyURL = "socks5://proxy.example:1080"
	b.fake.snap.Connections[1].ProxyURL = control.DirectProxy
	b.sync()
	b.redraw()
	b.wantShown("proxy.example:1080", "directly", "as the environment says")
	b.wantHidden("Read it again")
	b.fake.refuse = control.Invalid("caFile", "there is no such file")
	b.fields()[2].SetText("/etc/missing.pem")
	b.push("Save")
	b.wantShown("There is no such file.")
	b.fake.refuse = nil
	b.fields()[2].SetText("/etc/office.pem")
	b.push("Save")
	if b.fake.settings.CAFile != "/etc/office.pem" {
		t.Error(b.fake.settings)
	}
	b.push("Read it again")
}

func TestTheWayOutIsEdited(t *testing.T) {
	b := newBench(t, "busy", "connections/c2")
	c, _ := b.connectionByID("c2")
	c.ProxyURL, c.HasProxyLogin = "http://proxy.example:3128", true
	b.editDialog(c)
	b.wantShown("Way out", "A user name and a password for it are stored. They stay as long as the address does.")
	var address *field
	for _, f := range b.fields() {
		if f.Text == c.ProxyURL {
			address = f
		}
	}
	if address == nil {
		t.Fatal("no field holds the address")
	}
	address.SetText("ftp://proxy.example")
	b.fake.refuse = control.Invalid("proxyUrl", "must be direct")
	b.push("Save")
	b.wantShown("Must be direct.")
	if b.win.Canvas().Focused() != address {
		t.Error("the refused field has not the focus")
	}
	b.fake.refuse = nil
	address.SetText("http://me:word@proxy.example:3129")
	b.push("Save")
	if p := b.fake.patches[1]; p.ProxyURL == nil || *p.ProxyURL != "http://me:word@proxy.example:3129" {
		t.Errorf("%+v", p)
	}
}
