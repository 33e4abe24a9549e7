//go:build linux

package desktop

import (
	"testing"

	"breakwater/app/notify"
)

func TestNotifierReplacesByKeyAndHearsClicks(t *testing.T) {
	d := New(t, false)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", d.Bus)
	clicks := make(chan struct{}, 4)
	sender := notify.New("Breakwater", "io.breakwater.app", func() { clicks <- struct{}{} })
	t.Cleanup(func() { _ = sender.Close() })
	if err := sender.Send(notify.Message{Key: "a", Title: "nobody"}); err == nil {
		t.Error("a desktop without notifications took one")
	}

	notes := d.Notifications()
	for nth, want := range []struct {
		key      string
		replaces uint32
	}{{"a", 0}, {"a", 1}, {"b", 0}, {"a", 1}} {
		if err := sender.Send(notify.Message{Key: want.key, Title: "t", Body: "a < b & c"}); err != nil {
			t.Fatal(err)
		}
		n := notes.Wait(nth + 1)
		if n.Replaces != want.replaces || n.Timeout != -1 || n.Body != "a &lt; b &amp; c" {
			t.Errorf("%d: %+v", nth, n)
		}
	}

	notes.Click(77) // another program's
	notes.Click(1)
	<-clicks
	if len(clicks) != 0 {
		t.Error("a click on another program's notification was taken for ours")
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
