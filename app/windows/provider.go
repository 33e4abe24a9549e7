//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/widget"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// provider is the page of one provider: its connections, its breaker and the
// figures that it has of its own. The rail does not list it; connections,
// breakers and settings lead there.
type provider struct {
	u    *ui
	id   string
	pick *choice

	rows    []*control.Connection
	chosen  int
	cols    columns
	list    *pickList
	listBox *fyne.Container

	brk     *breakerBox
	card    *knobCard
	combos  *layerEditor
	cardBox *fyne.Container
	figures control.Resilience
	known   bool
}

func newProvider(u *ui) *provider { return &provider{u: u, cardBox: container.NewStack()} }

func (p *provider) key() string   { return pageProviders }
func (p *provider) title() string { return view.T("Provider") }
func (p *provider) icon() string  { return "connections" }

func (p *provider) head() heading {
	s := view.ProviderSentence(p.u.snap, p.id, p.u.now())
	return heading{title: s.Title, line: s.Sub}
}

func (p *provider) place() string { return p.id }

// action chooses another provider.
func (p *provider) action() fyne.CanvasObject {
	p.pick = newChoice(nil, func(word string) { p.open(p.pick.chosen(word)) })
	return container.New(sized{width: 190}, p.pick.boxed())
}

// open shows a provider and looks up its figures.
func (p *provider) open(id string) {
	if id != p.id || p.card == nil {
		p.id, p.chosen = id, 0
		p.makeCard()
	}
	p.load()
	p.u.redraw()
}

func (p *provider) load() {
	fetch(p.u, p.u.facade.Resilience, func(r control.Resilience) {
		p.figures, p.known = r, true
		p.u.redraw()
	}, nil)
	combos := p.combos
	fetch(p.u, p.u.facade.AllSettings, combos.take, nil)
}

func (p *provider) build() fyne.CanvasObject {
	p.cols = columns{gap: 12, edge: 10, list: []column{
		{title: view.T("Connection"), width: 140, flex: 3},
		{title: view.T("State"), width: 170, flex: 2},
		{title: view.T("Answered"), width: 60, right: true, priority: 1},
		{title: view.T("Last used"), width: 78, right: true},
	}}
	p.list = newPickList(func() int { return len(p.rows) }, func() fyne.CanvasObject {
		return newRow(&p.cols, rowHeight, newText("", view.RoleText).clipped(), newBadge(), newText("", view.RoleMuted).right(), newText("", view.RoleMuted).right().clipped())
	}, p.fill, func() int { return min(p.chosen, len(p.rows)-1) }, func(i int) { p.chosen = i; p.list.mark() })
	p.list.onKey = func(e *fyne.KeyEvent) bool {
		if e.Name != fyne.KeyReturn && e.Name != fyne.KeyEnter || p.list.at() < 0 {
			return false
		}
		p.u.goTo(pageConnections + "/" + p.rows[p.list.at()].ID)
		return true
	}
	p.listBox = container.New(sized{height: rowHeight}, bordered(newTableHead(&p.cols, nil).kept(p.u, "provider", p.list.Refresh), nil, nil, nil, p.list))
	p.brk = newBreakerBox(p.u)
	return scrolled(flush(view.T("Connections"), newLink(view.T("Manage"), func() { p.u.goTo(pageConnections) }), p.listBox), p.brk.box, p.cardBox)
}

// makeCard makes the card of figures anew: what was typed for one provider is
// not meant for another.
func (p *provider) makeCard() {
	p.card = newKnobCard(p.u, view.ProviderCard(), p.send)
	p.combos = newLayerEditor(p.u, view.ComboProviderCard(), "providerOverrides."+p.id)
	p.combos.provider = p.id
	p.cardBox.Objects = []fyne.CanvasObject{container.New(stack{gapGroup}, p.card.box, p.combos.card.box)}
	p.cardBox.Refresh()
}

// send stores a change; the maps that hold it are replaced whole, so they are
// taken from the newest settings.
func (p *provider) send(patch json.RawMessage, fail func(error)) {
	id, card := p.id, p.card
	call(p.u, func(ctx context.Context) (control.Resilience, error) {
		now, err := p.u.facade.Resilience(ctx)
		if err != nil {
			return now, err
		}
		return p.u.facade.EditResilience(ctx, view.ProviderPatch(now, id, patch))
	}, func(r control.Resilience) {
		p.figures = r
		card.saved(view.ProviderValues(r, id), patch)
		p.u.redraw()
	}, fail)
}

func (p *provider) fill(i widget.ListItemID, o fyne.CanvasObject) {
	if i >= len(p.rows) {
		return
	}
	r, v := o.(*row), view.RowOf(p.rows[i], &p.u.snap, p.u.now())
	r.cells[0].(*text).set(v.Name)
	r.cells[1].(*badge).show(v.Badge)
	r.cells[2].(*text).set(v.Rate)
	r.cells[3].(*text).set(v.LastUsed)
	r.tips[1], r.tips[2], r.tips[3] = v.StateTip(), v.RateTip, v.UsedTip
	r.onTap = func() { p.u.goTo(pageConnections + "/" + v.ID) }
}

// fewConnections is how many rows of a provider's connections show at once.
const fewConnections = 8

func (p *provider) apply() {
	u := p.u
	p.pick.offer(view.ProviderOptions(u.snap), p.id)
	p.rows = slices.DeleteFunc(view.SortConnections(u.snap.Connections, view.ByOrder, false), func(c *control.Connection) bool { return c.Provider != p.id })
	height := 34 + rowHeight*float32(min(len(p.rows), fewConnections)) + 8
	if l, ok := p.listBox.Layout.(sized); !ok || l.height != height {
		p.listBox.Layout = sized{height: height}
		p.listBox.Refresh()
	}
	p.list.Refresh()
	p.list.mark()
	p.brk.show(p.id)
	if p.known && p.card != nil {
		p.card.take(view.ProviderValues(p.figures, p.id))
	}
}

// breakerBox is the card of one provider's breaker.
type breakerBox struct {
	u       *ui
	id      string // of the provider
	badge   *badge
	count   *meter
	past    *strip
	failure *text
	told    *text
	reset   *button
	none    *text
	body    *fyne.Container
	box     fyne.CanvasObject
}

func newBreakerBox(u *ui) *breakerBox {
	b := &breakerBox{u: u, badge: newBadge(), count: newMeter(), past: newStrip(), failure: newText("", view.RoleText).wrapped(), told: newCaption("").wrapped()}
	b.none = newText(view.T("Each provider gets one with its first connection. It opens when the provider keeps failing."), view.RoleMuted).wrapped()
	b.reset = newButton(view.T("Reset breaker…"), func() { askResetOf(u, b.id, view.ProviderSentence(u.snap, b.id, u.now()).Title) })
	b.body = container.New(stack{gap},
		settingLine(view.T("State"), "", b.badge), settingLine(view.T("Failures counted"), "", b.count),
		settingLine(view.T("The last hour"), "", b.past), settingLine(view.T("Last failure"), "", b.failure), b.told)
	b.box = card(view.T("Breaker"), b.reset, container.New(stack{gap}, b.body, b.none))
	return b
}

func (b *breakerBox) show(provider string) {
	b.id = provider
	now := b.u.now()
	rows := view.BreakerRows(b.u.snap, now)
	at := slices.IndexFunc(rows, func(r view.BreakerRow) bool { return r.ID == provider || strings.HasPrefix(r.ID, provider+":") })
	show(b.body, at >= 0)
	show(b.none, at < 0)
	b.reset.enable(at >= 0)
	if at < 0 {
		return
	}
	v, past := rows[at], b.u.history.Strip(provider, b.u.activity, now)
	b.badge.show(v.Badge)
	b.count.show(v.Count, v.Share, v.Mark, v.Role)
	b.past.show(past)
	b.failure.set(v.LastFailure)
	b.told.set(sentenceCase(v.CountTip) + "\n" + sentenceCase(past.Tip))
}
