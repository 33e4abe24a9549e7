//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"errors"
	"image/color"
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// The parts of the cooldowns page, as deep links name them.
const (
	showConnections = "all"
	showModels      = "models"
	showBreakers    = "breakers"
)

var cooldownParts = []string{showConnections, showModels, showBreakers}

// cooldowns is the cooldown manager: what is out of routing for a while, and
// the way back (guide "Gestor de tiempos de espera").
type cooldowns struct {
	u        *ui
	part     string
	provider string // the filter; empty is all

	parts  *segments
	filter *choice
	tools  *fyne.Container
	conns  *coolingTable
	models *lockTable
	brk    *breakerTable
}

func newCooldowns(u *ui) *cooldowns { return &cooldowns{u: u, part: showConnections} }

func (p *cooldowns) key() string   { return pageCooldowns }
func (p *cooldowns) title() string { return view.T("Cooldowns") }
func (p *cooldowns) icon() string  { return "hourglass" }

func (p *cooldowns) place() string { return p.part }

func (p *cooldowns) head() heading {
	return heading{title: p.title(), line: view.CooldownsLine(p.u.snap, p.u.now())}
}

func (p *cooldowns) action() fyne.CanvasObject {
	p.parts = newSegments([]string{view.T("Connections"), view.T("Models"), view.T("Breakers")}, slices.Index(cooldownParts, p.part), func(at int) {
		p.show(cooldownParts[at])
	})
	return p.parts
}

// open shows a part, or chooses a connection.
func (p *cooldowns) open(id string) {
	if slices.Contains(cooldownParts, id) {
		p.show(id)
		return
	}
	p.provider = ""
	p.show(showConnections)
	p.conns.choose(id)
}

func (p *cooldowns) show(part string) {
	p.part = part
	if p.parts != nil {
		p.parts.set(slices.Index(cooldownParts, part))
	}
	p.u.redraw()
}

func (p *cooldowns) build() fyne.CanvasObject {
	p.filter = newChoice(nil, func(word string) {
		p.provider = p.filter.chosen(word)
		p.u.redraw()
	})
	p.conns, p.models, p.brk = newCoolingTable(p), newLockTable(p), newBreakerTable(p)
	space := canvas.NewRectangle(color.Transparent)
	p.tools = container.New(line{gap: 12, grow: space}, container.New(sized{width: 190}, p.filter.boxed()), p.conns.left, p.brk.left, space,
		newLink(view.T("Rules"), func() { p.u.goTo(pageSettings + "/" + sectionResilience) }), p.conns.right, p.models.right, p.brk.right)
	return container.New(inset{0, gapEdge, gapEdge, gapEdge},
		bordered(container.New(inset{0, 0, 12, 0}, p.tools), nil, nil, nil, container.NewStack(p.conns.box, p.models.box, p.brk.box)))
}

func (p *cooldowns) apply() {
	p.applyFilter()
	for part, objects := range map[string][]fyne.CanvasObject{
		showConnections: {p.conns.left, p.conns.right, p.conns.box},
		showModels:      {p.models.right, p.models.box},
		showBreakers:    {p.brk.left, p.brk.right, p.brk.box},
	} {
		for _, o := range objects {
			show(o, part == p.part)
		}
	}
	show(p.tools.Objects[0], p.part != showBreakers)
	switch p.part {
	case showModels:
		p.models.apply()
	case showBreakers:
		p.brk.apply()
	default:
		p.conns.apply()
	}
	p.tools.Refresh()
}

// applyFilter offers the providers that have connections.
func (p *cooldowns) applyFilter() {
	all := view.Option{Word: view.T("All providers")}
	options := append([]view.Option{all}, view.ProviderOptions(p.u.snap)...)
	at := max(0, slices.IndexFunc(options, func(o view.Option) bool { return o.ID == p.provider }))
	p.provider = options[at].ID
	p.filter.offer(options, p.provider)
}

// clear puts connections back into routing, one after the other, and tells
// what came of it.
func (p *cooldowns) clear(c view.Clearing) {
	p.u.act(func(ctx context.Context) error {
		for _, id := range c.IDs {
			if err := p.u.facade.ClearCooldown(ctx, id); err != nil && !errors.Is(err, control.ErrNotFound) {
				return err
			}
		}
		return nil
	}, func() { p.u.frame.tell(c.Told()) })
}

// unlock makes locked models available again.
func (p *cooldowns) unlock(f control.LockoutFilter) {
	call(p.u, func(ctx context.Context) (int, error) { return p.u.facade.ClearLockouts(ctx, f) },
		func(n int) { p.u.frame.tell(view.Unlocked(n)) }, nil)
}

// askResetOf asks before the breakers of one provider are closed.
func askResetOf(u *ui, id, name string) {
	confirm(u.win.Canvas(), view.Tf("Reset the breaker of %s?", name),
		view.T("It closes and its locked models are asked again, whether or not the provider has recovered. Cooldowns of connections stay, and other providers are left alone."),
		view.T("Reset"), func() {
			call(u, func(ctx context.Context) (int, error) { return u.facade.ResetBreaker(ctx, id) },
				func(n int) { u.frame.tell(view.BreakersReset(n)) }, nil)
		})
}

// askReset asks before every breaker is closed.
func askReset(u *ui) {
	confirm(u.win.Canvas(), view.T("Reset every breaker?"),
		view.T("All breakers close and all locked models are asked again, whether or not the providers have recovered. Cooldowns of connections stay."),
		view.T("Reset"), func() {
			call(u, u.facade.ResetBreakers, func(n int) { u.frame.tell(view.BreakersReset(n)) }, nil)
		})
}
