//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"slices"
	"strconv"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"

	"breakwater/proxy/control"
)

// Bounds of a column that the user sizes, and how near to its edge a drag must
// begin.
const (
	leastColumn float32 = 36
	mostColumn  float32 = 600
	edgeReach   float32 = 7
)

// sequence returns the columns' places in the list in the order in which they
// stand.
func (c *columns) sequence() []int {
	if len(c.order) == len(c.list) {
		return c.order
	}
	out := make([]int, len(c.list))
	for i := range out {
		out[i] = i
	}
	return out
}

// least is a column's width before what is left is shared out.
func (c *columns) least(i int) float32 {
	if i < len(c.own) && c.own[i] > 0 {
		return c.own[i]
	}
	return c.list[i].width
}

// share is a column's part of what is left; a sized one takes none.
func (c *columns) share(i int) float32 {
	if i < len(c.own) && c.own[i] > 0 {
		return 0
	}
	return c.list[i].flex
}

// resize gives a column a width of its own.
func (c *columns) resize(i int, width float32) {
	if len(c.own) != len(c.list) {
		c.own = make([]float32, len(c.list))
	}
	c.own[i] = min(max(width, leastColumn), mostColumn)
	c.turn++
}

// move puts a column in the place of another.
func (c *columns) move(from, to int) {
	c.order = slices.Clone(c.sequence())
	at, until := slices.Index(c.order, from), slices.Index(c.order, to)
	c.order = slices.Insert(slices.Delete(c.order, at, at+1), until, from)
	c.turn++
}

// kept is how the columns are stored, nil when they are as usual.
func (c *columns) kept() []control.TableColumn {
	out := []control.TableColumn{}
	usual := true
	for at, i := range c.sequence() {
		col := control.TableColumn{Key: strconv.Itoa(i)}
		if i < len(c.own) {
			col.Width = c.own[i]
		}
		usual = usual && at == i && col.Width == 0
		out = append(out, col)
	}
	if usual {
		return []control.TableColumn{}
	}
	return out
}

// use takes over what was stored; columns of another version of the table are
// left as usual.
func (c *columns) use(stored []control.TableColumn) {
	order, own := []int(nil), make([]float32, len(c.list))
	for _, s := range stored {
		i, err := strconv.Atoi(s.Key)
		if err != nil || i < 0 || i >= len(c.list) || slices.Contains(order, i) {
			order = nil
			break
		}
		order, own[i] = append(order, i), s.Width
	}
	if len(order) != len(c.list) {
		order, own = nil, nil
	}
	if !slices.Equal(c.order, order) || !slices.Equal(c.own, own) {
		c.order, c.own = order, own
		c.turn++
	}
}

// kept lets the user size and move the columns and remembers how they were
// left; again draws the rows anew.
func (h *tableHead) kept(u *ui, name string, again func()) *tableHead {
	h.u, h.name, h.again = u, name, again
	u.heads = append(u.heads, h)
	h.load()
	return h
}

// load takes over the stored columns, unless newer ones are on their way there.
func (h *tableHead) load() {
	if h.storing {
		return
	}
	before := h.cols.turn
	h.cols.use(h.u.settings.Tables[h.name])
	if h.cols.turn != before {
		h.redraw()
	}
}

// redraw lays titles and rows out anew.
func (h *tableHead) redraw() {
	h.Refresh()
	if h.again != nil {
		h.again()
	}
}

// store keeps the columns as they are now. One store follows another, so that
// keys in a rush are stored in their order, and not each for itself.
func (h *tableHead) store() {
	if h.storing {
		h.changed = true
		return
	}
	h.storing, h.changed = true, false
	next := func() {
		if h.storing = false; h.changed {
			h.store()
		}
	}
	tables := map[string][]control.TableColumn{h.name: h.cols.kept()}
	call(h.u, func(ctx context.Context) (control.Settings, error) {
		return h.u.facade.EditSettings(ctx, control.SettingsPatch{Tables: &tables})
	}, func(s control.Settings) { next(); h.u.useSettings(s) },
		func(err error) { next(); h.u.frame.say(problem(err)) })
}

// columnDrag is a drag of a column under way.
type columnDrag struct {
	on    bool
	col   int // -1: the drag means nothing
	size  bool
	width float32 // at its beginning
	moved float32
}

// edge returns the column whose right edge is near x, or -1.
func (h *tableHead) edge(x float32) int {
	at, w := h.cols.place(h.Size().Width)
	for i := range at {
		if end := at[i] + w[i] + h.cols.gap/2; w[i] > 0 && h.cols.list[i].title != "" && x > end-edgeReach && x < end+edgeReach {
			return i
		}
	}
	return -1
}

// under returns the titled column at x, or -1.
func (h *tableHead) under(x float32) int {
	at, w := h.cols.place(h.Size().Width)
	for i := range at {
		if w[i] > 0 && h.cols.list[i].title != "" && x >= at[i] && x < at[i]+w[i] {
			return i
		}
	}
	return -1
}

// Dragged sizes a column by its right edge, or moves one by its title.
func (h *tableHead) Dragged(e *fyne.DragEvent) {
	if h.u == nil {
		return
	}
	d := &h.drag
	if !d.on {
		begin := e.Position.X - e.Dragged.DX
		*d = columnDrag{on: true, col: h.edge(begin), size: true}
		if d.col < 0 {
			d.col, d.size = h.under(begin), false
		}
		if d.col >= 0 {
			_, w := h.cols.place(h.Size().Width)
			d.width = w[d.col]
		}
	}
	d.moved += e.Dragged.DX
	switch {
	case d.col < 0:
	case d.size:
		h.cols.resize(d.col, d.width+d.moved)
		h.redraw()
	default:
		if to := h.under(e.Position.X); to >= 0 && to != d.col {
			h.cols.move(d.col, to)
			h.redraw()
		}
	}
}

// DragEnd keeps what the drag left.
func (h *tableHead) DragEnd() {
	if h.drag.on && h.drag.col >= 0 {
		h.store()
	}
	h.drag = columnDrag{}
}

// MouseIn follows the pointer.
func (h *tableHead) MouseIn(e *desktop.MouseEvent) { h.MouseMoved(e) }

// MouseMoved notes whether the pointer is at an edge.
func (h *tableHead) MouseMoved(e *desktop.MouseEvent) {
	h.atEdge = h.u != nil && h.edge(e.Position.X) >= 0
}

// MouseOut forgets the pointer.
func (h *tableHead) MouseOut() { h.atEdge = false }

// Cursor shows that an edge can be dragged.
func (h *tableHead) Cursor() desktop.Cursor {
	if h.atEdge {
		return desktop.HResizeCursor
	}
	return desktop.DefaultCursor
}

// settle lays a row out anew when its columns have changed, and draws it anew
// when the colours have: a list fills its rows, and draws what did not change no
// second time.
func (r *row) settle() {
	if now := dressNow(); r.worn != now {
		r.worn = now
		r.Refresh()
	}
	if r.laid != r.cols.turn {
		r.laid = r.cols.turn
		r.Refresh()
		r.lay()
	}
}
