package view

import (
	"strings"
	"time"

	"breakwater/proxy/control"
)

// laneStep tells what Claude's lane or limit reset made of a refusal.
func laneStep(l *Line, s control.Step, now time.Time) {
	l.Shape, l.Role = ShapeSkip, RoleMuted
	name := s.ConnectionName
	what, detail, _ := strings.Cut(s.Reason, ":")
	switch what {
	case "lane_entered":
		l.Title, l.Sub = Tf("%s let it into the low-priority lane", name), sentence(stepUntil(s, now), "")
	case "lane_ended":
		l.Title, l.Sub = Tf("The low-priority lane of %s ended", name), sentence(LaneEnd(detail), "")
	case "slot-busy", "capacity-busy":
		l.Title = Tf("It waited %s for a slot of %s", Span(s.DurationMs), name)
	case "limit_reset":
		l.Title = Tf("The limit of %s could not be reset", name)
		l.Sub = sentence(ResetOutcome(detail), "")
		switch detail {
		case "reset", "not_limited", "recent_reset":
			l.Title, l.Sub = Tf("The limit of %s was reset", name), ""
		}
	case "login_refreshed":
		l.Title = Tf("The login of %s was refreshed", name)
	default:
		l.Title, l.Sub = name, sentence(Reason(s.Reason), "")
	}
}
