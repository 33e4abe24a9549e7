//go:build linux

package desktop

import (
	"strings"
	"sync"

	"github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/prop"
)

const (
	watcherName = "org.kde.StatusNotifierWatcher"
	watcherPath = "/StatusNotifierWatcher"
	menuFace    = "com.canonical.dbusmenu"
)

// Panel is a desktop panel: programs register their tray icons with it.
type Panel struct {
	d    *Desktop
	conn *dbus.Conn

	mu      sync.Mutex
	icons   []address
	layouts int
	redrawn int
}

// address of a tray icon on the bus.
type address struct {
	name string
	path dbus.ObjectPath
}

// Panel makes this desktop one with a tray. It may come after the program: one
// that lives well on a desktop registers when a panel appears.
func (d *Desktop) Panel() *Panel {
	d.t.Helper()
	p := &Panel{d: d, conn: d.Connect()}
	if err := p.conn.Export(watcher{p}, watcherPath, watcherName); err != nil {
		d.t.Fatal(err)
	}
	_, err := prop.Export(p.conn, watcherPath, prop.Map{watcherName: {
		"IsStatusNotifierHostRegistered": {Value: true},
		"ProtocolVersion":                {Value: int32(0)},
		"RegisteredStatusNotifierItems":  {Value: []string{}},
	}})
	if err != nil {
		d.t.Fatal(err)
	}
	signals := make(chan *dbus.Signal, 1024)
	p.conn.Signal(signals)
	for _, face := range []string{menuFace, iconFace} {
		if err := p.conn.AddMatchSignal(dbus.WithMatchInterface(face)); err != nil {
			d.t.Fatal(err)
		}
	}
	go p.count(signals)
	d.own(p.conn, watcherName)
	return p
}

// count runs until the connection closes.
func (p *Panel) count(signals <-chan *dbus.Signal) {
	for s := range signals {
		p.mu.Lock()
		switch {
		case strings.HasSuffix(s.Name, ".LayoutUpdated"):
			p.layouts++
		case strings.HasSuffix(s.Name, ".NewIcon"):
			p.redrawn++
		}
		p.mu.Unlock()
	}
}

// Stop takes the panel away, as one that crashes does.
func (p *Panel) Stop() { _ = p.conn.Close() }

// Layouts returns how often a menu has announced a change of its layout.
func (p *Panel) Layouts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.layouts
}

// Redrawn returns how often an icon has announced a new picture.
func (p *Panel) Redrawn() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.redrawn
}

// Icon waits for the first program that registers and returns its icon.
func (p *Panel) Icon() *Icon {
	p.d.t.Helper()
	var at address
	p.d.Eventually("a tray icon", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.icons) > 0 {
			at = p.icons[0]
		}
		return at.name != ""
	})
	return &Icon{p: p, at: at}
}

// watcher has the methods that the bus may call, and no others.
type watcher struct{ p *Panel }

// RegisterStatusNotifierItem takes a bus name, or the path of the item when
// the sender itself is meant.
func (w watcher) RegisterStatusNotifierItem(sender dbus.Sender, service string) *dbus.Error {
	at := address{name: service, path: "/StatusNotifierItem"}
	if strings.HasPrefix(service, "/") {
		at = address{name: string(sender), path: dbus.ObjectPath(service)}
	}
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	w.p.icons = append(w.p.icons, at)
	return nil
}

// RegisterStatusNotifierHost is part of the interface.
func (watcher) RegisterStatusNotifierHost(string) *dbus.Error { return nil }
