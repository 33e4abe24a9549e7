//go:build (cgo || ci) && !nogui

package windows

import (
	"image/color"
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"breakwater/app/windows/view"
)

// strip draws the last hour of a breaker: a thin band in the colours of its
// states, with a tick for each failed attempt.
type strip struct {
	widget.BaseWidget
	shown view.Strip
}

func newStrip() *strip {
	s := &strip{}
	s.ExtendBaseWidget(s)
	return s
}

// show draws another history; what would look the same costs nothing.
func (s *strip) show(v view.Strip) {
	near := func(a, b float32) bool { return a-b < 0.002 && b-a < 0.002 }
	same := slices.EqualFunc(s.shown.Parts, v.Parts, func(a, b view.StripPart) bool {
		return a.Role == b.Role && near(a.From, b.From) && near(a.To, b.To)
	}) && slices.EqualFunc(s.shown.Ticks, v.Ticks, near)
	if same {
		return
	}
	s.shown = v
	s.Refresh()
}

// maxTicks bounds how many failed attempts are drawn one by one.
const maxTicks = 60

// CreateRenderer draws band and ticks.
func (s *strip) CreateRenderer() fyne.WidgetRenderer {
	r := &stripRenderer{s: s, base: canvas.NewRectangle(color.Transparent)}
	r.make()
	return r
}

type stripRenderer struct {
	s     *strip
	base  *canvas.Rectangle
	parts []*canvas.Rectangle
	ticks []*canvas.Rectangle
}

func (r *stripRenderer) make() {
	for len(r.parts) < len(r.s.shown.Parts) {
		r.parts = append(r.parts, canvas.NewRectangle(color.Transparent))
	}
	for len(r.ticks) < min(len(r.s.shown.Ticks), maxTicks) {
		r.ticks = append(r.ticks, canvas.NewRectangle(color.Transparent))
	}
	r.parts, r.ticks = r.parts[:len(r.s.shown.Parts)], r.ticks[:min(len(r.s.shown.Ticks), maxTicks)]
}

func (r *stripRenderer) Layout(size fyne.Size) {
	const high, tick float32 = 4, 12
	y := (size.Height - high) / 2
	place := func(o *canvas.Rectangle, x, w, y, h float32, c fyne.ThemeColorName) {
		o.Move(fyne.NewPos(x, y))
		o.Resize(fyne.NewSize(w, h))
		o.FillColor = paint(c)
	}
	place(r.base, 0, size.Width, y, high, theme.ColorNameSeparator)
	for i, p := range r.s.shown.Parts {
		place(r.parts[i], p.From*size.Width, max(0, p.To-p.From)*size.Width, y, high, roleColor(p.Role))
	}
	for i, at := range r.s.shown.Ticks[:len(r.ticks)] {
		place(r.ticks[i], at*max(0, size.Width-2), 1.5, (size.Height-tick)/2, tick, theme.ColorNameError)
	}
}

func (r *stripRenderer) MinSize() fyne.Size { return fyne.NewSize(40, 16) }

func (r *stripRenderer) Refresh() {
	r.make()
	r.Layout(r.s.Size())
	for _, o := range r.Objects() {
		o.Refresh()
	}
	canvas.Refresh(r.s)
}

func (r *stripRenderer) Objects() []fyne.CanvasObject {
	out := []fyne.CanvasObject{r.base}
	for _, o := range r.parts {
		out = append(out, o)
	}
	for _, o := range r.ticks {
		out = append(out, o)
	}
	return out
}
func (r *stripRenderer) Destroy() {}
