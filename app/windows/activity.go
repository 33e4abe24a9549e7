//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/widget"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// activity is the page of requests, with the story of the chosen one.
type activity struct {
	u      *ui
	rows   []control.Activity
	filter view.ActivityFilter
	asked  bool // older rows are on their way
	whole  bool // there are no older rows
	chosen int64

	cols   columns
	list   *pickList
	story  *storyPane
	blank  *fyne.Container
	which  *segments
	search *field
	who    *choice
	found  *text
	split  fyne.CanvasObject
}

func newActivity(u *ui) *activity { return &activity{u: u} }

func (p *activity) key() string   { return pageActivity }
func (p *activity) title() string { return view.T("Activity") }
func (p *activity) icon() string  { return "activity" }

func (p *activity) head() heading {
	return heading{title: p.title(), line: view.ActivityLine(p.u.activity)}
}

func (p *activity) action() fyne.CanvasObject {
	at := 0
	if p.filter.Trouble {
		at = 1
	}
	p.which = newSegments([]string{view.T("All"), view.T("Trouble only")}, at, func(at int) {
		p.narrow(func(f *view.ActivityFilter) { f.Trouble = at == 1 })
	})
	return p.which
}

func (p *activity) open(id string) {
	if n, err := strconv.ParseInt(id, 10, 64); err == nil {
		p.choose(n)
	}
}

func (p *activity) build() fyne.CanvasObject {
	p.cols = columns{gap: 10, edge: 8, list: []column{
		{title: view.T("Time"), width: 58},
		{title: view.T("Client"), width: 74, flex: 1, priority: 2},
		{title: view.T("Model"), width: 98, flex: 2, priority: 1},
		{title: view.T("Answered by"), width: 104, flex: 2},
		{title: view.T("Status"), width: 54},
		{title: view.T("Took"), width: 48, right: true, priority: 3},
		{title: view.T("First words"), width: 66, right: true, priority: 6},
		{title: view.T("Tokens"), width: 92, right: true, priority: 5},
		{title: view.T("Cost"), width: 56, right: true, priority: 4},
	}}
	p.list = newPickList(func() int { return len(p.rows) }, func() fyne.CanvasObject {
		return newRow(&p.cols, rowHeight, newText("", view.RoleMuted), newText("", view.RoleMuted).clipped(), newText("", view.RoleText).clipped(),
			newWho(), newBadge(), newText("", view.RoleMuted).right(), newText("", view.RoleMuted).right(), newText("", view.RoleMuted).right(), newText("", view.RoleMuted).right())
	}, func(i widget.ListItemID, o fyne.CanvasObject) {
		if i < len(p.rows) {
			r, v := o.(*row), view.NewActivityRow(p.rows[i], p.u.now())
			showActivity(r.cells, r.tips, v)
			r.cells[6].(*text).set(v.FirstWords)
			r.cells[7].(*text).set(v.Tokens)
			r.cells[8].(*text).set(p.u.prices.Cost(p.rows[i]))
			r.tips[7], r.tips[8] = v.TokensTip, view.T("estimated from list prices; what your plan covers may cost nothing")
			if i == len(p.rows)-1 {
				p.older()
			}
		}
	}, p.at, func(i int) { p.choose(p.rows[i].ID) })
	p.blank = container.NewStack()
	head := newTableHead(&p.cols, nil).kept(p.u, "activity", p.list.Refresh)
	table := newPanel(colorCard, true, radius, container.New(inset{4, 4, 4, 4}, bordered(head, nil, nil, nil, container.NewStack(p.list, p.blank))))
	p.story = newStoryPane(p.u)
	p.split = container.New(storySplit{}, table, p.story.box)
	return container.New(inset{0, gapEdge, gapEdge, gapEdge}, bordered(container.New(inset{0, 0, 12, 0}, p.makeTools()), nil, nil, nil, p.split))
}

// storySplit gives the story three eighths of the width, within limits.
type storySplit struct{}

func (storySplit) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	w := min(max(size.Width*0.34, 260), 460)
	objects[0].Resize(fyne.NewSize(size.Width-w-12, size.Height))
	objects[1].Move(fyne.NewPos(size.Width-w, 0))
	objects[1].Resize(fyne.NewSize(w, size.Height))
}

func (storySplit) MinSize([]fyne.CanvasObject) fyne.Size { return fyne.NewSize(600, 200) }

func (p *activity) apply() {
	p.applyWho()
	p.rows = p.rows[:0]
	for i := range p.u.activity {
		if p.filter.Matches(&p.u.activity[i]) {
			p.rows = append(p.rows, p.u.activity[i])
		}
	}
	p.found.set("")
	if p.filter.Any() {
		p.found.set(view.Matching(len(p.rows), len(p.u.activity)))
	}
	if len(p.rows) < fewRequests && p.filter.Any() {
		p.older()
	}
	p.applyBlank()
	if p.chosen == 0 && len(p.rows) > 0 {
		p.chosen = p.rows[0].ID
	}
	p.list.Refresh()
	p.mark()
}

// fewRequests is how many rows a filter should find before older ones are left
// alone.
const fewRequests = 40

// applyWho offers the connections to look for.
func (p *activity) applyWho() {
	options := []view.Option{{Word: view.T("All connections")}}
	for _, c := range p.u.snap.Connections[:min(len(p.u.snap.Connections), mostOffered)] {
		options = append(options, view.Option{ID: c.ID, Word: c.Name})
	}
	p.who.offer(options, p.filter.ConnectionID)
}

// mostOffered bounds the list of connections to choose from; the search finds
// the others.
const mostOffered = 100

func (p *activity) applyBlank() {
	p.blank.Objects = nil
	switch {
	case len(p.rows) > 0:
	case p.filter.Words != "" || p.filter.ConnectionID != "":
		p.blank.Objects = []fyne.CanvasObject{emptyNote(view.ShapeRing, view.T("Nothing matches"),
			view.T("No kept request has all of these words."), nil)}
	case p.filter.Trouble:
		p.blank.Objects = []fyne.CanvasObject{emptyNote(view.ShapeCheck, view.T("No trouble"),
			view.T("Requests that failed over, failed or were refused are listed here."), nil)}
	default:
		p.blank.Objects = []fyne.CanvasObject{emptyNote(view.ShapeAsk, view.T("No requests yet"),
			view.T("Each request of an agent becomes a line here, with the story of who was tried and who answered."),
			newButton(view.T("Show the set-up lines"), func() { p.u.goTo(pageOverview) }))}
	}
	p.blank.Refresh()
}

// at is the place of the chosen request in the list.
func (p *activity) at() int {
	return slices.IndexFunc(p.rows, func(a control.Activity) bool { return a.ID == p.chosen })
}

// mark keeps list and story on the chosen request.
func (p *activity) mark() {
	p.list.mark()
	p.tell()
}

func (p *activity) tell() {
	for _, a := range p.u.activity {
		if a.ID == p.chosen {
			p.story.show(&a)
			return
		}
	}
	p.story.show(nil)
}

func (p *activity) choose(id int64) {
	p.chosen = id
	p.mark()
}

// older asks for the rows before the oldest one known.
func (p *activity) older() {
	if p.asked || p.whole || len(p.u.activity) >= activityKept {
		return
	}
	before := int64(0)
	if n := len(p.u.activity); n > 0 {
		before = p.u.activity[n-1].ID
	}
	q := control.ActivityQuery{Before: before, Limit: 200}
	p.asked = true
	fetch(p.u, func(ctx context.Context) ([]control.Activity, error) { return p.u.facade.Activity(ctx, q) },
		func(list []control.Activity) {
			p.asked, p.whole = false, len(list) < q.Limit
			p.u.activity = view.Merge(p.u.activity, activityKept, list...)
			if len(list) > 0 {
				p.u.redraw()
			}
		},
		func(err error) {
			p.asked, p.whole = false, true
			p.u.frame.say(problem(err))
		})
}

// storyPane tells the decision trace of one request from top to bottom.
type storyPane struct {
	u     *ui
	box   fyne.CanvasObject
	lines *fyne.Container
	hint  fyne.CanvasObject
	shown string
}

func newStoryPane(u *ui) *storyPane {
	s := &storyPane{u: u, lines: container.New(stack{0})}
	s.hint = container.NewCenter(newText(view.T("Choose a request to read its story."), view.RoleMuted))
	scroll := container.NewVScroll(container.New(inset{14, 14, 14, 14}, s.lines))
	s.box = newPanel(colorCard, true, radius, container.NewStack(scroll, s.hint))
	return s
}

func (s *storyPane) show(a *control.Activity) {
	show(s.hint, a == nil)
	show(s.lines, a != nil)
	if a == nil {
		s.shown = ""
		return
	}
	list := view.Trace(*a, s.u.now())
	if cost := view.TraceCost(*a, s.u.prices); cost != "" {
		list[len(list)-1].Sub = strings.TrimSpace(list[len(list)-1].Sub + " " + cost)
	}
	mark := strconv.FormatInt(a.ID, 10) + view.Text(list)
	if mark == s.shown {
		return
	}
	s.shown = mark
	s.lines.Objects = nil
	for i, l := range list {
		s.lines.Objects = append(s.lines.Objects, newStoryLine(l, i == len(list)-1))
	}
	s.lines.Refresh()
}
