package notify

import (
	"slices"
	"sort"
	"time"

	"breakwater/proxy/control"
)

const (
	// settle is how long the first alert waits for others that belong to it:
	// an opening breaker is often followed at once by "nothing left".
	settle = time.Second
	// quiet is the least time between two notifications about one provider,
	// unless something has just gone out of use.
	quiet = time.Minute
	// again is how long "nothing left to serve" is not repeated for a dialect
	// or a combo while nothing has come back in between.
	again = 15 * time.Minute
	// many is from how many providers on one message tells them together.
	many = 3
)

// nothing is the group of alerts that belong to no provider.
const nothing = ""

// Policy turns alerts into messages: it groups what comes together, sends at
// most one message per provider and minute, then one summary of what was held
// back, does not repeat what is known, and is silent in quiet hours. It keeps
// no clock of its own; the caller asks Due when to call Flush. It is not safe
// for concurrent use.
type Policy struct {
	loc     *time.Location
	pending map[string]*bundle
	sent    map[string]time.Time // when a group was last told
	empty   map[string]time.Time // when "nothing left" was last told, by what it is about
	opened  map[string]time.Time // when a breaker was told open that was not told closed since
	known   map[string]time.Time // until when a thing is not told again
	hold    time.Time            // the end of the quiet hours that the last Flush met
}

// bundle is what waits to be told of one group: the last news of each thing.
type bundle struct {
	first  time.Time // when the first of it came
	urgent time.Time // when the first came that does not wait for quiet
	alerts []control.Alert
	held   bool // it waited for the end of quiet hours
}

// NewPolicy returns a policy that tells clock times in the zone loc.
func NewPolicy(loc *time.Location) *Policy {
	return &Policy{
		loc:     loc,
		pending: map[string]*bundle{},
		sent:    map[string]time.Time{},
		empty:   map[string]time.Time{},
		opened:  map[string]time.Time{},
		known:   map[string]time.Time{},
	}
}

// about names the thing that an alert is news of; empty for a kind that is
// never told.
func about(a control.Alert) string {
	switch a.Kind {
	case control.AlertBreakerOpen, control.AlertBreakerClosed:
		return "breaker"
	case control.AlertTerminal:
		return "connection/" + a.ConnectionID
	case control.AlertNothingLeft:
		return "empty/" + a.Dialect + "/" + a.Combo
	case control.AlertLaneEntered, control.AlertLaneEnded:
		return "lane/" + a.ConnectionID
	case control.AlertResetClaimed, control.AlertResetUnavailable:
		return "reset/" + a.ConnectionID
	case control.AlertQuotaLow:
		return "quota/" + a.ConnectionID + "/" + a.Window
	}
	return ""
}

// group is what an alert shares its message with.
func group(a control.Alert) string {
	if a.Kind == control.AlertNothingLeft {
		return nothing
	}
	return a.Provider
}

// Add takes an alert in. Nothing is sent before the next Flush.
func (p *Policy) Add(now time.Time, a control.Alert) {
	subject, group := about(a), group(a)
	b := p.pending[group]
	if a.Kind == control.AlertBreakerOpen && b != nil && p.saidOpen(now, a) {
		b.drop(subject, control.AlertBreakerClosed)
	}
	if a.Kind == control.AlertBreakerClosed && b != nil && b.drop(subject, control.AlertBreakerOpen) {
		return // that it had opened was not told
	}
	if subject == "" || p.stale(now, a, subject) {
		return
	}
	if b == nil {
		b = &bundle{first: now}
		p.pending[group] = b
	}
	b.add(a, subject)
	if urgent(a.Kind) && b.urgent.IsZero() {
		b.urgent = now
	}
	p.hold = time.Time{} // whether it is still quiet is asked anew
}

// add keeps the last news of each thing, in the order in which things came up.
func (b *bundle) add(a control.Alert, subject string) {
	for i := range b.alerts {
		if about(b.alerts[i]) == subject {
			b.alerts[i] = a
			return
		}
	}
	b.alerts = append(b.alerts, a)
}

// drop takes an alert of a kind back and reports whether there was one.
func (b *bundle) drop(subject string, k control.AlertKind) bool {
	before := len(b.alerts)
	b.alerts = slices.DeleteFunc(b.alerts, func(a control.Alert) bool { return a.Kind == k && about(a) == subject })
	return len(b.alerts) < before
}

// urgent reports whether an alert of a kind goes out at once: something is out
// of use.
func urgent(k control.AlertKind) bool {
	return k == control.AlertBreakerOpen || k == control.AlertTerminal || k == control.AlertNothingLeft
}

// saidOpen reports whether the last message about a breaker, of late, was that
// it is open.
func (p *Policy) saidOpen(now time.Time, a control.Alert) bool {
	last, ok := p.opened[a.Provider]
	return ok && now.Sub(last) < quiet
}

// stale reports whether an alert is no news.
func (p *Policy) stale(now time.Time, a control.Alert, subject string) bool {
	switch a.Kind {
	case control.AlertNothingLeft:
		if last, ok := p.empty[subject]; ok && now.Sub(last) < again {
			return true
		}
		if b := p.pending[nothing]; b != nil {
			for _, old := range b.alerts {
				if about(old) == subject {
					return true
				}
			}
		}
	case control.AlertLaneEnded:
		return a.Reason == "operator" // the user did it
	case control.AlertQuotaLow, control.AlertResetUnavailable:
		return p.known[subject+a.Reason].After(now)
	case control.AlertBreakerOpen:
		return p.saidOpen(now, a)
	case control.AlertBreakerClosed, control.AlertTerminal, control.AlertLaneEntered, control.AlertResetClaimed:
	}
	return false
}

// Recovered tells the policy that something serves again, so that the next
// time nothing is left is news.
func (p *Policy) Recovered() {
	clear(p.empty)
	if b := p.pending[nothing]; b != nil && b.held {
		delete(p.pending, nothing)
	}
}

// Drop forgets what waits, for when the user switched notifications off.
func (p *Policy) Drop() { clear(p.pending) }

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
	t := p.pending[group].urgent.Add(settle)
	if p.pending[group].urgent.IsZero() {
		t = p.pending[group].first.Add(settle)
		if q := p.quietUntil(group); q.After(t) {
			t = q
		}
	}
	if p.hold.After(t) {
		t = p.hold
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
// is due takes along what came in meanwhile: one message says it all. In quiet
// hours it returns nothing and keeps the last news of each thing. What has
// passed by itself, as at says, is not told.
func (p *Policy) Flush(now time.Time, want control.NotificationSettings, at Present) []Message {
	if due, ok := p.Due(); !ok || due.After(now) {
		return nil
	}
	if p.hold = QuietEnd(now.In(p.loc), want); p.hold.After(now) {
		for _, b := range p.pending {
			b.held = true
		}
		return nil
	}
	var groups []string
	for group := range p.pending {
		if !p.pending[group].urgent.IsZero() || !p.quietUntil(group).After(now) {
			groups = append(groups, group)
		}
	}
	sort.Strings(groups) // "nothing left" has the empty name and comes first
	var out []Message
	held := false
	for _, g := range groups {
		b := p.pending[g]
		delete(p.pending, g)
		b.keep(now, want, at)
		if len(b.alerts) == 0 {
			continue
		}
		p.told(now, g, b)
		held = held || b.held
		out = append(out, composer{now: now, loc: p.loc, at: at}.compose(g, b))
	}
	p.forget(now)
	return together(out, held)
}

// told notes what the user now knows.
func (p *Policy) told(now time.Time, group string, b *bundle) {
	p.sent[group] = now
	for _, a := range b.alerts {
		switch a.Kind {
		case control.AlertNothingLeft:
			p.empty[about(a)] = now
		case control.AlertQuotaLow, control.AlertResetUnavailable:
			until := now.Add(time.Hour)
			if a.Until != nil && a.Until.After(until) {
				until = *a.Until
			}
			p.known[about(a)+a.Reason] = until
		case control.AlertBreakerOpen:
			p.opened[a.Provider] = now
		case control.AlertBreakerClosed:
			delete(p.opened, a.Provider)
		case control.AlertTerminal, control.AlertLaneEntered, control.AlertLaneEnded, control.AlertResetClaimed:
		}
	}
}

// keep drops what the user does not want to hear of, what is not so any more,
// and what was good news in quiet hours.
func (b *bundle) keep(now time.Time, want control.NotificationSettings, at Present) {
	kept := b.alerts[:0]
	for _, a := range b.alerts {
		if !wanted(a.Kind, want) || b.held && (a.Kind == control.AlertBreakerClosed || a.Kind == control.AlertLaneEnded) {
			continue
		}
		if a, ok := at.still(now, a); ok {
			kept = append(kept, a)
		}
	}
	b.alerts = kept
}

// wanted reports whether alerts of a kind are shown.
func wanted(k control.AlertKind, want control.NotificationSettings) bool {
	switch k {
	case control.AlertBreakerOpen, control.AlertBreakerClosed:
		return want.Breakers
	case control.AlertTerminal:
		return want.Terminal
	case control.AlertNothingLeft:
		return want.NothingLeft
	case control.AlertLaneEntered, control.AlertLaneEnded:
		return want.Lane
	case control.AlertResetClaimed, control.AlertResetUnavailable:
		return want.LimitReset
	case control.AlertQuotaLow:
		return want.Quota
	}
	return false
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
	for g, t := range p.opened {
		if now.Sub(t) >= quiet {
			delete(p.opened, g)
		}
	}
	for k, until := range p.known {
		if !until.After(now) {
			delete(p.known, k)
		}
	}
}
