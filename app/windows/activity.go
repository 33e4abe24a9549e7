//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"slices"
	"strconv"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/widget"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// activity is the page of requests, with the story of the chosen one.
type activity struct {
	u       *ui
	rows    []control.Activity
	trouble bool
	asked   bool // older rows are on their way
	whole   bool // there are no older rows
	chosen  int64

	cols   columns
	list   *pickList
	story  *storyPane
	blank  *fyne.Container
	filter *segments
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
	if p.trouble {
		at = 1
	}
	p.filter = newSegments([]string{view.T("All"), view.T("Trouble only")}, at, func(at int) {
		p.trouble, p.whole = at == 1, false
		p.list.ScrollToTop()
		p.older()
		p.u.redraw()
	})
	return p.filter
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
	}}
	p.list = newPickList(func() int { return len(p.rows) }, func() fyne.CanvasObject {
		return newRow(&p.cols, rowHeight, newText("", view.RoleMuted), newText("", view.RoleMuted).clipped(), newText("", view.RoleText).clipped(),
			newWho(), newBadge(), newText("", view.RoleMuted).right())
	}, func(i widget.ListItemID, o fyne.CanvasObject) {
		if i < len(p.rows) {
			r := o.(*row)
			showActivity(r.cells, r.tips, view.NewActivityRow(p.rows[i], p.u.now()))
			if i == len(p.rows)-1 {
				p.older()
			}
		}
	}, p.at, func(i int) { p.choose(p.rows[i].ID) })
	p.blank = container.NewStack()
	head := newTableHead(&p.cols, nil)
	table := newPanel(colorCard, true, radius, container.New(inset{4, 4, 4, 4}, bordered(head, nil, nil, nil, container.NewStack(p.list, p.blank))))
	p.story = newStoryPane(p.u)
	p.split = container.New(storySplit{}, table, p.story.box)
	return container.New(inset{0, gapEdge, gapEdge, gapEdge}, p.split)
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
	p.rows = p.rows[:0]
	for _, a := range p.u.activity {
		if !p.trouble || view.Trouble(a) {
			p.rows = append(p.rows, a)
		}
	}
	p.applyBlank()
	if p.chosen == 0 && len(p.rows) > 0 {
		p.chosen = p.rows[0].ID
	}
	p.list.Refresh()
	p.mark()
}

func (p *activity) applyBlank() {
	p.blank.Objects = nil
	switch {
	case len(p.rows) > 0:
	case p.trouble:
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
	q := control.ActivityQuery{Limit: 200, FailedOnly: p.trouble}
	if n := len(p.u.activity); n > 0 {
		q.Before = p.u.activity[n-1].ID
	}
	p.asked = true
	call(p.u, func(ctx context.Context) ([]control.Activity, error) { return p.u.facade.Activity(ctx, q) },
		func(list []control.Activity) {
			p.asked, p.whole = false, len(list) < q.Limit
			for _, a := range list {
				p.u.activity = view.Merge(p.u.activity, a, activityKept)
			}
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
