//go:build (cgo || ci) && !nogui

package windows

import (
	"encoding/json"
	"errors"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// knobCard shows a card of knobs. Save and Cancel wake up when something was
// changed; a value of the user's own can be taken back one by one.
type knobCard struct {
	u      *ui
	card   view.KnobCard
	values view.KnobValues
	known  bool
	cells  []*knobCell
	save   *button
	cancel *button
	box    fyne.CanvasObject
	send   func(patch json.RawMessage, fail func(error))
}

func newKnobCard(u *ui, c view.KnobCard, send func(json.RawMessage, func(error))) *knobCard {
	k := &knobCard{u: u, card: c, send: send}
	k.save, k.cancel = newPrimary(view.T("Save"), k.store), newButton(view.T("Cancel"), k.reset)
	k.save.Hide()
	k.cancel.Hide()
	title := newText(c.Title, view.RoleText).bold().clipped()
	head := container.New(sized{height: buttonHeight}, container.New(line{gap: gap, grow: title}, title, k.cancel, k.save))
	objects := []fyne.CanvasObject{head, newText(c.About, view.RoleMuted).wrapped()}
	if len(c.Columns) > 0 {
		titles := []fyne.CanvasObject{newText("", view.RoleMuted)}
		for _, t := range c.Columns {
			titles = append(titles, newCaption(t).clipped())
		}
		objects = append(objects, container.New(inset{8, 0, 0, 0}, container.New(knobLayout{}, titles...)))
	}
	for _, r := range c.Rows {
		words := container.New(stack{2}, newText(r.Label, view.RoleText).wrapped())
		if r.Note != "" {
			words.Add(newCaption(r.Note).wrapped())
		}
		cells := []fyne.CanvasObject{words}
		for _, knob := range r.Knobs {
			cell := newKnobCell(k, knob)
			k.cells = append(k.cells, cell)
			cells = append(cells, cell.box)
		}
		objects = append(objects, container.New(inset{6, 0, 0, 0}, container.New(knobLayout{}, cells...)))
	}
	k.box = newPanel(colorCard, true, radius, container.New(inset{8, gapGroup, 14, gapGroup}, container.New(stack{gapSmall}, objects...)))
	return k
}

// take shows the values in force, except where something else is being typed.
func (k *knobCard) take(v view.KnobValues) {
	k.values, k.known = v, true
	for _, c := range k.cells {
		c.take(v)
	}
	k.awake()
}

// awake shows Save and Cancel while there is something to save.
func (k *knobCard) awake() {
	dirty := false
	for _, c := range k.cells {
		dirty = dirty || c.known && c.shown() != c.stored
	}
	if k.save.Visible() != (dirty && k.known) {
		show(k.save, dirty && k.known)
		show(k.cancel, dirty && k.known)
		k.box.Refresh()
	}
}

func (k *knobCard) reset() {
	for _, c := range k.cells {
		c.set(c.stored)
		c.wrong("")
	}
	k.awake()
}

// store sends what was changed.
func (k *knobCard) store() {
	shown := map[string]string{}
	for _, c := range k.cells {
		shown[c.knob.Path] = c.shown()
		c.wrong("")
	}
	patch, errs := k.card.Patch(k.values, shown)
	if len(errs) > 0 {
		k.refuse(errs)
		return
	}
	if patch == nil {
		k.reset() // what was typed reads the same
		return
	}
	k.save.enable(false)
	k.send(patch, k.failed)
}

// failed shows a refusal beside its fields, or in the window.
func (k *knobCard) failed(err error) {
	k.save.enable(true)
	var invalid *control.InvalidError
	if errors.As(err, &invalid) && k.refuse(invalid.Fields) {
		return
	}
	k.u.frame.say(problem(err))
}

// refuse shows errors beside their fields and reports whether all have one
// here; the first takes the focus.
func (k *knobCard) refuse(errs []control.FieldError) bool {
	all, first := true, true
	for _, e := range errs {
		found := false
		for _, c := range k.cells {
			if c.knob.Path != e.Field {
				continue
			}
			found = true
			c.wrong(sentenceCase(e.Message))
			if f := c.focus(); first && f != nil {
				k.u.win.Canvas().Focus(f)
				first = false
			}
		}
		all = all && found
	}
	return all
}

// saved ends a save of a patch that went well; what it does not touch may still
// be under way.
func (k *knobCard) saved(v view.KnobValues, patch json.RawMessage) {
	k.save.enable(true)
	for _, c := range k.cells {
		if view.Touches(patch, c.knob.Path) {
			c.stored = c.shown()
			c.wrong("")
		}
	}
	k.take(v)
}

// knobCell is the control of one knob with where its value comes from.
type knobCell struct {
	card   *knobCard
	knob   view.Knob
	entry  *field
	onOff  *keyToggle
	tri    *choice
	pick   *choice
	note   *text
	back   *keyIcon
	box    *fyne.Container
	known  bool // stored is a value that came
	stored string
	origin string
}

func triWords() []string { return []string{view.T("Automatic"), view.T("Always"), view.T("Never")} }

var triValues = []string{"", "true", "false"}

func newKnobCell(card *knobCard, k view.Knob) *knobCell {
	c := &knobCell{card: card, knob: k, note: newCaption("").wrapped()}
	c.back = newIconButton("undo", view.T("Back to the default"), c.takeBack)
	var objects []fyne.CanvasObject
	switch k.Kind {
	case view.KnobSwitch:
		c.onOff = newToggle(func(bool) { card.awake() })
		objects = append(objects, container.New(sized{height: buttonHeight}, container.NewCenter(c.onOff)))
	case view.KnobTri:
		c.tri = newChoice(triWords(), func(string) { card.awake() })
		c.tri.show(triWords()[0])
		objects = append(objects, container.New(sized{width: 124}, c.tri.boxed()))
	case view.KnobChoice:
		c.pick = newChoice(nil, func(string) { card.awake() })
		c.offer("")
		objects = append(objects, container.New(sized{width: 148}, c.pick.boxed()))
	default:
		c.entry = newField(k.Blank)
		c.entry.OnChanged = c.typed
		c.entry.OnSubmitted = func(string) { card.store() }
		width := float32(92)
		if k.Kind == view.KnobCodes || k.Kind == view.KnobModel || k.Kind == view.KnobPairs || k.Kind == view.KnobJSON {
			width = 260
		}
		objects = append(objects, container.New(sized{width: width}, c.entry), newText(k.Unit, view.RoleMuted))
	}
	c.box = container.New(stack{2}, container.New(line{gap: gapSmall}, append(objects, c.back)...), c.note)
	c.back.Hide()
	return c
}

// typed keeps what is typed within the knob's bounds.
func (c *knobCell) typed(s string) {
	if t := c.knob.Typed(s); t != s {
		c.entry.SetText(t)
		c.entry.CursorColumn = len([]rune(t))
		c.entry.Refresh()
		return // SetText came back here
	}
	c.card.awake()
}

// shown is the value that the control shows.
func (c *knobCell) shown() string {
	switch {
	case c.onOff != nil:
		if c.onOff.on {
			return "true"
		}
		return "false"
	case c.tri != nil:
		return triValues[max(0, c.tri.SelectedIndex())]
	case c.pick != nil:
		return c.pick.chosen(c.pick.Selected)
	}
	return c.entry.Text
}

func (c *knobCell) set(s string) {
	switch {
	case c.onOff != nil:
		c.onOff.set(s == "true")
	case c.tri != nil:
		for i, v := range triValues {
			if v == s {
				c.tri.show(triWords()[i])
			}
		}
	case c.pick != nil:
		c.offer(s)
	case c.entry.Text != s:
		c.entry.SetText(s)
	}
}

// offer shows a value of a choice, which may be one that is not offered.
func (c *knobCell) offer(value string) { c.pick.offer(c.knob.Offered(value), value) }

func (c *knobCell) take(v view.KnobValues) {
	untouched := !c.known || c.shown() == c.stored
	c.known = true
	c.stored = v.Shown(c.knob)
	if untouched {
		c.set(c.stored)
	}
	c.origin = v.Origin(c.knob)
	if stored := v.Stored(c.knob); c.back.Visible() != stored {
		show(c.back, stored)
		c.box.Refresh()
	}
	if c.note.role != view.RoleError {
		c.wrong("")
	}
}

// wrong shows what is wrong, or where the value comes from for an empty text.
func (c *knobCell) wrong(s string) {
	role := view.RoleError
	if s == "" {
		s, role = c.origin, view.RoleMuted
	}
	if c.note.content == s && c.note.role == role {
		return // a redraw of every card costs too much to be done for nothing
	}
	c.note.show(s, role)
	c.box.Refresh()
}

func (c *knobCell) focus() fyne.Focusable {
	if c.entry != nil {
		return c.entry
	}
	return nil
}

// takeBack removes the stored value, so that the default or the environment
// holds again.
func (c *knobCell) takeBack() {
	c.set(c.stored)
	c.card.send(view.Back(c.knob.Path), c.card.failed)
}

// knobLayout sets a knob's name at the left and its controls at the right, in
// two columns of one width; a single control has the room of both.
type knobLayout struct{}

const knobWidth float32 = 188

func (knobLayout) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	left := max(120, size.Width-2*(knobWidth+gap))
	objects[0].Resize(fyne.NewSize(left-gap, size.Height)) // wrapped texts find their height from the width
	objects[0].Resize(fyne.NewSize(left-gap, objects[0].MinSize().Height))
	objects[0].Move(fyne.NewPos(0, 4))
	width := knobWidth
	if len(objects) == 2 {
		width += knobWidth + gap
	}
	for i, o := range objects[1:] {
		o.Resize(fyne.NewSize(width, size.Height))
		o.Move(fyne.NewPos(left+gap+float32(i)*(knobWidth+gap), 0))
	}
}

func (knobLayout) MinSize(objects []fyne.CanvasObject) fyne.Size {
	h := objects[0].MinSize().Height + 4
	for _, o := range objects[1:] {
		h = max(h, o.MinSize().Height)
	}
	return fyne.NewSize(120+2*(knobWidth+gap), h)
}
