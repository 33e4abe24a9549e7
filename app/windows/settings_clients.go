//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"breakwater/app/setup"
	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// clientSettings set the coding agents up and undo that.
type clientSettings struct {
	u     *ui
	plans []setup.Plan
	asked setup.Target // the target of the plans
	cards []*clientCard
	list  *fyne.Container
	lines *setupCard
}

func newClientSettings(u *ui) *clientSettings { return &clientSettings{u: u} }

func (p *clientSettings) build() fyne.CanvasObject {
	p.list = container.New(stack{gapGroup})
	p.lines = newSetupCard(p.u, false)
	intro := newText(view.T("Breakwater can write its address into the settings of your agents, after asking, and take it out again. Nothing else in these files changes."), view.RoleMuted).wrapped()
	return scrolled(intro, p.list, p.lines.box)
}

// target is where the agents are pointed at.
func (p *clientSettings) target() setup.Target {
	return setup.Target{
		Endpoint: strings.TrimRight(p.u.snap.Endpoint, "/"),
		Passthrough: slices.ContainsFunc(p.u.snap.Connections, func(c control.Connection) bool {
			return c.Credential == "passthrough" && c.Active
		}),
	}
}

// load looks at the agents' files.
func (p *clientSettings) load() {
	t := p.target()
	p.asked = t
	if p.u.options.Clients.Home == "" || t.Endpoint == "" {
		return
	}
	fetch(p.u, func(context.Context) ([]setup.Plan, error) { return p.u.options.Clients.Plans(t), nil },
		func(plans []setup.Plan) { p.plans = plans; p.apply() }, nil)
}

func (p *clientSettings) apply() {
	if p.list == nil {
		return
	}
	p.lines.apply()
	if p.target() != p.asked {
		p.load() // the address was not known yet, or a connection changed it
		return
	}
	if len(p.cards) != len(p.plans) {
		p.cards, p.list.Objects = nil, nil
		for range p.plans {
			c := newClientCard(p)
			p.cards = append(p.cards, c)
			p.list.Add(c.box)
		}
	}
	for i, plan := range p.plans {
		p.cards[i].show(plan)
	}
}

// change runs one change of a file and reads the files again. What only the
// user can decide is asked, and the change run again with the answers.
func (p *clientSettings) change(run func(...setup.Question) error, done string, agreed ...setup.Question) {
	call(p.u, func(context.Context) (struct{}, error) { return struct{}{}, run(agreed...) }, func(struct{}) {
		p.u.frame.tell(done)
		p.load()
	}, func(err error) {
		if q, ok := errors.AsType[*setup.AskError](err); ok {
			p.consent(q, func() { p.change(run, done, append(agreed, q.Question)...) })
			return
		}
		p.u.frame.say(view.Tf("Nothing was written: %s", err))
		p.load()
	})
}

// consent asks a question about a file and goes on when the user agrees.
func (p *clientSettings) consent(q *setup.AskError, then func()) {
	var m *modal
	head, body, agree := view.ClientQuestion(q)
	cancel := newButton(view.T("Cancel"), func() { m.cancel() })
	ok := newPrimary(agree, func() { m.cancel(); then() })
	title := newText(head, view.RoleText).bold().wrapped()
	title.size = 15
	m = openModal(p.u.win.Canvas(), container.New(inset{20, gapEdge, 16, gapEdge}, container.New(stack{gap},
		title, newText(body, view.RoleMuted).wrapped(), container.New(inset{8, 0, 0, 0}, rightAligned(cancel, ok)))), 520, 0, nil)
	p.u.win.Canvas().Focus(cancel)
}

// clientCard is one agent.
type clientCard struct {
	p     *clientSettings
	plan  setup.Plan
	state *badge
	name  *text
	note  *text
	lines *text
	write *button
	back  *button
	box   fyne.CanvasObject
}

func newClientCard(p *clientSettings) *clientCard {
	c := &clientCard{p: p, state: newBadge(), name: newText("", view.RoleText).bold(), note: newText("", view.RoleMuted).wrapped(), lines: newMono("").wrapped()}
	c.write, c.back = newPrimary(view.T("Set up…"), c.ask), newButton(view.T("Undo"), c.undo)
	head := container.New(sized{height: buttonHeight}, container.New(line{gap: gapGroup, grow: c.state}, c.name, c.state, c.back, c.write))
	lines := newPanel("background", true, 4, container.New(inset{6, 10, 6, 10}, c.lines))
	c.box = newPanel(colorCard, true, radius, container.New(inset{10, gapGroup, 12, gapGroup}, container.New(stack{gap}, head, lines, c.note)))
	return c
}

func (c *clientCard) show(p setup.Plan) {
	same := reflect.DeepEqual(p, c.plan)
	c.plan = p
	c.name.set(p.Name)
	c.state.show(view.ClientBadge(p, c.p.u.activity, c.p.u.now()))
	c.lines.set(strings.Join(p.Lines, "\n"))
	c.note.set(view.ClientNote(p))
	show(c.back, p.State != setup.StateNone)
	show(c.write, p.Problem == "" && p.State != setup.StateSet)
	if !same {
		c.box.Refresh()
	}
}

// ask shows what would be written and where, and writes it when that is wanted.
func (c *clientCard) ask() {
	p := c.plan
	var m *modal
	cancel := newButton(view.T("Cancel"), func() { m.cancel() })
	ok := newPrimary(view.T("Set up"), func() {
		m.cancel()
		t := c.p.target()
		c.p.change(func(agreed ...setup.Question) error { return c.p.u.options.Clients.Write(p.ID, t, agreed...) }, view.ClientAfter(p))
	})
	title := newText(view.Tf("Set %s up?", p.Name), view.RoleText).bold().wrapped()
	title.size = 15
	lines := newPanel("background", true, 4, container.New(inset{6, 10, 6, 10}, newMono(strings.Join(p.Lines, "\n")).wrapped()))
	m = openModal(c.p.u.win.Canvas(), container.New(inset{20, gapEdge, 16, gapEdge}, container.New(stack{gap},
		title, newText(view.ClientNote(p), view.RoleMuted).wrapped(), lines, container.New(inset{8, 0, 0, 0}, rightAligned(cancel, ok)))), 520, 0, nil)
	c.p.u.win.Canvas().Focus(ok)
}

func (c *clientCard) undo() {
	p := c.plan
	c.p.change(func(agreed ...setup.Question) error {
		_, err := c.p.u.options.Clients.Undo(p.ID, agreed...)
		return err
	}, view.Tf("%s is no longer set up.", p.Name))
}
