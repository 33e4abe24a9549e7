//go:build (cgo || ci) && !nogui

package windows

import (
	"image/color"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/widget"

	"breakwater/app/windows/view"
)

// tips is the one small text beside the pointer. It is used on the main
// goroutine alone.
var tips = &tipLayer{}

type tipLayer struct {
	label *text
	box   *panel
	layer *fyne.Container
	timer *time.Timer
	turn  int // tells a late timer that its tip is gone
}

const tipDelay = 450 * time.Millisecond

// install makes the layer anew, to be stacked above a window's content.
func (t *tipLayer) install() fyne.CanvasObject {
	t.label = newCaption("")
	t.label.role = view.RoleText
	t.box = newPanel(colorMenuBg, true, 4, container.New(inset{4, 8, 4, 8}, t.label))
	t.box.Hide()
	t.layer = container.NewWithoutLayout(t.box)
	return t.layer
}

// ask shows a text near a point after a short rest.
func (t *tipLayer) ask(s string, at fyne.Position) {
	t.hide()
	turn := t.turn
	t.timer = time.AfterFunc(tipDelay, func() {
		fyne.Do(func() {
			if turn == t.turn {
				t.show(s, at)
			}
		})
	})
}

func (t *tipLayer) show(s string, at fyne.Position) {
	if t.box == nil {
		return
	}
	t.label.set(s)
	size := t.box.MinSize()
	room := t.layer.Size()
	pos := at.AddXY(8, 18)
	pos.X = max(4, min(pos.X, room.Width-size.Width-4))
	if pos.Y+size.Height > room.Height-4 {
		pos.Y = at.Y - size.Height - 8
	}
	t.box.Resize(size)
	t.box.Move(pos)
	t.box.Show()
}

func (t *tipLayer) hide() {
	t.turn++
	if t.timer != nil {
		t.timer.Stop()
	}
	if t.box != nil && t.box.Visible() {
		t.box.Hide()
	}
}

// modals are the open dialogs, the topmost last.
var modals []*modal

// escape closes the topmost dialog.
func escape() {
	if n := len(modals); n > 0 {
		modals[n-1].cancel()
	}
}

// modal is a dialog above a veil that covers the window.
type modal struct {
	widget.BaseWidget
	canvas   fyne.Canvas
	box      fyne.CanvasObject
	width    float32
	height   float32 // 0 takes the content's least height
	onClosed func()
}

// openModal shows content in a dialog as wide and high as asked, if the window
// has the room.
func openModal(c fyne.Canvas, content fyne.CanvasObject, width, height float32, closed func()) *modal {
	m := &modal{canvas: c, width: width, height: height, onClosed: closed}
	m.box = newPanel(colorCard, true, 8, content)
	m.ExtendBaseWidget(m)
	modals = append(modals, m)
	c.Overlays().Add(m)
	m.Resize(c.Size())
	return m
}

func (m *modal) cancel() {
	for i, o := range modals {
		if o == m {
			modals = append(modals[:i], modals[i+1:]...)
			m.canvas.Overlays().Remove(m)
			if m.onClosed != nil {
				m.onClosed()
			}
			return
		}
	}
}

// Tapped keeps taps from what lies below.
func (m *modal) Tapped(*fyne.PointEvent) {}

// MouseIn keeps the pointer from what lies below.
func (m *modal) MouseIn(*desktop.MouseEvent) {}

// MouseMoved keeps the pointer from what lies below.
func (m *modal) MouseMoved(*desktop.MouseEvent) {}

// MouseOut keeps the pointer from what lies below.
func (m *modal) MouseOut() {}

// CreateRenderer draws veil and box.
func (m *modal) CreateRenderer() fyne.WidgetRenderer {
	return &modalRenderer{m: m, veil: canvas.NewRectangle(paint(colorScrim))}
}

type modalRenderer struct {
	m    *modal
	veil *canvas.Rectangle
}

func (r *modalRenderer) Layout(size fyne.Size) {
	r.veil.Resize(size)
	w := min(r.m.width, size.Width-2*gapEdge)
	h := r.m.height
	if h == 0 {
		r.m.box.Resize(fyne.NewSize(w, r.m.box.MinSize().Height)) // wrapped texts find their height
		h = r.m.box.MinSize().Height
	}
	h = min(h, size.Height-2*gapEdge)
	r.m.box.Resize(fyne.NewSize(w, h))
	r.m.box.Move(fyne.NewPos((size.Width-w)/2, max(gapEdge, (size.Height-h)/2-gapEdge/2)))
}

func (r *modalRenderer) MinSize() fyne.Size { return fyne.NewSize(200, 120) }
func (r *modalRenderer) Refresh() {
	r.veil.FillColor = paint(colorScrim)
	r.Layout(r.m.Size())
	r.veil.Refresh()
	r.m.box.Refresh()
}

func (r *modalRenderer) Objects() []fyne.CanvasObject {
	return []fyne.CanvasObject{r.veil, r.m.box}
}
func (r *modalRenderer) Destroy() {}

// confirm asks a question with the thing's name in it.
func confirm(c fyne.Canvas, question, what, verb string, yes func()) {
	var m *modal
	cancel := newButton(view.T("Cancel"), func() { m.cancel() })
	ok := makeButton(verb, danger, func() { m.cancel(); yes() })
	title := newText(question, view.RoleText).bold().wrapped()
	title.size = 15
	body := newText(what, view.RoleMuted).wrapped()
	m = openModal(c, container.New(inset{20, gapEdge, 16, gapEdge}, container.New(stack{gap},
		title, body, container.New(inset{8, 0, 0, 0}, rightAligned(cancel, ok)))), 420, 0, nil)
	c.Focus(cancel)
}

// rightAligned sets buttons at the right end of a line.
func rightAligned(objects ...fyne.CanvasObject) fyne.CanvasObject {
	space := canvas.NewRectangle(color.Transparent)
	return container.New(line{gap: gap, grow: space}, append([]fyne.CanvasObject{space}, objects...)...)
}
