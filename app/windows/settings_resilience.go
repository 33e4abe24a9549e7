//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"encoding/json"

	"fyne.io/fyne/v2"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// resilienceSettings are the cards of the resilience settings and the model
// lockout.
type resilienceSettings struct {
	u       *ui
	cards   []*knobCard
	lockout *knobCard
	built   bool

	resilience control.Resilience
	guide      control.Guide
	known      [2]bool // resilience, guide
}

func newResilienceSettings(u *ui) *resilienceSettings { return &resilienceSettings{u: u} }

func (p *resilienceSettings) build() fyne.CanvasObject {
	var boxes []fyne.CanvasObject
	for _, c := range view.ResilienceCards() {
		k := newKnobCard(p.u, c, nil)
		k.send = func(patch json.RawMessage, fail func(error)) { p.edit(k, patch, fail) }
		p.cards = append(p.cards, k)
		boxes = append(boxes, k.box)
	}
	p.lockout = newKnobCard(p.u, view.LockoutCard(), p.editLockout)
	p.built = true
	return scrolled(append(boxes, p.lockout.box)...)
}

func (p *resilienceSettings) load() {
	call(p.u, p.u.facade.Resilience, func(r control.Resilience) {
		p.resilience, p.known[0] = r, true
		p.apply()
	}, nil)
	call(p.u, p.u.facade.Guide, func(g control.Guide) {
		p.guide, p.known[1] = g, true
		p.apply()
	}, nil)
}

func (p *resilienceSettings) apply() {
	if !p.built {
		return
	}
	if p.known[0] {
		v := view.ResilienceValues(p.resilience)
		for _, k := range p.cards {
			k.take(v)
		}
	}
	if p.known[1] {
		p.lockout.take(view.LockoutValues(p.guide))
	}
}

// edit stores a change of one card; the other cards keep what is typed.
func (p *resilienceSettings) edit(k *knobCard, patch json.RawMessage, fail func(error)) {
	call(p.u, func(ctx context.Context) (control.Resilience, error) { return p.u.facade.EditResilience(ctx, patch) },
		func(r control.Resilience) {
			p.resilience = r
			k.saved(view.ResilienceValues(r), patch)
			p.apply()
		}, fail)
}

func (p *resilienceSettings) editLockout(patch json.RawMessage, fail func(error)) {
	change := control.GuidePatch{ModelLockout: view.Inner(patch, "modelLockout")}
	call(p.u, func(ctx context.Context) (control.Guide, error) { return p.u.facade.EditGuide(ctx, change) },
		func(g control.Guide) {
			p.guide = g
			p.lockout.saved(view.LockoutValues(g), patch)
		}, fail)
}
