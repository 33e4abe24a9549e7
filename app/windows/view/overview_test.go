package view

import (
	"fmt"
	"testing"
	"time"

	"breakwater/proxy/control"
)

func TestHistoryOfABreaker(t *testing.T) {
	now := time.Date(2030, 1, 2, 12, 0, 0, 0, time.Local)
	var h History
	see := func(ago time.Duration, state string) {
		h.See([]control.Breaker{{Provider: "openai", State: state}}, now.Add(-ago))
	}
	see(80*time.Minute, "CLOSED")
	see(70*time.Minute, "CLOSED")
	see(30*time.Minute, "OPEN")
	see(15*time.Minute, "HALF_OPEN")
	list := []control.Activity{{At: now.Add(-30 * time.Minute), Trace: []control.Step{
		{Kind: control.StepFailed, Provider: "openai"}, {Kind: control.StepFailed, Provider: "glm"}, {Kind: control.StepAnswered, Provider: "openai"},
	}}, {At: now.Add(-2 * time.Hour), Trace: []control.Step{{Kind: control.StepFailed, Provider: "openai"}}}}
	s := h.Strip("openai", list, now)
	want := []StripPart{{0, 0.5, RoleSuccess}, {0.5, 0.75, RoleError}, {0.75, 1, RolePrimary}}
	if fmt.Sprint(s.Parts) != fmt.Sprint(want) {
		t.Errorf("%v", s.Parts)
	}
	if len(s.Ticks) != 1 || s.Ticks[0] != 0.5 {
		t.Errorf("%v", s.Ticks)
	}
	if s.Tip != "11:30 open, 11:45 probing · failed attempts in the last hour: 1" {
		t.Error(s.Tip)
	}
	see(-2*time.Hour, "HALF_OPEN")
	if n := len(h.turns["openai"]); n != 1 {
		t.Error("what is long past is kept:", n)
	}
	if s := h.Strip("unknown", nil, now); s.Parts != nil || s.Ticks != nil {
		t.Errorf("%+v", s)
	}
}

func TestOverviewListsTheBusyAndTheTroubledFirst(t *testing.T) {
	var s control.Snapshot
	for i := range 40 {
		s.Connections = append(s.Connections, control.Connection{ID: fmt.Sprint(i), State: control.StateServing})
		s.Breakers = append(s.Breakers, control.Breaker{Provider: fmt.Sprint(i), State: "CLOSED"})
	}
	s.Connections[0].State = control.StateOff
	s.Connections[30].State, s.Connections[35].InFlight = control.StateCooling, 2
	s.Breakers[39].State = "OPEN"
	b, more, breakers := Brief(s)
	if more != 30 || breakers != 30 || b.Connections[0].ID != "35" || b.Connections[1].ID != "30" || b.Connections[2].ID != "1" || b.Breakers[0].Provider != "39" {
		t.Error(more, breakers, b.Connections[:3], b.Breakers[0])
	}
	s.Connections, s.Breakers = s.Connections[:7], s.Breakers[:7]
	if b, more, _ := Brief(s); more != 0 || b.Connections[0].ID != "0" {
		t.Error("a few do not keep their order")
	}
}

func TestServingSaysWhoIsBusy(t *testing.T) {
	c := func(name string, n int) control.Connection { return control.Connection{Name: name, InFlight: n} }
	for want, list := range map[string][]control.Connection{
		"Nothing is under way right now.":                          {c("a", 0)},
		"Under way: 2 at a, 1 at b. Waiting for a turn: 5.":        {c("a", 2), c("b", 1), {Queued: 3, Lane: &control.ClaudeLane{Waiting: 2}}},
		"Under way: 1 at a, 1 at b, 1 at c, 1 at d and at 2 more.": {c("a", 1), c("b", 1), c("c", 1), c("d", 1), c("e", 1), c("f", 1)},
	} {
		if got := Serving(control.Snapshot{Connections: list}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestFailuresOfTheLastHourAreSummedUp(t *testing.T) {
	now := time.Date(2030, 1, 2, 12, 0, 0, 0, time.Local)
	row := func(id int64, ago time.Duration, steps ...control.Step) control.Activity {
		return control.Activity{ID: id, At: now.Add(-ago), Trace: steps}
	}
	limited := control.Step{Kind: control.StepFailed, ConnectionName: "work", Status: 429, Reason: "rate_limit_exceeded"}
	list := []control.Activity{
		row(9, time.Minute, limited, control.Step{Kind: control.StepRefused, Status: 503, Reason: "no_connection_available"}),
		row(8, 2*time.Minute, limited, control.Step{Kind: control.StepAnswered}),
		row(7, 3*time.Minute, control.Step{Kind: control.StepCut, ConnectionName: "home", Reason: "stream_truncated"}),
		row(6, 2*time.Hour, limited),
	}
	got := Failures(list, now)
	want := []Failure{
		{"work", "429, rate limited", "2", "1 min ago", Exact(now.Add(-time.Minute)), 9},
		{"Breakwater", "503, no connection is available", "1", "1 min ago", Exact(now.Add(-time.Minute)), 9},
		{"home", "stream was cut short", "1", "3 min ago", Exact(now.Add(-3 * time.Minute)), 7},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%+v", got)
	}
}
