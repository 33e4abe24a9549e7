//go:build (cgo || ci) && !nogui

package windows

import "fyne.io/fyne/v2"

// headLayout sets title, line and action of a page's header. The line has its
// place beside the action; one that is too long for that runs on below it, and
// title and action move up for it.
type headLayout struct {
	line  *text
	still func() bool // the action is always up; may be nil
}

// lift is how far the action may reach above the header's own room.
const lift = 8

func (l headLayout) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	titles, action := objects[0], objects[2]
	side := action.MinSize()
	high, low := titles.MinSize().Height, l.line.MinSize().Height
	beside := size.Width
	if side.Width > 0 {
		beside -= side.Width + gapGroup
	}
	width, y := beside, (size.Height-side.Height)/2
	if l.line.measure(l.line.content).Width > beside {
		width, y = size.Width, max(-lift, high-side.Height)
	} else if l.still != nil && l.still() {
		y = max(-lift, high-side.Height)
	}
	titles.Move(fyne.NewPos(0, 0))
	titles.Resize(fyne.NewSize(beside, high))
	l.line.Move(fyne.NewPos(0, high+2))
	l.line.Resize(fyne.NewSize(width, low))
	action.Move(fyne.NewPos(size.Width-side.Width, y))
	action.Resize(side)
}

func (l headLayout) MinSize(objects []fyne.CanvasObject) fyne.Size {
	titles, side := objects[0].MinSize(), objects[2].MinSize()
	return fyne.NewSize(titles.Width+gapGroup+side.Width, max(titles.Height+2+l.line.MinSize().Height, side.Height))
}
