//go:build linux

package desktop

import (
	"fmt"
	"sync"

	"github.com/godbus/dbus/v5"
)

const (
	notifyName = "org.freedesktop.Notifications"
	notifyPath = "/org/freedesktop/Notifications"
)

// Notification is one call of the desktop's Notify method.
type Notification struct {
	App, Icon, Title, Body string
	Replaces               uint32
	Actions                []string
	Hints                  map[string]dbus.Variant
	Timeout                int32
}

// String tells a notification without its picture.
func (n Notification) String() string {
	return fmt.Sprintf("%q %q %q replaces %d", n.Title, n.Body, n.Actions, n.Replaces)
}

// Notifications is a notification server that shows nothing and remembers all.
type Notifications struct {
	d    *Desktop
	conn *dbus.Conn
	mu   sync.Mutex
	seen []Notification
	hook func(Notification)
}

// Seen has f called with each notification while the program waits for the
// answer.
func (n *Notifications) Seen(f func(Notification)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hook = f
}

// Notifications makes this desktop one with notifications.
func (d *Desktop) Notifications() *Notifications {
	d.t.Helper()
	conn := d.Connect()
	n := &Notifications{d: d, conn: conn}
	if err := conn.Export(notifyServer{n}, notifyPath, notifyName); err != nil {
		d.t.Fatal(err)
	}
	d.own(conn, notifyName)
	return n
}

func (d *Desktop) own(conn *dbus.Conn, name string) {
	d.t.Helper()
	reply, err := conn.RequestName(name, dbus.NameFlagDoNotQueue)
	if err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
		d.t.Fatalf("own %s: reply %v, %v", name, reply, err)
	}
}

// All returns the notifications so far.
func (n *Notifications) All() []Notification {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]Notification(nil), n.seen...)
}

// Wait returns the nth notification, counted from one, waiting for it.
func (n *Notifications) Wait(nth int) Notification {
	n.d.t.Helper()
	n.d.Eventually("a notification", func() bool { return len(n.All()) >= nth })
	return n.All()[nth-1]
}

// Click tells every program that an action of the notification with this id was
// chosen: "default" is a click on the notification itself.
func (n *Notifications) Click(id uint32, action string) {
	n.d.t.Helper()
	if err := n.conn.Emit(notifyPath, notifyName+".ActionInvoked", id, action); err != nil {
		n.d.t.Fatal(err)
	}
}

// Stop gives the name up, as a server that crashes does.
func (n *Notifications) Stop() { _ = n.conn.Close() }

// notifyServer has the methods that the bus may call, and no others.
type notifyServer struct{ n *Notifications }

// Notify is the specification's method.
func (s notifyServer) Notify(app string, replaces uint32, icon, title, body string,
	actions []string, hints map[string]dbus.Variant, timeout int32,
) (uint32, *dbus.Error) {
	note := Notification{
		App: app, Icon: icon, Title: title, Body: body,
		Replaces: replaces, Actions: actions, Hints: hints, Timeout: timeout,
	}
	s.n.mu.Lock()
	hook := s.n.hook
	s.n.mu.Unlock()
	if hook != nil {
		hook(note)
	}
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	s.n.seen = append(s.n.seen, note)
	if replaces != 0 {
		return replaces, nil
	}
	return uint32(len(s.n.seen)), nil
}

// CloseNotification is the specification's method.
func (notifyServer) CloseNotification(uint32) *dbus.Error { return nil }

// GetCapabilities is the specification's method.
func (notifyServer) GetCapabilities() ([]string, *dbus.Error) {
	return []string{"body", "body-markup", "actions"}, nil
}

// GetServerInformation is the specification's method.
func (notifyServer) GetServerInformation() (name, vendor, version, spec string, _ *dbus.Error) {
	return "private desktop", "tests", "1", "1.2", nil
}
