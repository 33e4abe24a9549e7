//go:build (cgo || ci) && !nogui

package windows

import (
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"
)

// row is one line of a table: cells in columns, a hover ground, tips for what
// is cut short or has more to tell, and a menu on the right button.
type row struct {
	widget.BaseWidget
	cols   *columns
	cells  []fyne.CanvasObject
	tips   []string // beside the cell of the same place
	height float32
	onTap  func()
	onMenu func(at fyne.Position)
	onDrag func(by float32) // down; nil where rows have no order of their own
	onDrop func()
	// chosen draws the selection ground where the row is not in a list.
	chosen bool

	hovered bool
	focused bool   // of a keyRow
	cell    int    // under the pointer
	laid    int    // the turn of the columns that it was laid out for
	worn    dress  // the colours that it was drawn in
	lay     func() // lays the cells out anew
}

func newRow(cols *columns, height float32, cells ...fyne.CanvasObject) *row {
	r := &row{}
	r.fit(cols, height, cells)
	r.ExtendBaseWidget(r)
	return r
}

// fit gives a new row its cells.
func (r *row) fit(cols *columns, height float32, cells []fyne.CanvasObject) {
	r.cols, r.cells, r.height, r.tips = cols, cells, height, make([]string, len(cells))
	r.cell, r.laid, r.lay = -1, cols.turn, func() {}
}

// MouseIn shows the hover ground.
func (r *row) MouseIn(e *desktop.MouseEvent) {
	r.hovered = true
	r.Refresh()
	r.MouseMoved(e)
}

// MouseMoved asks for the tip of the cell under the pointer.
func (r *row) MouseMoved(e *desktop.MouseEvent) {
	at := -1
	x, w := r.cols.place(r.Size().Width)
	for i := range x {
		if w[i] > 0 && e.Position.X >= x[i] && e.Position.X < x[i]+w[i]+r.cols.gap {
			at = i
		}
	}
	if at == r.cell {
		return
	}
	r.cell = at
	tips.hide()
	if s := r.tip(at); s != "" {
		tips.ask(s, e.AbsolutePosition)
	}
}

func (r *row) tip(at int) string {
	if at < 0 {
		return ""
	}
	if t, ok := r.cells[at].(*text); ok && t.cut() {
		if r.tips[at] != "" {
			return t.content + " · " + r.tips[at]
		}
		return t.content
	}
	if b, ok := r.cells[at].(*badge); ok && b.label.cut() && r.tips[at] != "" {
		return b.label.content + " · " + r.tips[at]
	}
	if w, ok := r.cells[at].(*who); ok && w.label.cut() && r.tips[at] == "" {
		return w.label.content
	}
	return r.tips[at]
}

// MouseOut ends hover and tip.
func (r *row) MouseOut() {
	r.hovered, r.cell = false, -1
	tips.hide()
	r.Refresh()
}

// TappedSecondary opens the row's menu.
func (r *row) TappedSecondary(e *fyne.PointEvent) {
	if r.onMenu != nil {
		r.onMenu(e.AbsolutePosition)
	}
}

// CreateRenderer draws ground and cells.
func (r *row) CreateRenderer() fyne.WidgetRenderer {
	out := &rowRenderer{r: r, ground: canvas.NewRectangle(color.Transparent)}
	r.lay = func() { out.Layout(r.Size()) }
	return out
}

type rowRenderer struct {
	r      *row
	ground *canvas.Rectangle
}

func (r *rowRenderer) Layout(size fyne.Size) {
	r.ground.Resize(size)
	r.ground.CornerRadius = 4
	x, w := r.r.cols.place(size.Width)
	for i, c := range r.r.cells {
		if w[i] == 0 {
			c.Hide()
			continue
		}
		c.Show()
		h := size.Height
		switch c.(type) {
		case *text, *badge, *glyph, *pair, *who, *meter, *rowWord, *strip:
		default:
			h = min(c.MinSize().Height, size.Height)
		}
		c.Resize(fyne.NewSize(w[i], h))
		c.Move(fyne.NewPos(x[i], (size.Height-h)/2))
	}
}

func (r *rowRenderer) MinSize() fyne.Size { return fyne.NewSize(80, r.r.height) }
func (r *rowRenderer) Refresh() {
	r.ground.FillColor = color.Transparent
	switch {
	case r.r.chosen:
		r.ground.FillColor = paint(theme.ColorNameSelection)
	case r.r.hovered:
		r.ground.FillColor = paint(theme.ColorNameHover)
	}
	r.ground.StrokeWidth = 0
	if r.r.focused {
		r.ground.StrokeColor, r.ground.StrokeWidth = paint(theme.ColorNamePrimary), 1.5
	}
	r.ground.Refresh()
	for _, c := range r.r.cells {
		c.Refresh()
	}
}

func (r *rowRenderer) Objects() []fyne.CanvasObject {
	return append([]fyne.CanvasObject{r.ground}, r.r.cells...)
}
func (r *rowRenderer) Destroy() {}

// Tapped acts on the row. It must be the row's own: the driver gives a tap to
// the topmost object that cares for the pointer at all.
func (r *row) Tapped(*fyne.PointEvent) {
	if r.onTap != nil {
		r.onTap()
	}
}

// pickList is a virtual list in which a tap and the arrow keys choose a row.
type pickList struct {
	widget.List
	at     func() int // the chosen row, -1 for none
	choose func(i int)
	onKey  func(*fyne.KeyEvent) bool // takes a key away from the list
	onMove func(from, to int)        // nil where rows cannot be moved
}

func newPickList(length func() int, make func() fyne.CanvasObject, fill func(widget.ListItemID, fyne.CanvasObject), at func() int, choose func(int)) *pickList {
	l := &pickList{at: at, choose: choose}
	l.Length, l.CreateItem, l.HideSeparators = length, make, true
	l.UpdateItem = func(i widget.ListItemID, o fyne.CanvasObject) {
		o.(*row).onTap = func() {
			if c := fyne.CurrentApp().Driver().CanvasForObject(l); c != nil {
				c.Focus(l)
			}
			choose(i)
		}
		o.(*row).settle()
		fill(i, o)
	}
	l.OnSelected = func(i widget.ListItemID) {
		if i != at() {
			choose(i)
		}
	}
	l.ExtendBaseWidget(l)
	return l
}

// TypedKey chooses with the arrows.
func (l *pickList) TypedKey(e *fyne.KeyEvent) {
	step := 0
	switch e.Name {
	case fyne.KeyDown:
		step = 1
	case fyne.KeyUp:
		step = -1
	case fyne.KeyPageDown:
		step = 10
	case fyne.KeyPageUp:
		step = -10
	case fyne.KeyHome:
		step = -l.Length()
	case fyne.KeyEnd:
		step = l.Length()
	default:
		if l.onKey == nil || !l.onKey(e) {
			l.List.TypedKey(e)
		}
		return
	}
	if n := l.Length(); n > 0 {
		to := min(max(l.at()+step, 0), n-1)
		l.choose(to)
		l.ScrollTo(to)
	}
}

// mark shows which row is chosen, without choosing it again.
func (l *pickList) mark() {
	on := l.OnSelected
	l.OnSelected = nil
	if at := l.at(); at < 0 {
		l.UnselectAll()
	} else {
		l.Select(at)
	}
	l.OnSelected = on
}

// tableHead is the line of column titles; sortable ones can be tapped.
type tableHead struct {
	widget.BaseWidget
	cols    *columns
	titles  []*text
	onSort  func(key string)
	sorted  string
	reverse bool

	// Of a table that remembers its columns.
	u      *ui
	name   string
	again  func()
	drag   columnDrag
	atEdge bool

	storing bool // the columns are on their way to the store
	changed bool // and were changed since

	focused bool
	at      int // the column that the keys act on
}

func newTableHead(cols *columns, sort func(key string)) *tableHead {
	h := &tableHead{cols: cols, onSort: sort}
	for _, c := range cols.list {
		t := newCaption(c.title).clipped()
		if c.right {
			t.align = fyne.TextAlignTrailing
		}
		h.titles = append(h.titles, t)
	}
	h.ExtendBaseWidget(h)
	return h
}

// mark shows which column the rows are sorted by.
func (h *tableHead) mark(key string, reverse bool) {
	h.sorted, h.reverse = key, reverse
	for i, c := range h.cols.list {
		word := c.title
		if c.key == key && key != "" && word != "" {
			if reverse {
				word += " ↑"
			} else {
				word += " ↓"
			}
		}
		h.titles[i].set(word)
	}
}

// Tapped sorts by the column under the pointer.
func (h *tableHead) Tapped(e *fyne.PointEvent) {
	x, w := h.cols.place(h.Size().Width)
	for i, c := range h.cols.list {
		if c.sort && w[i] > 0 && e.Position.X >= x[i] && e.Position.X < x[i]+w[i] && h.onSort != nil {
			h.onSort(c.key)
		}
	}
}

// CreateRenderer draws the titles and a line below.
func (h *tableHead) CreateRenderer() fyne.WidgetRenderer {
	return &tableHeadRenderer{h: h, rule: canvas.NewRectangle(paint(theme.ColorNameSeparator)), mark: newColumnMark()}
}

type tableHeadRenderer struct {
	h    *tableHead
	rule *canvas.Rectangle
	mark *canvas.Rectangle
}

func (r *tableHeadRenderer) Layout(size fyne.Size) {
	x, w := r.h.cols.place(size.Width)
	for i, t := range r.h.titles {
		if w[i] == 0 {
			t.Hide()
			continue
		}
		t.Show()
		t.Move(fyne.NewPos(x[i], 0))
		t.Resize(fyne.NewSize(w[i], size.Height-1))
	}
	r.rule.Move(fyne.NewPos(0, size.Height-1))
	r.rule.Resize(fyne.NewSize(size.Width, 1))
	r.h.ring(r.mark)
}
func (r *tableHeadRenderer) MinSize() fyne.Size { return fyne.NewSize(80, 26) }
func (r *tableHeadRenderer) Refresh() {
	r.rule.FillColor = paint(theme.ColorNameSeparator)
	r.rule.Refresh()
	r.Layout(r.h.Size())
	for _, t := range r.h.titles {
		t.Refresh()
	}
}

func (r *tableHeadRenderer) Objects() []fyne.CanvasObject {
	out := []fyne.CanvasObject{r.rule}
	for _, t := range r.h.titles {
		out = append(out, t)
	}
	return append(out, r.mark)
}
func (r *tableHeadRenderer) Destroy() {}
