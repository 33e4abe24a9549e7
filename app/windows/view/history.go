package view

import (
	"slices"
	"strings"
	"time"

	"breakwater/proxy/control"
)

// HistorySpan is how far back the history of the breakers goes.
const HistorySpan = time.Hour

// History remembers the states of the breakers since the window opened, for a
// while; the proxy keeps only the present ones.
type History struct {
	turns map[string][]turn // by provider, the oldest first
}

// turn is a moment from which a breaker was in a state.
type turn struct {
	at    time.Time
	state string
}

// See takes in the breakers as they are now.
func (h *History) See(list []control.Breaker, now time.Time) {
	if h.turns == nil {
		h.turns = map[string][]turn{}
	}
	for _, b := range list {
		t := h.turns[b.Provider]
		if n := len(t); n > 0 && t[n-1].state == b.State {
			continue
		}
		h.turns[b.Provider] = append(t, turn{now, b.State})
	}
	for id, t := range h.turns {
		for len(t) > 1 && now.Sub(t[1].at) > HistorySpan {
			t = t[1:] // the one that reaches into the span stays
		}
		h.turns[id] = t
	}
}

// Strip is the last hour of a breaker: from 0, an hour ago, to 1, now.
type Strip struct {
	Parts []StripPart
	Ticks []float32 // failed attempts
	Tip   string
}

// StripPart is a time in one state. The time before the window opened has no
// part.
type StripPart struct {
	From, To float32
	Role     Role
}

// Strip returns the history of one provider's breaker, with the failed attempts
// among the requests that are known.
func (h *History) Strip(provider string, list []control.Activity, now time.Time) Strip {
	var s Strip
	turns := h.turns[provider]
	var told []string
	for i, t := range turns {
		end := now
		if i+1 < len(turns) {
			end = turns[i+1].at
		}
		s.Parts = append(s.Parts, StripPart{since(t.at, now), since(end, now), breakerRole(t.state)})
		if i > 0 && len(told) < 8 {
			told = append(told, Tf("%s %s", Clock(t.at, now), breakerWord(t.state)))
		}
	}
	failed := 0
	for i := range list {
		if now.Sub(list[i].At) > 2*HistorySpan {
			break // the newest come first, and no request takes an hour
		}
		for j := range list[i].Trace {
			step := &list[i].Trace[j]
			if step.Kind != control.StepFailed || step.Provider != provider {
				continue
			}
			at := list[i].At.Add(time.Duration(step.OffsetMs) * time.Millisecond)
			if now.Sub(at) < HistorySpan {
				s.Ticks, failed = append(s.Ticks, since(at, now)), failed+1
			}
		}
	}
	slices.Sort(s.Ticks)
	s.Tip = Tf("failed attempts in the last hour: %d", failed)
	if len(told) > 0 {
		s.Tip = strings.Join(told, ", ") + " · " + s.Tip
	}
	return s
}

// since is the place of a moment on a strip.
func since(t, now time.Time) float32 {
	return min(max(1-float32(now.Sub(t))/float32(HistorySpan), 0), 1)
}

func breakerRole(state string) Role {
	return BreakerBadge(control.Breaker{State: state}, time.Time{}).Role
}

func breakerWord(state string) string {
	return BreakerBadge(control.Breaker{State: state}, time.Time{}).Word
}
