//go:build (cgo || ci) && !nogui

package windows

import (
	"context"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

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
	made  int
	hint  *text
	body  fyne.CanvasObject

	edit, try, clear *button
	verdict          *verdictLine
	id               string
}

func newConnectionDetail(u *ui, _ *connections) *connectionDetail {
	d := &connectionDetail{u: u, shape: newShape(view.ShapeRing, view.RoleMuted, 16), story: newText("", view.RoleText).bold().wrapped()}
	d.facts = container.New(factsLayout{})
	d.hint = newText(view.T("Choose a connection to see its details."), view.RoleMuted)
	d.edit = newButton(view.T("Edit…"), func() {
		if c, ok := u.connectionByID(d.id); ok {
			u.editDialog(c)
		}
	})
	d.try = newButton(view.T("Test"), func() { d.test(d.id) })
	d.clear = newButton(view.T("Clear cooldown"), func() { u.clearCooldown(d.id) })
	d.verdict = newVerdictLine()
	top := container.New(line{gap: gap, grow: d.story}, d.shape, d.story, d.clear, d.try, d.edit)
	d.body = container.New(stack{10}, top, d.verdict.box, d.facts)
	d.box = newPanel(colorCard, true, radius, container.New(inset{12, 12, 12, gapGroup}, container.NewStack(d.body, d.hint)))
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
	show(d.clear, c.State == control.StateCooling || c.State == control.StateModelLocked)
	facts := view.Facts(*c, now)
	if len(facts) != d.made {
		d.made = len(facts)
		d.facts.Objects = nil
		for range facts {
			d.facts.Objects = append(d.facts.Objects, newCaption("").clipped(), newText("", view.RoleText).clipped())
		}
	}
	for i, f := range facts {
		d.facts.Objects[2*i].(*text).set(f.Label)
		value := d.facts.Objects[2*i+1].(*text)
		if value.style.Monospace != f.Mono {
			value.style.Monospace, value.shown = f.Mono, nil
			value.Refresh()
		}
		value.set(f.Value)
	}
	d.facts.Refresh()
}

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

// factsLayout sets label and value pairs in two columns where there is room.
type factsLayout struct{}

const (
	factLabel  float32 = 108
	factHeight float32 = 22
)

func (factsLayout) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	half := (size.Width - gapGroup) / 2
	for i := 0; i+1 < len(objects); i += 2 {
		n := i / 2
		x, y := float32(n%2)*(half+gapGroup), float32(n/2)*factHeight
		objects[i].Move(fyne.NewPos(x, y))
		objects[i].Resize(fyne.NewSize(factLabel, factHeight))
		objects[i+1].Move(fyne.NewPos(x+factLabel+gap, y))
		objects[i+1].Resize(fyne.NewSize(half-factLabel-gap, factHeight))
	}
}

func (factsLayout) MinSize(objects []fyne.CanvasObject) fyne.Size {
	return fyne.NewSize(400, float32((len(objects)/2+1)/2)*factHeight)
}
