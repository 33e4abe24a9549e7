//go:build (cgo || ci) && !nogui

package windows

import (
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"breakwater/app/windows/view"
)

// columnStep is by how much a key makes a column wider or narrower.
const columnStep float32 = 16

// standing returns the titled columns that are shown, in the order in which
// they stand.
func (h *tableHead) standing() (out []int) {
	_, w := h.cols.place(h.Size().Width)
	for _, i := range h.cols.sequence() {
		if w[i] > 0 && h.cols.list[i].title != "" {
			out = append(out, i)
		}
	}
	return out
}

// pass moves the mark to the column beside the marked one, by steps.
func (h *tableHead) pass(by int) {
	all := h.standing()
	if len(all) == 0 {
		return
	}
	at := 0
	for n, i := range all {
		if i == h.at {
			at = n
		}
	}
	h.at = all[min(max(at+by, 0), len(all)-1)]
	h.Refresh()
}

// widen gives a column more width, or less.
func (h *tableHead) widen(i int, by float32) {
	_, w := h.cols.place(h.Size().Width)
	h.cols.resize(i, w[i]+by)
	h.redraw()
	h.store()
}

// shift moves a column past the next one on that side.
func (h *tableHead) shift(i, by int) {
	all := h.standing()
	for n, c := range all {
		if to := n + by; c == i && to >= 0 && to < len(all) {
			h.cols.move(i, all[to])
			h.redraw()
			h.store()
			return
		}
	}
}

// sort sorts by a column, if it can be.
func (h *tableHead) sort(i int) {
	if c := h.cols.list[i]; c.sort && h.onSort != nil {
		h.onSort(c.key)
	}
}

// usual takes the usual columns back.
func (h *tableHead) usual() {
	h.cols.use(nil)
	h.redraw()
	h.store()
}

// FocusGained marks a column.
func (h *tableHead) FocusGained() { h.focused = true; h.pass(0); h.Refresh() }

// FocusLost takes the mark away.
func (h *tableHead) FocusLost() { h.focused = false; h.Refresh() }

// TypedKey chooses a column and opens its menu.
func (h *tableHead) TypedKey(e *fyne.KeyEvent) {
	switch e.Name {
	case fyne.KeyLeft:
		h.pass(-1)
	case fyne.KeyRight:
		h.pass(1)
	case fyne.KeyHome:
		h.pass(-len(h.cols.list))
	case fyne.KeyEnd:
		h.pass(len(h.cols.list))
	case fyne.KeyReturn, fyne.KeyEnter, fyne.KeyDown:
		x, _ := h.cols.place(h.Size().Width)
		at := fyne.CurrentApp().Driver().AbsolutePositionForObject(h)
		h.pop(h.at, at.AddXY(x[h.at], h.Size().Height))
	case fyne.KeyEscape:
		escape()
	}
}

// TypedRune sorts by the marked column, sizes it or moves it.
func (h *tableHead) TypedRune(r rune) {
	if h.u == nil || len(h.standing()) == 0 {
		return
	}
	switch r {
	case ' ':
		h.sort(h.at)
	case '+':
		h.widen(h.at, columnStep)
	case '-':
		h.widen(h.at, -columnStep)
	case '<':
		h.shift(h.at, -1)
	case '>':
		h.shift(h.at, 1)
	}
}

// TappedSecondary opens the menu of the column under the pointer.
func (h *tableHead) TappedSecondary(e *fyne.PointEvent) {
	h.pop(h.under(e.Position.X), e.AbsolutePosition)
}

// pop opens the menu of a column; without one it offers the usual columns.
func (h *tableHead) pop(i int, at fyne.Position) {
	if h.u == nil {
		return
	}
	pop := widget.NewPopUpMenu(h.menu(i), h.u.win.Canvas())
	if at.X+pop.MinSize().Width > h.u.win.Canvas().Size().Width-gapEdge {
		at.X -= pop.MinSize().Width
	}
	pop.ShowAtPosition(at)
}

func (h *tableHead) menu(i int) *fyne.Menu {
	usual := fyne.NewMenuItem(view.T("Usual columns"), h.usual)
	all := h.standing()
	if i < 0 || len(all) == 0 {
		return fyne.NewMenu("", usual)
	}
	var items []*fyne.MenuItem
	item := func(word string, off bool, do func()) {
		x := fyne.NewMenuItem(word, do)
		x.Disabled = off
		items = append(items, x)
	}
	if c := h.cols.list[i]; c.sort && h.onSort != nil {
		item(view.Tf("Sort by %s", c.title), false, func() { h.sort(i) })
		items = append(items, fyne.NewMenuItemSeparator())
	}
	item(view.T("Wider"), false, func() { h.widen(i, columnStep) })
	item(view.T("Narrower"), false, func() { h.widen(i, -columnStep) })
	item(view.T("Move left"), i == all[0], func() { h.shift(i, -1) })
	item(view.T("Move right"), i == all[len(all)-1], func() { h.shift(i, 1) })
	return fyne.NewMenu("", append(items, fyne.NewMenuItemSeparator(), usual)...)
}

// newColumnMark is the ring around the marked title.
func newColumnMark() *canvas.Rectangle {
	m := canvas.NewRectangle(color.Transparent)
	m.CornerRadius, m.StrokeWidth = 4, 1.5
	return m
}

// ring puts the mark around the marked column while the head has the focus.
func (h *tableHead) ring(m *canvas.Rectangle) {
	x, w := h.cols.place(h.Size().Width)
	on := h.focused && h.at < len(w) && w[h.at] > 0
	m.StrokeColor = paint(theme.ColorNamePrimary)
	show(m, on)
	if on {
		m.Move(fyne.NewPos(x[h.at]-4, 1))
		m.Resize(fyne.NewSize(w[h.at]+8, h.Size().Height-4))
	}
	m.Refresh()
}
