// Package tray shows the product's state in the system tray and offers its menu.
package tray

import (
	"context"
	"time"

	"breakwater/app/tray/menu"
	"breakwater/proxy/control"
)

// pace is the least time between two redraws.
const pace = time.Second

// surface is what a painter paints on: the system tray, or a fake in tests.
// Its methods are called by one goroutine and only when something changed.
type surface interface {
	icon(control.Health)
	tooltip(string)
	// build makes the menu anew; update changes one of the same shape in place.
	build([]menu.Item)
	update(old, now []menu.Item)
}

// painter keeps a surface true to the newest snapshot: it draws at once, but
// at most once a second and only what differs, and wakes by itself only while
// something in the menu counts down.
type painter struct {
	surface surface
	loc     *time.Location

	snapshot control.Snapshot
	have     bool

	items       []menu.Item
	shape, look string
	health      control.Health
	hover       string
	drawnAt     time.Time
}

// start draws what there is before the first snapshot.
func (p *painter) start() {
	p.setHealth(control.HealthDown)
	p.setMenu(menu.Starting())
}

// loop draws until ctx ends or updates is closed.
func (p *painter) loop(ctx context.Context, updates <-chan control.Snapshot) {
	var wake <-chan time.Time // no timer runs while there is nothing to wait for
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case s, ok := <-updates:
			if !ok {
				return
			}
			p.snapshot, p.have = s, true
		case <-wake:
		}
		wake = nil
		timer.Stop()
		if at, ok := p.draw(time.Now()); ok {
			timer.Reset(time.Until(at))
			wake = timer.C
		}
	}
}

// draw brings the surface up to date and returns when it wants to be called
// again without being asked.
func (p *painter) draw(now time.Time) (time.Time, bool) {
	if !p.have {
		return time.Time{}, false
	}
	if wait := p.drawnAt.Add(pace); now.Before(wait) {
		return wait, true
	}
	p.drawnAt = now
	p.setHealth(p.snapshot.Health)
	p.setMenu(menu.Build(p.snapshot, now, p.loc))
	if h := menu.Tooltip(p.snapshot, now, p.loc); h != p.hover {
		p.hover = h
		p.surface.tooltip(h)
	}
	next, ok := menu.Next(p.snapshot, now)
	if ok && next.Before(now.Add(pace)) {
		next = now.Add(pace)
	}
	return next, ok
}

func (p *painter) setHealth(h control.Health) {
	switch h {
	case control.HealthIdle, control.HealthWell, control.HealthDegraded, control.HealthTrouble, control.HealthUnavailable:
	default:
		h = control.HealthDown
	}
	if h != p.health {
		p.health = h
		p.surface.icon(h)
	}
}

func (p *painter) setMenu(items []menu.Item) {
	shape, look := menu.Shape(items), menu.Fingerprint(items)
	switch {
	case look == p.look:
		return
	case shape == p.shape:
		p.surface.update(p.items, items)
	default:
		p.surface.build(items)
	}
	p.items, p.shape, p.look = items, shape, look
}
