//go:build (cgo || ci) && !nogui

package windows

import (
	"image/color"
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"breakwater/app/windows/view"
)

// segments lets one of a few short words be chosen.
type segments struct {
	widget.BaseWidget
	words    []string
	at       int
	hover    int
	focused  bool
	onChange func(int)
}

func newSegments(words []string, at int, change func(int)) *segments {
	s := &segments{words: words, at: at, hover: -1, onChange: change}
	s.ExtendBaseWidget(s)
	return s
}

// set shows a choice without calling anybody.
func (s *segments) set(at int) {
	if s.at == at {
		return
	}
	s.at = at
	s.Refresh()
}

func (s *segments) choose(at int) {
	if at < 0 || at >= len(s.words) || at == s.at {
		return
	}
	s.set(at)
	if s.onChange != nil {
		s.onChange(at)
	}
}

const segmentHeight float32 = 28

func (s *segments) widths() []float32 {
	out := make([]float32, len(s.words))
	for i, w := range s.words {
		out[i] = fyne.MeasureText(w, sizeBody, fyne.TextStyle{}).Width + 24
	}
	return out
}

func (s *segments) under(x float32) int {
	for i, w := range s.widths() {
		if x < w {
			return i
		}
		x -= w
	}
	return -1
}

// Tapped chooses the word under the pointer.
func (s *segments) Tapped(e *fyne.PointEvent) { s.choose(s.under(e.Position.X)) }

// MouseIn follows the pointer.
func (s *segments) MouseIn(e *desktop.MouseEvent) { s.MouseMoved(e) }

// MouseMoved follows the pointer.
func (s *segments) MouseMoved(e *desktop.MouseEvent) {
	if at := s.under(e.Position.X); at != s.hover {
		s.hover = at
		s.Refresh()
	}
}

// MouseOut ends the hover.
func (s *segments) MouseOut() { s.hover = -1; s.Refresh() }

// FocusGained shows the focus ring.
func (s *segments) FocusGained() { s.focused = true; s.Refresh() }

// FocusLost hides it.
func (s *segments) FocusLost() { s.focused = false; s.Refresh() }

// TypedRune does nothing: the arrows choose.
func (s *segments) TypedRune(rune) {}

// TypedKey chooses with the arrows.
func (s *segments) TypedKey(e *fyne.KeyEvent) {
	switch e.Name {
	case fyne.KeyLeft, fyne.KeyUp:
		s.choose(s.at - 1)
	case fyne.KeyRight, fyne.KeyDown:
		s.choose(s.at + 1)
	case fyne.KeyEscape:
		escape()
	}
}

// CreateRenderer draws one ground, the chosen part and the words.
func (s *segments) CreateRenderer() fyne.WidgetRenderer {
	r := &segmentsRenderer{s: s, ground: canvas.NewRectangle(color.Transparent), chosen: canvas.NewRectangle(color.Transparent)}
	for _, w := range s.words {
		t := newText(w, view.RoleMuted)
		t.align = fyne.TextAlignCenter
		r.words = append(r.words, t)
	}
	r.colour()
	return r
}

type segmentsRenderer struct {
	s              *segments
	ground, chosen *canvas.Rectangle
	words          []*text
}

func (r *segmentsRenderer) colour() {
	r.ground.FillColor = paint(colorSoft)
	r.ground.CornerRadius = radius
	r.ground.StrokeWidth = 0
	if r.s.focused {
		r.ground.StrokeColor, r.ground.StrokeWidth = paint(theme.ColorNamePrimary), 1.5
	}
	r.chosen.FillColor = paint(colorCard)
	r.chosen.StrokeColor, r.chosen.StrokeWidth = paint(theme.ColorNameInputBorder), 1
	r.chosen.CornerRadius = radius - 1
	for i, t := range r.words {
		role := view.RoleMuted
		if i == r.s.at || i == r.s.hover {
			role = view.RoleText
		}
		t.style.Bold = i == r.s.at
		t.role = role
	}
}

func (r *segmentsRenderer) Layout(size fyne.Size) {
	r.ground.Resize(r.MinSize())
	x := float32(0)
	for i, w := range r.s.widths() {
		r.words[i].Move(fyne.NewPos(x, 0))
		r.words[i].Resize(fyne.NewSize(w, segmentHeight))
		if i == r.s.at {
			r.chosen.Move(fyne.NewPos(x+2, 2))
			r.chosen.Resize(fyne.NewSize(w-4, segmentHeight-4))
		}
		x += w
	}
}

func (r *segmentsRenderer) MinSize() fyne.Size {
	w := float32(0)
	for _, one := range r.s.widths() {
		w += one
	}
	return fyne.NewSize(w, segmentHeight)
}

func (r *segmentsRenderer) Refresh() {
	r.colour()
	r.Layout(r.s.Size())
	r.ground.Refresh()
	r.chosen.Refresh()
	for _, t := range r.words {
		t.Refresh()
	}
}

func (r *segmentsRenderer) Objects() []fyne.CanvasObject {
	out := []fyne.CanvasObject{r.ground, r.chosen}
	for _, t := range r.words {
		out = append(out, t)
	}
	return out
}
func (r *segmentsRenderer) Destroy() {}

// field is an entry that passes Esc on to the dialog it is in.
type field struct {
	widget.Entry
	onKey func(fyne.KeyName) bool // takes a key away from the entry
}

func newField(placeholder string) *field {
	f := &field{}
	f.PlaceHolder = placeholder
	f.Scroll = fyne.ScrollHorizontalOnly
	f.ExtendBaseWidget(f)
	return f
}

func newSecret(placeholder string) *field {
	f := newField(placeholder)
	f.Password = true
	return f
}

// pageKeys are the window's own shortcuts: a focused entry would swallow them.
var pageKeys map[fyne.KeyName]func()

// TypedShortcut runs the window's shortcuts and leaves the rest to the entry.
func (f *field) TypedShortcut(s fyne.Shortcut) {
	if c, ok := s.(*desktop.CustomShortcut); ok && c.Modifier == fyne.KeyModifierShortcutDefault {
		if run := pageKeys[c.KeyName]; run != nil {
			run()
			return
		}
	}
	f.Entry.TypedShortcut(s)
}

// TypedKey handles Esc and leaves the rest to the entry.
func (f *field) TypedKey(e *fyne.KeyEvent) {
	if e.Name == fyne.KeyEscape {
		escape()
		return
	}
	if f.onKey != nil && f.onKey(e.Name) {
		return
	}
	f.Entry.TypedKey(e)
}

// choice is a select that passes Esc on.
type choice struct {
	widget.Select
	offered []view.Option // nil where plain words are chosen from
	worn    dress
}

// dress is what the colours of a drawing come from.
type dress struct {
	theme   fyne.Theme
	variant fyne.ThemeVariant
}

func dressNow() dress {
	s := fyne.CurrentApp().Settings()
	return dress{s.Theme(), s.ThemeVariant()}
}

// Refresh draws the select. Its arrow keeps the colour of its first drawing
// where the colours changed while it was not shown, unless its drawing changes:
// switched off and on again it does.
func (c *choice) Refresh() {
	if now := dressNow(); c.worn != now {
		c.worn = now
		if !c.Disabled() {
			c.Disable()
			c.Enable()
		}
	}
	c.Select.Refresh()
}

func newChoice(options []string, change func(string)) *choice {
	c := &choice{}
	c.Options, c.OnChanged, c.PlaceHolder = options, change, view.T("Choose…")
	c.ExtendBaseWidget(c)
	return c
}

// show selects a word without calling anybody.
func (c *choice) show(word string) {
	if c.Selected == word {
		return
	}
	f := c.OnChanged
	c.OnChanged = nil
	c.SetSelected(word)
	c.OnChanged = f
}

// offer replaces what can be chosen and shows the option with an id; what is
// offered already costs nothing.
func (c *choice) offer(options []view.Option, id string) {
	if !slices.Equal(c.offered, options) {
		c.offered, c.Options = slices.Clone(options), nil
		for _, o := range options {
			c.Options = append(c.Options, o.Word)
		}
		c.Refresh()
	}
	for _, o := range options {
		if o.ID == id {
			c.show(o.Word)
		}
	}
}

// chosen returns the id of the option with a word; empty for none.
func (c *choice) chosen(word string) string {
	for _, o := range c.offered {
		if o.Word == word {
			return o.ID
		}
	}
	return ""
}

// boxed draws the border that a select has not.
func (c *choice) boxed() fyne.CanvasObject {
	p := newPanel(theme.ColorNameInputBackground, true, radius, container.New(inset{1, 1, 1, 1}, c))
	p.line = theme.ColorNameInputBorder
	return p
}

// TypedKey handles Esc and leaves the rest to the select.
func (c *choice) TypedKey(e *fyne.KeyEvent) {
	if e.Name == fyne.KeyEscape {
		escape()
		return
	}
	c.Select.TypedKey(e)
}
