package combo

import (
	"slices"
	"strings"
	"time"
)

const (
	handoffCeiling = 0.95 // beyond this the account has no room to be left in order
	handoffTTL     = 5 * time.Hour
	handoffLength  = 2000
)

// handoff is what a session takes along when its account changes.
type handoff struct {
	from    string
	summary string
	until   time.Time
}

var handoffs = newSlot[handoff](500)

// Relay is what context-relay needs of a request that succeeded.
type Relay struct {
	Session  string
	Messages func() []Message // called only when a handoff is due
	// Summarise makes the summary with handoffModel; nil: the last messages
	// are quoted.
	Summarise func(list []Message) string
}

// relayDone prepares the handoff of a session whose account is running low, so
// that the next one finds the thread.
func relayDone(r *Result) {
	if r.Served == nil || r.Relay == nil || r.Relay.Session == "" || r.Relay.Messages == nil ||
		!slices.Contains(r.Config.HandoffProviders, r.Served.Provider) {
		return
	}
	q := r.Served.Live.Quota
	used := 1 - q.Headroom(r.Now)
	if q == nil || used < r.Config.HandoffThreshold || used >= handoffCeiling {
		return
	}
	list := r.Relay.Messages()
	list = list[max(0, len(list)-r.Config.MaxMessagesForSummary):]
	summary := ""
	if r.Relay.Summarise != nil {
		summary = r.Relay.Summarise(list)
	}
	if summary == "" {
		summary = quote(list)
	}
	until := r.Now.Add(handoffTTL)
	for _, w := range []Window{q.Session, q.Weekly} {
		if w.Known && w.Reset.After(r.Now) && w.Reset.Before(until) {
			until = w.Reset
		}
	}
	handoffs.do(r.State, r.Relay.Session, func(h *handoff) bool {
		*h = handoff{r.connection(), cut(summary, handoffLength), until}
		return h.summary != ""
	})
}

// Handoff returns the summary a session brings along to connection: once, and
// not to the account it comes from.
func Handoff(st *State, now time.Time, session, connection string) (summary string, ok bool) {
	if session == "" {
		return "", false
	}
	handoffs.do(st, session, func(h *handoff) bool {
		switch {
		case h.summary == "" || !h.until.After(now):
			return false
		case h.from == connection:
			return true
		}
		summary, ok = h.summary, true
		return false
	})
	return summary, ok
}

// quote joins the last messages, as many as fit.
func quote(list []Message) string {
	parts, size := []string{}, 0
	for _, m := range slices.Backward(list) {
		line := m.Role + ": " + strings.Join(strings.Fields(m.Text), " ")
		if size+len(line) > handoffLength {
			line = cut(line, handoffLength-size)
		}
		if line == "" {
			break
		}
		parts = append(parts, line)
		size += len(line) + 1
		if size >= handoffLength {
			break
		}
	}
	slices.Reverse(parts)
	return strings.Join(parts, "\n")
}
