//go:build (cgo || ci) && !nogui

package windows

import (
	"runtime"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
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
	head   *fyne.Container // title, line and right
	banner *banner
	hint   *banner // the desktop shows no tray icon
	notice *banner
	body   *fyne.Container
	page   *fyne.Container // header, banner, body and message line
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
	f.head = container.New(headLayout{f.line, f.keepsStill}, titles, f.line, f.right)
	header := container.New(inset{gapGroup, gapEdge, 12, gapEdge}, f.head)
	f.banner = newBanner(view.ShapeDotted, view.RoleWarning, nil)
	f.notice = newBanner(view.ShapeCross, view.RoleError, func() { f.hide(f.notice) })
	f.hint = newBanner(view.ShapeHalf, view.RoleWarning, func() { f.u.options.NoTray = false; f.hide(f.hint) })
	f.body = container.NewStack()
	top := container.New(stack{0}, header, f.banner, f.hint)
	f.page = bordered(top, f.notice, nil, nil, f.body)
	f.root = container.NewStack(container.New(railLayout{f.rail}, f.rail, f.page), tips.install())
	return f
}

// keepsStill tells the header that its action must not move with the line: the
// tabs of the settings have a line each.
func (f *frame) keepsStill() bool { return f.u.current != nil && f.u.current.key() == pageSettings }

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
	f.head.Refresh()
	f.body.Refresh()
}

// apply shows the present state in rail, header and banner.
func (f *frame) apply() {
	f.rail.apply()
	h := f.u.heading()
	if h.shape == "" {
		f.shape.Hide()
	} else {
		f.shape.show(h.shape, h.role)
		f.shape.Show()
	}
	f.title.set(h.title)
	if f.line.content != h.line {
		f.line.set(h.line)
		f.head.Refresh()
	}
	switch {
	case f.u.refused:
		f.banner.shape.show(view.ShapeCross, view.RoleError)
		f.tellOn(f.banner, view.Refused(f.u.options.Address))
	case !f.u.lost.IsZero() && f.u.known:
		f.banner.shape.show(view.ShapeDotted, view.RoleWarning)
		f.tellOn(f.banner, view.Tf("Breakwater is not answering. What you see is from %s. Start it again if it has ended; this window reconnects by itself.", view.ClockSeconds(f.u.lost, f.u.now())))
	case !f.u.lost.IsZero():
		f.tellOn(f.banner, view.T("Breakwater is not answering yet. This window looks again every few seconds."))
	default:
		f.hide(f.banner)
	}
	if f.u.options.NoTray {
		f.tellOn(f.hint, view.NoTray(runtime.GOOS))
	}
}

// heading is that of the page, unless it would say how something stands that
// does not answer.
func (u *ui) heading() heading {
	h := u.current.head()
	if u.lost.IsZero() || !u.known || u.refused {
		return h
	}
	if h.shape != "" {
		h.shape, h.role, h.title = view.ShapeDotted, view.RoleWarning, view.T("Breakwater is not answering")
	}
	h.line = view.Tf("as of %s", view.ClockSeconds(u.lost, u.now()))
	return h
}

// say shows that something went wrong, below the page and for a while.
func (f *frame) say(s string) { f.speak(view.ShapeCross, view.RoleError, s) }

// tell shows that something was done.
func (f *frame) tell(s string) { f.speak(view.ShapeCheck, view.RoleSuccess, s) }

func (f *frame) speak(shape view.Shape, role view.Role, s string) {
	tips.hide() // what it told of may be gone
	f.notice.shape.show(shape, role)
	f.tellOn(f.notice, s)
	f.spoken++
	turn := f.spoken
	f.u.after(12*time.Second, func() {
		if turn == f.spoken {
			f.hide(f.notice)
		}
	})
}

// tellOn shows a line and makes room for it.
func (f *frame) tellOn(b *banner, s string) {
	if b.Visible() && b.label.content == s {
		return
	}
	b.say(s)
	f.arrange()
}

// hide takes a line away and gives its room back.
func (f *frame) hide(b *banner) {
	if b.Visible() {
		b.Hide()
		f.arrange()
	}
}

// arrange lays the page out anew: an object that appears or disappears does not
// move its neighbours by itself. The second time wrapped lines know how wide
// they are, and so how high.
func (f *frame) arrange() {
	for range 2 {
		f.page.Layout.Layout(f.page.Objects, f.page.Size())
		top := f.page.Objects[0].(*fyne.Container)
		top.Layout.Layout(top.Objects, top.Size())
	}
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
