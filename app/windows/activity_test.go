//go:build (cgo || ci) && !nogui

package windows

import (
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/test"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

func TestActivityTellsTheStoryOfTheChosenRequest(t *testing.T) {
	b := newBench(t, "busy", "activity/3999")
	b.wantShown("Claude · work said 429", "Rate limited after 340 ms, left out until 12:04:05.", "GLM · team plan was passed over",
		"Model locked, until 12:09:00.", "Zen gateway said 502", "Anthropic · home answered", "Finished, and the client never noticed")
	b.goTo("activity/3998")
	b.wantShown("Breakwater refused it with 429", "Switched off.")
	b.wantHidden("Zen gateway said 502")
}

func TestTroubleFilterLeavesOutWhatWentWell(t *testing.T) {
	b := newBench(t, "busy", pageActivity)
	p := pageOf[*activity](b)
	all := len(p.rows)
	p.which.choose(1)
	if len(p.rows) != 5 || all <= 5 {
		t.Errorf("%d of %d rows", len(p.rows), all)
	}
	b.activity, b.fake.rows = nil, nil
	b.redraw()
	b.wantShown("No trouble")
}

func TestNewRequestsComeToTheTopAndTheChoiceStays(t *testing.T) {
	b := newBench(t, "busy", "activity/3999")
	a := b.activity[0]
	a.ID, a.Model = 5000, "claude-opus-5"
	b.clock = b.clock.Add(drawHurry)
	b.receive(control.Event{Type: control.EventActivity, Activity: &a})
	p := pageOf[*activity](b)
	if p.rows[0].ID != 5000 || p.chosen != 3999 {
		t.Errorf("first %d, chosen %d", p.rows[0].ID, p.chosen)
	}
	b.wantShown("Zen gateway said 502")
}

func TestOlderRequestsAreAskedForOnce(t *testing.T) {
	b := newBench(t, "busy", pageActivity)
	p := pageOf[*activity](b)
	old := b.activity[len(b.activity)-1]
	for i := range int64(30) {
		a := old
		a.ID = old.ID - 1 - i
		b.fake.rows = append(b.fake.rows, a)
	}
	p.whole = false
	p.older()
	if n := len(b.activity); n != 76 || !p.whole {
		t.Errorf("%d rows, whole %v", n, p.whole)
	}
}

func TestSettingsAreStoredAtOnce(t *testing.T) {
	b := newBench(t, "busy", pageSettings)
	p := pageOf[*settings](b).general
	test.Tap(p.notices.all)
	if b.fake.settings.Notifications {
		t.Error("notifications are still on")
	}
	p.limit.entry.SetText("none")
	p.limit.entry.OnSubmitted("none")
	b.wantShown("A whole number, 1 or more.")
	p.limit.entry.SetText("5000")
	b.push("Save")
	if b.fake.settings.ActivityLimit != 5000 || p.limit.save.Visible() {
		t.Error(b.fake.settings.ActivityLimit, "or Save stays")
	}
	b.fake.refuse = control.Invalid("allowedOrigins", "must be an origin such as http://localhost:5173")
	p.origins.entry.SetText("localhost")
	b.push("Save")
	b.wantShown("Must be an origin such as http://localhost:5173.")
	p.origins.entry.SetText("http://localhost:5173, http://localhost:3000")
	b.push("Save")
	if got := b.fake.settings.AllowedOrigins; len(got) != 2 {
		t.Error(got)
	}
}

func TestTypingIsNotOverwrittenByTheStoredValue(t *testing.T) {
	b := newBench(t, "busy", pageSettings)
	p := pageOf[*settings](b).general
	p.limit.entry.SetText("77")
	b.redraw()
	if p.limit.entry.Text != "77" || !p.limit.save.Visible() {
		t.Errorf("%q", p.limit.entry.Text)
	}
}

func TestLanguageChangesTheWholeWindow(t *testing.T) {
	b := newBench(t, "busy", pageSettings)
	t.Cleanup(func() { b.useLanguage("en") })
	pageOf[*settings](b).general.language.SetSelected("Español")
	if b.fake.settings.Language != "es" || b.current.key() != pageSettings {
		t.Error(b.fake.settings.Language, b.current.key())
	}
}

func TestDemoSetsFaultsAndClock(t *testing.T) {
	b := newBench(t, "demo", pageDemo)
	p := b.current.(*demo)
	b.wantShown("Demo harbour", "cooling, 47 s", "Retry-After, seconds")
	f := p.panels[1]
	f.kind.SetSelected("Overloaded (529)")
	if !b.fake.did("fault d2 overloaded 0 0") {
		t.Error(b.fake.calls)
	}
	f = p.panels[0]
	f.after.SetText("90")
	f.count.SetText("3")
	f.after.OnSubmitted("90")
	if !b.fake.did("fault d1 rate_limit 90 3") {
		t.Error(b.fake.calls)
	}
	f.kind.SetSelected("Healthy")
	if !b.fake.did("fault d1 none 0 3") {
		t.Error(b.fake.calls)
	}
	p.speed.choose(2)
	b.push("Advance 1 minute")
	if b.fake.demo.Speed != 60 || !b.fake.did("advance 60000") {
		t.Error(b.fake.demo.Speed, b.fake.calls)
	}
}

func TestSegmentsChooseByArrowAndByPointer(t *testing.T) {
	test.NewTempApp(t).Settings().SetTheme(newLook("light"))
	got := -1
	s := newSegments([]string{"one", "two", "three"}, 0, func(at int) { got = at })
	s.Resize(s.MinSize())
	s.TypedKey(&fyne.KeyEvent{Name: fyne.KeyRight})
	if got != 1 {
		t.Error(got)
	}
	test.TapAt(s, fyne.NewPos(s.MinSize().Width-4, 10))
	if got != 2 {
		t.Error(got)
	}
	s.TypedKey(&fyne.KeyEvent{Name: fyne.KeyRight})
	if got != 2 {
		t.Error("there is no fourth")
	}
}

func TestCopyLinePutsItInTheClipboard(t *testing.T) {
	b := newBench(t, "busy", "")
	o := b.current.(*overview)
	test.Tap(o.setup.endpoint.icon)
	if got := b.app.Clipboard().Content(); got != "http://127.0.0.1:7411" {
		t.Errorf("%q", got)
	}
}

func TestShapesLookAsDrawn(t *testing.T) {
	a := test.NewTempApp(t)
	a.Settings().SetTheme(newLook("light"))
	var objects []fyne.CanvasObject
	for i, s := range []control.State{
		control.StateServing, control.StateDegraded, control.StateCooling, control.StateModelLocked, control.StateOpen,
		control.StateProbing, control.StateBanned, control.StateOff,
	} {
		shape, role := view.StateShape(s)
		b := newShape(shape, role, 24)
		b.Resize(fyne.NewSquareSize(24))
		b.Move(fyne.NewPos(float32(4+i*28), 4))
		objects = append(objects, b)
	}
	w := test.NewTempWindow(t, newPanel(colorCard, false, 0, container.NewWithoutLayout(objects...)))
	w.SetPadded(false)
	w.Resize(fyne.NewSize(232, 32))
	test.AssertImageMatches(t, "shapes.png", w.Canvas().Capture())
}
