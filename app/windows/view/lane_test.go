package view

import (
	"testing"
	"time"

	"breakwater/proxy/control"
)

func TestLaneSteps(t *testing.T) {
	now := time.Date(2030, 1, 2, 15, 50, 0, 0, time.Local)
	until := now.Add(time.Hour)
	for reason, want := range map[string]string{
		"lane_entered":            "Work let it into the low-priority lane. Until 16:50:00.",
		"lane_ended:reset":        "The low-priority lane of Work ended. The limit began anew.",
		"slot-busy":               "It waited 20 s for a slot of Work. ",
		"limit_reset:reset":       "The limit of Work was reset. ",
		"limit_reset:not_offered": "The limit of Work could not be reset. None is offered to this account.",
		"login_refreshed":         "The login of Work was refreshed. ",
	} {
		t.Run(reason, func(t *testing.T) {
			s := control.Step{Kind: control.StepLane, Reason: reason, ConnectionName: "Work", DurationMs: 20_000}
			if reason == "lane_entered" {
				s.Until = &until
			}
			l := step(control.Activity{}, s, now)
			if got := l.Title + ". " + l.Sub; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
