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

// drillDialog lets faults happen to a twin of a combo and shows what the stack
// did, request by request.
type drillDialog struct {
	u     *ui
	modal *modal
	combo control.Combo

	faults  []*drillFault
	count   *segments
	spacing *segments
	run     *button
	sum     *text
	began   time.Time

	report control.DrillReport
	rows   []view.DrillRow
	at     int
	cols   columns
	list   *pickList
	story  *fyne.Container
	scroll *container.Scroll
	result fyne.CanvasObject
	hint   fyne.CanvasObject
}

// drillFault is the choice of what happens to one connection.
type drillFault struct {
	id       string
	kind     *choice
	after    *field
	from, to *field // requests of the drill; empty: the first, the last
}

var (
	drillCounts   = []int{5, 10, 20}
	drillSpacings = []int64{1000, 5000, 60_000}
)

// drillDialog opens the fault drill of a combo.
func (u *ui) drillDialog(c *control.Combo) *drillDialog {
	d := &drillDialog{u: u, combo: *c, at: -1}
	d.build()
	return d
}

func (d *drillDialog) build() {
	d.count = newSegments([]string{"5", "10", "20"}, 0, nil)
	d.spacing = newSegments([]string{view.Tf("%d s", 1), view.Tf("%d s", 5), view.Tf("%d min", 1)}, 1, nil)
	d.run = newPrimary(view.T("Run the drill"), d.start)
	d.sum = newText("", view.RoleText).bold().wrapped()
	table := container.New(stack{gapSmall})
	_, words := view.DrillKinds()
	for _, c := range d.connections() {
		f := &drillFault{id: c.ID, kind: newChoice(words, nil), after: digits(view.T("no Retry-After")), from: digits("1"), to: digits(view.T("last"))}
		span := container.New(line{gap: gapSmall}, newText(view.T("Requests"), view.RoleMuted), container.New(sized{width: 46}, f.from),
			newText("–", view.RoleMuted), container.New(sized{width: 62}, f.to))
		after := container.New(sized{width: 150}, f.after)
		f.kind.OnChanged = func(string) {
			show(after, f.kindName() == "rate_limit")
			show(span, f.kindName() != "none")
			table.Refresh()
		}
		f.kind.show(words[0])
		after.Hide()
		span.Hide()
		name := newText(c.Name, view.RoleText).clipped()
		table.Add(container.New(line{gap: gap, grow: name}, name, after, span, container.New(sized{width: 200}, f.kind.boxed())))
		d.faults = append(d.faults, f)
	}
	d.cols = columns{gap: 10, edge: 8, list: []column{{width: 18}, {width: 56, right: true}, {width: 150, flex: 1}}}
	d.list = newPickList(func() int { return len(d.rows) }, d.newLine, d.fill, func() int { return d.at }, d.choose)
	d.story = container.New(stack{0})
	d.scroll = container.NewVScroll(container.New(inset{4, 12, 8, 12}, d.story))
	left := newPanel("background", true, 4, container.New(inset{4, 4, 4, 4}, d.list))
	d.result = bordered(container.New(inset{0, 0, 8, 0}, d.sum), nil, container.New(sized{width: 330}, left), nil, d.scroll)
	d.result.Hide()
	d.hint = newText(view.T("A twin of the combo, in memory, gets the requests. No provider is asked, no key is used, and nothing of the real state changes. Its clock runs fast, so that waits are short."), view.RoleMuted).wrapped()
	options := container.New(line{gap: gap}, newText(view.T("Requests"), view.RoleMuted), d.count, newText(view.T("Pause between them"), view.RoleMuted), d.spacing)
	side := float32(0)
	if len(d.faults) > 4 {
		side = 14 // the scroll bar's
	}
	lines := container.New(inset{1, side, 1, 0}, table)
	faults := container.New(upTo{lines, faultsHeight}, container.NewVScroll(lines))
	top := container.New(stack{12}, d.hint, faults, options)
	head := container.New(inset{18, gapEdge, 8, gapEdge}, newTitle(view.Tf("Fault drill of %s", d.combo.Name)))
	foot := container.New(inset{12, gapEdge, gapGroup, gapEdge}, rightAligned(newButton(view.T("Close"), func() { d.modal.cancel() }), d.run))
	body := bordered(container.New(inset{0, 0, 12, 0}, top), nil, nil, nil, d.result)
	d.modal = openModal(d.u.win.Canvas(), bordered(head, foot, nil, nil, container.New(inset{0, gapEdge, 0, gapEdge}, body)), 860, 640, nil)
	if len(d.faults) > 0 {
		d.u.win.Canvas().Focus(d.faults[0].kind)
	}
}

// faultsHeight is the most that the lines of the connections take: more of them
// scroll, so that the answers keep their room.
const faultsHeight = 142

// connections are those that the combo's steps may use, as far as the window
// can tell; the proxy knows better and refuses what is none.
func (d *drillDialog) connections() []control.Connection {
	var out []control.Connection
	for _, c := range d.u.snap.Connections {
		for _, s := range d.combo.Steps {
			if s.Combo != "" || s.Connection == c.ID || s.Connection == "" && s.Provider == c.Provider {
				out = append(out, c)
				break
			}
		}
	}
	return out
}

func (f *drillFault) kindName() string {
	kinds, _ := view.DrillKinds()
	return kinds[max(0, f.kind.SelectedIndex())]
}

// request is what the form asks for.
func (d *drillDialog) request() control.DrillRequest {
	in := control.DrillRequest{Combo: d.combo.ID, Requests: drillCounts[d.count.at], Spacing: drillSpacings[d.spacing.at], Faults: []control.DrillFault{}}
	for _, f := range d.faults {
		if kind := f.kindName(); kind != "none" {
			x := control.DrillFault{ConnectionID: f.id, Kind: kind, From: numberIn(f.from), To: numberIn(f.to)}
			if kind == "rate_limit" {
				x.RetryAfterSeconds = numberIn(f.after)
			}
			in.Faults = append(in.Faults, x)
		}
	}
	return in
}

// digits is a field that takes digits alone.
func digits(blank string) *field {
	f := newField(blank)
	f.OnChanged = func(s string) {
		if t := view.Digits(s); t != s {
			f.SetText(t)
		}
	}
	return f
}

// numberIn is what a field of digits holds; 0 for nothing.
func numberIn(f *field) int {
	n, err := strconv.Atoi(f.Text)
	if err != nil {
		return 0
	}
	return n
}

// drillPatience is how long a drill may take: every stall costs a moment.
const drillPatience = 3 * time.Minute

// start runs the drill that the form asks for.
func (d *drillDialog) start() {
	in := d.request()
	if wrong := view.DrillProblem(in); wrong != "" {
		d.tell(control.DrillReport{}, wrong, view.RoleError)
		return
	}
	d.run.enable(false)
	d.run.set(view.T("Running…"))
	d.began = d.u.now()
	d.tick(d.began)
	d.u.spawn(func() {
		ctx, stop := context.WithTimeout(d.u.ctx, drillPatience)
		defer stop()
		report, err := d.u.facade.Drill(ctx, in)
		d.u.do(func() { d.done(report, err) })
	})
}

// tick tells each second how long the drill that began then has run.
func (d *drillDialog) tick(began time.Time) {
	d.u.after(time.Second, func() {
		if d.run.disabled && d.began.Equal(began) && d.u.ctx.Err() == nil {
			d.sum.show(view.DrillRunning(d.u.now().Sub(began)), view.RoleMuted)
			show(d.result, true)
			d.tick(began)
		}
	})
}

func (d *drillDialog) done(report control.DrillReport, err error) {
	d.run.enable(true)
	d.run.set(view.T("Run the drill"))
	if err != nil {
		d.tell(control.DrillReport{}, comboProblem(err), view.RoleError)
		return
	}
	d.tell(report, view.DrillLine(report), view.RoleText)
}

// tell shows a report below a line about it.
func (d *drillDialog) tell(report control.DrillReport, line string, role view.Role) {
	d.report, d.rows = report, view.DrillRows(report)
	d.sum.show(line, role)
	d.at = -1
	show(d.result, true)
	d.list.Refresh()
	d.choose(0)
	d.modal.Refresh()
	d.list.ScrollToTop() // the choice scrolled a list that had no room yet
}

func (d *drillDialog) newLine() fyne.CanvasObject {
	return newRow(&d.cols, 40, newShape(view.ShapeCheck, view.RoleSuccess, 16), newText("", view.RoleMuted).right(), newPair(newText("", view.RoleText).clipped(), 0))
}

func (d *drillDialog) fill(i widget.ListItemID, o fyne.CanvasObject) {
	if i >= len(d.rows) {
		return
	}
	r, v := o.(*row), d.rows[i]
	r.cells[0].(*glyph).show(v.Shape, v.Role)
	r.cells[1].(*text).set(v.At)
	p := r.cells[2].(*pair)
	p.top.(*text).set(v.Title)
	p.setBelow(v.Sub)
}

// choose shows the story of one request.
func (d *drillDialog) choose(i int) {
	if i < 0 || i >= len(d.rows) {
		d.story.Objects = nil
		d.story.Refresh()
		return
	}
	d.at = i
	d.list.mark()
	lines := view.DrillStory(d.report.Requests[i])
	d.story.Objects = nil
	for n, l := range lines {
		d.story.Add(newStoryLine(l, n == len(lines)-1))
	}
	d.story.Refresh()
	d.scroll.ScrollToTop()
}
