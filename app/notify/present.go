package notify

import (
	"slices"
	"strings"
	"time"

	"breakwater/app/i18n"
	"breakwater/proxy/control"
)

// Present is how things stand at the moment of sending. A message is composed
// from it, so that it says what is so when it appears.
type Present struct {
	Snapshot control.Snapshot
	// Rests reports whether no target of a combo takes a request now.
	Rests func(combo string) bool
}

// still returns an alert with the names and deadlines of now; false when what
// it is about has passed.
func (p Present) still(now time.Time, a control.Alert) (control.Alert, bool) {
	switch a.Kind {
	case control.AlertBreakerOpen, control.AlertBreakerClosed:
		return p.breaker(now, a)
	case control.AlertNothingLeft:
		return p.nothingLeft(now, a)
	case control.AlertTerminal, control.AlertLaneEntered, control.AlertLaneEnded, control.AlertResetClaimed,
		control.AlertResetUnavailable, control.AlertQuotaLow:
		return p.ofConnection(now, a)
	}
	return a, false
}

// breaker looks at the provider's breaker. One that guards no connection in use
// is no news.
func (p Present) breaker(now time.Time, a control.Alert) (control.Alert, bool) {
	guarded := p.guarded(a.Provider)
	if len(guarded) == 0 {
		return a, false
	}
	a.ProviderName = guarded[0].ProviderName
	if _, custom := strings.CutPrefix(a.Provider, guarded[0].Provider+":"); custom {
		var names []string // the breaker is named after an address, which says nothing to people
		for _, c := range guarded {
			names = append(names, i18n.Line(c.Name))
		}
		a.ProviderName = strings.Join(names, ", ")
	}
	state, until := "CLOSED", (*time.Time)(nil)
	for _, b := range p.Snapshot.Breakers {
		if b.Provider == a.Provider {
			state, until = b.State, b.Until
		}
	}
	if a.Kind == control.AlertBreakerOpen {
		a.Until = until
		return a, state == "OPEN" && (until == nil || until.After(now))
	}
	serves := slices.ContainsFunc(guarded, func(c control.Connection) bool { return c.State.Available() })
	return a, serves && state != "OPEN" && state != "HALF_OPEN"
}

// guarded returns the connections in use that a breaker guards.
func (p Present) guarded(breaker string) []control.Connection {
	return slices.DeleteFunc(slices.Clone(p.Snapshot.Connections), func(c control.Connection) bool {
		return !enabled(c) || !c.GuardedBy(breaker)
	})
}

func enabled(c control.Connection) bool { return c.Active && c.State != control.StateOff }

// nothingLeft asks whether really no connection takes a request: the one that
// failed may have been sent to a single connection, or have failed for a reason
// of its own.
func (p Present) nothingLeft(now time.Time, a control.Alert) (control.Alert, bool) {
	if p.Snapshot.Paused {
		return a, false
	}
	if a.Combo != "" {
		known := slices.ContainsFunc(p.Snapshot.Combos, func(c control.ComboBrief) bool { return c.Active && c.Name == a.Combo })
		if a.Until != nil && !a.Until.After(now) {
			a.Until = nil
		}
		return a, known && p.Rests != nil && p.Rests(a.Combo)
	}
	all, resting := 0, 0
	a.Until = nil
	for _, c := range p.Snapshot.Connections {
		if !enabled(c) || !slices.Contains(c.Dialects, a.Dialect) {
			continue
		}
		all++
		if c.State.Available() {
			continue
		}
		resting++
		if c.Until != nil && c.Until.After(now) && (a.Until == nil || c.Until.Before(*a.Until)) {
			a.Until, a.ProviderName, a.ConnectionName = c.Until, c.ProviderName, c.Name
		}
	}
	return a, all > 0 && resting == all
}

// ofConnection looks at the connection that an alert names.
func (p Present) ofConnection(now time.Time, a control.Alert) (control.Alert, bool) {
	i := slices.IndexFunc(p.Snapshot.Connections, func(c control.Connection) bool { return c.ID == a.ConnectionID })
	if i < 0 {
		return a, false
	}
	c := p.Snapshot.Connections[i]
	a.ProviderName, a.ConnectionName = c.ProviderName, c.Name
	inLane := c.Lane != nil && c.Lane.State == "active"
	switch a.Kind {
	case control.AlertTerminal:
		return a, c.State == a.State || a.State == control.StateNeedsAttention && c.NeedsAttention != nil
	case control.AlertLaneEntered:
		if inLane {
			a.Until = c.Lane.Until
		}
		return a, inLane
	case control.AlertLaneEnded:
		return a, !inLane
	case control.AlertQuotaLow:
		return a, a.Until == nil || a.Until.After(now)
	case control.AlertResetClaimed, control.AlertResetUnavailable, control.AlertBreakerOpen, control.AlertBreakerClosed, control.AlertNothingLeft:
	}
	return a, enabled(c)
}

// all reports whether no connection takes requests, whichever API they speak.
func (p Present) all() bool {
	return !slices.ContainsFunc(p.Snapshot.Connections, func(c control.Connection) bool {
		return enabled(c) && c.State.Available()
	})
}

// consequence says where the requests go of the connections that an alert takes
// out; nothing where that depends on the request.
func (p Present) consequence(now time.Time, a control.Alert) string {
	var out []control.Connection
	switch a.Kind {
	case control.AlertBreakerOpen:
		out = p.guarded(a.Provider)
	case control.AlertTerminal:
		for _, c := range p.Snapshot.Connections {
			if c.ID == a.ConnectionID {
				out = append(out, c)
			}
		}
	case control.AlertBreakerClosed, control.AlertNothingLeft, control.AlertLaneEntered, control.AlertLaneEnded,
		control.AlertResetClaimed, control.AlertResetUnavailable, control.AlertQuotaLow:
	}
	if len(out) == 0 || p.Snapshot.Paused {
		return ""
	}
	others := 0
	for _, c := range p.Snapshot.Connections {
		gone := slices.ContainsFunc(out, func(o control.Connection) bool { return o.ID == c.ID })
		leased := c.LeasedUntil != nil && c.LeasedUntil.After(now)
		if gone || leased || !enabled(c) || !c.State.Available() || !slices.ContainsFunc(out, func(o control.Connection) bool { return shares(o, c) }) {
			continue
		}
		if !slices.ContainsFunc(out, func(o control.Connection) bool { return !replaces(c, o) }) {
			return i18n.T("Requests go to %s.", i18n.Ellipsis(i18n.Name(c.ProviderName, c.Name), nameWidth))
		}
		others++
	}
	if others == 0 {
		return i18n.T("No other connection can take its requests.")
	}
	return ""
}

// shares reports whether two connections speak a common API.
func shares(a, b control.Connection) bool {
	return slices.ContainsFunc(a.Dialects, func(d string) bool { return slices.Contains(b.Dialects, d) })
}

// replaces reports whether c takes every request of another connection: it
// speaks the same APIs and offers the same models, or puts its own in.
func replaces(c, other control.Connection) bool {
	if c.State == control.StateModelLocked || len(c.ExcludedModels) > 0 || !within(other.Dialects, c.Dialects) {
		return false
	}
	return c.DefaultModel != "" || slices.Contains(c.Offers, "*") ||
		len(other.Offers) > 0 && within(other.Offers, c.Offers)
}

// within reports whether all of part are in whole.
func within(part, whole []string) bool {
	return !slices.ContainsFunc(part, func(s string) bool { return !slices.Contains(whole, s) })
}
