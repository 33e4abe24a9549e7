package combo

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

const (
	stickyTTL      = 15 * time.Minute
	stickyHeadroom = 0.15 // a bound connection must have more than this left
	failureTTL     = 5 * time.Minute
	failureStreak  = 3
)

// SessionKey identifies a conversation by its first user text: 16 hex digits,
// empty without text. The caller joins the text parts of a message.
func SessionKey(firstUserText string) string {
	if strings.TrimSpace(firstUserText) == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(firstUserText))
	return hex.EncodeToString(sum[:8])
}

// Message is one message of a conversation, its text parts joined.
type Message struct {
	Role string
	Text string
}

// FirstUserText returns the text of the first user message.
func FirstUserText(list []Message) string {
	for _, m := range list {
		if m.Role == "user" {
			return m.Text
		}
	}
	return ""
}

type binding struct {
	connection string
	used       time.Time
}

var bindings = newSlot[binding](500)

// Condition is the state of a bound connection.
type Condition struct {
	Terminal     bool // banned, expired, credits exhausted
	LimitedUntil time.Time
	Exhausted    bool // quota
}

// Health tells what stickiness must know of a connection. An error of the load
// keeps the order as it is, one of the condition keeps the binding.
type Health interface {
	// Load returns the used shares of the five-hour and the weekly window.
	Load(connection string) (session, week float64, err error)
	Condition(connection string) (Condition, error)
}

// stick moves the target of the session's connection ahead (sheet §1.8).
func (in *Input) stick(e *Entry, h Health, order []*Target) []*Target {
	if in.Session == "" || e.NoSession {
		return order
	}
	if in.Config.DisableSessionStickiness {
		Unbind(in.State, in.Session, "")
		return order
	}
	if len(order) < 2 {
		return order
	}
	b, ok := bindings.get(in.State, in.Session)
	if !ok || in.Now.Sub(b.used) > stickyTTL {
		return order
	}
	at := -1
	for i := range order {
		if order[i].Connection == b.connection {
			at = i
			break
		}
	}
	if at < 0 {
		return order
	}
	if h != nil {
		session, week, err := h.Load(b.connection)
		if err != nil {
			return order
		}
		if !keepable(in.Now, h, b.connection, 1-max(session, week)) {
			bindings.drop(in.State, in.Session)
			return order
		}
	}
	if e.SameModel && order[at].Model != order[0].Model {
		return order
	}
	if e.Name == RoundRobin { // only the start moves
		return rotate(order, at)
	}
	return front(order, at)
}

func keepable(now time.Time, h Health, connection string, left float64) bool {
	if left <= stickyHeadroom+tiny {
		return false
	}
	c, err := h.Condition(connection)
	if err != nil {
		return true
	}
	return !c.Terminal && !c.Exhausted && !c.LimitedUntil.After(now)
}

// Bind ties a session to the connection that served it, or renews the tie.
func Bind(st *State, now time.Time, session, connection string) {
	if session == "" || connection == "" {
		return
	}
	bindings.do(st, session, func(b *binding) bool {
		b.connection, b.used = connection, now
		return true
	})
}

// Unbind unties a session from connection, from any when that is empty.
func Unbind(st *State, session, connection string) {
	bindings.do(st, session, func(b *binding) bool {
		return connection != "" && b.connection != connection && b.connection != ""
	})
}

// Bound returns the connection a session is tied to.
func Bound(st *State, now time.Time, session string) string {
	b, ok := bindings.get(st, session)
	if !ok || now.Sub(b.used) > stickyTTL {
		return ""
	}
	return b.connection
}

// streak counts failures in a row of one session on one combo.
type streak struct {
	n    int
	last time.Time
}

var streaks = newSlot[streak](2000)

// CountFailure counts a failed request of a session and reports, once a streak,
// that the session's model pin for the combo should be cleared.
func CountFailure(st *State, now time.Time, session, combo string) (clear bool) {
	if session == "" {
		return false
	}
	streaks.do(st, session+"\x00"+combo, func(s *streak) bool {
		if now.Sub(s.last) > failureTTL {
			s.n = 0
		}
		s.n, s.last = s.n+1, now
		clear = s.n == failureStreak
		return true
	})
	return clear
}

// CountSuccess ends a streak.
func CountSuccess(st *State, session, combo string) { streaks.drop(st, session+"\x00"+combo) }
