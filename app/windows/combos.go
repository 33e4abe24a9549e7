//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"slices"
	"strconv"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/widget"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// combos is the page of the combos' table and the targets of the chosen one.
type combos struct {
	u      *ui
	list   []control.Combo
	rows   []view.ComboRow
	known  bool
	shown  []control.ComboBrief // the snapshot's, when the list was last asked for
	chosen string               // id

	ahead   control.ComboPreview // of the combo aheadOf
	aheadOf string
	asked   time.Time // when it was last asked for

	cols   columns
	table  *pickList
	help   *text
	now    *text // where the next request would go
	name   *text
	steps  *liveRows
	detail fyne.CanvasObject
	blank  fyne.CanvasObject
	box    fyne.CanvasObject
}

func newCombos(u *ui) *combos { return &combos{u: u} }

func (p *combos) key() string   { return pageCombos }
func (p *combos) title() string { return view.T("Combos") }
func (p *combos) icon() string  { return "combos" }

func (p *combos) head() heading {
	return heading{title: p.title(), line: view.CombosLine(len(p.list))}
}

func (p *combos) action() fyne.CanvasObject {
	p.load()
	return newPrimary(view.T("New combo"), func() { p.u.comboDialog(nil) }).withIcon("add")
}

// open chooses a combo, or opens the editor of a new one.
func (p *combos) open(id string) {
	if id == "add" {
		p.u.comboDialog(nil)
		return
	}
	p.choose(id)
}

// load asks for the combos: the snapshot has their names only.
func (p *combos) load() {
	fetch(p.u, p.u.facade.Combos, func(list []control.Combo) {
		p.list, p.known = list, true
		p.u.redraw()
	}, nil)
}

func (p *combos) build() fyne.CanvasObject {
	p.cols = columns{gap: 12, edge: 10, list: []column{
		{width: 30},
		{title: view.T("Name"), width: 150, flex: 3},
		{title: view.T("Strategy"), width: 120, flex: 2},
		{title: view.T("Targets"), width: 60, right: true},
		{width: 26},
	}}
	p.table = newPickList(func() int { return len(p.rows) }, p.newLine, p.fill, p.at, func(i int) { p.choose(p.rows[i].ID) })
	p.table.onKey = p.typed
	p.now = newText("", view.RoleText).wrapped()
	p.name, p.help = newText("", view.RoleText).bold().clipped(), newText("", view.RoleMuted).wrapped()
	p.steps = newLiveRows(columns{gap: 12, edge: 0, list: []column{{width: 20, right: true}, {width: 120, flex: 2}, {width: 130, flex: 4}, {width: 150, flex: 1}, {width: 64, right: true, priority: 1}}},
		func() []fyne.CanvasObject {
			return []fyne.CanvasObject{newText("", view.RoleMuted).right(), newMono("").clipped(), newText("", view.RoleMuted).clipped(), newBadge(), newText("", view.RoleMuted).right()}
		})
	edit := newButton(view.T("Edit…"), func() { p.edit(p.chosen) })
	drill := newButton(view.T("Fault drill…"), func() { p.drill(p.chosen) })
	top := container.New(line{gap: gap, grow: p.name}, p.name, drill, edit)
	scroll := container.NewVScroll(p.steps.box)
	scroll.SetMinSize(fyne.NewSize(200, 160))
	p.detail = newPanel(colorCard, true, radius, container.New(inset{12, 12, 12, gapGroup}, container.New(stack{gap}, top, p.help, p.now, scroll)))
	p.blank = emptyNote(view.ShapeRing, view.T("No combos yet"),
		view.T("A combo is a model name of your own, such as “coding”. A request for it goes to the first of its targets that can serve, in an order you choose."),
		newPrimary(view.T("New combo"), func() { p.u.comboDialog(nil) }).withIcon("add"))
	table := newPanel(colorCard, true, radius, container.New(inset{4, 4, 4, 4}, bordered(newTableHead(&p.cols, nil).kept(p.u, "combos", p.table.Refresh), nil, nil, nil, p.table)))
	p.box = bordered(nil, container.New(inset{12, 0, 0, 0}, p.detail), nil, nil, table)
	return container.New(inset{0, gapEdge, gapEdge, gapEdge}, container.NewStack(p.box, p.blank))
}

func (p *combos) newLine() fyne.CanvasObject {
	return newRow(&p.cols, 34, newRowToggle(), newText("", view.RoleText).bold().clipped(), newText("", view.RoleMuted).clipped(),
		newText("", view.RoleMuted).right(), newRowIcon("more", view.T("More")))
}

func (p *combos) fill(i widget.ListItemID, o fyne.CanvasObject) {
	if i >= len(p.rows) {
		return
	}
	r, v := o.(*row), p.rows[i]
	t := r.cells[0].(*toggle)
	t.set(v.Active)
	t.onChange = func(on bool) { p.setActive(v.ID, on) }
	role := view.RoleText
	if !v.Active {
		role = view.RoleDisabled
	}
	r.cells[1].(*text).show(v.Name, role)
	r.cells[2].(*text).set(v.Strategy)
	r.cells[3].(*text).set(v.Targets)
	more := r.cells[4].(*iconButton)
	more.onTap = func() {
		at := fyne.CurrentApp().Driver().AbsolutePositionForObject(more)
		p.menu(v.ID, at.AddXY(more.Size().Width, more.Size().Height))
	}
	r.onMenu = func(at fyne.Position) { p.menu(v.ID, at) }
}

func (p *combos) apply() {
	if !slices.Equal(p.shown, p.u.snap.Combos) {
		p.shown = p.u.snap.Combos
		if p.known {
			p.load() // another window or a script changed them
		}
	}
	p.rows = view.ComboRows(p.list)
	if p.combo(p.chosen) == nil && len(p.rows) > 0 {
		p.chosen = p.rows[0].ID
	}
	show(p.blank, p.known && len(p.rows) == 0)
	show(p.box, len(p.rows) > 0)
	p.table.Refresh()
	p.table.mark()
	p.applyDetail()
}

func (p *combos) applyDetail() {
	c := p.combo(p.chosen)
	if c == nil {
		return
	}
	_, help := view.Strategy(string(c.Strategy))
	p.name.set(c.Name)
	if c.Warning != nil {
		help += " " + view.T("A provider has a model of this name, too; requests for it come here.")
	}
	p.help.set(help)
	p.lookAhead()
	if p.aheadOf == c.ID {
		p.sayAhead(view.ComboAhead(p.ahead, p.u.snap, p.u.now()))
	} else {
		p.sayAhead("")
	}
	p.steps.resize(len(c.Steps))
	for i, s := range c.Steps {
		model, where := view.StepWords(s, p.u.snap, p.u.providers)
		r := p.steps.rows[i]
		r.cells[0].(*text).set(strconv.Itoa(i+1) + ".")
		r.cells[1].(*text).set(model)
		r.cells[2].(*text).set(where)
		weight := ""
		if c.Strategy == "weighted" {
			weight = view.Tf("weight %s", view.Weight(s.Weight))
		}
		r.cells[4].(*text).set(weight)
		r.cells[3].(*badge).show(view.StepBadge(s, p.u.snap, p.u.now()))
	}
}

// sayAhead shows where the next request would go.
func (p *combos) sayAhead(s string) {
	if p.now.content == s {
		return
	}
	p.now.set(s)
	show(p.now, s != "")
	p.detail.Refresh()
}

// aheadPause is the least time between two looks ahead for one combo.
const aheadPause = time.Second

// lookAhead asks where the next request of the chosen combo would go: at once
// for another combo, else now and then.
func (p *combos) lookAhead() {
	id, now := p.chosen, p.u.now()
	if p.aheadOf == id && now.Sub(p.asked).Abs() < aheadPause {
		return
	}
	p.asked = now
	fetch(p.u, func(ctx context.Context) (control.ComboPreview, error) {
		return p.u.facade.PreviewCombo(ctx, control.PreviewRequest{ID: id})
	}, func(ahead control.ComboPreview) {
		if p.chosen == id {
			fresh := p.aheadOf != id
			p.ahead, p.aheadOf = ahead, id
			if fresh || p.u.current == p {
				p.sayAhead(view.ComboAhead(ahead, p.u.snap, p.u.now()))
			}
		}
	}, func(error) {
		if p.chosen == id {
			p.ahead, p.aheadOf = control.ComboPreview{}, ""
			p.sayAhead("")
		}
	})
}

func (p *combos) at() int {
	return slices.IndexFunc(p.rows, func(r view.ComboRow) bool { return r.ID == p.chosen })
}

// combo finds one by its id, or returns nil.
func (p *combos) combo(id string) *control.Combo {
	if i := slices.IndexFunc(p.list, func(c control.Combo) bool { return c.ID == id }); i >= 0 {
		return &p.list[i]
	}
	return nil
}

func (p *combos) choose(id string) {
	p.chosen = id
	p.table.mark()
	p.applyDetail()
}

func (p *combos) edit(id string) {
	if c := p.combo(id); c != nil {
		p.u.comboDialog(c)
	}
}

// drill opens the fault drill of a combo.
func (p *combos) drill(id string) {
	if c := p.combo(id); c != nil {
		p.u.drillDialog(c)
	}
}

func (p *combos) setActive(id string, on bool) {
	call(p.u, func(ctx context.Context) (control.Combo, error) {
		return p.u.facade.EditCombo(ctx, id, control.ComboPatch{Active: &on})
	}, func(control.Combo) { p.load() }, func(err error) {
		p.u.frame.say(comboProblem(err))
		p.load() // the switch goes back
	})
}

func (p *combos) remove(c control.Combo) {
	confirm(p.u.win.Canvas(), view.Tf("Delete %s?", c.Name),
		view.T("Agents that ask for it by name then get an error. Combos that contain it pass it over."),
		view.T("Delete"), func() {
			p.u.act(func(ctx context.Context) error { return p.u.facade.DeleteCombo(ctx, c.ID) }, p.load)
		})
}

// menu shows what can be done with one combo.
func (p *combos) menu(id string, at fyne.Position) {
	c := p.combo(id)
	if c == nil {
		return
	}
	p.choose(id)
	pop := widget.NewPopUpMenu(fyne.NewMenu("",
		fyne.NewMenuItem(view.T("Edit…"), func() { p.edit(id) }),
		fyne.NewMenuItem(view.T("Fault drill…"), func() { p.drill(id) }),
		fyne.NewMenuItem(view.T("Copy the name"), func() { p.u.app.Clipboard().SetContent(c.Name) }),
		fyne.NewMenuItemSeparator(),
		fyne.NewMenuItem(view.T("Delete…"), func() { p.remove(*c) })), p.u.win.Canvas())
	if at.X+pop.MinSize().Width > p.u.win.Canvas().Size().Width-gapEdge {
		at.X -= pop.MinSize().Width
	}
	pop.ShowAtPosition(at)
}

// typed acts on the chosen combo: Enter edits, Delete deletes, D drills, M opens
// the menu.
func (p *combos) typed(e *fyne.KeyEvent) bool {
	c := p.combo(p.chosen)
	if c == nil {
		return false
	}
	switch e.Name {
	case fyne.KeyReturn, fyne.KeyEnter:
		p.edit(c.ID)
	case fyne.KeyDelete:
		p.remove(*c)
	case fyne.KeyD:
		p.drill(c.ID)
	case fyne.KeyM:
		at := fyne.CurrentApp().Driver().AbsolutePositionForObject(p.table)
		p.menu(c.ID, at.AddXY(gapEdge, gapEdge))
	default:
		return false
	}
	return true
}
