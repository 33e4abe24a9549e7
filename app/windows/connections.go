//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/widget"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// connections is the page of the connections' table and the details of the
// chosen one.
type connections struct {
	u       *ui
	rows    []*control.Connection
	speeds  map[string]view.Speed
	by      view.Column
	reverse bool
	chosen  string // id

	cols    columns
	headRow *tableHead
	list    *pickList
	order   *reorder
	detail  *connectionDetail
	blank   fyne.CanvasObject
	table   *fyne.Container
	root    fyne.CanvasObject
}

func newConnections(u *ui) *connections { return &connections{u: u, by: view.ByOrder} }

func (p *connections) key() string   { return pageConnections }
func (p *connections) title() string { return view.T("Connections") }
func (p *connections) icon() string  { return "connections" }

func (p *connections) head() heading {
	return heading{title: p.title(), line: view.ConnectionsLine(p.u.snap)}
}

func (p *connections) action() fyne.CanvasObject {
	return container.New(line{gap: gap}, newButton(view.T("Import keys…"), p.u.importDialog),
		newPrimary(view.T("Add connection"), func() { p.u.addDialog("", nil) }).withIcon("add"))
}

// open chooses a connection, or opens a dialog.
func (p *connections) open(id string) {
	switch id {
	case "add":
		p.u.addDialog("", nil)
	case "import":
		p.u.importDialog()
	default:
		p.choose(id)
	}
}

func (p *connections) build() fyne.CanvasObject {
	p.cols = columns{gap: 12, edge: 10, list: []column{
		{key: string(view.ByOrder), title: "#", width: 20, right: true, sort: true},
		{width: 30},
		{key: string(view.ByName), title: view.T("Connection"), width: 144, flex: 1, sort: true},
		{key: string(view.ByState), title: view.T("State"), width: 190, flex: 1, sort: true},
		{key: string(view.ByQuota), title: view.T("Quota used"), width: 112, priority: 2, sort: true},
		{title: view.T("Answered"), width: 60, right: true, priority: 3},
		{title: view.T("First words"), width: 70, right: true, priority: 4},
		{key: string(view.ByUsed), title: view.T("Last used"), width: 74, right: true, priority: 1, sort: true},
		{width: 86},
	}}
	p.headRow = newTableHead(&p.cols, p.sort)
	p.list = newPickList(func() int { return len(p.rows) }, p.newLine, p.fill, p.at, func(i int) { p.choose(p.rows[i].ID) })
	p.list.onKey = p.typed
	p.headRow.kept(p.u, "connections", p.list.Refresh)
	p.order = newReorder(p.list, 44, p.inOrder, p.moveTo)
	p.detail = newConnectionDetail(p.u, p)
	p.blank = emptyNote(view.ShapeRing, view.T("No connections yet"),
		view.T("A connection is one account or key at one provider. With two of them, a failing one gives way to the other."),
		newPrimary(view.T("Add connection"), func() { p.u.addDialog("", nil) }).withIcon("add"))
	table := newPanel(colorCard, true, radius, container.New(inset{4, 4, 4, 4}, bordered(p.headRow, nil, nil, nil, container.New(marked{}, p.list, p.order.mark))))
	p.table = container.New(docked{p.detail.room}, table, p.detail.box)
	p.root = container.New(inset{0, gapEdge, gapEdge, gapEdge}, container.NewStack(p.table, p.blank))
	return p.root
}

func (p *connections) newLine() fyne.CanvasObject {
	up, down := newRowIcon("up", view.T("Try earlier")), newRowIcon("down", view.T("Try later"))
	more := newRowIcon("more", view.T("More"))
	return newRow(&p.cols, 44,
		newText("", view.RoleMuted).right(), newRowToggle(), newPair(newText("", view.RoleText).bold().clipped(), 0), newPair(newBadge(), 20),
		optional(newPair(newMeter(), 0)), newText("", view.RoleMuted).right(), newText("", view.RoleMuted).right(), newText("", view.RoleMuted).right().clipped(),
		container.New(line{gap: 2}, up, down, more))
}

func (p *connections) fill(i widget.ListItemID, o fyne.CanvasObject) {
	if i >= len(p.rows) {
		return
	}
	r, v := o.(*row), view.RowOf(p.rows[i], &p.u.snap, p.u.now())
	r.cells[0].(*text).set(v.Priority)
	p.fillSwitch(r.cells[1].(*toggle), v)
	role := view.RoleText
	if !v.Active {
		role = view.RoleDisabled
	}
	name, state := r.cells[2].(*pair), r.cells[3].(*pair)
	name.top.(*text).show(v.Name, role)
	name.setBelow(v.Provider + " · " + v.Dialects)
	state.top.(*badge).show(v.Badge)
	state.setBelow(v.LastError)
	fillUse(r, v, p.speeds[v.ID])
	r.tips[2], r.tips[3] = v.Provider+" · "+v.Dialects, v.StateTip()
	buttons := r.cells[8].(*fyne.Container).Objects
	up, down, more := buttons[0].(*iconButton), buttons[1].(*iconButton), buttons[2].(*iconButton)
	up.onTap, down.onTap = func() { p.move(v.ID, -1) }, func() { p.move(v.ID, 1) }
	p.order.arm(r, i)
	if p.inOrder() {
		r.tips[0] = view.T("Drag to reorder")
	}
	up.enable(p.inOrder() && !v.First)
	down.enable(p.inOrder() && !v.Last)
	more.onTap = func() {
		at := fyne.CurrentApp().Driver().AbsolutePositionForObject(more)
		p.menu(v.ID, at.AddXY(more.Size().Width, more.Size().Height))
	}
	r.onMenu = func(at fyne.Position) { p.menu(v.ID, at) }
}

// fillUse shows what the connection did and what is left of its quota.
func fillUse(r *row, v view.ConnectionRow, speed view.Speed) {
	quota := inside[*pair](r.cells[4])
	show(quota, v.HasQuota)
	if v.HasQuota {
		quota.top.(*meter).show(v.Quota.Figure, v.Quota.Share, 0, v.Quota.Role)
		quota.setBelow(v.QuotaLine())
	}
	r.cells[5].(*text).set(v.Rate)
	r.cells[6].(*text).set(speed.Word)
	r.cells[7].(*text).set(v.LastUsed)
	r.tips[4], r.tips[5], r.tips[6], r.tips[7] = v.Quota.Tip, v.RateTip, speed.Tip, v.UsedTip
}

func (p *connections) fillSwitch(t *toggle, v view.ConnectionRow) {
	t.set(v.Active)
	t.tip = view.T("Switch it off")
	if !v.Active {
		t.tip = view.T("Switch it on")
	}
	t.onChange = func(on bool) { p.u.setActive(v.ID, on) }
}

func (p *connections) apply() {
	u := p.u
	p.rows = view.SortConnections(u.snap.Connections, p.by, p.reverse)
	p.speeds = view.Speeds(u.activity)
	empty := u.known && len(p.rows) == 0
	if p.connection() == nil && !empty && u.known {
		p.chosen = p.rows[0].ID
	}
	show(p.blank, empty)
	show(p.table, !empty)
	key := string(p.by)
	if p.by == view.ByOrder && !p.reverse {
		key = ""
	}
	p.headRow.mark(key, p.reverse)
	p.list.Refresh()
	p.list.mark()
	p.detail.apply(p.connection())
	p.arrange()
}

// at is the place of the chosen connection in the table.
func (p *connections) at() int {
	return slices.IndexFunc(p.rows, func(c *control.Connection) bool { return c.ID == p.chosen })
}

// connection returns the chosen one, or nil.
func (p *connections) connection() *control.Connection {
	for i := range p.u.snap.Connections {
		if p.u.snap.Connections[i].ID == p.chosen {
			return &p.u.snap.Connections[i]
		}
	}
	return nil
}

func (p *connections) choose(id string) {
	if p.chosen != id {
		p.detail.forget()
	}
	p.chosen = id
	p.list.mark()
	p.detail.apply(p.connection())
	p.arrange()
}

// arrange gives the pane below the table the room it needs now.
func (p *connections) arrange() {
	p.table.Layout.Layout(p.table.Objects, p.table.Size())
}

func (p *connections) sort(key string) {
	if p.by == view.Column(key) {
		p.reverse = !p.reverse
	} else {
		p.by, p.reverse = view.Column(key), false
	}
	p.apply()
}

// inOrder reports whether the rows stand in routing order, so that moving one
// means something.
func (p *connections) inOrder() bool { return p.by == view.ByOrder && !p.reverse }

// moveTo gives the row at a place another one.
func (p *connections) moveTo(from, to int) {
	if from < len(p.rows) {
		p.choose(p.rows[from].ID)
		p.move(p.rows[from].ID, to-from)
	}
}

// move changes the order in which the connections are tried.
func (p *connections) move(id string, step int) {
	ids := view.Move(p.u.snap, id, step)
	if ids == nil {
		return
	}
	p.u.act(func(ctx context.Context) error { return p.u.facade.ReorderConnections(ctx, ids) }, nil)
}

// menu shows what can be done with one connection.
func (p *connections) menu(id string, at fyne.Position) {
	c, ok := p.u.connectionByID(id)
	if !ok {
		return
	}
	p.choose(id)
	item := func(word string, f func()) *fyne.MenuItem { return fyne.NewMenuItem(word, f) }
	clear := item(view.T("Clear cooldown"), func() { p.u.clearCooldown(id) })
	clear.Disabled = c.State != control.StateCooling && c.State != control.StateModelLocked
	enable := item(view.T("Disable"), func() { p.u.setActive(id, false) })
	if !c.Active {
		enable = item(view.T("Enable"), func() { p.u.setActive(id, true) })
	}
	up, down := item(view.T("Try earlier"), func() { p.move(id, -1) }), item(view.T("Try later"), func() { p.move(id, 1) })
	n := len(p.u.snap.Connections)
	top, bottom := item(view.T("Try first"), func() { p.move(id, -n) }), item(view.T("Try last"), func() { p.move(id, n) })
	up.Disabled, down.Disabled = view.Move(p.u.snap, id, -1) == nil, view.Move(p.u.snap, id, 1) == nil
	top.Disabled, bottom.Disabled = up.Disabled, down.Disabled
	menu := fyne.NewMenu("",
		item(view.T("Edit…"), func() { p.u.editDialog(c) }),
		item(view.T("Test"), func() { p.detail.test(id) }),
		clear, enable, item(view.T("Show provider"), func() { p.u.goToProvider(c.Provider) }), fyne.NewMenuItemSeparator(), top, up, down, bottom, fyne.NewMenuItemSeparator(),
		item(view.T("Delete…"), func() { p.u.askDelete(c) }))
	pop := widget.NewPopUpMenu(menu, p.u.win.Canvas())
	if at.X+pop.MinSize().Width > p.u.win.Canvas().Size().Width-gapEdge {
		at.X -= pop.MinSize().Width // to the left of the button or pointer
	}
	pop.ShowAtPosition(at)
}

// typed acts on the chosen connection: Enter edits, Delete deletes, M opens
// the menu.
func (p *connections) typed(e *fyne.KeyEvent) bool {
	c := p.connection()
	if c == nil {
		return false
	}
	switch e.Name {
	case fyne.KeyReturn, fyne.KeyEnter:
		p.u.editDialog(*c)
	case fyne.KeyDelete:
		p.u.askDelete(*c)
	case fyne.KeyM:
		at := fyne.CurrentApp().Driver().AbsolutePositionForObject(p.list)
		p.menu(c.ID, at.AddXY(gapEdge, gapEdge))
	default:
		return false
	}
	return true
}

// connectionByID finds a connection in the present state.
func (u *ui) connectionByID(id string) (control.Connection, bool) {
	for _, c := range u.snap.Connections {
		if c.ID == id {
			return c, true
		}
	}
	return control.Connection{}, false
}

func (u *ui) setActive(id string, on bool) {
	call(u, func(ctx context.Context) (control.Connection, error) {
		return u.facade.EditConnection(ctx, id, control.ConnectionPatch{Active: &on})
	}, u.put, func(err error) {
		u.frame.say(problem(err))
		u.redraw() // the switch goes back
	})
}

// put takes over one changed connection before the next snapshot comes.
func (u *ui) put(c control.Connection) {
	for i := range u.snap.Connections {
		if u.snap.Connections[i].ID == c.ID {
			u.snap.Connections[i] = c
		}
	}
	u.redraw()
}

func (u *ui) clearCooldown(id string) {
	u.act(func(ctx context.Context) error { return u.facade.ClearCooldown(ctx, id) }, nil)
}

func (u *ui) askDelete(c control.Connection) {
	confirm(u.win.Canvas(), view.Tf("Delete %s?", c.Name),
		view.T("Its stored key is forgotten with it. Requests in flight finish; new ones go to the other connections."),
		view.T("Delete"), func() {
			u.act(func(ctx context.Context) error { return u.facade.DeleteConnection(ctx, c.ID) }, nil)
		})
}
