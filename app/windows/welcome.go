//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// welcome is what the overview shows while there is no connection.
type welcome struct {
	u      *ui
	box    fyne.CanvasObject
	offers *fyne.Container
	built  int    // providers known when the offers were made
	kept   string // where keys are kept, as the offers say
	setup  *setupCard
	steps  *stepLines

	starting bool // the demo is on its way
}

func newWelcome(u *ui) *welcome {
	w := &welcome{u: u, built: -1, setup: newSetupCard(u, true), steps: newStepLines()}
	intro := newText(view.T("Breakwater sits between your coding agent and its providers. When one fails or asks for a pause, the next connection answers and your agent never notices. It starts with one connection; two make it safe."), view.RoleMuted).wrapped()
	w.offers = container.New(offersLayout{gap: 12})
	w.box = scrolled(intro, w.steps.box, w.offers, w.setup.box)
	return w
}

func (w *welcome) apply() {
	w.setup.apply()
	w.steps.apply(view.FirstSteps(w.u.snap, w.u.activity, w.u.options.Ask != nil))
	if w.built == len(w.u.providers) && w.kept == w.u.snap.SecretsIn {
		return
	}
	w.built, w.kept = len(w.u.providers), w.u.snap.SecretsIn
	var objects []fyne.CanvasObject
	for _, o := range view.Offers(w.u.providers, w.u.options.StartDemo != nil, w.kept, w.u.getenv) {
		objects = append(objects, newOffer(o, func() { w.take(o) }))
	}
	w.offers.Objects = objects
	w.offers.Refresh()
}

func (w *welcome) take(o view.Offer) {
	switch {
	case o.Demo && w.u.options.StartDemo != nil:
		w.startDemo()
	case o.Demo:
		w.u.app.Clipboard().SetContent(view.DemoCommand)
		w.u.frame.tell(view.Tf("Copied: %s. Run it in a terminal; the demo keeps its own data and leaves this installation alone.", view.DemoCommand))
	case o.KeyEnv != "":
		w.u.addDialog(o.Provider, func(d *view.Draft) { d.Key = w.u.getenv(o.KeyEnv) })
	default:
		w.u.addDialog(o.Provider, nil)
	}
}

// startDemo starts the demo and says where it is to be found.
func (w *welcome) startDemo() {
	if w.starting {
		return
	}
	w.starting = true
	w.u.frame.tell(view.T("Starting the demo…"))
	call(w.u, func(ctx context.Context) (struct{}, error) { return struct{}{}, w.u.options.StartDemo(ctx) },
		func(struct{}) {
			w.starting = false
			w.u.frame.tell(view.T("The demo opens a window of its own. It keeps its own data, has its own address, and leaves this installation alone."))
		},
		func(err error) {
			w.starting = false
			w.u.frame.say(view.Tf("The demo did not start: %s", err))
		})
}

// offersLayout sets cards two in a line where there is room.
type offersLayout struct{ gap float32 }

func (l offersLayout) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	w := (size.Width - l.gap) / 2
	for _, o := range objects {
		o.Resize(fyne.NewSize(w, o.Size().Height)) // wrapped texts find their height from the width
	}
	h := l.height(objects)
	for i, o := range objects {
		o.Move(fyne.NewPos(float32(i%2)*(w+l.gap), float32(i/2)*(h+l.gap)))
		o.Resize(fyne.NewSize(w, h))
	}
}

// height is that of the highest card: all are alike.
func (l offersLayout) height(objects []fyne.CanvasObject) float32 {
	h := float32(92)
	for _, o := range objects {
		h = max(h, o.MinSize().Height)
	}
	return h
}

func (l offersLayout) MinSize(objects []fyne.CanvasObject) fyne.Size {
	lines := float32((len(objects) + 1) / 2)
	return fyne.NewSize(300, lines*l.height(objects)+max(0, lines-1)*l.gap)
}

// offer is a card that can be tapped.
type offer struct {
	touchable
	keys
	body fyne.CanvasObject
}

func newOffer(v view.Offer, tap func()) *offer {
	o := &offer{}
	o.onTap, o.keys.t = tap, &o.touchable
	title := newText(v.Title, view.RoleText).bold().clipped()
	words := container.New(stack{2}, title, newText(v.Line, view.RoleMuted).wrapped())
	icon := container.New(inset{2, 0, 0, 0}, newGlyph(v.Icon, theme.ColorNamePrimary, 22))
	o.body = container.New(inset{14, 14, 10, 16}, bordered(nil, nil, container.New(inset{0, 12, 0, 0}, container.NewVBox(icon)), nil, words))
	o.ExtendBaseWidget(o)
	return o
}

// CreateRenderer draws the card.
func (o *offer) CreateRenderer() fyne.WidgetRenderer {
	ground := canvas.NewRectangle(color.Transparent)
	colour := func() {
		ground.FillColor, ground.CornerRadius = paint(colorCard), radius
		ground.StrokeColor, ground.StrokeWidth = paint(theme.ColorNameSeparator), 1
		if o.hovered || o.focused {
			ground.StrokeColor, ground.StrokeWidth = paint(theme.ColorNamePrimary), 1.5
		}
	}
	colour()
	o.redraw = func() { colour(); ground.Refresh() }
	return &offerRenderer{WidgetRenderer: widget.NewSimpleRenderer(container.NewStack(ground, o.body)), redraw: o.redraw}
}

type offerRenderer struct {
	fyne.WidgetRenderer
	redraw func()
}

func (r *offerRenderer) Refresh() {
	r.redraw()
	r.WidgetRenderer.Refresh()
}

var _ desktop.Hoverable = (*offer)(nil)

// providerByID finds a provider of the catalogue.
func (u *ui) providerByID(id string) (control.Provider, bool) {
	for _, p := range u.providers {
		if p.ID == id {
			return p, true
		}
	}
	return control.Provider{}, false
}
