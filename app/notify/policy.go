package notify

import (
	"sort"
	"time"

	"breakwater/proxy/control"
)

const (
	// settle is how long the first alert waits for others that belong to it:
	// an opening breaker is often followed at once by "nothing left".
	settle = time.Second
	// quiet is the least time between two notifications about one provider.
	quiet = time.Minute
	// again is how long "nothing left to serve" is not repeated for a dialect
	// while nothing has come back in between.
	again = 15 * time.Minute
	// many is from how many providers on one message tells them together.
	many = 3
)

// nothing is the group of alerts that belong to no provider.
const nothing = ""

// Policy turns alerts into messages: it groups what comes together, sends at
// most one message per provider and minute, then one summary of what was held
// back, and does not repeat that nothing is left. It keeps no clock of its
// own; the caller asks Due when to call Flush. It is not safe for concurrent
// use.
type Policy struct {
	loc     *time.Location
	pending map[string][]control.Alert
	first   map[string]time.Time // when the first pending alert of a group came
	sent    map[string]time.Time // when a group was last told
	empty   map[string]time.Time // when "nothing left" was last told, by dialect
}

// NewPolicy returns a policy that tells clock times in the zone loc.
func NewPolicy(loc *time.Location) *Policy {
	return &Policy{
		loc:     loc,
		pending: map[string][]control.Alert{},
		first:   map[string]time.Time{},
		sent:    map[string]time.Time{},
		empty:   map[string]time.Time{},
	}
}

// Add takes an alert in. Nothing is sent before the next Flush.
func (p *Policy) Add(now time.Time, a control.Alert) {
	group := a.Provider
	switch a.Kind {
	case control.AlertNothingLeft:
		group = nothing
		if last, ok := p.empty[a.Dialect]; ok && now.Sub(last) < again {
			return
		}
		for _, b := range p.pending[nothing] {
			if b.Dialect == a.Dialect {
				return
			}
		}
	case control.AlertBreakerOpen, control.AlertBreakerClosed, control.AlertTerminal:
	default:
		return
	}
	if len(p.pending[group]) == 0 {
		p.first[group] = now
	}
	p.pending[group] = append(p.pending[group], a)
}

// Recovered tells the policy that something serves again, so that the next
// time nothing is left is news.
func (p *Policy) Recovered() { clear(p.empty) }

// Drop forgets what waits, for when the user switched notifications off.
func (p *Policy) Drop() {
	clear(p.pending)
	clear(p.first)
}

// Due returns when Flush will have something to send, and false when nothing
// waits.
func (p *Policy) Due() (time.Time, bool) {
	var due time.Time
	for group := range p.pending {
		if t := p.ready(group); due.IsZero() || t.Before(due) {
			due = t
		}
	}
	return due, !due.IsZero()
}

// ready returns when a group that has pending alerts may be told.
func (p *Policy) ready(group string) time.Time {
	t := p.first[group].Add(settle)
	if q := p.quietUntil(group); q.After(t) {
		return q
	}
	return t
}

// quietUntil returns when a group may be told again; zero when it was not told
// of late.
func (p *Policy) quietUntil(group string) time.Time {
	if last, ok := p.sent[group]; ok {
		return last.Add(quiet)
	}
	return time.Time{}
}

// Flush returns the messages that are due at now, "nothing left" first. What
// is due takes along what came in meanwhile: one message says it all.
func (p *Policy) Flush(now time.Time) []Message {
	if due, ok := p.Due(); !ok || due.After(now) {
		return nil
	}
	var groups []string
	for group := range p.pending {
		if !p.quietUntil(group).After(now) {
			groups = append(groups, group)
		}
	}
	sort.Strings(groups) // "nothing left" has the empty name and comes first
	var out []Message
	for _, g := range groups {
		alerts := p.pending[g]
		delete(p.pending, g)
		delete(p.first, g)
		p.sent[g] = now
		if g == nothing {
			for _, a := range alerts {
				p.empty[a.Dialect] = now
			}
		}
		if m, ok := compose(g, alerts, now, p.loc); ok {
			out = append(out, m)
		}
	}
	p.forget(now)
	return together(out)
}

// forget drops what no rule needs any more.
func (p *Policy) forget(now time.Time) {
	for g, t := range p.sent {
		if now.Sub(t) >= quiet {
			delete(p.sent, g)
		}
	}
	for d, t := range p.empty {
		if now.Sub(t) >= again {
			delete(p.empty, d)
		}
	}
}
