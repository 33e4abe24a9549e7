package i18n

import (
	"strings"
	"time"
	"unicode"

	"breakwater/proxy/control"
)

// Shape returns the character that stands for a state where no icon can be
// drawn: menus, terminals, titles. All are plain text characters that the
// common fonts have.
func Shape(s control.State) string {
	switch s {
	case control.StateServing:
		return "●"
	case control.StateDegraded:
		return "◐"
	case control.StateCooling:
		return "◔"
	case control.StateModelLocked:
		return "▣"
	case control.StateNeedsAttention:
		return "△"
	case control.StateOpen:
		return "⊘"
	case control.StateProbing:
		return "◌"
	case control.StateBanned, control.StateExpired, control.StateCreditsExhausted, control.StateKeyMissing, control.StateWrongAddress:
		return "✕"
	case control.StateOff:
		return "○"
	}
	return "·"
}

// Word returns a state's word: "serving", "cooling", "no credit".
func Word(s control.State) string {
	switch s {
	case control.StateServing:
		return T("serving")
	case control.StateDegraded:
		return T("degraded")
	case control.StateCooling:
		return T("cooling")
	case control.StateModelLocked:
		return T("model locked")
	case control.StateOpen:
		return T("open")
	case control.StateProbing:
		return T("probing")
	case control.StateBanned:
		return T("banned")
	case control.StateExpired:
		return T("expired")
	case control.StateCreditsExhausted:
		return T("no credit")
	case control.StateKeyMissing:
		return T("key missing")
	case control.StateNeedsAttention:
		return T("needs attention")
	case control.StateWrongAddress:
		return T("wrong address")
	case control.StateOff:
		return T("off")
	}
	return string(s)
}

// Phrase returns a state with its remaining time: "cooling 4 min",
// "cooling until 16:20", "open, probe in 40 s". States that wait for nothing
// are their word alone.
func Phrase(s control.State, until *time.Time, now time.Time, loc *time.Location, g Grain) string {
	if until == nil || !until.After(now) {
		return Word(s)
	}
	switch s {
	case control.StateOpen:
		return T("open, probe %s", Moment(now, *until, loc, g))
	case control.StateCooling, control.StateModelLocked:
		if until.Sub(now) < near {
			return Word(s) + " " + Left(now, *until, g)
		}
		return Word(s) + " " + Until(now, *until, loc)
	default:
		return Word(s)
	}
}

// Moment says when one thing will happen: "in 40 s", "in 4 min", "at 16:20",
// "Tue 09:00".
func Moment(now, t time.Time, loc *time.Location, g Grain) string {
	if t.Sub(now) < near {
		return T("in %s", Left(now, t, g))
	}
	clock := Clock(now, t, loc)
	if len(clock) == len("15:04") {
		return T("at %s", clock)
	}
	return clock
}

// Name returns how a connection is called everywhere: "Anthropic · work", or
// the name alone when it says the provider already.
func Name(provider, name string) string {
	provider, name = Line(provider), Line(name)
	switch {
	case name == "":
		return provider
	case provider == "" || strings.HasPrefix(strings.ToLower(name), strings.ToLower(provider)):
		return name
	default:
		return provider + " · " + name
	}
}

// Line makes a name fit for one line of a menu or a notification: control and
// formatting characters become spaces, runs of spaces become one.
func Line(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// Ellipsis shortens s to at most n characters; what is cut shows as "…".
func Ellipsis(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return strings.TrimRightFunc(string(r[:max(0, n-1)]), unicode.IsSpace) + "…"
}

// Sentence returns the product's state in one sentence: "2 of 3 connections
// serving". Connections that the user switched off are told apart.
func Sentence(s control.Snapshot, now time.Time, loc *time.Location, g Grain) string {
	var on, serving, off int
	var next *time.Time
	for _, c := range s.Connections {
		switch {
		case !c.Active || c.State == control.StateOff:
			off++
			continue
		case c.State.Available():
			serving++
		case c.Until != nil && c.Until.After(now) && (next == nil || c.Until.Before(*next)):
			next = c.Until
		}
		on++
	}
	switch {
	case s.Paused && s.PausedUntil != nil:
		return T("Paused until %s, new requests are refused", Clock(now, *s.PausedUntil, loc))
	case s.Paused:
		return T("Paused, new requests are refused")
	case len(s.Connections) == 0:
		return T("No connections yet")
	case on == 0:
		return T("All connections are off")
	}
	text := T("%d of %d connections serving", serving, on)
	if serving == 0 && next != nil {
		text += ", " + T("next %s", Moment(now, *next, loc, g))
	} else if off > 0 {
		text += " · " + T("%d off", off)
	}
	return text
}
