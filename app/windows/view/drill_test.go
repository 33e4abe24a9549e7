package view

import (
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
)

func TestDrillIsToldLineByLine(t *testing.T) {
	t0 := time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
	until := t0.Add(90 * time.Second)
	failed := control.Step{Kind: control.StepFailed, ConnectionName: "work", Status: 529, Reason: "model_capacity", DurationMs: 100}
	answered := control.Step{Kind: control.StepAnswered, ConnectionName: "home", Status: 200}
	round := func(after time.Duration, result string, moves []control.DrillMove, steps ...control.Step) control.DrillRound {
		return control.DrillRound{At: t0.Add(after), Moves: moves, Activity: control.Activity{Result: result, Status: 200, Model: "m", Client: "unknown", ConnectionName: "home", Trace: steps}}
	}
	r := control.DrillReport{StartedAt: t0, Answered: 2, Failed: 3, Requests: []control.DrillRound{
		round(0, "answered", nil, answered),
		round(5*time.Second, "answered", []control.DrillMove{
			{What: "connection", ConnectionName: "work", From: "serving", To: "cooling", Until: &until},
			{What: "model", ConnectionName: "work", Model: "gpt", From: "free", To: "locked", Until: &until},
			{What: "breaker", Provider: "openai", From: "CLOSED", To: "OPEN", Until: &until},
		}, failed, answered),
		round(65*time.Second, "truncated", nil, control.Step{Kind: control.StepCut, ConnectionName: "home"}),
		round(70*time.Second, "refused", nil, control.Step{Kind: control.StepRefused, Status: 503}),
		round(75*time.Second, "failed", []control.DrillMove{
			{What: "connection", ConnectionName: "work", From: "cooling", To: "serving"},
			{What: "model", ConnectionName: "work", Model: "gpt", From: "locked", To: "free"},
			{What: "breaker", Provider: "openai", From: "OPEN", To: "CLOSED"},
		}, failed),
	}, Connections: []control.DrillConnection{{Name: "work", State: control.StateCooling}, {Name: "home", State: control.StateServing}}}
	if got := DrillLine(r); got != "2 of 5 requests were answered. Left alone at the end: work." {
		t.Error(got)
	}
	want := []string{
		"+0 ms home answered ", "+5.0 s home answered work said 529", "+1 min 05 s The stream from home broke ",
		"+1 min 10 s Breakwater refused it with 503 ", "+1 min 15 s It failed with 200 work said 529",
	}
	for i, row := range DrillRows(r) {
		if got := row.At + " " + row.Title + " " + row.Sub; got != want[i] {
			t.Errorf("%q, want %q", got, want[i])
		}
	}
	var story []string
	for _, i := range []int{1, 4} {
		for _, l := range DrillStory(r.Requests[i]) {
			story = append(story, l.Title+" "+l.Sub)
		}
	}
	for _, line := range []string{
		"work: cooling For 1 min 25 s.", "work: the model gpt is locked For 1 min 25 s.", "The breaker of openai: open For 1 min 25 s.",
		"work serves again ", "work: the model gpt is free again ", "The breaker of openai: closed ",
	} {
		if !strings.Contains("\n"+strings.Join(story, "\n")+"\n", "\n"+line+"\n") {
			t.Errorf("%q is not in\n%s", line, strings.Join(story, "\n"))
		}
	}
}

func TestARangeOfADrillIsChecked(t *testing.T) {
	for _, c := range []struct {
		from, to int
		wrong    bool
	}{{0, 0, false}, {3, 0, false}, {3, 3, false}, {0, 2, false}, {4, 3, true}, {6, 0, true}} {
		in := control.DrillRequest{Requests: 5, Faults: []control.DrillFault{{From: c.from, To: c.to}}}
		if got := DrillProblem(in); (got != "") != c.wrong {
			t.Errorf("%d to %d: %q", c.from, c.to, got)
		}
	}
	if Digits(" 1a2.") != "12" {
		t.Error(Digits(" 1a2."))
	}
}
