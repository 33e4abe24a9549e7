//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"encoding/json"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// resilienceSettings are the cards of the resilience settings and the model
// lockout.
type resilienceSettings struct {
	u       *ui
	cards   []*knobCard
	lockout *knobCard
	session *knobCard
	combos  *layerEditor
	facts   *factCard
	own     *liveRows // providers with figures of their own
	built   bool

	resilience control.Resilience
	guide      control.Guide
	all        control.AllSettings
	known      [3]bool // resilience, guide, all
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
	p.session = newKnobCard(p.u, view.SessionsCard(), p.editSessions)
	p.combos = newLayerEditor(p.u, view.ComboDefaultsCard(), "comboDefaults")
	p.combos.keep = p.keep
	p.facts = newFactCard(p.u, p.keep)
	p.built = true
	return scrolled(append(boxes, p.lockout.box, p.session.box, p.combos.card.box, p.facts.box, p.ownFigures())...)
}

// ownFigures lists the providers that have figures of their own.
func (p *resilienceSettings) ownFigures() fyne.CanvasObject {
	p.own = newLiveRows(columns{gap: 12, edge: 0, list: []column{{width: 130, flex: 1}, {width: 200, flex: 3}}}, func() []fyne.CanvasObject {
		return []fyne.CanvasObject{newText("", view.RolePrimary).clipped(), newText("", view.RoleMuted).clipped()}
	})
	return card(view.T("Providers with figures of their own"), nil, container.New(stack{gapSmall},
		newText(view.T("A provider may have its own retry delay, limits and quota cut-offs. They are set on its page, which its connections lead to."), view.RoleMuted).wrapped(), p.own.box))
}

func (p *resilienceSettings) applyOwn() {
	list := view.OwnFigures(p.resilience, p.u.snap)
	p.own.resize(len(list))
	p.own.empty(len(list) == 0, view.T("None yet."))
	for i, o := range list {
		r := p.own.rows[i]
		r.cells[0].(*text).set(o.Word)
		r.cells[1].(*text).set(view.FiguresLine(p.resilience, o.ID))
		r.onTap = func() { p.u.goToProvider(o.ID) }
	}
}

func (p *resilienceSettings) load() {
	fetch(p.u, p.u.facade.Resilience, func(r control.Resilience) {
		p.resilience, p.known[0] = r, true
		p.apply()
	}, nil)
	fetch(p.u, p.u.facade.Guide, func(g control.Guide) {
		p.guide, p.known[1] = g, true
		p.apply()
	}, nil)
	fetch(p.u, p.u.facade.AllSettings, p.keep, nil)
}

// keep shows what is in force on all cards of these settings: each takes it
// from here, whoever stored it.
func (p *resilienceSettings) keep(a control.AllSettings) {
	p.all, p.known[2] = a, true
	p.apply()
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
		p.applyOwn()
	}
	if p.known[2] {
		p.session.take(view.SessionValues(p.all))
		p.combos.take(p.all)
		p.facts.take(p.all)
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

func (p *resilienceSettings) editSessions(patch json.RawMessage, fail func(error)) {
	change, err := view.SessionPatch(patch)
	if err != nil {
		fail(err)
		return
	}
	call(p.u, func(ctx context.Context) (control.AllSettings, error) { return p.u.facade.EditAllSettings(ctx, change) },
		func(a control.AllSettings) {
			p.session.saved(view.SessionValues(a), patch)
			p.keep(a)
		}, fail)
}
