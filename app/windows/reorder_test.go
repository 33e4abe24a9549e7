//go:build (cgo || ci) && !nogui

package windows

import (
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"

	"breakwater/app/windows/view"
)

func TestConnectionsAreReorderedByDragAndByKeyboard(t *testing.T) {
	b := newBench(t, "busy", pageConnections)
	b.win.Resize(fyne.NewSize(1000, 680))
	p := b.connectionsPage()
	drag := func(id string, by ...float32) {
		r := b.line(id)
		for _, y := range by {
			r.Dragged(&fyne.DragEvent{Dragged: fyne.NewDelta(0, y)})
		}
	}
	drop := func(id string) { b.line(id).DragEnd() } // the list may have filled another row meanwhile
	drag("c1", 40, 60)
	if p.order.mark.Hidden || p.order.to() != 2 {
		t.Error("no mark, or at", p.order.to())
	}
	drop("c1")
	if !b.fake.did("order [c2 c3 c1 c4 c5 c6 c7]") || !p.order.mark.Hidden {
		t.Error(b.fake.calls)
	}
	b.sync()
	n := len(b.fake.calls)
	drag("c2", 10)
	drop("c2")
	if len(b.fake.calls) != n {
		t.Error("a row that came back to its place was moved")
	}
	drag("c7", -4000)
	drop("c7")
	b.sync()
	if p.rows[0].ID != "c7" || p.chosen != "c7" {
		t.Error(p.rows[0].ID, p.chosen)
	}
	alt := func(key fyne.KeyName) {
		p.list.TypedShortcut(&desktop.CustomShortcut{KeyName: key, Modifier: fyne.KeyModifierAlt})
		b.sync()
	}
	alt(fyne.KeyDown)
	if p.rows[1].ID != "c7" {
		t.Error("Alt and Down:", p.rows)
	}
	alt(fyne.KeyEnd)
	alt(fyne.KeyDown)
	if p.rows[6].ID != "c7" {
		t.Error("Alt and End:", p.rows)
	}
	n = len(b.fake.calls)
	p.sort(string(view.ByName))
	drag("c1", 200)
	drop("c1")
	alt(fyne.KeyUp)
	if len(b.fake.calls) != n {
		t.Error("rows that are sorted by name were moved")
	}
}
