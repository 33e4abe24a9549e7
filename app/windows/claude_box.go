//go:build (cgo || ci) && !nogui

package windows

import (
	"context"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// stateSwitch is a switch with what it does, how it stands, and one thing that
// can be done about it.
type stateSwitch struct {
	toggle *keyToggle
	name   *text
	about  *text
	shape  *glyph
	state  *text
	more   *text
	live   *fyne.Container // shape, state and button
	action *button
	box    *fyne.Container
}

func newStateSwitch(change func(bool), act func()) *stateSwitch {
	s := &stateSwitch{
		toggle: newToggle(change), name: newText("", view.RoleText), about: newCaption("").wrapped(),
		shape: newShape(view.ShapeRing, view.RoleMuted, 14), state: newText("", view.RoleText).wrapped(), more: newCaption("").wrapped(),
	}
	s.action = newButton("", act)
	s.live = container.New(&liveLine{}, s.shape, s.state, s.action)
	words := container.New(stack{2}, s.name, s.about, s.live, container.New(inset{0, 0, 0, 20}, s.more))
	s.box = bordered(nil, nil, container.New(inset{0, 12, 0, 0}, container.NewVBox(s.toggle)), nil, words)
	return s
}

// show tells how the switch stands. With draft its position is the user's, who
// has not saved it yet.
func (s *stateSwitch) show(v view.Switch, draft bool) {
	if !draft {
		s.toggle.set(v.On)
	}
	s.name.set(v.Name)
	s.about.set(v.About)
	s.shape.show(v.State.Shape, v.State.Role)
	s.state.set(v.State.Word)
	s.more.set(v.More)
	show(s.more, v.More != "")
	s.action.set(v.Action)
	show(s.action, v.Can)
	s.box.Refresh()
}

// liveLine sets shape, state and button on one line, or the button below where
// the words would have too little room.
type liveLine struct{ below bool }

// leastState is the room of the words beside the button.
const leastState float32 = 150

// Layout places the three.
func (l *liveLine) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	shape, state, action := objects[0], objects[1], objects[2]
	left, button := shape.MinSize().Width+6, action.MinSize()
	room := size.Width - left
	l.below = action.Visible() && room-button.Width-6 < leastState
	if action.Visible() && !l.below {
		room -= button.Width + 6
	}
	state.Resize(fyne.NewSize(room, state.Size().Height)) // the height comes from the width
	high := state.MinSize().Height
	top := high
	if !l.below {
		top = size.Height
	}
	shape.Resize(fyne.NewSize(shape.MinSize().Width, min(top, shape.MinSize().Height)))
	shape.Move(fyne.NewPos(0, (top-shape.Size().Height)/2))
	state.Resize(fyne.NewSize(room, top))
	state.Move(fyne.NewPos(left, 0))
	action.Resize(button)
	if l.below {
		action.Move(fyne.NewPos(left, high+gapSmall))
		return
	}
	action.Move(fyne.NewPos(size.Width-button.Width, (top-button.Height)/2))
}

// MinSize is the height of the one line, or of the two.
func (l *liveLine) MinSize(objects []fyne.CanvasObject) fyne.Size {
	shape, state, action := objects[0].MinSize(), objects[1].MinSize(), objects[2].MinSize()
	if !objects[2].Visible() {
		action = fyne.Size{}
	}
	high := max(shape.Height, state.Height)
	if l.below {
		return fyne.NewSize(shape.Width+6+max(state.Width, action.Width), high+gapSmall+action.Height)
	}
	return fyne.NewSize(shape.Width+12+state.Width+action.Width, max(high, action.Height))
}

// claudeBox is the Claude section of a connection: both switches and the quota
// windows.
type claudeBox struct {
	u           *ui
	id          string
	lane, reset *stateSwitch
	bars        *liveRows
	extra       *text
	unknown     *text
	box         *fyne.Container
	asked       string // the connection whose figures were asked for
}

// newClaudeBox makes the section. With draft the switches belong to a form,
// else they act at once.
func newClaudeBox(u *ui, draft bool) *claudeBox {
	b := &claudeBox{u: u}
	onLane, onReset := b.setLane, b.setReset
	if draft {
		onLane, onReset = nil, nil
	}
	b.lane = newStateSwitch(onLane, b.leave)
	b.reset = newStateSwitch(onReset, b.check)
	b.bars = newQuotaRows(false)
	b.extra, b.unknown = newCaption("").wrapped(), newText(view.T("Nothing is known of its quota windows yet. The first answer tells."), view.RoleMuted).wrapped()
	windows := container.New(stack{gapSmall}, newCaption(view.T("Quota used")), b.bars.box, b.unknown, b.extra)
	switches := container.New(stack{12}, b.lane.box, b.reset.box)
	if draft {
		b.box = container.New(stack{12}, switches, windows)
	} else {
		b.box = container.New(halves{gap: 2 * gapGroup, turn: 620}, switches, windows)
	}
	return b
}

// show takes over a connection; a nil one is a connection to be.
func (b *claudeBox) show(c *control.Connection, draft bool) {
	now := b.u.now()
	stored := c != nil
	if !stored {
		c = &control.Connection{}
	}
	b.id = c.ID
	lane, reset := view.LaneSwitch(*c, now), view.ResetSwitch(*c, now)
	b.lane.show(lane, draft)
	b.reset.show(reset, draft)
	show(b.lane.live, stored)
	show(b.reset.live, stored)
	list := view.Quotas(c.Usage, now)
	b.bars.resize(len(list))
	for i, q := range list {
		fillQuota(b.bars.rows[i], q, "")
	}
	show(b.unknown, stored && len(list) == 0)
	b.extra.set(view.ExtraUsage(c.Usage))
	show(b.extra, b.extra.content != "")
	show(b.box.Objects[1], stored)
	b.ask()
}

// ask has old figures looked up, once for each connection that is shown.
func (b *claudeBox) ask() {
	if b.id == "" || b.asked == b.id {
		return
	}
	b.asked = b.id
	id := b.id
	fetch(b.u, func(ctx context.Context) (control.ClaudeUsage, error) { return b.u.facade.ClaudeUsage(ctx, id) },
		func(control.ClaudeUsage) {}, func(error) {}) // the next snapshot shows what came of it
}

func (b *claudeBox) setLane(on bool) { b.edit(control.ConnectionPatch{LowPriorityMode: &on}) }

func (b *claudeBox) setReset(on bool) { b.edit(control.ConnectionPatch{AutoLimitReset: &on}) }

func (b *claudeBox) edit(p control.ConnectionPatch) {
	id := b.id
	call(b.u, func(ctx context.Context) (control.Connection, error) { return b.u.facade.EditConnection(ctx, id, p) },
		b.u.put, func(err error) {
			b.u.frame.say(problem(err))
			b.u.redraw() // the switch goes back
		})
}

func (b *claudeBox) leave() {
	id := b.id
	b.u.act(func(ctx context.Context) error { return b.u.facade.LeaveLane(ctx, id) }, func() {
		b.u.frame.tell(view.T("The lane is left. Requests that waited for a slot go on without it."))
	})
}

func (b *claudeBox) check() {
	id := b.id
	b.u.act(func(ctx context.Context) error { return b.u.facade.CheckLimitReset(ctx, id) }, func() {
		b.u.frame.tell(view.T("The next request at the limit asks for a reset again, whatever was said before."))
	})
}

// newQuotaRows lists quota windows as bars, with the connection in front where
// there are several.
func newQuotaRows(named bool) *liveRows {
	list := []column{{width: 92}, {width: 96, flex: 1}, {width: 126, right: true, priority: 1}}
	cells := func() []fyne.CanvasObject {
		return []fyne.CanvasObject{newText("", view.RoleText).clipped(), newMeter(), newText("", view.RoleMuted).right().clipped()}
	}
	if !named {
		l := newLiveRows(columns{gap: 12, edge: 0, list: list}, cells)
		l.height = 26
		return l
	}
	list = append([]column{{width: 110, flex: 1}}, list...)
	l := newLiveRows(columns{gap: 12, edge: 8, list: list}, func() []fyne.CanvasObject {
		return append([]fyne.CanvasObject{newText("", view.RoleText).clipped()}, cells()...)
	})
	l.height = 26
	return l
}

// fillQuota shows a window in the last three cells of a row.
func fillQuota(r *row, q view.Quota, owner string) {
	at := len(r.cells) - 3
	if at > 0 {
		r.cells[0].(*text).set(owner)
	}
	r.cells[at].(*text).set(q.Name)
	r.cells[at+1].(*meter).show(q.Figure, q.Share, 0, q.Role)
	r.cells[at+2].(*text).set(q.Resets)
	r.tips[at], r.tips[at+1], r.tips[at+2] = "", q.Tip, q.Tip
}
