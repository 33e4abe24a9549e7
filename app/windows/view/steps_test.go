package view

import (
	"testing"

	"breakwater/proxy/control"
)

func TestFirstStepsAreDoneByWhatHappenedOnly(t *testing.T) {
	var s control.Snapshot
	row := control.Activity{Client: "breakwater", Path: "/v1/messages", Result: "answered", Status: 200, ConnectionID: "a", ConnectionName: "work"}
	with := func(change func(*control.Activity)) control.Activity { r := row; change(&r); return r }
	one := control.Snapshot{Connections: []control.Connection{{ID: "a", Active: true}}}
	for _, c := range []struct {
		name string
		snap control.Snapshot
		rows []control.Activity
		want [3]bool
	}{
		{"nothing yet", s, nil, [3]bool{}},
		{"a connection", one, nil, [3]bool{true}},
		{"an agent that was refused", one, []control.Activity{with(func(a *control.Activity) { a.Client, a.Result, a.Status = "codex", "refused", 503 })}, [3]bool{true, true}},
		{"a test request", one, []control.Activity{row}, [3]bool{true, false, true}},
		{"an answer for a client that nobody knows", one, []control.Activity{with(func(a *control.Activity) { a.Client = "unknown" })}, [3]bool{true, true, true}},
		{"a client that was refused", s, []control.Activity{with(func(a *control.Activity) { a.Client, a.Result, a.Status = "", "refused", 400 })}, [3]bool{false, true}},
		{"an agent's answer", one, []control.Activity{with(func(a *control.Activity) { a.Client = "claude-code" })}, [3]bool{true, true, true}},
		{"tokens counted only", one, []control.Activity{with(func(a *control.Activity) { a.Client, a.Path = "codex", "/v1/messages/count_tokens" })}, [3]bool{true, true}},
		{"an answer of the program itself", one, []control.Activity{with(func(a *control.Activity) { a.ConnectionID = "" })}, [3]bool{true}},
	} {
		steps := FirstSteps(c.snap, c.rows, true)
		for i, step := range steps {
			if shape, _ := step.Mark(); step.Done != c.want[i] || (shape == ShapeCheck) != c.want[i] {
				t.Errorf("%s: step %d is %+v with the mark %s", c.name, i+1, step, shape)
			}
		}
		if Answered(c.rows) != c.want[2] {
			t.Errorf("%s: answered is %v", c.name, !c.want[2])
		}
	}
}

func TestTestRequestNamesWhatSurelyWorks(t *testing.T) {
	chat := []string{"chat", "responses"}
	known := []control.Provider{{ID: "groq", KnownModels: []control.KnownModel{{Name: "llama"}}}}
	for _, c := range []struct {
		name           string
		snap           control.Snapshot
		dialect, model string
	}{
		{"nobody", control.Snapshot{}, "", ""},
		{"a login that only the agent has", control.Snapshot{Connections: []control.Connection{{Active: true, Credential: "passthrough", Dialects: chat, DefaultModel: "m"}}}, "", ""},
		{"switched off", control.Snapshot{Connections: []control.Connection{{Dialects: chat, DefaultModel: "m"}}}, "", ""},
		{"a default model", control.Snapshot{Connections: []control.Connection{{Active: true, Dialects: chat, DefaultModel: "m"}}}, "chat", "m"},
		{"a named model", control.Snapshot{Connections: []control.Connection{{Active: true, Dialects: chat, Models: []string{"x-*", "x-1"}}}}, "chat", "x-1"},
		{"the catalogue's", control.Snapshot{Connections: []control.Connection{{Active: true, Provider: "groq", Dialects: chat}}}, "chat", "llama"},
		{"patterns only", control.Snapshot{Connections: []control.Connection{{Active: true, Provider: "groq", Dialects: chat, Models: []string{"x-*"}}}}, "", ""},
		{"the demo", control.Snapshot{Demo: true, Connections: []control.Connection{{Active: true, Dialects: chat}}}, "anthropic", "demo"},
	} {
		dialect, model, ok := TestRequest(c.snap, known)
		if dialect != c.dialect || model != c.model || ok != (c.model != "") {
			t.Errorf("%s: %q %q %v", c.name, dialect, model, ok)
		}
	}
}
