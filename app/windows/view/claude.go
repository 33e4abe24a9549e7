package view

import (
	"strings"
	"time"

	"breakwater/proxy/control"
)

// Switch is one of the two switches of a Claude subscription with what it does
// and how it stands.
type Switch struct {
	On          bool
	Name, About string
	State       Badge  // shape and word; Rest stays empty
	More        string // what else is known, empty when that is all
	Action      string // the button's word
	Can         bool   // the button has something to do
}

// LaneSwitch returns the low-priority lane of a connection at a moment.
func LaneSwitch(c control.Connection, now time.Time) Switch {
	s := Switch{
		On: c.LowPriorityMode, Name: T("Low-priority lane"), Action: T("Leave the lane"),
		About: T("At the usage limit, requests wait for a slow slot that Anthropic offers instead of failing."),
	}
	l := c.Lane
	switch {
	case l != nil && l.State == "active":
		s.Can = true
		s.State = Badge{Shape: ShapeDotted, Role: RolePrimary, Word: inLane(*l, now)}
		s.More = laneCounts(*l)
	case !s.On:
		s.State = Badge{Shape: ShapeRing, Role: RoleDisabled, Word: T("Off. At the limit this connection rests like any other.")}
	case l != nil && l.State == "budget_spent":
		s.State = Badge{Shape: ShapeHourglass, Role: RoleWarning, Word: T("The lane's own allowance is used up.")}
		if l.Until != nil {
			s.State.Word = Tf("The lane's own allowance is used up until %s.", Clock(*l.Until, now))
		}
	case l != nil && l.State == "cooling_off":
		s.State = Badge{Shape: ShapeHourglass, Role: RoleWarning, Word: T("A slot took too long, so the lane rests.")}
		if l.Until != nil {
			s.State.Word = Tf("A slot took too long, so the lane rests until %s.", Clock(*l.Until, now))
		}
	default:
		s.State = Badge{Shape: ShapeDisc, Role: RoleSuccess, Word: T("Ready. It is entered when the limit is reached and Anthropic offers it.")}
		if l != nil && l.Since != nil && l.Reason != "" {
			s.More = Tf("Last left at %s: %s.", Clock(*l.Since, now), LaneEnd(l.Reason))
		}
	}
	return s
}

func inLane(l control.ClaudeLane, now time.Time) string {
	switch {
	case l.Since != nil && l.Until != nil:
		return Tf("In the lane since %s, until %s at the latest.", Clock(*l.Since, now), Clock(*l.Until, now))
	case l.Since != nil:
		return Tf("In the lane since %s.", Clock(*l.Since, now))
	}
	return T("In the lane.")
}

func laneCounts(l control.ClaudeLane) string {
	out := []string{Tf("Served there: %d, at normal speed: %d.", l.RequestsServed, l.RequestsServedStandard)}
	if l.Waiting > 0 {
		out = append(out, Tf("Waiting for a slot: %d.", l.Waiting))
	}
	if l.BudgetUtilization != nil {
		out = append(out, Tf("%s of its allowance used.", Percent(*l.BudgetUtilization)))
	}
	return strings.Join(out, " ")
}

// LaneEnd returns in words why a lane ended (Claude sheet §1.4).
func LaneEnd(reason string) string {
	switch reason {
	case "reset":
		return T("the limit began anew")
	case "weekly":
		return T("the weekly limit was reached")
	case "budget":
		return T("its allowance was used up")
	case "off":
		return T("Anthropic switched it off")
	case "ineligible":
		return T("the account may not use it")
	case "wall":
		return T("Anthropic no longer offered it")
	case "max_wait":
		return T("a slot took too long")
	case "extra_usage":
		return T("paid extra usage took over")
	case "operator":
		return T("you left it")
	}
	return Reason(reason)
}

// ResetSwitch returns the automatic limit reset of a connection at a moment.
func ResetSwitch(c control.Connection, now time.Time) Switch {
	s := Switch{
		On: c.AutoLimitReset, Name: T("Automatic limit reset"), Action: T("Check for a reset"), Can: c.AutoLimitReset,
		About: T("At the usage limit, the account's own reset is used when it has one left, once and never twice at a time."),
	}
	switch r := c.LimitReset; {
	case r != nil:
		s.State = Badge{Shape: ShapeHourglass, Role: RoleWarning, Word: capital(ResetOutcome(r.Outcome)) + "."}
		if r.Granted {
			s.State.Shape, s.State.Role = ShapeCheck, RoleSuccess
		}
		if r.At != nil {
			s.State.Word = Tf("Last tried at %s: %s.", Clock(*r.At, now), ResetOutcome(r.Outcome))
		}
		s.More = resetMore(*r, now)
	case s.On:
		s.State = Badge{Shape: ShapeDisc, Role: RoleSuccess, Word: T("Ready. It has not been needed yet.")}
	default:
		s.State = Badge{Shape: ShapeRing, Role: RoleDisabled, Word: T("Off. A reset that the account has left stays yours to use.")}
	}
	return s
}

func resetMore(r control.ClaudeReset, now time.Time) string {
	var out []string
	if r.Next != nil && r.Next.After(now) {
		out = append(out, Tf("The next may be asked for from %s.", Clock(*r.Next, now)))
	} else {
		out = append(out, T("The next may be asked for now."))
	}
	if r.ResetsLeft != nil {
		out = append(out, Tf("Resets left: %d.", *r.ResetsLeft))
	}
	return strings.Join(out, " ")
}

// ResetOutcome returns in words how an attempt at the limit reset ended (Claude
// sheet §2).
func ResetOutcome(outcome string) string {
	switch outcome {
	case "reset":
		return T("the limit was reset")
	case "not_limited":
		return T("there was no limit to reset")
	case "recent_reset":
		return T("it had just been reset")
	case "memo_skip":
		return T("it was known to be too early")
	case "no_status", "unavailable":
		return T("Anthropic did not tell whether one is left")
	case "not_offered":
		return T("none is offered to this account")
	case "no_organization":
		return T("the account's organisation is not known")
	case "already_used":
		return T("it was used already")
	case "cooldown":
		return T("it is too early for another")
	case "ineligible":
		return T("the account may not use it")
	case "rate_limited":
		return T("Anthropic asked to wait")
	case "auth_error":
		return T("the sign-in was refused")
	case "error":
		return T("the attempt failed")
	}
	return Reason(outcome)
}
