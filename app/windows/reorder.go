//go:build (cgo || ci) && !nogui

package windows

import (
	"image/color"
	"math"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/theme"
)

// reorder lets the rows of a list be dragged to another place; a line shows
// where the row would go.
type reorder struct {
	list *pickList
	step float32 // from one row to the next
	can  func() bool
	drop func(from, to int)
	mark *canvas.Rectangle

	from  int
	moved float32
}

func newReorder(l *pickList, rowHeight float32, can func() bool, drop func(from, to int)) *reorder {
	r := &reorder{list: l, step: rowHeight + theme.Padding(), can: can, drop: drop, mark: canvas.NewRectangle(color.Transparent), from: -1}
	r.mark.CornerRadius = 1
	r.mark.Hide()
	l.onMove = func(from, to int) {
		if r.can() {
			r.drop(from, to)
		}
	}
	return r
}

// arm makes a row of the list draggable.
func (r *reorder) arm(o *row, at int) {
	o.onDrag = func(by float32) {
		if !r.can() {
			return
		}
		if r.from != at {
			r.from, r.moved = at, 0
		}
		r.moved += by
		tips.hide()
		r.show()
	}
	o.onDrop = func() {
		from, to := r.from, r.to()
		r.from, r.moved = -1, 0
		r.mark.Hide()
		if from >= 0 && from != to {
			r.drop(from, to)
		}
	}
}

// to is the place at which the dragged row would end.
func (r *reorder) to() int {
	return min(max(r.from+int(math.Round(float64(r.moved/r.step))), 0), r.list.Length()-1)
}

func (r *reorder) show() {
	to := r.to()
	at := to
	if to > r.from {
		at++
	}
	y := float32(at)*r.step - r.list.GetScrollOffset() - theme.Padding()/2
	r.mark.FillColor = paint(theme.ColorNamePrimary)
	r.mark.Move(fyne.NewPos(0, min(max(y-1, 0), r.list.Size().Height-2)))
	r.mark.Resize(fyne.NewSize(r.list.Size().Width, 2))
	r.mark.Hidden = to == r.from
	r.mark.Refresh()
}

// marked is the layout of a list with the mark on top, which places itself.
type marked struct{}

// Layout gives the list all the room.
func (marked) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	objects[0].Move(fyne.Position{})
	objects[0].Resize(size)
}

// MinSize is the list's.
func (marked) MinSize(objects []fyne.CanvasObject) fyne.Size { return objects[0].MinSize() }

// Dragged moves the row where that means something.
func (r *row) Dragged(e *fyne.DragEvent) {
	if r.onDrag != nil {
		r.onDrag(e.Dragged.DY)
	}
}

// DragEnd lets it go.
func (r *row) DragEnd() {
	if r.onDrop != nil {
		r.onDrop()
	}
}

// TypedShortcut moves the chosen row with Alt and the arrow keys, or to either
// end with Alt and Home or End.
func (l *pickList) TypedShortcut(s fyne.Shortcut) {
	c, ok := s.(*desktop.CustomShortcut)
	if !ok || l.onMove == nil || c.Modifier != fyne.KeyModifierAlt {
		if ok && c.Modifier == fyne.KeyModifierShortcutDefault && pageKeys[c.KeyName] != nil {
			pageKeys[c.KeyName]()
		}
		return
	}
	from, last := l.at(), l.Length()-1
	to := from
	switch c.KeyName {
	case fyne.KeyUp:
		to--
	case fyne.KeyDown:
		to++
	case fyne.KeyHome:
		to = 0
	case fyne.KeyEnd:
		to = last
	}
	if to = min(max(to, 0), last); from >= 0 && to != from {
		l.onMove(from, to)
	}
}

var (
	_ fyne.Draggable    = (*row)(nil)
	_ fyne.Shortcutable = (*pickList)(nil)
)
