package drill

import (
	"time"

	"breakwater/proxy/control"
)

// stretched tells a row's times by the twin's clock: spans were measured in
// real time.
func stretched(a control.Activity, at time.Time) control.Activity {
	a.At = at
	a.DurationMs *= speed
	if a.FirstOutputMs > 0 {
		a.FirstOutputMs *= speed
	}
	for i := range a.Trace {
		a.Trace[i].OffsetMs *= speed
		a.Trace[i].DurationMs *= speed
	}
	return a
}

// moves are the differences between two snapshots.
func moves(before, after control.Snapshot) []control.DrillMove {
	out := []control.DrillMove{}
	was := map[string]control.Connection{}
	for _, c := range before.Connections {
		was[c.ID] = c
	}
	for _, c := range after.Connections {
		old := was[c.ID]
		if old.TestStatus != c.TestStatus || own(old) != own(c) || later(old.RateLimitedUntil, c.RateLimitedUntil) {
			out = append(out, control.DrillMove{
				What: "connection", Provider: c.Provider, ConnectionID: c.ID, ConnectionName: c.Name,
				From: string(own(old)), To: string(own(c)), Until: c.RateLimitedUntil,
			})
		}
		out = append(out, locks(old, c)...)
	}
	breakers := map[string]control.Breaker{}
	for _, b := range before.Breakers {
		breakers[b.Provider] = b
	}
	for _, b := range after.Breakers {
		from := "CLOSED"
		if old, ok := breakers[b.Provider]; ok {
			from = old.State
		}
		if from != b.State {
			out = append(out, control.DrillMove{What: "breaker", Provider: b.Provider, From: from, To: b.State, Until: b.Until})
		}
	}
	return out
}

// own is a connection's own state: what its provider's breaker and its locked
// models add is told apart.
func own(c control.Connection) control.State {
	switch c.State {
	case control.StateCooling, control.StateNeedsAttention, control.StateWrongAddress, control.StateBanned, control.StateExpired, control.StateCreditsExhausted, control.StateKeyMissing, control.StateOff:
		return c.State
	case control.StateServing, control.StateDegraded, control.StateModelLocked, control.StateOpen, control.StateProbing:
	}
	return control.StateServing
}

// later reports that a cooldown was made longer.
func later(old, until *time.Time) bool {
	return until != nil && (old == nil || until.Sub(*old) > time.Second)
}

// locks are the models that were locked or unlocked.
func locks(old, c control.Connection) (out []control.DrillMove) {
	move := control.DrillMove{What: "model", Provider: c.Provider, ConnectionID: c.ID, ConnectionName: c.Name}
	for _, l := range c.Lockouts {
		if lockOf(old, l.Model) == nil {
			move.Model, move.From, move.To, move.Until = l.Model, "free", "locked", &l.Until
			out = append(out, move)
		}
	}
	for _, l := range old.Lockouts {
		if lockOf(c, l.Model) == nil {
			move.Model, move.From, move.To, move.Until = l.Model, "locked", "free", nil
			out = append(out, move)
		}
	}
	return out
}

func lockOf(c control.Connection, model string) *control.Lockout {
	for i := range c.Lockouts {
		if c.Lockouts[i].Model == model {
			return &c.Lockouts[i]
		}
	}
	return nil
}
