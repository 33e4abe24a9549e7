//go:build (cgo || ci) && !nogui

package windows

import (
	"context"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/theme"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// connectionDetail tells more about the chosen connection, below the table.
type connectionDetail struct {
	u     *ui
	box   fyne.CanvasObject
	shape *glyph
	story *text
	facts *fyne.Container
	lay   *factsLayout
	made  int
	hint  *text
	body  fyne.CanvasObject

	edit, try, clear *button
	verdict          *verdictLine
	claude           *claudeBox
	rule             fyne.CanvasObject // above the Claude section
	content          *fyne.Container
	id               string
}

func newConnectionDetail(u *ui, _ *connections) *connectionDetail {
	d := &connectionDetail{u: u, shape: newShape(view.ShapeRing, view.RoleMuted, 16), story: newText("", view.RoleText).bold().wrapped()}
	d.lay = &factsLayout{}
	d.facts = container.New(d.lay)
	d.hint = newText(view.T("Choose a connection to see its details."), view.RoleMuted)
	d.edit = newButton(view.T("Edit…"), func() {
		if c, ok := u.connectionByID(d.id); ok {
			u.editDialog(c)
		}
	})
	d.try = newButton(view.T("Test"), func() { d.test(d.id) })
	d.clear = newButton(view.T("Clear cooldown"), func() { u.clearCooldown(d.id) })
	d.verdict = newVerdictLine()
	provider := newLink(view.T("Provider"), func() {
		if c, ok := u.connectionByID(d.id); ok {
			u.goToProvider(c.Provider)
		}
	})
	top := container.New(line{gap: gap, grow: d.story}, d.shape, d.story, provider, d.clear, d.try, d.edit)
	d.claude = newClaudeBox(u, false)
	d.rule = container.New(sized{height: 1}, newPanel(theme.ColorNameSeparator, false, 0, container.NewStack()))
	d.body = container.New(stack{10}, top, d.verdict.box, d.facts, d.rule, d.claude.box)
	d.content = container.New(inset{12, 12, 12, gapGroup}, container.NewStack(d.body, d.hint))
	d.box = newPanel(colorCard, true, radius, container.NewVScroll(d.content))
	return d
}

// forget drops the verdict of another connection's test.
func (d *connectionDetail) forget() { d.verdict.hide() }

func (d *connectionDetail) apply(c *control.Connection) {
	show(d.hint, c == nil)
	show(d.body, c != nil)
	if c == nil {
		d.id = ""
		return
	}
	d.id = c.ID
	now := d.u.now()
	d.shape.show(view.StateShape(c.State))
	d.story.set(view.Story(*c, now))
	show(d.clear, view.Clearable(c, now))
	facts := view.Facts(*c, now)
	if len(facts) != d.made {
		d.made = len(facts)
		d.facts.Objects = nil
		for range facts {
			d.facts.Objects = append(d.facts.Objects, newCaption("").clipped(), newText("", view.RoleText).clipped())
		}
	}
	d.lay.wide = make([]bool, len(facts))
	for i, f := range facts {
		d.lay.wide[i] = f.Wide
		d.facts.Objects[2*i].(*text).set(f.Label)
		value := d.facts.Objects[2*i+1].(*text)
		if value.style.Monospace != f.Mono {
			value.style.Monospace, value.shown = f.Mono, nil
			value.Refresh()
		}
		value.set(f.Value)
	}
	d.facts.Refresh()
	show(d.rule, c.Claude)
	show(d.claude.box, c.Claude)
	if c.Claude {
		d.claude.show(c, false)
	}
	d.box.Refresh()
}

// room is the height that shows everything.
func (d *connectionDetail) room() float32 { return d.content.MinSize().Height }

// docked sets a pane below a table, as high as it needs; a few rows of the
// table always show, and what does not fit below them scrolls.
type docked struct{ room func() float32 }

// fewRows is the height of a table's head and three rows of two lines.
const fewRows float32 = 186

// Layout places what is above and the pane.
func (d docked) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	objects[1].Resize(fyne.NewSize(size.Width, objects[1].Size().Height)) // wrapped texts find their height from the width
	h := min(d.room(), max(size.Height/2, size.Height-fewRows-12))
	objects[0].Move(fyne.Position{})
	objects[0].Resize(fyne.NewSize(size.Width, size.Height-h-12))
	objects[1].Move(fyne.NewPos(0, size.Height-h))
	objects[1].Resize(fyne.NewSize(size.Width, h))
}

// MinSize leaves a few rows and lines.
func (d docked) MinSize([]fyne.CanvasObject) fyne.Size { return fyne.NewSize(400, 240) }

// test asks the provider and shows the verdict.
func (d *connectionDetail) test(id string) {
	d.verdict.busy()
	call(d.u, func(ctx context.Context) (control.TestResult, error) { return d.u.facade.TestConnection(ctx, id) },
		func(r control.TestResult) {
			if d.id == id {
				d.verdict.show(view.NewVerdict(r))
			}
		},
		func(err error) {
			d.verdict.hide()
			d.u.frame.say(problem(err))
		})
}

// verdictLine says what a connection test found.
type verdictLine struct {
	box   *fyne.Container
	shape *glyph
	label *text
}

func newVerdictLine() *verdictLine {
	v := &verdictLine{shape: newShape(view.ShapeDotted, view.RolePrimary, 16), label: newText("", view.RoleText).wrapped()}
	v.box = container.New(line{gap: gap, grow: v.label}, v.shape, v.label)
	v.box.Hide()
	return v
}

func (v *verdictLine) busy() {
	v.show(view.Verdict{Shape: view.ShapeDotted, Role: view.RolePrimary, Text: view.T("Asking the provider…")})
}

func (v *verdictLine) show(w view.Verdict) {
	v.shape.show(w.Shape, w.Role)
	v.label.show(w.Text, view.RoleText)
	v.box.Show()
	v.box.Refresh()
}

func (v *verdictLine) hide() { v.box.Hide() }

// factsLayout sets label and value pairs in two columns; a wide pair has a line
// of its own.
type factsLayout struct{ wide []bool }

const (
	factLabel  float32 = 64  // the least width of the labels at the left
	factMost   float32 = 132 // and of any
	factHeight float32 = 22
)

// label is the width that a column's labels take.
func (l *factsLayout) label(objects []fyne.CanvasObject, at [][2]int, column int) float32 {
	width := float32(0)
	for i, p := range at {
		if t, ok := objects[2*i].(*text); ok && p[1] == column {
			width = max(width, t.measure(t.content).Width)
		}
	}
	if column == 0 {
		width = max(width, factLabel)
	}
	return min(width+gap, factMost)
}

// places returns the line and the column of each pair, and how many lines there
// are.
func (l *factsLayout) places(pairs int) (at [][2]int, lines int) {
	column := 0
	for i := range pairs {
		wide := i < len(l.wide) && l.wide[i]
		if wide && column == 1 {
			lines, column = lines+1, 0
		}
		at = append(at, [2]int{lines, column})
		if column++; wide || column == 2 {
			lines, column = lines+1, 0
		}
	}
	return at, lines + column
}

// Layout places the pairs.
func (l *factsLayout) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	half := (size.Width - gapGroup) / 2
	at, _ := l.places(len(objects) / 2)
	labels := [2]float32{l.label(objects, at, 0), l.label(objects, at, 1)}
	for i, p := range at {
		label := labels[p[1]]
		x, y, width := float32(p[1])*(half+gapGroup), float32(p[0])*factHeight, half
		if i < len(l.wide) && l.wide[i] {
			width = size.Width
		}
		objects[2*i].Move(fyne.NewPos(x, y))
		objects[2*i].Resize(fyne.NewSize(label, factHeight))
		objects[2*i+1].Move(fyne.NewPos(x+label+gap, y))
		objects[2*i+1].Resize(fyne.NewSize(width-label-gap, factHeight))
	}
}

// MinSize is the height of all lines.
func (l *factsLayout) MinSize(objects []fyne.CanvasObject) fyne.Size {
	_, lines := l.places(len(objects) / 2)
	return fyne.NewSize(400, float32(lines)*factHeight)
}
