//go:build cgo || !darwin

package tray

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"

	"fyne.io/systray"

	"breakwater/app/tray/menu"
	"breakwater/proxy/control"
)

// desktop is the real surface. The painter's goroutine owns it; clicks come on
// other goroutines and only pass their action on.
type desktop struct {
	title   string
	items   map[string]*entry
	clicks  chan menu.Action
	retired chan struct{} // closed when the entries of this menu are replaced
}

// entry is one item on screen and what it does at present.
type entry struct {
	item   *systray.MenuItem
	action atomic.Pointer[menu.Action]
}

func newDesktop(title string) *desktop {
	return &desktop{title: title, clicks: make(chan menu.Action, 16)}
}

// send passes an action on. A full queue means that the program is stuck in an
// earlier click; more of the same would not help the user.
func (d *desktop) send(a menu.Action) {
	select {
	case d.clicks <- a:
	default:
	}
}

// deliver hands the clicks to do, one after the other.
func (d *desktop) deliver(ctx context.Context, do func(menu.Action)) {
	for {
		select {
		case <-ctx.Done():
			return
		case a := <-d.clicks:
			do(a)
		}
	}
}

func (d *desktop) icon(h control.Health) { setIcon(string(h)) }

func (d *desktop) tooltip(text string) {
	const limit = 127 // Windows' notification area takes no more
	if r := []rune(text); len(r) > limit {
		text = string(r[:limit])
	}
	systray.SetTooltip(text)
}

// build replaces the whole menu. The old entries' channels are taken from them
// first: systray closes the channel of an entry that it removes, and a click
// that arrives in that moment would send on the closed channel and end the
// program.
func (d *desktop) build(items []menu.Item) {
	for _, e := range d.items {
		e.item.ClickedCh = nil
	}
	if d.retired != nil {
		close(d.retired)
		systray.ResetMenu()
	}
	d.retired = make(chan struct{})
	d.items = map[string]*entry{}
	d.add(nil, items)
}

func (d *desktop) add(parent *systray.MenuItem, items []menu.Item) {
	for _, i := range items {
		if i.Separator {
			if parent == nil {
				systray.AddSeparator()
			} else {
				parent.AddSeparator()
			}
			continue
		}
		m := create(parent, i)
		if i.Disabled {
			m.Disable()
		}
		e := &entry{item: m}
		e.action.Store(&i.Action)
		d.items[i.Key] = e
		if len(i.Children) > 0 {
			d.add(m, i.Children)
		} else {
			go d.listen(e, m.ClickedCh, d.retired)
		}
	}
}

func create(parent *systray.MenuItem, i menu.Item) *systray.MenuItem {
	text := escape(i.Label, runtime.GOOS)
	switch {
	case parent == nil && i.Checkable:
		return systray.AddMenuItemCheckbox(text, "", i.Checked)
	case parent == nil:
		return systray.AddMenuItem(text, "")
	case i.Checkable:
		return parent.AddSubMenuItemCheckbox(text, "", i.Checked)
	default:
		return parent.AddSubMenuItem(text, "")
	}
}

// listen passes the clicks of one entry on. systray drops a click for which
// nobody waits, so this does nothing else.
func (d *desktop) listen(e *entry, clicked, retired <-chan struct{}) {
	for {
		select {
		case <-retired:
			return
		case <-clicked:
			d.send(*e.action.Load())
		}
	}
}

// update changes what differs between two menus of the same shape.
func (d *desktop) update(old, now []menu.Item) {
	for n, i := range now {
		was := old[n]
		if e := d.items[i.Key]; e != nil {
			e.action.Store(&i.Action)
			change(e.item, was, i)
		}
		d.update(was.Children, i.Children)
	}
}

// change touches only what differs: each call is a signal to the desktop.
func change(m *systray.MenuItem, was, now menu.Item) {
	if was.Label != now.Label {
		m.SetTitle(escape(now.Label, runtime.GOOS))
	}
	if was.Checked != now.Checked {
		if now.Checked {
			m.Check()
		} else {
			m.Uncheck()
		}
	}
	if was.Disabled != now.Disabled {
		if now.Disabled {
			m.Disable()
		} else {
			m.Enable()
		}
	}
}

// escape keeps the characters by which desktops mark a keyboard shortcut in a
// label: a connection may be called "work_eu" or "R&D".
func escape(label, goos string) string {
	switch goos {
	case "windows":
		return strings.ReplaceAll(label, "&", "&&")
	case "darwin":
		return label
	default:
		return strings.ReplaceAll(label, "_", "__")
	}
}
