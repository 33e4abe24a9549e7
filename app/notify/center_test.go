package notify

import (
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"breakwater/proxy/control"
)

// mailbox is a sender that keeps what it is given.
type mailbox struct {
	got    []Message
	closed bool
	err    error
}

func (m *mailbox) Send(n Message) error {
	m.got = append(m.got, n)
	return m.err
}

func (m *mailbox) Close() error {
	m.closed = true
	return nil
}

// center runs a Center in a bubble; do acts, and the mailbox is looked at
// after it has ended.
func center(t *testing.T, on bool, do func(*Center, *mailbox)) *mailbox {
	t.Helper()
	box, w := &mailbox{}, newWorld()
	w.apply(opened("a", 1000*time.Hour))
	w.apply(empty("anthropic", 1000*time.Hour))
	synctest.Test(t, func(t *testing.T) {
		c := NewCenter(box, func() (control.NotificationSettings, bool) { return everything, on }, func() Present { return w.present(t0) }, zone, slog.New(slog.DiscardHandler))
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.Run(t.Context())
		}()
		do(c, box)
		synctest.Wait()
	})
	return box
}

func TestCenterGroupsAndSends(t *testing.T) {
	box := center(t, true, func(c *Center, _ *mailbox) {
		c.Alert(opened("a", time.Minute))
		c.Alert(empty("anthropic", time.Minute))
		<-time.After(time.Hour)
		c.Recovered()
		c.Alert(empty("anthropic", time.Minute))
		<-time.After(time.Hour)
	})
	if len(box.got) != 2 || box.got[0].Key != "nothing-left" || box.got[1].Key != "nothing-left" {
		t.Errorf("%+v", box.got)
	}
}

func TestCenterIsSilentWhenSwitchedOff(t *testing.T) {
	box := center(t, false, func(c *Center, _ *mailbox) {
		c.Alert(opened("a", time.Minute))
		<-time.After(time.Hour)
		c.Say(Message{Key: "endpoint", Title: "an answer to a click"})
	})
	if len(box.got) != 1 || box.got[0].Key != "endpoint" {
		t.Errorf("%+v", box.got)
	}
}

func TestCenterSurvivesADesktopWithoutNotifications(t *testing.T) {
	box := center(t, true, func(c *Center, box *mailbox) {
		box.err = errors.New("nobody there")
		for range 500 {
			c.Say(Message{Title: "x"}) // never blocks, whatever the sender does
		}
	})
	if len(box.got) == 0 {
		t.Error("nothing was tried")
	}
}
