package view

import (
	"strings"
	"time"

	"breakwater/proxy/control"
)

// DrillKinds returns the faults of a drill with their words, healthy first.
func DrillKinds() (kinds, words []string) {
	kinds = append([]string{"none"}, control.DrillKinds()...)
	for _, k := range kinds {
		words = append(words, FaultName(k))
	}
	return kinds, words
}

// Digits keeps the digits of what was typed.
func Digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

// DrillProblem says what is wrong with the requests that the faults are meant
// for, or nothing.
func DrillProblem(in control.DrillRequest) string {
	for _, f := range in.Faults {
		if f.To > 0 && f.From > f.To {
			return T("The first request of a fault cannot come after its last.")
		}
		if f.From > in.Requests {
			return Tf("The drill has %d requests; a fault must begin with one of them.", in.Requests)
		}
	}
	return ""
}

// DrillRunning says how long a drill has been running.
func DrillRunning(d time.Duration) string {
	return Tf("Running for %s. A stall of two minutes passes in less than a second.", Span(d.Milliseconds()))
}

// DrillLine sums a drill up.
func DrillLine(r control.DrillReport) string {
	out := Tf("%d of %d requests were answered.", r.Answered, r.Answered+r.Failed)
	var resting []string
	for _, c := range r.Connections {
		if !c.State.Available() {
			resting = append(resting, c.Name)
		}
	}
	if len(resting) > 0 {
		out += " " + Tf("Left alone at the end: %s.", strings.Join(resting, ", "))
	}
	return out
}

// DrillRow is one request of a drill in its list.
type DrillRow struct {
	Shape Shape
	Role  Role
	At    string // since the drill began
	Title string // who answered
	Sub   string // who failed before
}

// DrillRows tells each request in a line.
func DrillRows(r control.DrillReport) []DrillRow {
	out := make([]DrillRow, len(r.Requests))
	for i, round := range r.Requests {
		a := round.Activity
		row := DrillRow{At: "+" + Span(round.At.Sub(r.StartedAt).Milliseconds()), Shape: ShapeCheck, Role: RoleSuccess, Title: Tf("%s answered", a.ConnectionName)}
		var failed []string
		for _, s := range a.Trace {
			switch s.Kind {
			case control.StepFailed:
				failed = append(failed, failedTitle(s))
				row.Role = RoleWarning
			case control.StepCut:
				row.Shape, row.Role, row.Title = ShapeCut, RoleWarning, Tf("The stream from %s broke", s.ConnectionName)
			case control.StepRefused:
				row.Shape, row.Role, row.Title = ShapeBroken, RoleError, Tf("Breakwater refused it with %d", s.Status)
			case control.StepSkipped, control.StepWaited, control.StepAnswered, control.StepLeft, control.StepLane, control.StepOpinion, control.StepRepeated, control.StepRepaired:
			}
		}
		if row.Shape == ShapeCheck && a.Result != "answered" {
			row.Shape, row.Role, row.Title = ShapeCross, RoleError, Tf("It failed with %d", a.Status)
		}
		row.Sub = strings.Join(failed, ", ")
		out[i] = row
	}
	return out
}

// DrillStory tells one request of a drill from top to bottom, with the changes
// of state that it brought.
func DrillStory(round control.DrillRound) []Line {
	lines := Trace(round.Activity, round.At)
	end := lines[len(lines)-1]
	lines = lines[:len(lines)-1]
	for _, m := range round.Moves {
		lines = append(lines, drillMove(m, round.At))
	}
	return append(lines, end)
}

func drillMove(m control.DrillMove, at time.Time) Line {
	l := Line{Shape: ShapeHourglass, Role: RoleWarning}
	name := m.ConnectionName
	switch {
	case m.What == "breaker":
		l.Shape, l.Role = ShapeBroken, RoleError
		l.Title = Tf("The breaker of %s: %s", m.Provider, breakerWord(m.To))
		if m.To == "CLOSED" {
			l.Shape, l.Role = ShapeCheck, RoleSuccess
		}
	case m.What == "model" && m.To == "locked":
		l.Shape, l.Title = ShapeLock, Tf("%s: the model %s is locked", name, m.Model)
	case m.What == "model":
		l.Shape, l.Role, l.Title = ShapeCheck, RoleSuccess, Tf("%s: the model %s is free again", name, m.Model)
	case control.State(m.To).Available():
		l.Shape, l.Role, l.Title = ShapeCheck, RoleSuccess, Tf("%s serves again", name)
	default:
		l.Shape, l.Role = StateShape(control.State(m.To))
		l.Title = name + ": " + StateWord(control.State(m.To))
	}
	if m.Until != nil && m.Until.After(at) {
		l.Sub = sentence(Tf("for %s", Span(m.Until.Sub(at).Milliseconds())), "")
	}
	return l
}
