//go:build (cgo || ci) && !nogui

package windows

import (
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"breakwater/app/windows/view"
)

// card is a titled group on its own ground.
func card(title string, right fyne.CanvasObject, body fyne.CanvasObject) fyne.CanvasObject {
	t := newText(title, view.RoleText).bold().clipped()
	head := []fyne.CanvasObject{t}
	if right != nil {
		head = append(head, right)
	}
	return newPanel(colorCard, true, radius, container.New(inset{12, gapGroup, 12, gapGroup},
		container.New(stack{gap}, container.New(line{gap: gap, grow: t}, head...), body)))
}

// filled is a card whose body takes all the height there is.
func filled(title string, right, body fyne.CanvasObject) fyne.CanvasObject {
	t := newText(title, view.RoleText).bold().clipped()
	head := container.New(inset{0, 0, gap, 0}, container.New(line{gap: gap, grow: t}, t, right))
	return newPanel(colorCard, true, radius, container.New(inset{12, gapGroup, 12, gapGroup}, bordered(head, nil, nil, nil, body)))
}

// flush is a card whose rows reach its edges.
func flush(title string, right fyne.CanvasObject, body fyne.CanvasObject) fyne.CanvasObject {
	t := newText(title, view.RoleText).bold().clipped()
	head := []fyne.CanvasObject{t}
	if right != nil {
		head = append(head, right)
	}
	return newPanel(colorCard, true, radius, container.New(inset{12, 0, 8, 0}, container.New(stack{gapSmall},
		container.New(inset{0, gapGroup, 4, gapGroup}, container.New(line{gap: gap, grow: t}, head...)),
		container.New(inset{0, 8, 0, 8}, body))))
}

// scrolled is a page's content: it scrolls when it is higher than the window.
func scrolled(objects ...fyne.CanvasObject) *container.Scroll {
	return container.NewVScroll(container.New(inset{0, gapEdge, gapEdge, gapEdge}, container.New(stack{gapGroup}, objects...)))
}

// copyLine shows a command or an address with a button that copies it.
type copyLine struct {
	u     *ui
	label *text
	box   fyne.CanvasObject
	icon  *keyIcon
	turn  int
}

func newCopyLine(u *ui, tip string) *copyLine {
	c := &copyLine{u: u, label: newMono("").clipped()}
	c.icon = newIconButton("copy", tip, c.copy)
	c.box = newPanel("background", true, 4, container.New(inset{2, 2, 2, 10}, container.New(line{gap: gap, grow: c.label}, c.label, c.icon)))
	return c
}

// wraps lets a long command take as many lines as it needs.
func (c *copyLine) wraps() *copyLine {
	c.label.clip, c.label.wrap = false, true
	c.box = newPanel("background", true, 4, container.New(inset{4, 2, 4, 10}, container.New(line{gap: gap, grow: c.label}, c.label, c.icon)))
	return c
}

func (c *copyLine) set(s string) { c.label.set(s) }

func (c *copyLine) copy() {
	c.u.app.Clipboard().SetContent(c.label.content)
	c.icon.name = "check"
	c.icon.Refresh()
	c.turn++
	turn := c.turn
	c.u.after(1500*time.Millisecond, func() {
		if turn == c.turn {
			c.icon.name = "copy"
			c.icon.Refresh()
		}
	})
}

// emptyNote says what will fill an empty table and offers the way there.
func emptyNote(s view.Shape, title, line string, offer fyne.CanvasObject) fyne.CanvasObject {
	t, l := newText(title, view.RoleText).bold(), newText(line, view.RoleMuted).wrapped()
	t.align, l.align = fyne.TextAlignCenter, fyne.TextAlignCenter
	objects := []fyne.CanvasObject{container.NewCenter(newShape(s, view.RoleMuted, 28)), t, container.NewCenter(container.New(sized{width: 360}, l))}
	if offer != nil {
		objects = append(objects, container.NewCenter(offer))
	}
	return container.NewCenter(container.New(stack{gap}, objects...))
}
