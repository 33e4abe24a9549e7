//go:build (cgo || ci) && !nogui

package windows

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
)

// tabbed returns what Tab reaches, from the first control until it comes round.
func (b *bench) tabbed() map[fyne.Focusable]bool {
	out := map[fyne.Focusable]bool{}
	c := b.win.Canvas()
	for {
		c.FocusNext()
		if f := c.Focused(); f == nil || out[f] {
			return out
		} else {
			out[f] = true
		}
	}
}

// mouseOnly lists what can be tapped below o but not reached by Tab. A list's
// rows are left to the list, which has keys for all that they offer; a row
// outside of a list needs a control of its own that Tab reaches.
func mouseOnly(o fyne.CanvasObject, reached map[fyne.Focusable]bool) (out []string) {
	if !o.Visible() {
		return nil
	}
	f, focusable := o.(fyne.Focusable)
	var children []fyne.CanvasObject
	switch x := o.(type) {
	case *pickList, *field:
		if !reached[f] {
			out = append(out, fmt.Sprintf("%T", o))
		}
		return out
	case *keyRow:
		if x.onTap != nil && !x.Disabled() && !reached[f] {
			out = append(out, fmt.Sprintf("the row %v", x.cells[0]))
		}
		return out
	case *row:
		if x.onTap != nil && !slices.ContainsFunc(x.cells, func(c fyne.CanvasObject) bool { f, ok := c.(fyne.Focusable); return ok && reached[f] }) {
			out = append(out, fmt.Sprintf("the row %v", x.cells[0]))
		}
		return out
	case *fyne.Container:
		children = x.Objects
	case fyne.Widget:
		children = test.WidgetRenderer(x).Objects()
	}
	if _, ok := o.(fyne.Tappable); ok && (!focusable || !reached[f]) && !strings.HasPrefix(fmt.Sprintf("%T", o), "*widget.scroll") {
		if d, ok := o.(interface{ Disabled() bool }); !ok || !d.Disabled() {
			out = append(out, fmt.Sprintf("%T", o))
		}
	}
	for _, c := range children {
		out = append(out, mouseOnly(c, reached)...)
	}
	return out
}

func TestEverythingIsReachedByKey(t *testing.T) {
	for _, path := range []string{
		"", pageConnections, pageConnections + "/c1", "cooldowns", "cooldowns/models", "cooldowns/breakers", pageCombos, "activity", "providers/claude",
		"settings/general", "settings/resilience", "settings/rules", "settings/clients", "settings/leases", "settings/keys", "settings/network", "settings/notifications", "settings/backup",
	} {
		b := newBench(t, "busy", path)
		b.win.Resize(fyne.NewSize(1200, 5000)) // nothing has to be scrolled to
		for _, s := range mouseOnly(b.win.Content(), b.tabbed()) {
			t.Errorf("%q: Tab does not reach %s", path, s)
		}
	}
}

// headOf returns the first table head on the page.
func (b *bench) headOf() (head *tableHead) {
	walk(b.top(), func(o fyne.CanvasObject) bool {
		h, ok := o.(*tableHead)
		if ok {
			head = h
		}
		return ok
	})
	return head
}

func TestColumnsAreSortedSizedAndMovedByKey(t *testing.T) {
	b := newBench(t, "busy", pageConnections)
	b.win.Resize(fyne.NewSize(1400, 700))
	head, p := b.headOf(), b.connectionsPage()
	if !b.tabbed()[head] {
		t.Fatal("Tab does not reach the titles")
	}
	b.win.Canvas().Focus(head)
	b.key(fyne.KeyRight) // from # to Connection
	if head.at != 2 {
		t.Fatal("marked is column", head.at)
	}
	_, before := p.cols.place(head.Size().Width)
	head.TypedRune('+')
	if _, now := p.cols.place(head.Size().Width); now[2] != before[2]+columnStep {
		t.Errorf("%v wide, was %v", now[2], before[2])
	}
	head.TypedRune('-')
	head.TypedRune('>')
	if stored := b.fake.settings.Tables["connections"]; len(stored) != 9 || stored[2].Key != "3" || stored[3].Key != "2" || stored[3].Width != before[2] {
		t.Errorf("stored %+v", b.fake.settings.Tables)
	}
	head.TypedRune(' ')
	if head.sorted != "name" {
		t.Error("sorted by", head.sorted)
	}
	b.key(fyne.KeyReturn)
	if b.win.Canvas().Overlays().Top() == nil {
		t.Fatal("no menu")
	}
	b.win.Canvas().Overlays().Top().Hide()
	run(t, head.menu(2).Items, "Move left")
	run(t, head.menu(2).Items, "Narrower")
	run(t, head.menu(2).Items, "Sort by Connection")
	if stored := b.fake.settings.Tables["connections"]; stored[2].Key != "2" || stored[2].Width != before[2]-columnStep || !head.reverse {
		t.Errorf("stored %+v, reverse %v", stored, head.reverse)
	}
	run(t, head.menu(2).Items, "Usual columns")
	if len(b.fake.settings.Tables["connections"]) != 0 {
		t.Error("the usual columns are not back")
	}
	b.key(fyne.KeyHome)
	b.key(fyne.KeyLeft)
	if head.at != 0 {
		t.Error("the mark left the titles")
	}
}

// The answer about a key comes after the next keys: it must not undo them.
func TestColumnsKeepWhatKeysInARushDid(t *testing.T) {
	b := newBench(t, "busy", pageConnections)
	head := b.headOf()
	b.win.Canvas().Focus(head)
	_, before := head.cols.place(head.Size().Width)
	var jobs []func()
	b.spawn = func(f func()) { jobs = append(jobs, f) }
	for range 3 {
		head.TypedRune('+')
	}
	for len(jobs) > 0 {
		next := jobs[0]
		jobs = jobs[1:]
		next()
		if _, now := head.cols.place(head.Size().Width); now[0] != before[0]+3*columnStep {
			t.Fatalf("%v wide after an answer, was %v", now[0], before[0])
		}
	}
	if stored := b.fake.settings.Tables["connections"]; stored[0].Width != before[0]+3*columnStep {
		t.Errorf("stored %+v", stored)
	}
}

func TestEveryTableRemembersItsColumns(t *testing.T) {
	for path, name := range map[string]string{"providers/claude": "provider", "settings/leases": "leases", "settings/rules": "rules"} {
		b := newBench(t, "busy", path)
		head := b.headOf()
		b.win.Canvas().Focus(head)
		head.TypedRune('+')
		if len(b.fake.settings.Tables[name]) == 0 {
			t.Errorf("%s: stored %v", path, b.fake.settings.Tables)
		}
	}
}

func TestRowsOfTheOverviewAreChosenWithTheArrows(t *testing.T) {
	b := newBench(t, "busy", "")
	list := pageOf[*overview](b).brk
	if reached := b.tabbed(); !reached[list.stops[0]] || reached[list.stops[1]] {
		t.Fatal("Tab stops at a list once")
	}
	b.win.Canvas().Focus(list.stops[0])
	b.key(fyne.KeyUp)
	b.key(fyne.KeyDown)
	b.key(fyne.KeyDown)
	if b.win.Canvas().Focused() != fyne.Focusable(list.stops[2]) || !list.rows[2].focused || list.rows[0].focused {
		t.Fatal("the focus did not move")
	}
	list.stops[2].TypedRune(' ')
	if p, ok := b.current.(*provider); !ok || p.id != "glm" {
		t.Error("the row did not act")
	}
}
