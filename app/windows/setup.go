//go:build (cgo || ci) && !nogui

package windows

import (
	"runtime"
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"breakwater/app/windows/view"
)

// setupCard shows the endpoint and the line that points a client at it.
type setupCard struct {
	u        *ui
	at       int
	shell    string
	box      fyne.CanvasObject
	endpoint *copyLine
	line     *copyLine
	note     *text
	shells   fyne.CanvasObject
}

// newSetupCard makes the card; writes adds the way to where Breakwater writes
// the lines itself.
func newSetupCard(u *ui, writes bool) *setupCard {
	c := &setupCard{u: u, shell: view.UsualShell(runtime.GOOS), note: newCaption("").wrapped()}
	c.endpoint = newCopyLine(u, view.T("Copy the address"))
	c.line = newCopyLine(u, view.T("Copy the line"))
	c.line.wraps()
	var names []string
	for _, s := range view.Setups(u.snap, c.shell) {
		names = append(names, s.Client)
	}
	pick := newChoice(names, func(word string) { c.at = max(0, slices.Index(names, word)); c.apply() })
	pick.show(names[0])
	shells := newChoice(nil, nil)
	shells.offer(view.Shells(), c.shell)
	shells.OnChanged = func(word string) { c.shell = shells.chosen(word); c.apply() }
	c.shells = container.New(sized{width: 150}, shells.boxed())
	var link fyne.CanvasObject
	if writes && u.options.Clients.Home != "" {
		link = newLink(view.T("Write it for me"), func() { u.goTo(pageSettings + "/" + sectionClients) })
	}
	c.box = card(view.T("Point your agent here"), link, container.New(stack{gap}, c.endpoint.box, container.New(line{gap: gap}, container.New(sized{width: 150}, pick.boxed()), c.shells), c.line.box, c.note))
	return c
}

func (c *setupCard) apply() {
	list := view.Setups(c.u.snap, c.shell)
	c.endpoint.set(c.u.snap.Endpoint)
	c.line.set(list[c.at].Line)
	c.note.set(list[c.at].Note)
	show(c.shells, !list[c.at].File)
}
