//go:build (cgo || ci) && !nogui

package windows

import (
	"testing"

	"fyne.io/fyne/v2"

	"breakwater/proxy/control"
)

func TestClaudeSectionShowsAndActs(t *testing.T) {
	b := newBench(t, "busy", "connections/c1")
	b.wantShown("In the lane since 11:18, until 13:20 at the latest.", "Served there: 12, at normal speed: 3. Waiting for a slot: 2. 18 % of its allowance used.",
		"Last tried at 11:20: it is too early for another.", "Resets left: 1.", "Five hours", "100 %", "Week, Opus", "83 %", "anew Sat 07:00",
		"Paid extra usage is on: 25 % of this month's limit used.")
	b.push("Leave the lane")
	b.wantShown("The lane is left.")
	b.push("Check for a reset")
	if !b.fake.did("leave lane c1") || !b.fake.did("check reset c1") || !b.fake.did("usage c1") {
		t.Error(b.fake.calls)
	}
	box := b.connectionsPage().detail.claude
	box.lane.toggle.flip()
	box.reset.toggle.flip()
	if n := len(b.fake.patches); n != 2 || *b.fake.patches[0].LowPriorityMode || *b.fake.patches[1].AutoLimitReset {
		t.Errorf("%+v", b.fake.patches)
	}
	b.fake.refuse = control.ErrNotFound
	box.lane.toggle.flip()
	if box.lane.toggle.on {
		t.Error("a refused switch does not go back")
	}
	b.goTo("connections/c2")
	b.wantHidden("Automatic limit reset", "Week, Opus")
}

func TestClaudeSectionOfTheEditorWaitsForSave(t *testing.T) {
	b := newBench(t, "busy", "connections/c1")
	c, _ := b.connectionByID("c1")
	b.editDialog(c)
	b.wantShown("In the lane since 11:18", "Week, Opus")
	walk(b.top(), func(o fyne.CanvasObject) bool {
		if x, ok := o.(*keyToggle); ok && x.on {
			x.flip() // the lane's
			return true
		}
		return false
	})
	if len(b.fake.patches) != 0 {
		t.Fatal("it was changed before Save")
	}
	b.push("Save")
	if p := b.fake.patches[0]; p.LowPriorityMode == nil || *p.LowPriorityMode || p.AutoLimitReset != nil {
		t.Errorf("%+v", p)
	}
	b.addDialog("claude", nil)
	b.wantShown("At the usage limit, requests wait for a slow slot")
	b.wantHidden("Ready.", "Leave the lane", "Nothing is known of its quota windows")
}
