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

// chart draws the requests of the last hour as bars, the failed ones on top.
type chart struct {
	widget.BaseWidget
	bars    [view.ChartBars]view.Bar
	highest int64
	tip     func(at int) string
	under   int // bar under the pointer
}

func newChart(tip func(at int) string) *chart {
	c := &chart{tip: tip, under: -1}
	c.ExtendBaseWidget(c)
	return c
}

// show draws other bars; the same ones cost nothing.
func (c *chart) show(bars [view.ChartBars]view.Bar, highest int64) {
	if c.bars == bars && c.highest == highest {
		return
	}
	c.bars, c.highest = bars, highest
	c.Refresh()
}

// MouseIn follows the pointer.
func (c *chart) MouseIn(e *desktop.MouseEvent) { c.MouseMoved(e) }

// MouseMoved tells what the bar under the pointer shows.
func (c *chart) MouseMoved(e *desktop.MouseEvent) {
	at := int(e.Position.X / max(1, c.Size().Width) * view.ChartBars)
	if at == c.under || at < 0 || at >= view.ChartBars {
		return
	}
	c.under = at
	tips.ask(c.tip(at), e.AbsolutePosition)
}

// MouseOut ends the tip.
func (c *chart) MouseOut() {
	c.under = -1
	tips.hide()
}

// CreateRenderer draws the bars.
func (c *chart) CreateRenderer() fyne.WidgetRenderer {
	r := &chartRenderer{c: c, base: canvas.NewRectangle(color.Transparent)}
	for i := range r.answered {
		r.answered[i], r.failed[i] = canvas.NewRectangle(color.Transparent), canvas.NewRectangle(color.Transparent)
	}
	return r
}

type chartRenderer struct {
	c        *chart
	base     *canvas.Rectangle
	answered [view.ChartBars]*canvas.Rectangle
	failed   [view.ChartBars]*canvas.Rectangle
}

func (r *chartRenderer) Layout(size fyne.Size) {
	room := size.Height - 1
	r.base.Move(fyne.NewPos(0, room))
	r.base.Resize(fyne.NewSize(size.Width, 1))
	r.base.FillColor = paint(theme.ColorNameSeparator)
	wide := size.Width / view.ChartBars
	height := func(n int64) float32 {
		if n == 0 || r.c.highest == 0 {
			return 0
		}
		return max(2, room*float32(n)/float32(r.c.highest))
	}
	for i, b := range r.c.bars {
		x, w := float32(i)*wide+wide*0.15, wide*0.7
		fail := height(b.Failed)
		ok := max(0, height(b.Requests)-fail)
		r.answered[i].FillColor, r.failed[i].FillColor = paint(theme.ColorNamePrimary), paint(theme.ColorNameError)
		r.answered[i].Move(fyne.NewPos(x, room-ok))
		r.answered[i].Resize(fyne.NewSize(w, ok))
		r.failed[i].Move(fyne.NewPos(x, room-ok-fail))
		r.failed[i].Resize(fyne.NewSize(w, fail))
	}
}

func (r *chartRenderer) MinSize() fyne.Size { return fyne.NewSize(200, 56) }

func (r *chartRenderer) Refresh() {
	r.Layout(r.c.Size())
	for _, o := range r.Objects() {
		o.Refresh()
	}
}

func (r *chartRenderer) Objects() []fyne.CanvasObject {
	out := []fyne.CanvasObject{r.base}
	for i := range r.answered {
		out = append(out, r.answered[i], r.failed[i])
	}
	return out
}

func (r *chartRenderer) Destroy() {}
