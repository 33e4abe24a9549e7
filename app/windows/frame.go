//go:build (cgo || ci) && !nogui

package windows

import (
	"image/color"

	"strconv"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"breakwater/app/windows/view"
)

// heading is the header of a page. Shape is empty where the title is the
// page's name.
type heading struct {
	shape view.Shape
	role  view.Role
	title string
	line  string
}

// frame is rail, header, banner, page and message line.
type frame struct {
	u      *ui
	root   fyne.CanvasObject
	rail   *rail
	shape  *glyph
	title  *text
	line   *text
	right  *fyne.Container
	banner *banner
	notice *banner
	body   *fyne.Container
	built  map[string]fyne.CanvasObject
	spoken int
}

func newFrame(u *ui) *frame {
	f := &frame{u: u, built: map[string]fyne.CanvasObject{}}
	f.rail = newRail(u)
	f.shape = newShape(view.ShapeRing, view.RoleMuted, 20)
	f.title, f.line = newTitle(""), newText("", view.RoleMuted).clipped()
	f.right = container.New(line{gap: gap})
	titles := container.New(line{gap: gap, grow: f.title}, f.shape, f.title)
	words := container.New(stack{2}, titles, f.line)
	header := container.New(inset{gapGroup, gapEdge, 12, gapEdge}, container.New(line{gap: gapGroup, grow: words}, words, f.right))
	f.banner = newBanner(view.ShapeDotted, view.RoleWarning, nil)
	f.notice = newBanner(view.ShapeCross, view.RoleError, func() { f.notice.Hide() })
	f.body = container.NewStack()
	top := container.New(stack{0}, header, f.banner)
	page := bordered(top, f.notice, nil, nil, f.body)
	f.root = container.NewStack(container.New(railLayout{f.rail}, f.rail, page), tips.install())
	return f
}

// show puts a page into the frame.
func (f *frame) show(p page) {
	o := f.built[p.key()]
	if o == nil {
		o = p.build()
		f.built[p.key()] = o
	}
	f.body.Objects = []fyne.CanvasObject{o}
	f.right.Objects = nil
	if a := p.action(); a != nil {
		f.right.Objects = []fyne.CanvasObject{a}
	}
	f.right.Refresh()
	f.body.Refresh()
}

// apply shows the present state in rail, header and banner.
func (f *frame) apply() {
	f.rail.apply()
	h := f.u.current.head()
	if h.shape == "" {
		f.shape.Hide()
	} else {
		f.shape.show(h.shape, h.role)
		f.shape.Show()
	}
	f.title.set(h.title)
	f.line.set(h.line)
	switch {
	case !f.u.lost.IsZero() && f.u.known:
		f.banner.say(view.Tf("Breakwater is not answering. What you see is from %s; this window looks again every few seconds.", view.ClockSeconds(f.u.lost, f.u.now())))
	case !f.u.lost.IsZero():
		f.banner.say(view.T("Breakwater is not answering yet. This window looks again every few seconds."))
	default:
		f.banner.Hide()
	}
}

// say shows that something went wrong, below the page and for a while.
func (f *frame) say(s string) { f.speak(view.ShapeCross, view.RoleError, s) }

// tell shows that something was done.
func (f *frame) tell(s string) { f.speak(view.ShapeCheck, view.RoleSuccess, s) }

func (f *frame) speak(shape view.Shape, role view.Role, s string) {
	f.notice.shape.show(shape, role)
	f.notice.say(s)
	f.spoken++
	turn := f.spoken
	f.u.after(12*time.Second, func() {
		if turn == f.spoken {
			f.notice.Hide()
		}
	})
}

// banner is a calm line across the page.
type banner struct {
	widget.BaseWidget
	shape  *glyph
	label  *text
	ground fyne.CanvasObject
	body   fyne.CanvasObject
}

func newBanner(s view.Shape, r view.Role, dismiss func()) *banner {
	b := &banner{shape: newShape(s, r, 16), label: newText("", view.RoleText).wrapped()}
	objects := []fyne.CanvasObject{b.shape, b.label}
	if dismiss != nil {
		objects = append(objects, newIconButton("close", view.T("Dismiss"), dismiss))
	}
	row := container.New(line{gap: gap, grow: b.label}, objects...)
	b.ground = newPanel(colorSoft, true, radius, container.New(inset{7, 8, 7, 12}, row))
	b.body = container.New(inset{0, gapEdge, gap, gapEdge}, b.ground)
	b.ExtendBaseWidget(b)
	b.Hide()
	return b
}

// flat takes away the room at the sides, for a banner inside a page.
func (b *banner) flat() { b.body = b.ground }

func (b *banner) say(s string) {
	b.label.set(s)
	b.Show()
}

// CreateRenderer draws the line.
func (b *banner) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(b.body) }

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
		if i.page.key() == pageConnections {
			n = view.Attention(r.u.snap)
		}
		i.mark(i.page == r.u.current, n)
	}
	if v := r.u.snap.Version; v != "" {
		r.foot.set(view.Tf("Version %s", v))
	}
}

// CreateRenderer draws ground, mark and items.
func (r *rail) CreateRenderer() fyne.WidgetRenderer {
	return &railRenderer{r: r, ground: canvas.NewRectangle(paint(colorRail)), edge: canvas.NewRectangle(paint(theme.ColorNameSeparator)),
		mark: canvas.NewImageFromResource(appIcon(128))}
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
