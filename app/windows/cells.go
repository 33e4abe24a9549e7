//go:build (cgo || ci) && !nogui

package windows

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"breakwater/app/windows/view"
)

// badge is a state's shape and words.
type badge struct {
	widget.BaseWidget
	shape *glyph
	label *text
}

func newBadge() *badge {
	b := &badge{shape: newShape(view.ShapeRing, view.RoleMuted, 14), label: newText("", view.RoleText).clipped()}
	b.ExtendBaseWidget(b)
	return b
}

// show shows a state; an empty one shows nothing.
func (b *badge) show(v view.Badge) {
	show(b.shape, v.Shape != "")
	if v.Shape != "" {
		b.shape.show(v.Shape, v.Role)
	}
	b.label.show(v.Text(), v.Role)
}

// CreateRenderer draws shape and words.
func (b *badge) CreateRenderer() fyne.WidgetRenderer { return &badgeRenderer{b} }

type badgeRenderer struct{ b *badge }

func (r *badgeRenderer) Layout(size fyne.Size) {
	r.b.shape.Resize(fyne.NewSize(14, size.Height))
	r.b.label.Move(fyne.NewPos(20, 0))
	r.b.label.Resize(fyne.NewSize(max(0, size.Width-20), size.Height))
}
func (r *badgeRenderer) MinSize() fyne.Size { return fyne.NewSize(60, 20) }
func (r *badgeRenderer) Refresh() {
	r.b.shape.Refresh()
	r.b.label.Refresh()
}

func (r *badgeRenderer) Objects() []fyne.CanvasObject {
	return []fyne.CanvasObject{r.b.shape, r.b.label}
}
func (r *badgeRenderer) Destroy() {}

// pair is a cell of two lines: what matters, and a caption below it.
type pair struct {
	widget.BaseWidget
	top   fyne.CanvasObject
	below *text
	shift float32 // how far the caption stands in
}

func newPair(top fyne.CanvasObject, shift float32) *pair {
	p := &pair{top: top, below: newCaption("").clipped(), shift: shift}
	p.ExtendBaseWidget(p)
	return p
}

// setBelow shows a caption; without one the first line sits in the middle.
func (p *pair) setBelow(s string) {
	turn := (s == "") != (p.below.content == "")
	p.below.set(s)
	if turn {
		p.Refresh()
	}
}

// CreateRenderer draws both lines.
func (p *pair) CreateRenderer() fyne.WidgetRenderer { return &pairRenderer{p} }

type pairRenderer struct{ p *pair }

func (r *pairRenderer) Layout(size fyne.Size) {
	top, below := float32(19), float32(16)
	y := (size.Height - top - below) / 2
	if r.p.below.content == "" {
		y = (size.Height - top) / 2
	}
	r.p.top.Move(fyne.NewPos(0, y))
	r.p.top.Resize(fyne.NewSize(size.Width, top))
	r.p.below.Move(fyne.NewPos(r.p.shift, y+top))
	r.p.below.Resize(fyne.NewSize(max(0, size.Width-r.p.shift), below))
}
func (r *pairRenderer) MinSize() fyne.Size { return fyne.NewSize(60, 36) }
func (r *pairRenderer) Refresh() {
	r.Layout(r.p.Size())
	r.p.top.Refresh()
	r.p.below.Refresh()
}

func (r *pairRenderer) Objects() []fyne.CanvasObject {
	return []fyne.CanvasObject{r.p.top, r.p.below}
}
func (r *pairRenderer) Destroy() {}

// who is the name of the connection that answered, marked when another one
// failed first.
type who struct {
	widget.BaseWidget
	mark  *glyph
	label *text
}

func newWho() *who {
	w := &who{mark: newGlyph("failover", theme.ColorNameWarning, 15), label: newText("", view.RoleText).clipped()}
	w.ExtendBaseWidget(w)
	return w
}

func (w *who) show(name string, failover bool) {
	if w.label.content == name && w.mark.Visible() == failover {
		return
	}
	show(w.mark, failover)
	w.label.set(name)
	w.Refresh()
}

// CreateRenderer draws mark and name.
func (w *who) CreateRenderer() fyne.WidgetRenderer { return &whoRenderer{w} }

type whoRenderer struct{ w *who }

func (r *whoRenderer) Layout(size fyne.Size) {
	x := float32(0)
	if r.w.mark.Visible() {
		r.w.mark.Resize(fyne.NewSize(15, size.Height))
		x = 20
	}
	r.w.label.Move(fyne.NewPos(x, 0))
	r.w.label.Resize(fyne.NewSize(max(0, size.Width-x), size.Height))
}
func (r *whoRenderer) MinSize() fyne.Size { return fyne.NewSize(40, 20) }
func (r *whoRenderer) Refresh() {
	r.Layout(r.w.Size())
	r.w.mark.Refresh()
	r.w.label.Refresh()
}

func (r *whoRenderer) Objects() []fyne.CanvasObject { return []fyne.CanvasObject{r.w.mark, r.w.label} }
func (r *whoRenderer) Destroy()                     {}
