//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"strconv"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/widget"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// The keys of the pages.
const (
	pageOverview    = "overview"
	pageConnections = "connections"
	pageCooldowns   = "cooldowns"
	pageCombos      = "combos"
	pageActivity    = "activity"
	pageSettings    = "settings"
	pageDemo        = "demo"
	pageProviders   = "providers"
)

// overview is the page of what is serving now.
type overview struct {
	u       *ui
	pause   *button
	root    *fyne.Container
	content fyne.CanvasObject
	welcome *welcome
	steps   *firstSteps

	notices *fyne.Container
	early   *fyne.Container // the notices of a new installation, in above
	above   *fyne.Container
	conns   *liveRows
	serving *text
	more    *link // to the connections that are not listed
	moreBox *fyne.Container
	brk     *liveRows
	quotas  *liveRows
	quota   fyne.CanvasObject // their card
	fails   *liveRows
	recent  *liveRows
	calm    *text // the breakers, when all are closed
	calmBox fyne.CanvasObject
	setup   *setupCard
	chart   *chart
	hour    *text
}

func newOverview(u *ui) *overview { return &overview{u: u} }

func (p *overview) key() string   { return pageOverview }
func (p *overview) title() string { return view.T("Overview") }
func (p *overview) icon() string  { return "overview" }

func (p *overview) open(string) {}

func (p *overview) head() heading {
	switch {
	case p.u.refused:
		return heading{view.ShapeCross, view.RoleError, view.T("The token is refused"), view.T("Nothing can be shown or changed before it fits.")}
	case !p.u.known:
		return heading{view.ShapeDotted, view.RoleMuted, view.T("Looking for Breakwater"), ""}
	}
	s := view.Overview(p.u.snap, p.u.now())
	return heading{s.Shape, s.Role, s.Title, s.Sub}
}

func (p *overview) action() fyne.CanvasObject {
	p.pause = newButton(view.T("Pause"), func() {
		if p.u.snap.Paused {
			p.u.act(func(ctx context.Context) error { return p.u.facade.SetPaused(ctx, false) }, nil)
			return
		}
		pop := widget.NewPopUpMenu(p.pauses(), p.u.win.Canvas())
		at := fyne.CurrentApp().Driver().AbsolutePositionForObject(p.pause)
		pop.ShowAtPosition(at.AddXY(p.pause.Size().Width-pop.MinSize().Width, p.pause.Size().Height+gapSmall))
	})
	return p.pause
}

// pauses are the ways to pause.
func (p *overview) pauses() *fyne.Menu {
	item := func(word string, run func(context.Context) error) *fyne.MenuItem {
		return fyne.NewMenuItem(word, func() { p.u.act(run, nil) })
	}
	forTime := func(d time.Duration) func(context.Context) error {
		return func(ctx context.Context) error { return p.u.facade.PauseFor(ctx, d) }
	}
	return fyne.NewMenu("",
		item(view.T("For 15 minutes"), forTime(15*time.Minute)),
		item(view.T("For 1 hour"), forTime(time.Hour)),
		item(view.T("Until resumed"), func(ctx context.Context) error { return p.u.facade.SetPaused(ctx, true) }))
}

func (p *overview) build() fyne.CanvasObject {
	p.notices = container.New(stack{gap})
	p.conns = newLiveRows(columns{gap: 12, edge: 8, list: []column{
		{width: 150, flex: 1}, {width: 200, flex: 1}, {width: 128, flex: 3, priority: 2}, {width: 90, priority: 1, right: true}, {width: 80, priority: 3, right: true},
	}}, func() []fyne.CanvasObject {
		return []fyne.CanvasObject{
			newText("", view.RoleText).clipped(), newBadge(), newText("", view.RoleMuted).clipped(),
			newText("", view.RoleMuted).right().clipped(), newText("", view.RoleMuted).right().clipped(),
		}
	})
	p.makeTables()
	p.calm = newText("", view.RoleMuted).wrapped()
	p.calmBox = container.New(inset{0, 8, 4, 8}, p.calm)
	p.setup = newSetupCard(p.u, true)
	p.chart = newChart(func(at int) string { return p.u.hour.BarTip(p.u.now(), at) })
	p.hour = newText("", view.RoleMuted)
	breakers := flush(view.T("Breakers"), newLink(view.T("Details"), func() { p.u.goTo(pageCooldowns + "/" + showBreakers) }), container.New(stack{gapSmall}, p.brk.box, p.calmBox))
	all := newLink(view.T("All activity"), func() { p.u.goTo(pageActivity) })
	p.serving = newText("", view.RoleMuted).wrapped()
	p.more = newLink("", func() { p.u.goTo(pageConnections) })
	p.quota = flush(view.T("Claude quotas"), nil, p.quotas.box)
	p.moreBox = container.New(inset{0, 8, 4, 8}, container.New(line{}, p.more))
	serving := container.New(stack{gapSmall}, container.New(inset{0, 8, 4, 8}, p.serving), p.conns.box, p.moreBox)
	p.steps = newFirstSteps(p.u)
	p.content = scrolled(
		p.notices,
		p.steps.box,
		flush(view.T("Connections"), newLink(view.T("Manage"), func() { p.u.goTo(pageConnections) }), serving),
		container.New(halves{gap: gapGroup, turn: 680}, filled(view.T("The last hour"), p.hour, p.chart), flush(view.T("Failures of the last hour"), nil, p.fails.box)),
		p.quota,
		breakers,
		p.setup.box,
		flush(view.T("Recent requests"), all, p.recent.box),
	)
	p.welcome = newWelcome(p.u)
	p.early = container.New(stack{gap})
	p.above = container.New(inset{0, gapEdge, gap, gapEdge}, p.early)
	p.root = container.NewStack(p.content, container.NewBorder(p.above, nil, nil, nil, p.welcome.box))
	return p.root
}

// makeTables makes the short lists below the connections.
func (p *overview) makeTables() {
	p.brk = newLiveRows(columns{gap: 12, edge: 8, list: []column{{width: 108, flex: 3}, {width: 104, flex: 3}, {width: 44, flex: 2}, {width: 40, right: true}}},
		func() []fyne.CanvasObject {
			return []fyne.CanvasObject{newText("", view.RoleText).clipped(), newBadge(), newStrip(), newText("", view.RoleMuted).right()}
		})
	p.quotas = newQuotaRows(true)
	p.fails = newLiveRows(columns{gap: 12, edge: 8, list: []column{{width: 90, flex: 2}, {width: 110, flex: 3}, {width: 36, right: true}, {width: 74, right: true, priority: 1}}},
		func() []fyne.CanvasObject {
			return []fyne.CanvasObject{newText("", view.RoleText).clipped(), newText("", view.RoleMuted).clipped(), newText("", view.RoleText).right(), newText("", view.RoleMuted).right().clipped()}
		})
	p.recent = newLiveRows(columns{gap: 12, edge: 8, list: []column{
		{width: 64}, {width: 90, flex: 1, priority: 2}, {width: 110, flex: 2}, {width: 130, flex: 2}, {width: 56}, {width: 56, right: true},
	}}, func() []fyne.CanvasObject {
		return []fyne.CanvasObject{
			newText("", view.RoleMuted), newText("", view.RoleMuted).clipped(), newText("", view.RoleText).clipped(),
			newWho(), newBadge(), newText("", view.RoleMuted).right(),
		}
	})
}

func (p *overview) apply() {
	u := p.u
	switch {
	case u.snap.Paused:
		p.pause.set(view.T("Resume"))
	default:
		p.pause.set(view.T("Pause"))
	}
	empty := u.known && len(u.snap.Connections) == 0
	show(p.pause, u.known && !empty)
	show(p.welcome.box, empty)
	show(p.content, u.known && !empty)
	p.showNotices(p.early, empty)
	show(p.above, p.early.Visible())
	if empty {
		p.welcome.apply()
		return
	}
	p.showNotices(p.notices, true)
	p.steps.apply()
	brief, more, closed := view.Brief(u.snap)
	p.applyConnections(brief, more)
	p.applyBreakers(brief.Breakers, closed)
	p.applyQuotas()
	p.applyFailures()
	p.applyRecent()
	p.chart.show(p.u.hour.Bars(p.u.now()))
	p.hour.set(p.u.hour.Line(p.u.now()))
	p.setup.apply()
}

// showNotices shows the remarks in one of their two places: above the welcome
// of a new installation, which has no other content, or above everything else.
func (p *overview) showNotices(box *fyne.Container, wanted bool) {
	list := p.u.snap.Notices
	if !wanted {
		list = nil
	}
	if len(list) != len(box.Objects) {
		box.Objects = nil
		for range list {
			b := newBanner(view.ShapeHalf, view.RoleWarning, nil)
			b.flat()
			b.say("")
			box.Objects = append(box.Objects, b)
		}
		box.Refresh()
	}
	for i, n := range list {
		b := box.Objects[i].(*banner)
		b.shape.show(view.NoticeMark(n))
		b.label.set(view.NoticeText(n))
	}
	show(box, len(list) > 0)
}

func (p *overview) applyConnections(s control.Snapshot, more int) {
	u := p.u
	p.serving.set(view.Serving(u.snap))
	p.conns.resize(len(s.Connections))
	for i, c := range s.Connections {
		r, v := p.conns.rows[i], view.RowOf(&c, &s, u.now())
		r.cells[0].(*text).set(v.Name)
		r.cells[1].(*badge).show(v.Badge)
		r.cells[2].(*text).set(v.Provider)
		r.cells[3].(*text).set(served(c))
		r.cells[4].(*text).set(v.LastUsed)
		r.tips[1], r.tips[4] = v.Badge.Tip, v.UsedTip
		r.onTap = func() { u.goTo(pageConnections + "/" + v.ID) }
	}
	show(p.moreBox, more > 0)
	p.more.label.set(view.N(more, "%d more connection", "%d more connections", more))
}

// applyQuotas shows how full the windows of the Claude subscriptions are.
func (p *overview) applyQuotas() {
	owners := view.QuotaOwners(p.u.snap, p.u.now())
	n := 0
	for _, o := range owners {
		n += len(o.Windows)
	}
	show(p.quota, n > 0)
	p.quotas.resize(n)
	at := 0
	for _, o := range owners {
		for i, q := range o.Windows {
			name := o.Name
			if i > 0 {
				name = ""
			}
			fillQuota(p.quotas.rows[at], q, name)
			p.quotas.rows[at].onTap = func() { p.u.goTo(pageConnections + "/" + o.ID) }
			at++
		}
	}
}

// applyFailures sums up what went wrong in the last hour.
func (p *overview) applyFailures() {
	list := view.Failures(p.u.activity, p.u.now())
	p.fails.resize(len(list))
	p.fails.empty(len(list) == 0, view.T("None. What an upstream refuses or breaks is summed up here, also where another connection answered in its place."))
	for i, f := range list {
		r := p.fails.rows[i]
		for at, s := range []string{f.Who, f.Why, "×" + f.Count, f.Last} {
			r.cells[at].(*text).set(s)
		}
		r.tips[3] = f.Tip
		r.onTap = func() { p.u.goTo(pageActivity + "/" + strconv.FormatInt(f.ID, 10)) }
	}
}

func served(c control.Connection) string {
	switch {
	case c.InFlight > 0:
		return view.Tf("%d in flight", c.InFlight)
	case c.Served == 0:
		return ""
	default:
		return view.Tf("%d answered", c.Served)
	}
}

func (p *overview) applyBreakers(list []control.Breaker, more int) {
	u := p.u
	now := u.now()
	p.brk.resize(len(list))
	calm := true
	for i, b := range list {
		r := p.brk.rows[i]
		v := view.BreakerBadge(b, now)
		calm = calm && b.State == "CLOSED"
		r.cells[0].(*text).set(b.ProviderName)
		r.cells[1].(*badge).show(v)
		past := u.history.Strip(b.Provider, u.activity, now)
		r.cells[2].(*strip).show(past)
		r.cells[3].(*text).set(strconv.Itoa(b.FailureCount) + "/" + strconv.Itoa(b.FailureThreshold))
		r.tips[1], r.tips[2] = v.Tip, past.Tip
		r.onTap = func() { u.goToProvider(b.Provider) }
		r.tips[3] = view.Tf("%d of %d counted failures until it opens", b.FailureCount, b.FailureThreshold)
	}
	show(p.calmBox, calm || more > 0)
	switch {
	case !calm && more > 0:
		p.calm.set(view.Tf("%d more are listed in the details.", more))
	case calm:
		p.calm.set(view.T("All closed. A breaker opens when a provider keeps failing, keeps requests away from it for a while, then lets one probe through."))
	}
}

func (p *overview) applyRecent() {
	u := p.u
	now := u.now()
	list := u.activity[:min(6, len(u.activity))]
	p.recent.resize(len(list))
	p.recent.empty(len(list) == 0, view.T("No request yet. Point an agent at the address above and its first request shows here."))
	for i, a := range list {
		r, v := p.recent.rows[i], view.NewActivityRow(a, now)
		showActivity(r.cells, r.tips, v)
		r.onTap = func() { u.goTo(pageActivity + "/" + strconv.FormatInt(a.ID, 10)) }
	}
}

// showActivity fills the six cells of a request's line.
func showActivity(cells []fyne.CanvasObject, tip []string, v view.ActivityRow) {
	cells[0].(*text).set(v.Time)
	cells[1].(*text).set(v.Client)
	cells[2].(*text).set(v.Model)
	cells[3].(*who).show(v.Who, v.Failover)
	cells[4].(*badge).show(v.Badge)
	cells[5].(*text).set(v.Duration)
	tip[0], tip[4], tip[3] = v.TimeTip, v.Badge.Tip, ""
	if v.Failover {
		tip[3] = view.Tf("%s, after another connection failed", v.Who)
	}
}

// show shows or hides an object, when that is a change.
func show(o fyne.CanvasObject, on bool) {
	if o.Visible() == on {
		return
	}
	if on {
		o.Show()
	} else {
		o.Hide()
	}
}
