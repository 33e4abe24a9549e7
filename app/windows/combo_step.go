//go:build (cgo || ci) && !nogui

package windows

import (
	"math"
	"strconv"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"breakwater/app/windows/view"
)

// stepHeight is the height of a target's line with the gap below it.
const stepHeight float32 = 36

// stepRow is one target in the editor.
type stepRow struct {
	widget.BaseWidget
	list   *stepList
	handle *handle
	body   fyne.CanvasObject
}

func newStepRow(l *stepList, at int) *stepRow {
	d := l.d
	s := d.draft.Steps[at]
	model, where := view.StepWords(s, d.u.snap, d.u.providers)
	r := &stepRow{list: l}
	r.handle = newHandle(func(by float32) { r.Move(r.Position().AddXY(0, by)) }, func(places int) bool {
		if places == 0 {
			l.box.Refresh() // it goes back to its place
			return false
		}
		return l.move(at, min(max(at+places, 0), len(d.draft.Steps)-1))
	})
	name := newMono(model).clipped()
	objects := []fyne.CanvasObject{r.handle, newText(strconv.Itoa(at+1)+".", view.RoleMuted), name, container.New(sized{width: 190}, newText(where, view.RoleMuted).clipped())}
	if d.draft.Weighted() {
		w := entry(view.T("weight"), view.Weight(s.Weight))
		w.OnChanged = func(typed string) {
			if !d.draft.SetWeight(at, typed) {
				d.refuse(view.T("A weight is a number from 0 to 100."))
				return
			}
			d.refuse("")
		}
		objects = append(objects, container.New(sized{width: 64}, w))
	}
	objects = append(objects, newIconButton("close", view.T("Remove"), func() {
		d.draft.Remove(at)
		l.apply()
		d.again()
	}))
	r.body = newPanel(theme.ColorNameBackground, true, 4, container.New(inset{3, 4, 3, 4}, container.New(line{gap: gap, grow: name}, objects...)))
	r.ExtendBaseWidget(r)
	return r
}

// CreateRenderer draws the line.
func (r *stepRow) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(r.body) }

// MinSize is the line's room.
func (r *stepRow) MinSize() fyne.Size {
	r.ExtendBaseWidget(r)
	return fyne.NewSize(200, stepHeight-2)
}

// handle is what a line is dragged by: with the pointer, or with Alt and the
// arrow keys.
type handle struct {
	iconButton
	keys
	move  func(places int) bool
	drag  func(by float32)
	moved float32 // dragged down so far
}

func newHandle(drag func(float32), move func(int) bool) *handle {
	h := &handle{iconButton: iconButton{name: "grip"}, move: move, drag: drag}
	h.tip, h.keys.t = view.T("Drag to reorder"), &h.touchable
	h.ExtendBaseWidget(h)
	return h
}

// Dragged takes the line along; it gets its place when it is let go.
func (h *handle) Dragged(e *fyne.DragEvent) {
	h.moved += e.Dragged.DY
	h.drag(e.Dragged.DY)
}

// DragEnd moves the line by as many places as it was dragged over.
func (h *handle) DragEnd() {
	places := int(math.Round(float64(h.moved / stepHeight)))
	h.moved = 0
	h.move(places)
}

// TypedShortcut moves the line with Alt and the arrow keys.
func (h *handle) TypedShortcut(s fyne.Shortcut) {
	c, ok := s.(*desktop.CustomShortcut)
	if !ok || c.Modifier != fyne.KeyModifierAlt {
		return
	}
	switch c.KeyName {
	case fyne.KeyUp:
		h.move(-1)
	case fyne.KeyDown:
		h.move(1)
	}
}

// Cursor shows that the line can be moved.
func (h *handle) Cursor() desktop.Cursor { return desktop.VResizeCursor }

var (
	_ fyne.Draggable     = (*handle)(nil)
	_ fyne.Shortcutable  = (*handle)(nil)
	_ fyne.Focusable     = (*handle)(nil)
	_ desktop.Cursorable = (*handle)(nil)
)
