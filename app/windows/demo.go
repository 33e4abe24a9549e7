//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// demo is the fault panel of the simulated connections.
type demo struct {
	u     *ui
	state control.Demo
	known bool
	seq   uint64 // of the snapshot for which state was asked

	speed  *segments
	cards  *fyne.Container
	panels []*faultPanel
	curl   *copyLine
}

var speeds = []float64{1, 10, 60}

func newDemo(u *ui) *demo { return &demo{u: u} }

func (p *demo) key() string               { return pageDemo }
func (p *demo) title() string             { return view.T("Demo") }
func (p *demo) icon() string              { return "demo" }
func (p *demo) action() fyne.CanvasObject { return nil }
func (p *demo) open(string)               {}

func (p *demo) head() heading {
	return heading{title: p.title(), line: view.T("Break a simulated connection, send a request, and see who answers.")}
}

func (p *demo) build() fyne.CanvasObject {
	p.cards = container.New(stack{gapGroup})
	p.speed = newSegments([]string{"×1", "×10", "×60"}, 0, func(at int) {
		p.edit(control.DemoPatch{Speed: &speeds[at]})
	})
	forward := newButton(view.T("Advance 1 minute"), func() { p.edit(control.DemoPatch{AdvanceMs: 60_000}) })
	p.curl = newCopyLine(p.u, view.T("Copy the line"))
	p.curl.wraps()
	p.seq = p.u.snap.Seq
	p.load()
	return scrolled(
		p.cards,
		card(view.T("Clock"), nil, container.New(stack{gap},
			container.New(line{gap: 12}, p.speed, forward),
			newCaption(view.T("Cooldowns and breakers wait on the demo's own clock. Make it run faster, or jump ahead, instead of waiting.")).wrapped())),
		card(view.T("Send a test request"), nil, container.New(stack{gap}, p.curl.box,
			newCaption(view.T("Or point Claude Code here, as the overview shows. Each request appears under Activity with its story.")).wrapped())),
	)
}

func (p *demo) load() {
	fetch(p.u, p.u.facade.Demo, p.take, nil)
}

func (p *demo) edit(patch control.DemoPatch) {
	call(p.u, func(ctx context.Context) (control.Demo, error) { return p.u.facade.EditDemo(ctx, patch) }, p.take,
		func(err error) {
			p.u.frame.say(problem(err))
			p.load()
		})
}

func (p *demo) take(d control.Demo) {
	p.state, p.known = d, true
	p.show() // no redraw: under traffic each would find the state old, and ask anew
}

func (p *demo) apply() {
	p.curl.set(view.TestLine(p.u.snap, view.UsualShell(runtime.GOOS)))
	if p.seq != p.u.snap.Seq { // somebody else may have changed a fault
		p.seq = p.u.snap.Seq
		p.load()
	}
	p.show()
}

// show shows the faults and the clock as they were told last.
func (p *demo) show() {
	if !p.known {
		return
	}
	if at := slices.Index(speeds, p.state.Speed); at >= 0 {
		p.speed.set(at)
	}
	if len(p.panels) != len(p.state.Faults) {
		p.panels, p.cards.Objects = nil, nil
		for range p.state.Faults {
			f := newFaultPanel(p)
			p.panels = append(p.panels, f)
			p.cards.Objects = append(p.cards.Objects, f.box)
		}
		p.cards.Refresh()
	}
	for i, f := range p.state.Faults {
		p.panels[i].apply(f, p.state.Kinds)
	}
}

// faultPanel sets the fault of one simulated connection.
type faultPanel struct {
	p     *demo
	fault control.Fault
	kinds []string

	name    *text
	badge   *badge
	kind    *choice
	after   *field
	count   *field
	afterIn fyne.CanvasObject
	countIn fyne.CanvasObject
	box     fyne.CanvasObject
}

func newFaultPanel(p *demo) *faultPanel {
	f := &faultPanel{p: p, name: newText("", view.RoleText).bold().clipped(), badge: newBadge()}
	f.kind = newChoice(nil, func(word string) {
		for _, k := range f.kinds {
			if view.FaultName(k) == word {
				f.fault.Kind = k
			}
		}
		f.send()
	})
	f.after, f.count = newField(view.T("no header")), newField(view.T("until changed"))
	f.after.OnSubmitted, f.count.OnSubmitted = func(string) { f.send() }, func(string) { f.send() }
	f.afterIn = labelled(view.T("Retry-After, seconds"), f.after, 148)
	f.countIn = labelled(view.T("Requests it hits"), f.count, 148)
	head := container.New(columnsLayout{columns{gap: 12, list: []column{{width: 120, flex: 1}, {width: 200, flex: 1}}}}, f.name, f.badge)
	f.box = newPanel(colorCard, true, radius, container.New(inset{12, gapGroup, 14, gapGroup}, container.New(stack{12}, head,
		container.New(line{gap: 12}, labelled(view.T("What it does"), f.kind.boxed(), 220), f.afterIn, f.countIn))))
	return f
}

// labelled sets a caption above a field of a fixed width.
func labelled(name string, o fyne.CanvasObject, width float32) fyne.CanvasObject {
	return container.New(stack{gapSmall}, newCaption(name), container.New(sized{width: width}, o))
}

func (f *faultPanel) apply(fault control.Fault, kinds []string) {
	if c, ok := f.p.u.connectionByID(fault.ConnectionID); ok {
		f.name.set(c.Name)
		f.badge.show(view.ConnectionBadge(c, f.p.u.now()))
	}
	if !slices.Equal(kinds, f.kinds) {
		f.kinds = kinds
		words := make([]string, len(kinds))
		for i, k := range kinds {
			words[i] = view.FaultName(k)
		}
		f.kind.Options = words
		f.kind.Refresh()
	}
	same := f.fault == fault
	f.fault = fault
	f.kind.show(view.FaultName(fault.Kind))
	show(f.afterIn, fault.Kind == "rate_limit")
	show(f.countIn, fault.Kind != "none" && fault.Kind != "")
	if !same {
		f.after.SetText(figure(fault.RetryAfterSeconds))
		f.count.SetText(figure(fault.Count))
	}
}

func figure(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// send gives the fault to the demo; a figure that is none counts as absent.
func (f *faultPanel) send() {
	out := f.fault
	out.RetryAfterSeconds, out.Count = number(f.after.Text), number(f.count.Text)
	if out.Kind != "rate_limit" {
		out.RetryAfterSeconds = 0
	}
	f.p.edit(control.DemoPatch{Faults: []control.Fault{out}})
}

func number(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// columnsLayout sets objects in columns.
type columnsLayout struct{ cols columns }

func (l columnsLayout) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	x, w := l.cols.place(size.Width)
	for i, o := range objects {
		o.Move(fyne.NewPos(x[i], 0))
		o.Resize(fyne.NewSize(w[i], size.Height))
	}
}

func (l columnsLayout) MinSize(objects []fyne.CanvasObject) fyne.Size {
	var out fyne.Size
	for i, o := range objects {
		out.Width += l.cols.list[i].width
		out.Height = max(out.Height, o.MinSize().Height)
	}
	return out
}
