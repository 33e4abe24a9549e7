package view

import (
	"time"

	"breakwater/app/i18n"
	"breakwater/proxy/control"
)

// Sentence is the state of everything in one line and one explanation.
type Sentence struct {
	Shape Shape
	Role  Role
	Title string
	Sub   string
}

// Overview returns the one sentence of state.
func Overview(s control.Snapshot, now time.Time) Sentence {
	t := tally(s)
	switch {
	case s.Paused && s.PausedUntil != nil:
		return Sentence{ShapePause, RoleMuted, T("Paused"), Tf("New requests are refused until %s, then Breakwater serves again by itself.", Clock(*s.PausedUntil, now))}
	case s.Paused:
		return Sentence{ShapePause, RoleMuted, T("Paused"), T("New requests are refused until you resume.")}
	case len(s.Connections) == 0:
		return Sentence{ShapeRing, RoleMuted, T("Nothing to serve with yet"), T("Add a first connection and point your agent here.")}
	case t.enabled == 0:
		return Sentence{ShapeRing, RoleMuted, T("Every connection is switched off"), T("Switch one on and the next request goes to it.")}
	case t.serving == 0:
		return Sentence{ShapeCross, RoleError, T("Nothing can serve right now"), comeback(s, now)}
	case t.trouble != nil:
		return Sentence{ShapeBroken, RoleWarning, servingTitle(t), troubleSub(s, *t.trouble, now)}
	case t.careful != nil:
		return Sentence{ShapeHalf, RoleWarning, servingTitle(t), carefulSub(*t.careful, now)}
	default:
		return Sentence{ShapeDisc, RoleSuccess, servingTitle(t), wellSub(s)}
	}
}

// counts is what the sentence is made of.
type counts struct {
	enabled, serving int
	trouble, careful *control.Connection // the first in routing order
}

func tally(s control.Snapshot) counts {
	var t counts
	for i := range s.Connections {
		c := &s.Connections[i]
		if c.State == control.StateOff {
			continue
		}
		t.enabled++
		if c.State.Available() {
			t.serving++
			if c.State != control.StateServing && t.careful == nil {
				t.careful = c
			}
		} else if t.trouble == nil {
			t.trouble = c
		}
	}
	return t
}

func servingTitle(t counts) string {
	switch {
	case t.enabled == 1:
		return T("Your connection is serving")
	case t.serving == t.enabled && t.enabled == 2:
		return T("Both connections are serving")
	case t.serving == t.enabled:
		return Tf("All %d connections are serving", t.enabled)
	default:
		return Tf("%d of %d connections are serving", t.serving, t.enabled)
	}
}

func wellSub(s control.Snapshot) string {
	if c, ok := first(s, ""); ok {
		return Tf("Requests go to %s first.", c.Name)
	}
	return ""
}

// first returns the first connection in routing order that takes requests,
// other than the one named.
func first(s control.Snapshot, except string) (control.Connection, bool) {
	for _, c := range s.Connections {
		if c.ID != except && c.State.Available() {
			return c, true
		}
	}
	return control.Connection{}, false
}

func troubleSub(s control.Snapshot, c control.Connection, now time.Time) string {
	out := Story(c, now)
	if next, ok := first(s, c.ID); ok {
		out += " " + Tf("Requests go to %s.", next.Name)
	}
	return out
}

func carefulSub(c control.Connection, now time.Time) string { return Story(c, now) }

// Story returns what is the matter with a connection in one sentence: what
// happened, why, until when.
func Story(c control.Connection, now time.Time) string {
	why := whyOf(c)
	if why == "" {
		why = StateWord(c.State)
	}
	when := ""
	if c.Until != nil {
		when = " " + Until(*c.Until, now)
	}
	if c.Until != nil && c.Until.Sub(now) < time.Hour {
		when = ", " + Tf("back in %s", Left(*c.Until, now))
	}
	switch c.State {
	case control.StateCooling:
		if src := Source(c.Source); src != "" && c.Source != "ladder" {
			when += " (" + src + ")"
		}
		return Tf("%s: %s%s.", c.Name, why, when)
	case control.StateOpen:
		if c.Until != nil {
			when = ", " + stateRest(c.State, *c.Until, now)
		}
		return Tf("%s: the breaker of %s is open%s.", c.Name, c.ProviderName, when)
	case control.StateProbing:
		return Tf("%s: one probe request decides whether it serves again.", c.Name)
	case control.StateDegraded:
		return Tf("%s: %s has failed a few times and is watched closely.", c.Name, c.ProviderName)
	case control.StateModelLocked:
		return Tf("%s: a model is locked%s. Its other models serve.", c.Name, when)
	case control.StateBanned:
		return saying(Tf("%s: the provider has closed this account.", c.Name), c)
	case control.StateExpired:
		return saying(Tf("%s: the credential has expired. Edit it, then test.", c.Name), c)
	case control.StateCreditsExhausted:
		return saying(Tf("%s: no credit is left. Top up, then test.", c.Name), c)
	case control.StateNeedsAttention:
		return saying(Tf("%s: the provider has refused it for more than ten minutes. It is asked last. Check its key and its account.", c.Name), c)
	case control.StateWrongAddress:
		return saying(Tf("%s: what answers at its address is not the provider's API. Correct the address, then test.", c.Name), c)
	case control.StateKeyMissing:
		return Tf("%s: its key is missing. Type it again.", c.Name)
	case control.StateOff:
		return Tf("%s is switched off.", c.Name)
	default:
		return Tf("%s is serving.", c.Name)
	}
}

// saying adds the refusal's own words to a sentence (ruling 62).
func saying(sentence string, c control.Connection) string {
	if own := i18n.Why(c); own != "" {
		return sentence + " " + Tf("Its words: %s", own)
	}
	return sentence
}

// comeback tells which connection is back first.
func comeback(s control.Snapshot, now time.Time) string {
	var best *control.Connection
	for i := range s.Connections {
		c := &s.Connections[i]
		if c.Until != nil && c.State != control.StateOff && (best == nil || c.Until.Before(*best.Until)) {
			best = c
		}
	}
	if best == nil {
		return T("No connection comes back by itself. Edit one, or add another.")
	}
	if best.Until.Sub(now) < time.Hour {
		return Tf("%s is back first, in %s.", best.Name, Left(*best.Until, now))
	}
	return Tf("%s is back first, at %s.", best.Name, Clock(*best.Until, now))
}

// NeedYou returns how many connections no waiting brings back, for the rail's
// count badge.
func NeedYou(s control.Snapshot) int {
	n := 0
	for _, c := range s.Connections {
		if c.State.Stuck() || c.State == control.StateKeyMissing || c.State == control.StateNeedsAttention {
			n++
		}
	}
	return n
}

// ConnectionsLine is the header line of the connections page.
func ConnectionsLine(s control.Snapshot) string {
	t := tally(s)
	switch {
	case len(s.Connections) == 0:
		return T("None yet.")
	case s.Paused:
		return T("Paused: new requests are refused until you resume.")
	case t.enabled == len(s.Connections):
		return Tf("%d of %d serving, tried in this order.", t.serving, t.enabled)
	default:
		return Tf("%d of %d serving, %d switched off. Tried in this order.", t.serving, t.enabled, len(s.Connections)-t.enabled)
	}
}
