//go:build linux

package desktop

import (
	"slices"
	"testing"

	"breakwater/app/notify"
)

func TestNotifierReplacesByKeyAndHearsClicks(t *testing.T) {
	d := New(t, false)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", d.Bus)
	clicks := make(chan string, 4)
	sender := notify.New("Breakwater", "io.breakwater.app", func(page string) { clicks <- page })
	t.Cleanup(func() { _ = sender.Close() })
	if err := sender.Send(notify.Message{Key: "a", Title: "nobody"}); err == nil {
		t.Error("a desktop without notifications took one")
	}

	notes := d.Notifications()
	for nth, want := range []struct {
		key      string
		replaces uint32
	}{{"a", 0}, {"a", 1}, {"b", 0}, {"a", 1}} {
		if err := sender.Send(notify.Message{Key: want.key, Title: "t", Body: "a < b & c", Page: "connections/" + want.key, Action: "Show the connection"}); err != nil {
			t.Fatal(err)
		}
		n := notes.Wait(nth + 1)
		if n.Replaces != want.replaces || n.Timeout != -1 || n.Body != "a &lt; b &amp; c" ||
			!slices.Equal(n.Actions, []string{"default", "Open Breakwater", "open", "Show the connection"}) {
			t.Errorf("%d: %+v", nth, n)
		}
	}

	notes.Click(77, "default") // another program's
	notes.Click(1, "dismiss")  // no action of ours
	notes.Click(1, "default")
	notes.Click(3, "open")
	if one, two := <-clicks, <-clicks; one != "connections/a" || two != "connections/b" || len(clicks) != 0 {
		t.Errorf("the clicks led to %q and %q, and %d more", one, two, len(clicks))
	}

	notes.Stop()
	d.Eventually("the server to be missed", func() bool {
		return sender.Send(notify.Message{Key: "a", Title: "t"}) != nil
	})
	again := d.Notifications()
	d.Eventually("the next server to be found", func() bool {
		return sender.Send(notify.Message{Key: "a", Title: "t"}) == nil
	})
	if n := again.Wait(1); n.Replaces != 0 {
		t.Errorf("an id of the old server was sent to the new one: %+v", n)
	}
}
