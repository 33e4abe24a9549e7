//go:build (cgo || ci) && !nogui

package windows

import (
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"breakwater/app/windows/view"
)

// panel is a ground with rounded corners under its content.
type panel struct {
	widget.BaseWidget
	fill    fyne.ThemeColorName
	stroke  bool
	line    fyne.ThemeColorName // the stroke's colour
	corner  float32
	content fyne.CanvasObject
}

func newPanel(fill fyne.ThemeColorName, stroke bool, corner float32, content fyne.CanvasObject) *panel {
	p := &panel{fill: fill, stroke: stroke, line: theme.ColorNameSeparator, corner: corner, content: content}
	p.ExtendBaseWidget(p)
	return p
}

// CreateRenderer draws the ground.
func (p *panel) CreateRenderer() fyne.WidgetRenderer {
	r := &panelRenderer{p: p, ground: canvas.NewRectangle(color.Transparent)}
	r.colour()
	return r
}

type panelRenderer struct {
	p      *panel
	ground *canvas.Rectangle
}

func (r *panelRenderer) colour() {
	r.ground.FillColor = paint(r.p.fill)
	r.ground.CornerRadius = r.p.corner
	if r.p.stroke {
		r.ground.StrokeColor, r.ground.StrokeWidth = paint(r.p.line), 1
	}
}

func (r *panelRenderer) Layout(size fyne.Size) {
	r.ground.Resize(size)
	r.p.content.Resize(size)
}

func (r *panelRenderer) MinSize() fyne.Size { return r.p.content.MinSize() }

func (r *panelRenderer) Refresh() {
	r.colour()
	r.ground.Refresh()
	r.p.content.Refresh()
}

func (r *panelRenderer) Objects() []fyne.CanvasObject {
	return []fyne.CanvasObject{r.ground, r.p.content}
}
func (r *panelRenderer) Destroy() {}

// touchable is what our own tappable widgets share: hover and tip.
type touchable struct {
	widget.BaseWidget
	hovered, focused bool
	disabled         bool
	tip              string
	onTap            func()
	redraw           func()
}

func (c *touchable) again() {
	if c.redraw != nil {
		c.redraw()
	}
}

// MouseIn shows the hover ground and asks for the tip.
func (c *touchable) MouseIn(e *desktop.MouseEvent) {
	c.hovered = true
	c.again()
	if c.tip != "" {
		tips.ask(c.tip, e.AbsolutePosition)
	}
}

// MouseMoved keeps the tip near the pointer.
func (c *touchable) MouseMoved(*desktop.MouseEvent) {}

// MouseOut ends both.
func (c *touchable) MouseOut() {
	c.hovered = false
	tips.hide()
	c.again()
}

// Tapped acts.
func (c *touchable) Tapped(*fyne.PointEvent) {
	tips.hide()
	if !c.disabled && c.onTap != nil {
		c.onTap()
	}
}

// Cursor is a hand where there is something to tap.
func (c *touchable) Cursor() desktop.Cursor {
	if c.disabled {
		return desktop.DefaultCursor
	}
	return desktop.PointerCursor
}

// keys makes a touchable one that can be reached by Tab: Space and Enter tap
// it, Esc closes the dialog it is in.
type keys struct{ t *touchable }

// FocusGained shows the focus ring.
func (k keys) FocusGained() { k.t.focused = true; k.t.again() }

// FocusLost hides it.
func (k keys) FocusLost() { k.t.focused = false; k.t.again() }

// TypedRune acts on the space bar.
func (k keys) TypedRune(r rune) {
	if r == ' ' {
		k.t.Tapped(nil)
	}
}

// TypedKey acts on Enter and passes Esc on.
func (k keys) TypedKey(e *fyne.KeyEvent) {
	switch e.Name {
	case fyne.KeyReturn, fyne.KeyEnter:
		k.t.Tapped(nil)
	case fyne.KeyEscape:
		escape()
	}
}

// iconButton is a flat button with a drawing only and a tip that names it.
type iconButton struct {
	touchable
	name string
}

// newRowIcon makes one for a table's row, which Tab passes by: the row's menu
// holds the same for the keyboard.
func newRowIcon(name, tip string) *iconButton {
	b := &iconButton{name: name}
	b.tip = tip
	b.ExtendBaseWidget(b)
	return b
}

// keyIcon is an iconButton that Tab reaches.
type keyIcon struct {
	iconButton
	keys
}

func newIconButton(name, tip string, tap func()) *keyIcon {
	b := &keyIcon{iconButton: iconButton{name: name}}
	b.tip, b.onTap, b.keys.t = tip, tap, &b.touchable
	b.ExtendBaseWidget(b)
	return b
}

func (b *iconButton) enable(on bool) {
	if b.disabled == !on {
		return
	}
	b.disabled = !on
	b.Refresh()
}

// CreateRenderer draws the hover ground and the icon.
func (b *iconButton) CreateRenderer() fyne.WidgetRenderer {
	r := &iconButtonRenderer{b: b, ground: canvas.NewRectangle(color.Transparent), icon: newGlyph(b.name, colorMuted, 16)}
	b.redraw = r.Refresh
	r.colour()
	return r
}

type iconButtonRenderer struct {
	b      *iconButton
	ground *canvas.Rectangle
	icon   *glyph
}

func (r *iconButtonRenderer) colour() {
	b := r.b
	colour := colorMuted
	r.ground.FillColor = color.Transparent
	r.ground.StrokeWidth = 0
	r.ground.CornerRadius = 4
	switch {
	case b.disabled:
		colour = theme.ColorNameInputBorder
	case b.hovered:
		r.ground.FillColor = paint(theme.ColorNamePressed)
		colour = theme.ColorNameForeground
	}
	if b.focused {
		r.ground.StrokeColor, r.ground.StrokeWidth = paint(theme.ColorNamePrimary), 1.5
	}
	r.icon.set(b.name, colour)
}

func (r *iconButtonRenderer) Layout(size fyne.Size) {
	r.ground.Resize(size)
	r.icon.Resize(size)
}
func (r *iconButtonRenderer) MinSize() fyne.Size { return fyne.NewSquareSize(26) }
func (r *iconButtonRenderer) Refresh() {
	r.colour()
	r.ground.Refresh()
	r.icon.Refresh()
}

func (r *iconButtonRenderer) Objects() []fyne.CanvasObject {
	return []fyne.CanvasObject{r.ground, r.icon}
}
func (r *iconButtonRenderer) Destroy() {}

// toggle is an on/off switch.
type toggle struct {
	touchable
	on       bool
	onChange func(bool)
}

// newRowToggle makes one for a table's row, which Tab passes by.
func newRowToggle() *toggle {
	t := &toggle{}
	t.onTap = t.flip
	t.ExtendBaseWidget(t)
	return t
}

// keyToggle is a toggle that Tab reaches.
type keyToggle struct {
	toggle
	keys
}

func newToggle(change func(bool)) *keyToggle {
	t := &keyToggle{toggle: toggle{onChange: change}}
	t.onTap, t.keys.t = t.flip, &t.touchable
	t.ExtendBaseWidget(t)
	return t
}

func (t *toggle) flip() {
	t.set(!t.on)
	if t.onChange != nil {
		t.onChange(t.on)
	}
}

// set shows a position without calling anybody.
func (t *toggle) set(on bool) {
	if t.on == on {
		return
	}
	t.on = on
	t.Refresh()
}

// CreateRenderer draws track and knob.
func (t *toggle) CreateRenderer() fyne.WidgetRenderer {
	r := &toggleRenderer{t: t, track: canvas.NewRectangle(color.Transparent), knob: canvas.NewCircle(color.Transparent)}
	t.redraw = r.Refresh
	r.colour()
	return r
}

type toggleRenderer struct {
	t     *toggle
	track *canvas.Rectangle
	knob  *canvas.Circle
}

const (
	trackWidth  float32 = 28
	trackHeight float32 = 16
	knobSide    float32 = 10
)

func (r *toggleRenderer) colour() {
	r.track.CornerRadius = trackHeight / 2
	r.track.StrokeWidth = 1.5
	if r.t.on {
		r.track.FillColor, r.track.StrokeColor = paint(theme.ColorNamePrimary), paint(theme.ColorNamePrimary)
		r.knob.FillColor = paint(theme.ColorNameForegroundOnPrimary)
	} else {
		r.track.FillColor, r.track.StrokeColor = paint(theme.ColorNameInputBackground), paint(theme.ColorNameDisabled)
		r.knob.FillColor = paint(theme.ColorNameDisabled)
	}
	if r.t.focused {
		r.track.StrokeColor, r.track.StrokeWidth = paint(theme.ColorNameForeground), 2
	}
}

func (r *toggleRenderer) Layout(size fyne.Size) {
	at := fyne.NewPos((size.Width-trackWidth)/2, (size.Height-trackHeight)/2)
	r.track.Move(at)
	r.track.Resize(fyne.NewSize(trackWidth, trackHeight))
	x := (trackHeight - knobSide) / 2
	if r.t.on {
		x = trackWidth - knobSide - x
	}
	r.knob.Move(at.AddXY(x, (trackHeight-knobSide)/2))
	r.knob.Resize(fyne.NewSquareSize(knobSide))
}
func (r *toggleRenderer) MinSize() fyne.Size { return fyne.NewSize(trackWidth, trackHeight+4) }
func (r *toggleRenderer) Refresh() {
	r.colour()
	r.Layout(r.t.Size())
	r.track.Refresh()
	r.knob.Refresh()
}

func (r *toggleRenderer) Objects() []fyne.CanvasObject { return []fyne.CanvasObject{r.track, r.knob} }
func (r *toggleRenderer) Destroy()                     {}

// link is a word that can be tapped.
type link struct {
	touchable
	keys
	label *text
}

func newLink(s string, tap func()) *link {
	l := &link{label: newText(s, view.RolePrimary)}
	l.onTap, l.keys.t = tap, &l.touchable
	l.ExtendBaseWidget(l)
	return l
}

// CreateRenderer draws the word.
func (l *link) CreateRenderer() fyne.WidgetRenderer {
	l.redraw = func() {
		l.label.style.Underline = l.hovered || l.focused
		l.label.Refresh()
	}
	return widget.NewSimpleRenderer(l.label)
}
