package view

import (
	"strings"
	"time"

	"breakwater/proxy/control"
)

// Role is what a colour stands for; the theme gives it a value.
type Role string

// The colour roles of texts and shapes.
const (
	RoleText     Role = "text"
	RoleMuted    Role = "muted"
	RoleDisabled Role = "disabled"
	RoleSuccess  Role = "success"
	RoleWarning  Role = "warning"
	RoleError    Role = "error"
	RolePrimary  Role = "primary"
)

// Shape names a drawing that tells a state without colour.
type Shape string

// The shapes: those of the states first, then those of the decision trace.
const (
	ShapeDisc      Shape = "disc"      // serving, answered
	ShapeHalf      Shape = "half"      // degraded
	ShapeHourglass Shape = "hourglass" // cooling
	ShapeLock      Shape = "lock"      // a model is locked
	ShapeBroken    Shape = "broken"    // breaker open
	ShapeDotted    Shape = "dotted"    // probing
	ShapeCross     Shape = "cross"     // terminal, failed
	ShapeRing      Shape = "ring"      // off
	ShapeAsk       Shape = "ask"       // a request comes in
	ShapeSkip      Shape = "skip"      // passed over
	ShapeCut       Shape = "cut"       // a stream broke
	ShapeLeave     Shape = "leave"     // the client went away
	ShapeCheck     Shape = "check"     // done
	ShapePause     Shape = "pause"     // paused
)

// Badge is a state in three tellings: shape, colour and words.
type Badge struct {
	Shape Shape
	Role  Role
	Word  string
	// Rest tells when the state ends by itself; empty when it does not.
	Rest string
	// Tip is the exact time, for a hover.
	Tip string
}

// Text returns the words of the badge in one line.
func (b Badge) Text() string {
	if b.Rest == "" {
		return b.Word
	}
	return b.Word + ", " + b.Rest
}

// Counts reports whether the badge changes with the clock alone.
func (b Badge) Counts() bool { return b.Rest != "" }

// StateShape returns the shape and colour of a state.
func StateShape(s control.State) (Shape, Role) {
	switch s {
	case control.StateServing:
		return ShapeDisc, RoleSuccess
	case control.StateDegraded:
		return ShapeHalf, RoleWarning
	case control.StateCooling:
		return ShapeHourglass, RoleWarning
	case control.StateModelLocked:
		return ShapeLock, RoleWarning
	case control.StateOpen:
		return ShapeBroken, RoleError
	case control.StateNeedsAttention:
		return ShapeHalf, RoleError
	case control.StateProbing:
		return ShapeDotted, RolePrimary
	case control.StateBanned, control.StateExpired, control.StateCreditsExhausted, control.StateKeyMissing, control.StateWrongAddress:
		return ShapeCross, RoleError
	default:
		return ShapeRing, RoleDisabled
	}
}

// ConnectionBadge returns the badge of a connection at a moment.
func ConnectionBadge(c control.Connection, now time.Time) Badge {
	b := Badge{Word: StateWord(c.State)}
	b.Shape, b.Role = StateShape(c.State)
	if c.Until == nil || c.State == control.StateServing || c.State == control.StateOff {
		return b
	}
	b.Rest, b.Tip = stateRest(c.State, *c.Until, now), Exact(*c.Until)
	return b
}

// pausedBadge keeps connections from being called serving while all requests
// are refused; what is wrong with them stays to be seen.
func pausedBadge(c control.Connection, b Badge) Badge {
	if c.State != control.StateServing {
		return b
	}
	return Badge{Shape: ShapePause, Role: RoleMuted, Word: T("paused")}
}

func stateRest(s control.State, until, now time.Time) string {
	far := until.Sub(now) >= time.Hour
	switch {
	case s == control.StateOpen && far:
		return Tf("probe at %s", Clock(until, now))
	case s == control.StateOpen:
		return Tf("probe in %s", Left(until, now))
	case far:
		return Tf("until %s", Clock(until, now))
	default:
		return Left(until, now)
	}
}

// ofBreaker is a state's word as it is said of a breaker, which in some
// languages is not that of a connection; where there is none of its own the
// text is "breaker|" and the word.
func ofBreaker(s string) string { return strings.TrimPrefix(s, "breaker|") }

// BreakerBadge returns the badge of a provider's breaker at a moment.
func BreakerBadge(br control.Breaker, now time.Time) Badge {
	switch br.State {
	case "OPEN":
		b := Badge{Shape: ShapeBroken, Role: RoleError, Word: ofBreaker(T("breaker|open"))}
		if br.Until != nil {
			b.Rest, b.Tip = stateRest(control.StateOpen, *br.Until, now), Exact(*br.Until)
		}
		return b
	case "HALF_OPEN":
		return Badge{Shape: ShapeDotted, Role: RolePrimary, Word: T("probing")}
	case "DEGRADED":
		return Badge{Shape: ShapeHalf, Role: RoleWarning, Word: ofBreaker(T("breaker|degraded"))}
	default:
		return Badge{Shape: ShapeDisc, Role: RoleSuccess, Word: T("closed")}
	}
}

// Counting reports whether anything in the snapshot counts down at now.
func Counting(s control.Snapshot, now time.Time) bool {
	for i := range s.Connections {
		if c := &s.Connections[i]; c.Until != nil && c.Until.After(now) || anyLocked(c, now) {
			return true
		}
	}
	for _, b := range s.Breakers {
		if b.Until != nil && b.Until.After(now) {
			return true
		}
	}
	return false
}
