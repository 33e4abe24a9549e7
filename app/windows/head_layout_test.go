//go:build (cgo || ci) && !nogui

package windows

import (
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/theme"
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

func TestTheTabsOfTheSettingsStayWhereTheyAre(t *testing.T) {
	b := newBench(t, "well", "settings/general")
	b.win.Resize(fyne.NewSize(1000, 680))
	at := func(section string) fyne.Position {
		b.goTo("settings/" + section)
		b.frame.head.Refresh()
		return b.frame.right.Position()
	}
	if general, resilience := at(sectionGeneral), at(sectionResilience); general != resilience {
		t.Errorf("the tabs move from %v to %v", general, resilience)
	}
}

func TestRowsTakeNewColours(t *testing.T) {
	b := newBench(t, "busy", pageCooldowns)
	b.win.Canvas().Capture()
	s := b.fake.settings
	s.Theme = "dark"
	b.goTo(pageOverview)
	b.useSettings(s)
	b.goTo(pageCooldowns)
	seen := 0
	walk(b.top(), func(o fyne.CanvasObject) bool {
		if x, ok := o.(*tick); ok {
			seen++
			if r := test.WidgetRenderer(x).(*tickRenderer); r.box.FillColor != paint(theme.ColorNameInputBackground) {
				t.Errorf("a box is drawn in %v", r.box.FillColor)
			}
		}
		return false
	})
	if seen == 0 {
		t.Error("there is no box to tick")
	}
}

func TestSentencesBeginWithACapitalWhereLettersHaveOne(t *testing.T) {
	for in, want := range map[string]string{"": "", "must be a number": "Must be a number.", "última hora.": "Última hora.", "उघडेपर्यंत": "उघडेपर्यंत."} {
		if got := sentenceCase(in); got != want {
			t.Errorf("%q became %q", in, got)
		}
	}
}
