package notify

import (
	"context"
	"log/slog"
	"time"

	"breakwater/proxy/control"
)

// Center is the desk where alerts come in: it applies the policy and sends
// what is due. Its methods never wait.
type Center struct {
	sender Sender
	policy *Policy
	wanted func() (control.NotificationSettings, bool)
	at     func() Present
	log    *slog.Logger
	in     chan any // control.Alert, Message or recovered
}

type recovered struct{}

// NewCenter returns a center; Run makes it work. wanted is asked, when a
// message is due, which alerts the user wants to hear of, and whether any; at
// how things stand then; loc is the zone in which times are told.
func NewCenter(sender Sender, wanted func() (control.NotificationSettings, bool), at func() Present, loc *time.Location, log *slog.Logger) *Center {
	return &Center{sender: sender, policy: NewPolicy(loc), wanted: wanted, at: at, log: log, in: make(chan any, 128)}
}

// Alert takes an alert in.
func (c *Center) Alert(a control.Alert) { c.put(a) }

// Recovered tells that something serves again after nothing did.
func (c *Center) Recovered() { c.put(recovered{}) }

// Say sends a message at once. It is for the answer to something that the user
// just did, so neither the policy nor the setting holds it back.
func (c *Center) Say(m Message) { c.put(m) }

// put drops what comes in when nobody has fetched the last 128.
func (c *Center) put(v any) {
	select {
	case c.in <- v:
	default:
	}
}

// Run sends messages until ctx ends, then closes the sender. It has no timer
// while nothing waits.
func (c *Center) Run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	defer func() { _ = c.sender.Close() }()
	for {
		select {
		case <-ctx.Done():
			return
		case v := <-c.in:
			switch v := v.(type) {
			case control.Alert:
				c.policy.Add(time.Now(), v)
			case recovered:
				c.policy.Recovered()
			case Message:
				c.send(v)
			}
		case <-timer.C:
			c.flush()
		}
		timer.Stop()
		if due, ok := c.policy.Due(); ok {
			timer.Reset(time.Until(due))
		}
	}
}

func (c *Center) flush() {
	want, on := c.wanted()
	if !on {
		c.policy.Drop()
		return
	}
	for _, m := range c.policy.Flush(time.Now(), want, c.at()) {
		c.send(m)
	}
}

func (c *Center) send(m Message) {
	if err := c.sender.Send(m); err != nil {
		c.log.Warn("a notification could not be shown", "title", m.Title, "error", err)
	}
}
