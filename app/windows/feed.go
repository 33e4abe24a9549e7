//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"errors"
	"time"

	"breakwater/app/windows/view"
	"breakwater/proxy/client"
	"breakwater/proxy/control"
)

// Pauses between attempts to reach the parent again.
var retryPauses = []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second}

// The least time between two redraws that events ask for. A frame is painted
// whole, and without a graphics card that costs much, so steady traffic gets one
// every two seconds; what a person has just done shows at once.
const (
	drawPause  = 2 * time.Second
	drawGather = 300 * time.Millisecond // a request and the state it leaves come one after the other
	drawHurry  = 100 * time.Millisecond
	hurryAfter = 2 * time.Second // an action
)

// follow reads the stream of events until the window ends, and comes back to
// it when it breaks.
func (u *ui) follow() {
	for failed := 0; u.ctx.Err() == nil; {
		events, err := u.facade.Subscribe(u.ctx)
		if err == nil {
			for e := range events {
				failed = 0
				u.do(func() { u.receive(e) })
			}
		}
		if u.ctx.Err() != nil {
			return
		}
		if client.Unauthorised(err) {
			u.do(u.refuse)
		} else {
			u.do(u.lose)
		}
		select {
		case <-u.ctx.Done():
		case <-time.After(retryPauses[min(failed, len(retryPauses)-1)]):
		}
		failed++
	}
}

// lose notes that the stream broke.
func (u *ui) lose() {
	if u.lost.IsZero() {
		u.lost = u.now()
		u.redraw()
	}
}

// refuse notes that the token was not accepted, which no waiting cures.
func (u *ui) refuse() {
	if !u.refused {
		u.refused = true
		u.redraw()
	}
}

// receive takes one event in.
func (u *ui) receive(e control.Event) {
	switch e.Type {
	case control.EventSnapshot:
		if e.Snapshot != nil {
			u.take(*e.Snapshot)
		}
	case control.EventActivity:
		if e.Activity != nil {
			u.hour.Add(*e.Activity)
			u.fresh = append(u.fresh, *e.Activity)
			u.soon()
		}
	case control.EventShow:
		if u.ctx.Err() != nil {
			return // the window is closing: what it does not answer opens it again
		}
		u.raise()
		if e.Page != "" { // without one the window is wanted as it was last
			u.goTo(e.Page)
		}
		u.options.Shown(e.Show)
	case control.EventSettings:
		u.loadSettings() // the command line or another window changed them
	case control.EventAlert:
		// Notifications are the tray's; the snapshot tells the rest.
	}
}

// activityKept is how many requests the window holds at most; the proxy keeps
// more, which the export reads.
const activityKept = 5000

// take makes s the present state.
func (u *ui) take(s control.Snapshot) {
	if unreachable(s) {
		if len(s.Connections) > 0 && !u.known {
			u.snap, u.known = s, true
		}
		u.lose()
		return
	}
	back := !u.lost.IsZero() || u.refused
	if back || !u.known {
		u.options.Shown(0)
	}
	demo := u.snap.Demo != s.Demo
	u.snap, u.known, u.lost, u.refused = s, true, time.Time{}, false
	u.history.See(s.Breakers, u.now())
	switch {
	case demo:
		if s.Demo && u.options.Title == "" {
			u.win.SetTitle(view.T("Breakwater demo"))
		}
		u.build(u.startPage())
	case back:
		u.loadActivity()
		u.redraw()
	default:
		u.soon()
	}
}

// unreachable tells that the client behind the facade lost its server: it then
// repeats the last snapshot, marked as down although nobody paused it.
func unreachable(s control.Snapshot) bool { return s.Health == control.HealthDown && !s.Paused }

// startPage keeps the page over a rebuild; before that, the one asked for.
func (u *ui) startPage() string {
	if u.options.Page != "" {
		page := u.options.Page
		u.options.Page = ""
		return page
	}
	return u.path()
}

// path is that of what is shown, as links name it.
func (u *ui) path() string {
	if p, ok := u.current.(interface{ place() string }); ok {
		return u.current.key() + "/" + p.place()
	}
	return u.current.key()
}

// soon redraws in a moment, or a little later when a redraw was just done.
func (u *ui) soon() {
	u.stale = true
	now := u.now()
	wait := max(drawPause-now.Sub(u.drawn), drawGather)
	if now.Sub(u.acted) < hurryAfter {
		wait = drawHurry - now.Sub(u.drawn)
	}
	if wait <= 0 {
		u.redraw()
		return
	}
	if u.due.After(now) && !u.due.After(now.Add(wait)) {
		return // one is arranged that comes as soon
	}
	u.due = now.Add(wait)
	u.after(wait, func() {
		if u.ctx.Err() == nil && u.stale {
			u.redraw()
		}
	})
}

// counting reports whether the visible page changes with the clock alone.
func counting(u *ui, now time.Time) bool {
	if u.current == nil || u.ctx.Err() != nil {
		return false
	}
	switch p := u.current.(type) {
	case *activity:
		return false
	case *settings:
		return p.section == sectionLeases && p.leases.holding()
	}
	return view.Counting(u.snap, now)
}

// problem returns an error in words for a person.
func problem(err error) string {
	var invalid *control.InvalidError
	switch {
	case errors.As(err, &invalid) && len(invalid.Fields) > 0:
		return view.Tf("Not saved. %s: %s.", invalid.Fields[0].Field, view.Refusal(invalid.Fields[0].Message))
	case errors.Is(err, context.DeadlineExceeded):
		return view.T("Breakwater did not answer in time. Nothing was changed as far as this window knows.")
	case errors.Is(err, control.ErrNotFound):
		return view.T("That is no longer there. The list is up to date again.")
	}
	return view.Tf("That did not work: %s", err)
}
