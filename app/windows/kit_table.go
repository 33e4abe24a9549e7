//go:build (cgo || ci) && !nogui

package windows

import (
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"breakwater/app/windows/view"
)

// tableBox is a table's card: column titles above the list, or the note of
// what would fill it.
func tableBox(head *tableHead, list, blank fyne.CanvasObject) fyne.CanvasObject {
	rows := bordered(head, nil, nil, nil, list)
	return newPanel(colorCard, true, radius, container.New(inset{4, 4, 4, 4}, container.NewStack(rows, blank)))
}

// tick is a check box of a table's row. Tab passes it by: the space bar ticks
// the row that the arrows chose.
type tick struct {
	touchable
	on bool
}

func newTick() *tick {
	t := &tick{}
	t.ExtendBaseWidget(t)
	return t
}

func (t *tick) set(on bool) {
	if t.on == on {
		return
	}
	t.on = on
	t.Refresh()
}

// CreateRenderer draws the box and its check.
func (t *tick) CreateRenderer() fyne.WidgetRenderer {
	r := &tickRenderer{t: t, box: canvas.NewRectangle(color.Transparent), mark: newGlyph("check", theme.ColorNameForegroundOnPrimary, 13)}
	t.redraw = r.Refresh
	r.colour()
	return r
}

const tickSide float32 = 16

type tickRenderer struct {
	t    *tick
	box  *canvas.Rectangle
	mark *glyph
}

func (r *tickRenderer) colour() {
	r.box.CornerRadius, r.box.StrokeWidth = 4, 1.5
	r.box.FillColor, r.box.StrokeColor = paint(theme.ColorNameInputBackground), paint(theme.ColorNameDisabled)
	if r.t.hovered {
		r.box.StrokeColor = paint(theme.ColorNamePrimary)
	}
	if r.t.on {
		r.box.FillColor, r.box.StrokeColor = paint(theme.ColorNamePrimary), paint(theme.ColorNamePrimary)
	}
	show(r.mark, r.t.on)
}

func (r *tickRenderer) Layout(size fyne.Size) {
	at := fyne.NewPos((size.Width-tickSide)/2, (size.Height-tickSide)/2)
	r.box.Move(at)
	r.box.Resize(fyne.NewSquareSize(tickSide))
	r.mark.Move(at)
	r.mark.Resize(fyne.NewSquareSize(tickSide))
}
func (r *tickRenderer) MinSize() fyne.Size { return fyne.NewSize(20, 28) }
func (r *tickRenderer) Refresh() {
	r.colour()
	r.box.Refresh()
	r.mark.Refresh()
}
func (r *tickRenderer) Objects() []fyne.CanvasObject { return []fyne.CanvasObject{r.box, r.mark} }
func (r *tickRenderer) Destroy()                     {}

// rowWord is an action of a table's row in a word. Tab passes it by: the row's
// menu and keys hold the same for the keyboard.
type rowWord struct {
	touchable
	label *text
}

func newRowWord(word string) *rowWord {
	w := &rowWord{label: newText(word, view.RolePrimary).right()}
	w.ExtendBaseWidget(w)
	return w
}

// CreateRenderer draws the word.
func (w *rowWord) CreateRenderer() fyne.WidgetRenderer {
	w.redraw = func() {
		w.label.style.Underline = w.hovered
		w.label.Refresh()
	}
	return widget.NewSimpleRenderer(w.label)
}

// optional is a cell that may be empty. A table shows its cells whenever it
// lays them out, so what is inside is shown and hidden instead.
func optional(o fyne.CanvasObject) *fyne.Container { return container.New(sized{}, o) }

// inside returns the object of an optional cell.
func inside[O fyne.CanvasObject](cell fyne.CanvasObject) O {
	return cell.(*fyne.Container).Objects[0].(O)
}

// meter is a thin bar that fills towards a limit, with a mark on its way, and
// the figures beside it.
type meter struct {
	widget.BaseWidget
	share, mark float32
	role        view.Role
	label       *text
}

func newMeter() *meter {
	m := &meter{label: newText("", view.RoleMuted).right()}
	m.ExtendBaseWidget(m)
	return m
}

func (m *meter) show(words string, share, mark float32, role view.Role) {
	m.label.set(words)
	if m.share == share && m.mark == mark && m.role == role {
		return
	}
	m.share, m.mark, m.role = share, mark, role
	m.Refresh()
}

// CreateRenderer draws track, filling, mark and figures.
func (m *meter) CreateRenderer() fyne.WidgetRenderer {
	r := &meterRenderer{m: m}
	for range 3 {
		r.bars = append(r.bars, canvas.NewRectangle(color.Transparent))
	}
	return r
}

type meterRenderer struct {
	m    *meter
	bars []*canvas.Rectangle // track, filling, mark
}

func (r *meterRenderer) Layout(size fyne.Size) {
	const figures, high float32 = 50, 6
	w, y := max(0, size.Width-figures-gap), (size.Height-high)/2
	place := func(b *canvas.Rectangle, x, w, y, h float32, c fyne.ThemeColorName, corner float32) {
		b.Move(fyne.NewPos(x, y))
		b.Resize(fyne.NewSize(w, h))
		b.FillColor, b.CornerRadius = paint(c), corner
	}
	place(r.bars[0], 0, w, y, high, theme.ColorNameSeparator, high/2)
	fill := w * r.m.share
	if fill > 0 {
		fill = max(fill, high)
	}
	place(r.bars[1], 0, fill, y, high, roleColor(r.m.role), high/2)
	place(r.bars[2], w*r.m.mark-1, 2, y-3, high+6, theme.ColorNameDisabled, 1)
	show(r.bars[1], fill > 0)
	show(r.bars[2], r.m.mark > 0)
	r.m.label.Move(fyne.NewPos(size.Width-figures, 0))
	r.m.label.Resize(fyne.NewSize(figures, size.Height))
}
func (r *meterRenderer) MinSize() fyne.Size { return fyne.NewSize(90, 20) }
func (r *meterRenderer) Refresh() {
	r.Layout(r.m.Size())
	for _, b := range r.bars {
		b.Refresh()
	}
	r.m.label.Refresh()
}

func (r *meterRenderer) Objects() []fyne.CanvasObject {
	return []fyne.CanvasObject{r.bars[0], r.bars[1], r.bars[2], r.m.label}
}
func (r *meterRenderer) Destroy() {}
