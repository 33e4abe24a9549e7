//go:build (cgo || ci) && !nogui

package windows

import (
	"context"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/widget"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// leaseSettings lists the exclusive leases with a way to end each.
type leaseSettings struct {
	u      *ui
	held   []control.HeldLease
	rows   []view.LeaseRow
	known  bool
	seen   string // which connections are held, as the last snapshot tells
	chosen int
	cols   columns
	list   *pickList
	blank  *fyne.Container
}

func newLeaseSettings(u *ui) *leaseSettings { return &leaseSettings{u: u} }

func (p *leaseSettings) build() fyne.CanvasObject {
	p.cols = columns{gap: 12, edge: 10, list: []column{
		{title: view.T("Connection"), width: 140, flex: 3},
		{title: view.T("Held by"), width: 140, flex: 2},
		{title: view.T("Since"), width: 84, right: true, priority: 1},
		{title: view.T("Until"), width: 112, right: true},
		{width: 62, right: true},
	}}
	p.list = newPickList(func() int { return len(p.rows) }, func() fyne.CanvasObject {
		return newRow(&p.cols, 44, newPair(newText("", view.RoleText).bold().clipped(), 0), newPair(newText("", view.RoleText).clipped(), 0),
			newText("", view.RoleMuted).right().clipped(), newText("", view.RoleText).right().clipped(), newRowWord(view.T("End")))
	}, p.fill, func() int { return min(p.chosen, len(p.rows)-1) }, func(i int) { p.chosen = i; p.list.mark() })
	p.list.onKey = func(e *fyne.KeyEvent) bool {
		if at := p.list.at(); at >= 0 && e.Name == fyne.KeyDelete {
			p.ask(p.rows[at])
			return true
		}
		return false
	}
	p.blank = container.NewStack(emptyNote(view.ShapeLock, view.T("Nobody holds a connection"),
		view.T("A program may take a connection for itself for a while, so that no other request uses it. Its lease is listed here and may be ended."), nil))
	return container.New(inset{0, gapEdge, gapEdge, gapEdge}, tableBox(newTableHead(&p.cols, nil).kept(p.u, "leases", p.list.Refresh), p.list, p.blank))
}

func (p *leaseSettings) load() {
	p.seen = view.Held(p.u.snap)
	fetch(p.u, p.u.facade.Leases, func(list []control.HeldLease) {
		p.held, p.known = list, true
		p.u.redraw()
	}, nil)
}

// holding reports whether a lease is shown whose end comes by the clock.
func (p *leaseSettings) holding() bool { return len(p.rows) > 0 }

func (p *leaseSettings) apply() {
	if p.seen != view.Held(p.u.snap) {
		p.load()
	}
	p.rows = view.LeaseRows(p.held, p.u.now())
	show(p.blank, p.known && len(p.rows) == 0)
	p.list.Refresh()
	p.list.mark()
}

func (p *leaseSettings) fill(i widget.ListItemID, o fyne.CanvasObject) {
	if i >= len(p.rows) {
		return
	}
	r, v := o.(*row), p.rows[i]
	name, holder := r.cells[0].(*pair), r.cells[1].(*pair)
	name.top.(*text).set(v.Connection)
	name.setBelow(v.Provider)
	holder.top.(*text).set(v.Holder)
	holder.setBelow(v.HolderMore)
	r.cells[2].(*text).set(v.Since)
	r.cells[3].(*text).set(v.Until)
	r.cells[4].(*rowWord).onTap = func() { p.ask(v) }
	r.tips[2], r.tips[3] = v.SinceTip, v.UntilTip
}

// ask asks before a lease is taken from its owner.
func (p *leaseSettings) ask(v view.LeaseRow) {
	confirm(p.u.win.Canvas(), view.Tf("End the lease of %s?", v.Connection),
		view.T("The program that holds it is refused from now on, and all others may use the connection again."), view.T("End"), func() {
			p.u.act(func(ctx context.Context) error { return p.u.facade.EndLease(ctx, v.ID) }, p.load)
		})
}
