//go:build (cgo || ci) && !nogui

package windows

import (
	"context"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"breakwater/app/windows/view"
)

// stepLines shows how far the three steps of the first run have come.
type stepLines struct {
	box   fyne.CanvasObject
	marks [3]*glyph
	lines [3][2]*text
}

func newStepLines() *stepLines {
	s := &stepLines{}
	var rows []fyne.CanvasObject
	for i := range s.marks {
		s.marks[i] = newShape(view.ShapeRing, view.RoleMuted, 18)
		name, more := newText("", view.RoleText), newText("", view.RoleMuted).clipped()
		s.lines[i] = [2]*text{name, more}
		rows = append(rows, container.New(line{gap: gap, grow: more}, s.marks[i], name, more))
	}
	s.box = container.New(stack{gap}, rows...)
	return s
}

func (s *stepLines) apply(steps [3]view.FirstStep) {
	for i, step := range steps {
		s.marks[i].show(step.Mark())
		s.lines[i][0].set(step.Title)
		s.lines[i][1].set(step.Line)
	}
}

// firstSteps is the card that stays on the overview until a first request was
// answered. Once it was, the card says so with a check until it is dismissed;
// a window that finds an answer from before does not show it at all.
type firstSteps struct {
	u     *ui
	box   fyne.CanvasObject
	lines *stepLines
	send  *button
	done  *button
	wait  bool // for an answer to a test request
}

// stepsSeen is what the card keeps while the window stands, also when the pages
// are made anew in another language.
type stepsSeen struct {
	shown bool // before the first answer
	gone  bool // dismissed
}

func newFirstSteps(u *ui) *firstSteps {
	f := &firstSteps{u: u, lines: newStepLines()}
	f.send = newButton(view.T("Send a test request"), f.ask)
	f.done = newButton(view.T("Done"), func() { u.steps.gone = true; u.redraw() })
	f.box = card(view.T("First steps"), container.New(line{gap: gap}, f.send, f.done), f.lines.box)
	f.box.Hide()
	return f
}

func (f *firstSteps) apply() {
	answered := view.Answered(f.u.activity)
	seen := &f.u.steps
	seen.shown = seen.shown || f.u.past && !answered
	show(f.box, seen.shown && !seen.gone)
	if !seen.shown || seen.gone {
		return
	}
	_, _, can := view.TestRequest(f.u.snap, f.u.providers)
	can = can && f.u.options.Ask != nil
	f.lines.apply(view.FirstSteps(f.u.snap, f.u.activity, can))
	show(f.send, !answered && can)
	show(f.done, answered)
	f.send.enable(!f.wait)
}

// ask sends the test request; its row of activity is what ticks the last step.
func (f *firstSteps) ask() {
	dialect, model, ok := view.TestRequest(f.u.snap, f.u.providers)
	if !ok || f.wait {
		return
	}
	f.wait = true
	f.apply()
	call(f.u, func(ctx context.Context) (struct{}, error) { return struct{}{}, f.u.options.Ask(ctx, dialect, model) },
		func(struct{}) { f.wait = false; f.u.redraw() },
		func(err error) {
			f.wait = false
			f.u.redraw()
			f.u.frame.say(view.Tf("The test request failed: %s", err))
		})
}
