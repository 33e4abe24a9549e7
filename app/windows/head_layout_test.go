//go:build (cgo || ci) && !nogui

package windows

import (
	"testing"

	"fyne.io/fyne/v2"
)

func TestALongLineOfTheHeaderRunsOnBelowTheAction(t *testing.T) {
	b := newBench(t, "well", "settings/resilience")
	line, right := b.frame.line, b.frame.right
	for _, width := range []float32{760, 1600} {
		b.win.Resize(fyne.NewSize(width, 520))
		b.frame.head.Refresh()
		if line.cut() {
			t.Errorf("at %v the line shows as %q", width, line.shown)
		}
		below := line.Position().Y >= right.Position().Y+right.Size().Height
		beside := line.Position().X+line.Size().Width <= right.Position().X
		if !below && !beside {
			t.Errorf("at %v the line at %v overlaps the tabs at %v", width, line.Position(), right.Position())
		}
	}
}

func TestAChoiceStaysInUseWhenTheColoursChange(t *testing.T) {
	b := newBench(t, "well", "settings")
	c := newChoice([]string{"a", "b"}, nil)
	off := newChoice([]string{"a"}, nil)
	off.Disable()
	s := b.fake.settings
	s.Theme = "dark"
	b.useSettings(s)
	c.Refresh()
	off.Refresh()
	if c.Disabled() || !off.Disabled() || c.worn.theme != b.app.Settings().Theme() {
		t.Errorf("in use: %v, switched off: %v, wears %v", !c.Disabled(), off.Disabled(), c.worn)
	}
}
