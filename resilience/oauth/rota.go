package oauth

import (
	"hash/fnv"
	"time"
)

// LookGap is the least time between two looks at stored logins, whosever they
// are.
const LookGap = 10 * time.Second

// Member is a stored login that is to be looked at again and again.
type Member struct {
	ID    string
	Every time.Duration
}

// Rota says when which stored login is looked at in the background. Each has
// its own place in the interval, so that they do not all come at once, neither
// after a start nor after the machine has slept. It belongs to one goroutine.
type Rota struct {
	turns map[string]turn
	last  time.Time // the last look at any; zero: none yet
}

type turn struct {
	every time.Duration
	due   time.Time
}

// NewRota returns a rota of nobody.
func NewRota() *Rota { return &Rota{turns: map[string]turn{}} }

// Set makes these the members. Who was one before keeps their place, unless
// the interval is another; an interval of zero or less makes no member.
func (r *Rota) Set(now time.Time, members []Member) {
	next := make(map[string]turn, len(members))
	for _, m := range members {
		if m.Every <= 0 {
			continue
		}
		t, ok := r.turns[m.ID]
		if !ok || t.every != m.Every {
			t = turn{m.Every, now.Add(place(m))}
		}
		next[m.ID] = t
	}
	r.turns = next
}

// place is how far into the interval a member's first look falls: in its second
// half or after, never at once.
func place(m Member) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(m.ID))
	const parts = 1 << 10
	return m.Every/2 + m.Every/2/parts*time.Duration(h.Sum32()%parts)
}

// Next returns whose turn comes first and when; ok is false without members.
// The moment may be past.
func (r *Rota) Next(now time.Time) (id string, at time.Time, ok bool) {
	for member, t := range r.turns {
		if latest := now.Add(t.every); t.due.After(latest) {
			t.due = latest // the clock was set back
			r.turns[member] = t
		}
		if !ok || t.due.Before(at) || t.due.Equal(at) && member < id {
			id, at, ok = member, t.due, true
		}
	}
	if r.last.After(now) {
		r.last = now
	}
	if free := r.last.Add(LookGap); ok && !r.last.IsZero() && at.Before(free) {
		at = free
	}
	return id, at, ok
}

// Looked tells that the member's turn was taken: its next is an interval later.
func (r *Rota) Looked(now time.Time, id string) {
	r.last = now
	if t, ok := r.turns[id]; ok {
		r.turns[id] = turn{t.every, now.Add(t.every)}
	}
}
