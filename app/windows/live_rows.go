//go:build (cgo || ci) && !nogui

package windows

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"breakwater/app/windows/view"
)

// liveRows is a short list of rows that are kept from one state to the next.
type liveRows struct {
	cols  columns
	make  func() []fyne.CanvasObject
	rows  []*row
	stops []*keyRow // the same rows
	at    int       // the one that Tab reaches
	box   *fyne.Container
	blank *text

	height float32 // of a row
}

func newLiveRows(cols columns, cells func() []fyne.CanvasObject) *liveRows {
	l := &liveRows{cols: cols, make: cells, blank: newText("", view.RoleMuted).wrapped(), height: rowHeight}
	l.box = container.New(stack{0})
	return l
}

func (l *liveRows) resize(n int) {
	if n == len(l.rows) {
		return
	}
	l.box.Objects = l.box.Objects[:0]
	for len(l.stops) < n {
		l.stops = append(l.stops, newKeyRow(l))
	}
	l.stops, l.rows, l.at = l.stops[:n], l.rows[:0], max(0, min(l.at, n-1))
	for _, k := range l.stops {
		l.rows, l.box.Objects = append(l.rows, &k.row), append(l.box.Objects, k)
	}
	l.box.Refresh()
}

// settle lays the rows out anew when the columns have changed.
func (l *liveRows) settle() {
	for _, r := range l.rows {
		r.settle()
	}
}

// empty says what will fill the list while nothing is in it.
func (l *liveRows) empty(on bool, s string) {
	l.blank.set(s)
	if on && len(l.box.Objects) == 0 {
		l.box.Objects = []fyne.CanvasObject{container.New(inset{0, 8, 4, 8}, l.blank)}
		l.box.Refresh()
	}
}

// keyRow is a row of a short list that is no list widget. Tab reaches one of
// them, the arrows go on to the others, Enter and Space act.
type keyRow struct {
	row
	l *liveRows
}

func newKeyRow(l *liveRows) *keyRow {
	k := &keyRow{l: l}
	k.fit(&l.cols, l.height, l.make())
	k.ExtendBaseWidget(k)
	return k
}

// Disabled keeps Tab away from rows without an action, and from all but one.
func (k *keyRow) Disabled() bool {
	return k.onTap == nil || k.l.at >= len(k.l.stops) || k.l.stops[k.l.at] != k
}

// Enable is not used: the list says which row Tab reaches.
func (k *keyRow) Enable() {}

// Disable is not used, see Enable.
func (k *keyRow) Disable() {}

// FocusGained shows the focus ring.
func (k *keyRow) FocusGained() { k.focused = true; k.Refresh() }

// FocusLost hides it.
func (k *keyRow) FocusLost() { k.focused = false; k.Refresh() }

// TypedRune acts on the space bar.
func (k *keyRow) TypedRune(r rune) {
	if r == ' ' {
		k.Tapped(nil)
	}
}

// TypedKey acts on Enter and goes on to another row with the arrows.
func (k *keyRow) TypedKey(e *fyne.KeyEvent) {
	switch e.Name {
	case fyne.KeyReturn, fyne.KeyEnter:
		k.Tapped(nil)
	case fyne.KeyUp:
		k.l.step(-1)
	case fyne.KeyDown:
		k.l.step(1)
	case fyne.KeyEscape:
		escape()
	}
}

// step gives the focus to a row beside, where that has an action.
func (l *liveRows) step(by int) {
	to := l.at + by
	if to < 0 || to >= len(l.stops) || l.stops[to].onTap == nil {
		return
	}
	l.at = to
	if c := fyne.CurrentApp().Driver().CanvasForObject(l.stops[to]); c != nil {
		c.Focus(l.stops[to])
	}
}
