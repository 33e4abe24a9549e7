//go:build (cgo || ci) && !nogui

package windows

import (
	"image/color"
	"strconv"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"breakwater/app/windows/view"
)

// rail is the list of pages at the left.
type rail struct {
	widget.BaseWidget
	u      *ui
	items  []*railItem
	name   *text
	health *glyph
	foot   *text
	narrow bool
}

const (
	railWide   float32 = 184
	railNarrow float32 = 60
	railTurn   float32 = 840 // windows narrower than this get the narrow rail
)

func newRail(u *ui) *rail {
	r := &rail{u: u, name: newText("Breakwater", view.RoleText).bold(), foot: newCaption("").clipped()}
	r.name.size = 15
	r.health = newShape(view.ShapeRing, view.RoleMuted, 14)
	for _, p := range u.pages {
		r.items = append(r.items, newRailItem(p, func() { u.goTo(p.key()) }))
	}
	r.ExtendBaseWidget(r)
	return r
}

// apply marks the page shown and what needs attention.
func (r *rail) apply() {
	for _, i := range r.items {
		n := 0
		switch i.page.key() {
		case pageConnections:
			n = view.NeedYou(r.u.snap)
		case pageCooldowns:
			n = view.Sidelined(r.u.snap, r.u.now())
		}
		i.mark(i.page == r.u.current || i.page.key() == pageConnections && r.u.current.key() == pageProviders, n)
	}
	if v := r.u.snap.Version; v != "" {
		r.foot.set(view.Tf("Version %s", v))
	}
}

// CreateRenderer draws ground, mark and items.
func (r *rail) CreateRenderer() fyne.WidgetRenderer {
	return &railRenderer{
		r: r, ground: canvas.NewRectangle(paint(colorRail)), edge: canvas.NewRectangle(paint(theme.ColorNameSeparator)),
		mark: canvas.NewImageFromResource(appIcon(128)),
	}
}

type railRenderer struct {
	r      *rail
	ground *canvas.Rectangle
	edge   *canvas.Rectangle
	mark   *canvas.Image
}

func (r *railRenderer) Layout(size fyne.Size) {
	r.ground.Resize(size)
	r.edge.Resize(fyne.NewSize(1, size.Height))
	r.edge.Move(fyne.NewPos(size.Width-1, 0))
	narrow := size.Width < railWide
	r.r.narrow = narrow
	r.mark.Resize(fyne.NewSquareSize(26))
	if narrow {
		r.r.name.Hide()
		r.r.foot.Hide()
		r.mark.Move(fyne.NewPos((size.Width-26)/2, 18))
	} else {
		r.r.name.Show()
		r.r.foot.Show()
		r.mark.Move(fyne.NewPos(15, 18))
		r.r.name.Move(fyne.NewPos(50, 18))
		r.r.name.Resize(fyne.NewSize(size.Width-58, 26))
		r.r.foot.Move(fyne.NewPos(18, size.Height-32))
		r.r.foot.Resize(fyne.NewSize(size.Width-32, 20))
	}
	y := float32(64)
	for _, i := range r.r.items {
		i.narrow = narrow
		i.Move(fyne.NewPos(8, y))
		i.Resize(fyne.NewSize(size.Width-17, 36))
		y += 38
	}
}

func (r *railRenderer) MinSize() fyne.Size { return fyne.NewSize(railNarrow, 320) }
func (r *railRenderer) Refresh() {
	r.ground.FillColor, r.edge.FillColor = paint(colorRail), paint(theme.ColorNameSeparator)
	r.ground.Refresh()
	r.edge.Refresh()
	r.mark.Refresh()
	r.r.name.Refresh()
	r.r.foot.Refresh()
	for _, i := range r.r.items {
		i.Refresh()
	}
}

func (r *railRenderer) Objects() []fyne.CanvasObject {
	out := []fyne.CanvasObject{r.ground, r.edge, r.mark, r.r.name, r.r.foot}
	for _, i := range r.r.items {
		out = append(out, i)
	}
	return out
}
func (r *railRenderer) Destroy() {}

// railLayout gives the rail its width and the page the rest.
type railLayout struct{ rail *rail }

func (l railLayout) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	w := railWide
	if size.Width < railTurn {
		w = railNarrow
	}
	objects[0].Resize(fyne.NewSize(w, size.Height))
	objects[1].Move(fyne.NewPos(w, 0))
	objects[1].Resize(fyne.NewSize(size.Width-w, size.Height))
}

func (l railLayout) MinSize([]fyne.CanvasObject) fyne.Size { return fyne.NewSize(760, 520) }

// railItem is one page in the rail.
type railItem struct {
	touchable
	keys
	page   page
	chosen bool
	count  int
	narrow bool
}

func newRailItem(p page, tap func()) *railItem {
	i := &railItem{page: p}
	i.onTap, i.keys.t = tap, &i.touchable
	i.ExtendBaseWidget(i)
	return i
}

func (i *railItem) mark(chosen bool, count int) {
	if i.chosen == chosen && i.count == count {
		return
	}
	i.chosen, i.count = chosen, count
	i.Refresh()
}

// MouseIn names the page where the rail shows icons only.
func (i *railItem) MouseIn(e *desktop.MouseEvent) {
	i.tip = ""
	if i.narrow {
		i.tip = i.page.title()
	}
	i.touchable.MouseIn(e)
}

// CreateRenderer draws ground, icon, name and count.
func (i *railItem) CreateRenderer() fyne.WidgetRenderer {
	r := &railItemRenderer{
		i: i, ground: canvas.NewRectangle(color.Transparent), bar: canvas.NewRectangle(color.Transparent), icon: newGlyph(i.page.icon(), colorMuted, 18),
		name: newText(i.page.title(), view.RoleText).clipped(), count: newText("", view.RoleWarning).bold(),
		pill: canvas.NewRectangle(color.Transparent),
	}
	r.count.size, r.count.align = sizeCaption, fyne.TextAlignCenter
	i.redraw = r.Refresh
	r.colour()
	return r
}

type railItemRenderer struct {
	i                 *railItem
	ground, bar, pill *canvas.Rectangle
	icon              *glyph
	name, count       *text
}

func (r *railItemRenderer) colour() {
	i := r.i
	r.ground.FillColor, r.ground.CornerRadius, r.ground.StrokeWidth = color.Transparent, radius, 0
	r.bar.FillColor, r.bar.CornerRadius = color.Transparent, 1.5
	icon, role := colorMuted, view.RoleText
	switch {
	case i.chosen:
		r.ground.FillColor, r.bar.FillColor = paint(theme.ColorNameSelection), paint(theme.ColorNamePrimary)
		icon = theme.ColorNamePrimary
	case i.hovered:
		r.ground.FillColor = paint(theme.ColorNamePressed)
	}
	if i.focused {
		r.ground.StrokeColor, r.ground.StrokeWidth = paint(theme.ColorNamePrimary), 1.5
	}
	r.icon.set(i.page.icon(), icon)
	r.name.style.Bold = i.chosen
	r.name.role = role
	r.pill.CornerRadius = 9
	r.pill.StrokeColor, r.pill.StrokeWidth = paint(theme.ColorNameWarning), 1
	if i.count > 0 {
		r.count.content, r.count.shown = strconv.Itoa(i.count), nil
		r.pill.Show()
		r.count.Show()
	} else {
		r.pill.Hide()
		r.count.Hide()
	}
}

func (r *railItemRenderer) Layout(size fyne.Size) {
	r.ground.Resize(size)
	r.bar.Move(fyne.NewPos(0, 9))
	r.bar.Resize(fyne.NewSize(3, size.Height-18))
	r.icon.Resize(fyne.NewSquareSize(18))
	pill := fyne.NewSize(20, 18)
	if r.i.narrow {
		r.icon.Move(fyne.NewPos((size.Width-18)/2, (size.Height-18)/2))
		r.name.Hide()
		r.pill.Move(fyne.NewPos(size.Width-18, 0))
		pill = fyne.NewSize(17, 15)
	} else {
		r.icon.Move(fyne.NewPos(12, (size.Height-18)/2))
		r.name.Show()
		r.name.Move(fyne.NewPos(42, 0))
		r.name.Resize(fyne.NewSize(size.Width-42-30, size.Height))
		r.pill.Move(fyne.NewPos(size.Width-28, (size.Height-18)/2))
	}
	r.pill.Resize(pill)
	r.count.Move(r.pill.Position())
	r.count.Resize(pill)
}

func (r *railItemRenderer) MinSize() fyne.Size { return fyne.NewSize(40, 36) }
func (r *railItemRenderer) Refresh() {
	r.colour()
	r.Layout(r.i.Size())
	for _, o := range r.Objects() {
		o.Refresh()
	}
}

func (r *railItemRenderer) Objects() []fyne.CanvasObject {
	return []fyne.CanvasObject{r.ground, r.bar, r.icon, r.name, r.pill, r.count}
}
func (r *railItemRenderer) Destroy() {}
