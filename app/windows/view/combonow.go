package view

import (
	"time"

	"breakwater/proxy/control"
)

// StepBadge tells how a step of a combo stands at present: the state of its
// connection, or of the best of its provider's.
func StepBadge(s control.ComboStep, snap control.Snapshot, now time.Time) (b Badge, who *control.Connection) {
	for i := range snap.Connections {
		c := &snap.Connections[i]
		if s.Connection != "" && c.ID != s.Connection || s.Connection == "" && c.Provider != s.Provider {
			continue
		}
		if c.State.Available() {
			return ConnectionBadge(*c, now), c
		}
		if who == nil {
			b, who = ConnectionBadge(*c, now), c
		}
	}
	return b, who
}

// ComboNow tells where the next request would go and who is passed over, for
// the strategies that keep the order of the targets; for all others it is
// empty, because there the next request is not known ahead.
func ComboNow(c *control.Combo, snap control.Snapshot, now time.Time) string {
	switch c.Strategy {
	case "priority", "fill-first", "context-relay":
	default:
		return ""
	}
	if snap.Paused || !c.Enabled() {
		return ""
	}
	passed := ""
	for _, s := range c.Steps {
		if s.Combo != "" {
			return "" // what is in there has an order of its own
		}
		_, who := StepBadge(s, snap, now)
		switch {
		case who == nil:
		case who.State.Available() && passed == "":
			return Tf("Right now: %s.", who.Name)
		case who.State.Available():
			return Tf("Right now: %s.", who.Name) + " " + Tf("Passed over: %s", passed)
		case passed == "":
			passed = Story(*who, now)
		}
	}
	if passed == "" {
		return ""
	}
	return T("Right now: nobody.") + " " + passed
}
