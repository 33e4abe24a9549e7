package view

import (
	"strings"
	"time"
	"unicode"

	"breakwater/proxy/control"
)

// Line is one paragraph of the story of a request.
type Line struct {
	Shape Shape
	Role  Role
	Title string
	Sub   string // empty when the title says it all
	At    string // time since the request came in
	Tip   string
}

// Trace tells the story of a request from top to bottom: what was asked, who
// was passed over and why, who was tried and what they said, who answered.
func Trace(a control.Activity, now time.Time) []Line {
	out := []Line{asked(a, now)}
	for _, s := range a.Trace {
		out = append(out, step(a, s, now))
	}
	return append(out, ended(a))
}

func asked(a control.Activity, now time.Time) Line {
	who := Client(a.Client)
	if who == T("a client") { // names such as aider keep their small letter
		who = capital(who)
	}
	title := Tf("%s asked for %s", who, a.Model)
	if a.Model == "" {
		title = Tf("%s called %s", who, a.Path)
	}
	kind := T("one answer")
	if a.Stream {
		kind = T("streamed")
	}
	return Line{
		Shape: ShapeAsk, Role: RolePrimary, Title: title,
		Sub: Tf("%s %s, %s, %s", a.Method, a.Path, kind, Bytes(a.RequestBytes)),
		At:  rowTime(a.At, now), Tip: Exact(a.At),
	}
}

func step(a control.Activity, s control.Step, now time.Time) Line {
	l := Line{At: "+" + Span(s.OffsetMs)}
	if s.Until != nil {
		l.Tip = Exact(*s.Until)
	}
	name := s.ConnectionName
	switch s.Kind {
	case control.StepSkipped:
		l.Shape, l.Role = ShapeSkip, RoleMuted
		l.Title = Tf("%s was passed over", name)
		l.Sub = sentence(Reason(s.Reason), stepUntil(s, now))
	case control.StepWaited:
		l.Shape, l.Role = ShapeSkip, RoleMuted
		l.Title = Tf("Waited %s for a connection", Span(s.DurationMs))
		l.Sub = sentence(Reason(s.Reason), stepUntil(s, now))
	case control.StepFailed:
		l.Shape, l.Role = ShapeCross, RoleError
		l.Title = failedTitle(s)
		l.Sub = failedSub(s, now)
	case control.StepAnswered:
		l.Shape, l.Role = ShapeCheck, RoleSuccess
		l.Title = Tf("%s answered", name)
		l.Sub = answeredSub(a, s)
	case control.StepRefused:
		l.Shape, l.Role = ShapeBroken, RoleError
		l.Title = Tf("Breakwater refused it with %d", s.Status)
		l.Sub = sentence(Reason(s.Reason), earliest(s, now))
	case control.StepCut:
		l.Shape, l.Role = ShapeCut, RoleWarning
		l.Title = Tf("The stream from %s broke", name)
		l.Sub = sentence(Reason(s.Reason), T("output had been sent, so nobody else was tried"))
	case control.StepLane:
		laneStep(&l, s, now)
	case control.StepOpinion:
		l.Shape, l.Role = ShapeSkip, RoleMuted
		l.Title = T("Asked another target for a second opinion")
		l.Sub = Tf("%s refused with a %d that Breakwater does not know.", name, s.Status)
	case control.StepRepeated:
		l.Shape, l.Role = ShapeSkip, RoleMuted
		l.Title = Tf("Sent again to %s: the connection was lost", name)
		if s.Reason == "not_processed" {
			l.Title = Tf("Sent again to %s: it had not processed the request", name)
		}
		l.Sub = T("Nothing is held against the connection.")
	case control.StepRepaired:
		l.Shape, l.Role = ShapeSkip, RoleMuted
		l.Title = Tf("The request was changed for %s", name)
		if l.Sub = sentence(Reason(s.Reason), ""); s.Count > 0 {
			l.Sub = sentence(N(s.Count, "removed %d reasoning item made by another account", "removed %d reasoning items made by another account", s.Count), "")
		}
	case control.StepLeft:
		l.Shape, l.Role = ShapeLeave, RoleMuted
		l.Title = T("The client went away")
	}
	return l
}

func failedTitle(s control.Step) string {
	if s.Status == 0 {
		return Tf("%s did not answer", s.ConnectionName)
	}
	return Tf("%s said %d", s.ConnectionName, s.Status)
}

func failedSub(s control.Step, now time.Time) string {
	out := Tf("after %s", Span(s.DurationMs))
	if why := Reason(s.Reason); why != "" {
		out = why + " " + out
	}
	if s.Until != nil {
		out += ", " + Tf("left out until %s", ClockSeconds(*s.Until, now))
	}
	return sentence(out, "")
}

func answeredSub(a control.Activity, s control.Step) string {
	out := Tf("in %s", Span(s.DurationMs))
	if s.Model != "" && s.Model != a.Model {
		out = Tf("as %s, %s", s.Model, out)
	}
	if s.Status != 200 && s.Status != 0 {
		out = Tf("with %d, %s", s.Status, out)
	}
	return sentence(out, Reason(s.Reason))
}

func stepUntil(s control.Step, now time.Time) string {
	if s.Until == nil {
		return ""
	}
	return Tf("until %s", ClockSeconds(*s.Until, now))
}

func earliest(s control.Step, now time.Time) string {
	if s.Until == nil {
		return ""
	}
	return Tf("the first is back at %s", ClockSeconds(*s.Until, now))
}

// ClockSeconds is Clock to the second: traces tell of short waits.
func ClockSeconds(t, now time.Time) string {
	if l, n := t.Local(), now.Local(); l.YearDay() == n.YearDay() && l.Year() == n.Year() {
		return l.Format("15:04:05")
	}
	return Clock(t, now)
}

func ended(a control.Activity) Line {
	b := ResultBadge(a)
	l := Line{Shape: b.Shape, Role: b.Role, At: "+" + Span(a.DurationMs)}
	switch a.Result {
	case "answered":
		l.Title = T("Finished")
		if a.FailedOver {
			l.Title = T("Finished, and the client never noticed")
		}
	case "refused":
		l.Title = Tf("The client got %d", a.Status)
	case "client_left":
		l.Title = T("Nothing is held against anybody")
	case "truncated":
		l.Title = T("The client saw a broken stream")
	default:
		l.Title = Tf("The client got %d", a.Status)
	}
	switch {
	case a.FirstOutputMs >= 0 && a.Stream:
		l.Sub = Tf("First output after %s, %s in all.", Span(a.FirstOutputMs), Bytes(a.ResponseBytes))
	case a.ResponseBytes > 0:
		l.Sub = Tf("%s in all.", Bytes(a.ResponseBytes))
	}
	return l
}

// sentence joins two parts with a comma, begins with a capital and ends with
// a full stop.
func sentence(a, b string) string {
	switch {
	case a == "":
		a = b
	case b != "":
		a += ", " + b
	}
	if a == "" {
		return ""
	}
	return capital(a) + "."
}

// capital begins a text with a capital letter.
func capital(s string) string {
	r := []rune(s)
	if len(r) > 0 {
		r[0] = unicode.ToUpper(r[0])
	}
	return string(r)
}

// Text returns a story as plain text, one paragraph a line.
func Text(list []Line) string {
	var out strings.Builder
	for _, l := range list {
		out.WriteString(l.At + "  " + l.Title + ".")
		if l.Sub != "" {
			out.WriteString(" " + l.Sub)
		}
		out.WriteByte('\n')
	}
	return out.String()
}
