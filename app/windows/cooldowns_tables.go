//go:build (cgo || ci) && !nogui

package windows

import (
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/widget"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// coolingTable lists the connections that are out of routing.
type coolingTable struct {
	p       *cooldowns
	rows    []*control.Connection
	healthy bool
	marked  map[string]bool // ids
	chosen  string          // id

	cols     columns
	list     *pickList
	blank    *fyne.Container
	box      fyne.CanvasObject
	left     fyne.CanvasObject // tools
	right    *fyne.Container
	selected *button
	all      *button
	switches *keyToggle
}

func newCoolingTable(p *cooldowns) *coolingTable {
	t := &coolingTable{p: p, marked: map[string]bool{}}
	t.cols = columns{gap: 12, edge: 10, list: []column{
		{width: 20},
		{title: view.T("Connection"), width: 136, flex: 3},
		{title: view.T("State"), width: 150, flex: 2},
		{title: view.T("Locked models"), width: 100, flex: 2, priority: 1},
		{title: view.T("Remaining"), width: 90, right: true},
		{width: 54, right: true},
	}}
	t.list = newPickList(func() int { return len(t.rows) }, t.line, t.fill, t.at, func(i int) { t.choose(t.rows[i].ID) })
	t.list.onKey = t.typed
	t.blank = container.NewStack(emptyNote(view.ShapeDisc, view.T("Nothing is cooling down"),
		view.T("A connection that is rate limited or failing is left out for a while and listed here until it is back."), nil))
	t.box = tableBox(newTableHead(&t.cols, nil).kept(p.u, "cooldowns", t.list.Refresh), t.list, t.blank)
	t.switches = newToggle(func(on bool) { t.healthy = on; p.u.redraw() })
	t.left = container.New(line{gap: gap}, t.switches, newText(view.T("Show healthy"), view.RoleText))
	t.selected = newButton("", func() { p.clear(t.clearing(t.ids())) })
	t.all = newButton(view.T("Clear all"), func() { p.clear(t.clearing(nil)) })
	t.right = container.New(line{gap: gap}, t.selected, t.all)
	return t
}

func (t *coolingTable) clearing(ids []string) view.Clearing {
	return view.ClearingOf(t.p.u.snap, ids, t.p.provider, t.p.u.now())
}

// ids are the connections that are ticked.
func (t *coolingTable) ids() []string {
	out := []string{}
	for _, r := range t.rows {
		if t.marked[r.ID] {
			out = append(out, r.ID)
		}
	}
	return out
}

func (t *coolingTable) line() fyne.CanvasObject {
	return newRow(&t.cols, 44, optional(newTick()), newPair(newText("", view.RoleText).bold().clipped(), 0), newPair(newBadge(), 20),
		newPair(newText("", view.RoleText).clipped(), 0), newText("", view.RoleText).right().clipped(), optional(newRowWord(view.T("Clear"))))
}

func (t *coolingTable) fill(i widget.ListItemID, o fyne.CanvasObject) {
	if i >= len(t.rows) {
		return
	}
	r, v := o.(*row), view.CooldownRowOf(t.rows[i], t.p.u.now())
	box, word := inside[*tick](r.cells[0]), inside[*rowWord](r.cells[5])
	show(box, v.Clearable)
	box.set(t.marked[v.ID])
	box.onTap = func() { t.mark(v.ID) }
	name, state := r.cells[1].(*pair), r.cells[2].(*pair)
	name.top.(*text).set(v.Name)
	name.setBelow(v.Provider)
	state.top.(*badge).show(v.Badge)
	state.setBelow(v.LastError)
	models := r.cells[3].(*pair)
	models.top.(*text).set(v.Locked)
	models.setBelow(v.LockedMore)
	r.cells[4].(*text).set(v.Remaining)
	show(word, v.Clearable)
	word.onTap = func() { t.p.clear(t.clearing([]string{v.ID})) }
	r.tips[2], r.tips[3], r.tips[4] = v.ErrorTip, v.LockedTip, v.RemainingTip
	r.onMenu = func(at fyne.Position) { t.menu(v.ID, at) }
}

func (t *coolingTable) mark(id string) {
	if t.marked[id] = !t.marked[id]; !t.marked[id] {
		delete(t.marked, id)
	}
	t.p.u.redraw()
}

func (t *coolingTable) apply() {
	u := t.p.u
	t.rows = view.CooldownList(u.snap.Connections, view.CooldownFilter{Provider: t.p.provider, Healthy: t.healthy}, u.now())
	for id := range t.marked {
		if !slices.ContainsFunc(t.rows, func(c *control.Connection) bool { return c.ID == id && view.Clearable(c, u.now()) }) {
			delete(t.marked, id)
		}
	}
	if t.at() < 0 && len(t.rows) > 0 {
		t.chosen = t.rows[0].ID
	}
	show(t.blank, u.known && len(t.rows) == 0)
	t.selected.set(view.Tf("Clear selected (%d)", len(t.marked)))
	show(t.selected, len(t.marked) > 0)
	t.all.enable(len(t.clearing(nil).IDs) > 0)
	t.right.Refresh()
	t.list.Refresh()
	t.list.mark()
}

func (t *coolingTable) at() int {
	return slices.IndexFunc(t.rows, func(c *control.Connection) bool { return c.ID == t.chosen })
}

func (t *coolingTable) choose(id string) {
	t.chosen = id
	t.list.mark()
}

// typed acts on the chosen row: the space bar ticks it, Delete clears it,
// Enter goes to the connection, M opens the menu.
func (t *coolingTable) typed(e *fyne.KeyEvent) bool {
	at := t.at()
	if at < 0 {
		return false
	}
	v := view.CooldownRowOf(t.rows[at], t.p.u.now())
	switch e.Name {
	case fyne.KeySpace:
		if v.Clearable {
			t.mark(v.ID)
		}
	case fyne.KeyDelete:
		if v.Clearable {
			t.p.clear(t.clearing([]string{v.ID}))
		}
	case fyne.KeyReturn, fyne.KeyEnter:
		t.p.u.goTo(pageConnections + "/" + v.ID)
	case fyne.KeyM:
		t.menu(v.ID, fyne.CurrentApp().Driver().AbsolutePositionForObject(t.list).AddXY(gapEdge, gapEdge))
	default:
		return false
	}
	return true
}

// menu shows what can be done with one connection.
func (t *coolingTable) menu(id string, at fyne.Position) {
	u := t.p.u
	c, ok := u.connectionByID(id)
	if !ok {
		return
	}
	t.choose(id)
	clear := fyne.NewMenuItem(view.T("Clear"), func() { t.p.clear(t.clearing([]string{id})) })
	clear.Disabled = len(t.clearing([]string{id}).IDs) == 0
	items := []*fyne.MenuItem{clear}
	for _, l := range view.Locked(c, u.now()) {
		items = append(items, fyne.NewMenuItem(view.Tf("Ask %s again", l.Model), func() {
			t.p.unlock(control.LockoutFilter{ConnectionID: id, Model: l.Model})
		}))
	}
	items = append(items, fyne.NewMenuItemSeparator(), fyne.NewMenuItem(view.T("Show connection"), func() { u.goTo(pageConnections + "/" + id) }))
	widget.NewPopUpMenu(fyne.NewMenu("", items...), u.win.Canvas()).ShowAtPosition(at)
}

// lockTable lists the locked models.
type lockTable struct {
	p      *cooldowns
	rows   []view.LockRow
	chosen int
	cols   columns
	list   *pickList
	blank  *fyne.Container
	box    fyne.CanvasObject
	right  *button
}

func newLockTable(p *cooldowns) *lockTable {
	t := &lockTable{p: p}
	t.cols = columns{gap: 12, edge: 10, list: []column{
		{title: view.T("Model"), width: 140, flex: 3},
		{title: view.T("Connection"), width: 110, flex: 2},
		{title: view.T("Reason"), width: 110, flex: 2, priority: 1},
		{title: view.T("Failures"), width: 56, right: true, priority: 2},
		{title: view.T("Remaining"), width: 90, right: true},
		{width: 76, right: true},
	}}
	t.list = newPickList(func() int { return len(t.rows) }, func() fyne.CanvasObject {
		return newRow(&t.cols, rowHeight, newText("", view.RoleText).clipped(), newText("", view.RoleMuted).clipped(), newText("", view.RoleMuted).clipped(),
			newText("", view.RoleMuted).right(), newText("", view.RoleText).right().clipped(), newRowWord(view.T("Ask again")))
	}, t.fill, func() int { return min(t.chosen, len(t.rows)-1) }, func(i int) { t.chosen = i; t.list.mark() })
	t.list.onKey = t.typed
	t.blank = container.NewStack(emptyNote(view.ShapeLock, view.T("No model is locked"),
		view.T("When one model of a connection fails, only that model is left out and listed here; the others go on."), nil))
	t.box = tableBox(newTableHead(&t.cols, nil).kept(p.u, "lockouts", t.list.Refresh), t.list, t.blank)
	t.right = newButton(view.T("Ask all again"), func() { p.unlock(control.LockoutFilter{Provider: p.provider}) })
	return t
}

func (t *lockTable) fill(i widget.ListItemID, o fyne.CanvasObject) {
	if i >= len(t.rows) {
		return
	}
	r, v := o.(*row), t.rows[i]
	for at, s := range []string{v.Model, v.Connection, v.Reason, v.Failures, v.Remaining} {
		r.cells[at].(*text).set(s)
	}
	r.tips[1], r.tips[4] = v.Provider, v.RemainingTip
	r.cells[5].(*rowWord).onTap = func() { t.unlock(v) }
}

func (t *lockTable) unlock(v view.LockRow) {
	t.p.unlock(control.LockoutFilter{ConnectionID: v.ConnectionID, Model: v.Model})
}

// typed acts on the chosen row: Delete and Enter unlock the model.
func (t *lockTable) typed(e *fyne.KeyEvent) bool {
	if at := t.list.at(); at >= 0 && (e.Name == fyne.KeyDelete || e.Name == fyne.KeyReturn || e.Name == fyne.KeyEnter) {
		t.unlock(t.rows[at])
		return true
	}
	return false
}

func (t *lockTable) apply() {
	u := t.p.u
	t.rows = view.LockRows(u.snap, t.p.provider, u.now())
	show(t.blank, u.known && len(t.rows) == 0)
	t.right.enable(len(t.rows) > 0)
	t.list.Refresh()
	t.list.mark()
}

// breakerTable lists the providers' breakers.
type breakerTable struct {
	p      *cooldowns
	rows   []view.BreakerRow
	chosen int
	cols   columns
	list   *pickList
	blank  *fyne.Container
	box    fyne.CanvasObject
	left   fyne.CanvasObject
	right  *button
}

func newBreakerTable(p *cooldowns) *breakerTable {
	t := &breakerTable{p: p}
	t.cols = columns{gap: 12, edge: 10, list: []column{
		{title: view.T("Provider"), width: 130, flex: 2},
		{title: view.T("State"), width: 172, flex: 2},
		{title: view.T("Failures"), width: 112, flex: 1},
		{title: view.T("Last failure"), width: 138, flex: 2, priority: 1},
		{title: view.T("Opened in a row"), width: 96, right: true, priority: 2},
	}}
	t.list = newPickList(func() int { return len(t.rows) }, func() fyne.CanvasObject {
		return newRow(&t.cols, 34, newText("", view.RoleText).clipped(), newBadge(), newMeter(), newText("", view.RoleMuted).clipped(), newText("", view.RoleMuted).right())
	}, t.fill, func() int { return min(t.chosen, len(t.rows)-1) }, func(i int) { t.chosen = i; t.list.mark() })
	t.list.onKey = func(e *fyne.KeyEvent) bool {
		if at := t.list.at(); at >= 0 && (e.Name == fyne.KeyReturn || e.Name == fyne.KeyEnter) {
			t.p.u.goToProvider(t.rows[at].ID)
			return true
		}
		return false
	}
	t.blank = container.NewStack(emptyNote(view.ShapeRing, view.T("No breaker yet"),
		view.T("Each provider gets one with its first connection. It opens when the provider keeps failing."), nil))
	t.box = tableBox(newTableHead(&t.cols, nil).kept(p.u, "breakers", t.list.Refresh), t.list, t.blank)
	t.left = newText(view.T("One breaker guards each provider."), view.RoleMuted)
	t.right = newButton(view.T("Reset breakers…"), func() { askReset(p.u) })
	return t
}

func (t *breakerTable) fill(i widget.ListItemID, o fyne.CanvasObject) {
	if i >= len(t.rows) {
		return
	}
	r, v := o.(*row), t.rows[i]
	r.cells[0].(*text).set(v.Provider)
	r.cells[1].(*badge).show(v.Badge)
	r.cells[2].(*meter).show(v.Count, v.Share, v.Mark, v.Role)
	r.cells[3].(*text).set(v.LastFailure)
	r.cells[4].(*text).set(v.Opened)
	r.tips[1], r.tips[2], r.tips[3] = v.Badge.Tip, v.CountTip, v.FailureTip
	r.onMenu = func(at fyne.Position) {
		item := fyne.NewMenuItem(view.T("Show provider"), func() { t.p.u.goToProvider(v.ID) })
		widget.NewPopUpMenu(fyne.NewMenu("", item), t.p.u.win.Canvas()).ShowAtPosition(at)
	}
}

func (t *breakerTable) apply() {
	u := t.p.u
	t.rows = view.BreakerRows(u.snap, u.now())
	show(t.blank, u.known && len(t.rows) == 0)
	t.right.enable(len(t.rows) > 0)
	t.list.Refresh()
	t.list.mark()
}
