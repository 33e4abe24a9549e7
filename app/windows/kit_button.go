//go:build (cgo || ci) && !nogui

package windows

import (
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/theme"

	"breakwater/app/windows/view"
)

// weight is how much a button stands out.
type weight uint8

const (
	plain   weight = iota // the usual one
	primary               // the one action of a page or dialog
	danger                // what cannot be undone
)

// button is a push button with a word and maybe an icon.
type button struct {
	touchable
	keys
	word   string
	icon   string
	weight weight
}

func newButton(word string, tap func()) *button { return makeButton(word, plain, tap) }

func newPrimary(word string, tap func()) *button { return makeButton(word, primary, tap) }

func makeButton(word string, w weight, tap func()) *button {
	b := &button{word: word, weight: w}
	b.onTap, b.keys.t = tap, &b.touchable
	b.ExtendBaseWidget(b)
	return b
}

func (b *button) withIcon(name string) *button { b.icon = name; return b }

// enable lets the button be pushed, or not.
func (b *button) enable(on bool) {
	if b.disabled == !on {
		return
	}
	b.disabled = !on
	b.Refresh()
}

// set changes the word.
func (b *button) set(word string) {
	if b.word == word {
		return
	}
	b.word = word
	b.Refresh()
}

const (
	buttonHeight float32 = 30
	buttonSide   float32 = 14
	buttonIcon   float32 = 16
)

// CreateRenderer draws ground, icon and word.
func (b *button) CreateRenderer() fyne.WidgetRenderer {
	r := &buttonRenderer{b: b, ground: canvas.NewRectangle(color.Transparent), word: canvas.NewText(b.word, color.Transparent), icon: newGlyph("add", theme.ColorNameForeground, buttonIcon)}
	b.redraw = r.Refresh
	r.colour()
	return r
}

type buttonRenderer struct {
	b      *button
	ground *canvas.Rectangle
	word   *canvas.Text
	icon   *glyph
}

func (r *buttonRenderer) colour() {
	b := r.b
	ink, fill, edge := theme.ColorNameForeground, colorCard, theme.ColorNameInputBorder
	switch b.weight {
	case primary:
		ink, fill, edge = theme.ColorNameForegroundOnPrimary, theme.ColorNamePrimary, theme.ColorNamePrimary
	case danger:
		ink, fill, edge = theme.ColorNameForegroundOnError, theme.ColorNameError, theme.ColorNameError
	case plain:
	}
	if b.disabled {
		ink, fill, edge = theme.ColorNameDisabled, colorSoft, colorSoft
	}
	r.ground.FillColor, r.ground.StrokeColor, r.ground.StrokeWidth, r.ground.CornerRadius = paint(fill), paint(edge), 1, radius
	if !b.disabled && b.hovered {
		r.ground.FillColor = view.Blend(paint(fill), paint(ink), 0.08)
	}
	if b.focused {
		r.ground.StrokeColor, r.ground.StrokeWidth = paint(theme.ColorNamePrimary), 2
		if b.weight != plain {
			r.ground.StrokeColor = paint(theme.ColorNameForeground)
		}
	}
	r.word.Text, r.word.Color, r.word.TextSize = b.word, paint(ink), sizeBody
	r.word.TextStyle.Bold = b.weight != plain
	if b.icon != "" {
		r.icon.set(b.icon, ink)
	}
}

func (r *buttonRenderer) Layout(size fyne.Size) {
	r.ground.Resize(size)
	w := r.word.MinSize()
	x := (size.Width - w.Width) / 2
	if r.b.icon != "" {
		x = (size.Width - w.Width - buttonIcon - 6) / 2
		r.icon.Move(fyne.NewPos(x, (size.Height-buttonIcon)/2))
		r.icon.Resize(fyne.NewSquareSize(buttonIcon))
		x += buttonIcon + 6
	}
	r.word.Move(fyne.NewPos(x, (size.Height-w.Height)/2))
	r.word.Resize(w)
}

func (r *buttonRenderer) MinSize() fyne.Size {
	w := fyne.MeasureText(r.b.word, sizeBody, fyne.TextStyle{Bold: r.b.weight != plain}).Width
	if r.b.icon != "" {
		w += buttonIcon + 6 - 4 // the icon's own room makes up for some
	}
	return fyne.NewSize(w+2*buttonSide, buttonHeight)
}

func (r *buttonRenderer) Refresh() {
	r.colour()
	r.Layout(r.b.Size())
	r.ground.Refresh()
	r.word.Refresh()
	r.icon.Refresh()
}

func (r *buttonRenderer) Objects() []fyne.CanvasObject {
	return []fyne.CanvasObject{r.ground, r.icon, r.word}
}
func (r *buttonRenderer) Destroy() {}
