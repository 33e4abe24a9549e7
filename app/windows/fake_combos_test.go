//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"breakwater/proxy/control"
)

// comboState fills the combos of the busy state.
func (f *fake) comboState() {
	raw := `[{"id":"k1","name":"coding","strategy":"priority","models":[
		{"model":"claude/claude-sonnet-4-5","providerId":"claude","connectionId":"c1","weight":1},
		{"model":"anthropic/claude-sonnet-4-5","providerId":"anthropic","connectionId":"c2","weight":1},
		{"model":"glm/glm-4.6","providerId":"glm","weight":1}]},
		{"id":"k2","name":"cheap","strategy":"weighted","isActive":false,"models":[
		{"model":"openrouter/*-mini","providerId":"openrouter","kind":"provider-wildcard","weight":3},{"kind":"combo-ref","comboName":"coding","weight":1}]}]`
	if err := json.Unmarshal([]byte(raw), &f.combos); err != nil {
		panic(err)
	}
	f.snap.Combos = nil
	for _, c := range f.combos {
		f.snap.Combos = append(f.snap.Combos, control.ComboBrief{ID: c.ID, Name: c.Name, Strategy: string(c.Strategy), Active: c.Enabled(), Targets: len(c.Steps)})
	}
}

func (f *fake) Combos(context.Context) ([]control.Combo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.combos), nil
}

// PreviewCombo asks the steps in their order, as the snapshot has their
// connections.
func (f *fake) PreviewCombo(_ context.Context, in control.PreviewRequest) (control.ComboPreview, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var steps []control.ComboStep
	p := control.ComboPreview{}
	for i := range f.combos {
		if f.combos[i].ID == in.ID {
			steps, p.Strategy = f.combos[i].Steps, string(f.combos[i].Strategy)
		}
	}
	if in.Draft != nil {
		steps, p.Strategy = in.Draft.Steps, in.Draft.Strategy
	}
	p.Draws = p.Strategy == "weighted" || p.Strategy == "random"
	for _, s := range steps {
		t := control.PreviewTarget{Model: s.Model + s.Combo, Weight: s.Weight, Reason: "unavailable"}
		for _, c := range f.snap.Connections {
			if c.ID == s.Connection || s.Connection == "" && c.Provider == s.Provider {
				t.ConnectionID, t.ConnectionName, t.Usable, t.Until = c.ID, c.Name, c.State.Available(), c.Until
				break
			}
		}
		p.Targets = append(p.Targets, t)
	}
	return p, nil
}

// Drill lets the first connection with a fault fail once, then rest, and the
// next one answer.
func (f *fake) Drill(_ context.Context, in control.DrillRequest) (control.DrillReport, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	raw, _ := json.Marshal(in)
	f.note("drill %s", raw)
	if err := f.refused(); err != nil {
		return control.DrillReport{}, err
	}
	began := f.snap.At
	rest := began.Add(time.Minute)
	r := control.DrillReport{StartedAt: began, Model: "coding", Dialect: "anthropic", Answered: in.Requests}
	for i := range in.Requests {
		at := began.Add(time.Duration(int64(i)*in.Spacing) * time.Millisecond)
		a := control.Activity{
			At: at, Method: "POST", Path: "/v1/messages", Client: "unknown", Model: "coding", Stream: true, Status: 200, Result: "answered",
			ConnectionName: "Anthropic · home", FirstOutputMs: 300, ResponseBytes: 900, RequestBytes: 120,
		}
		round := control.DrillRound{At: at}
		if len(in.Faults) > 0 && i == 0 {
			a.Trace = append(a.Trace, control.Step{Kind: control.StepFailed, ConnectionName: "Claude · work", Status: 429, Reason: "rate_limit_exceeded", DurationMs: 120, Until: &rest})
			round.Moves = append(round.Moves, control.DrillMove{What: "connection", ConnectionName: "Claude · work", From: "serving", To: "cooling", Until: &rest})
		}
		a.Trace = append(a.Trace, control.Step{Kind: control.StepAnswered, ConnectionName: "Anthropic · home", Status: 200, DurationMs: 480, OffsetMs: 120})
		round.Activity = a
		r.Requests = append(r.Requests, round)
	}
	r.Connections = []control.DrillConnection{{ID: "c1", Name: "Claude · work", State: control.StateCooling, Until: &rest, Failed: 1}, {ID: "c2", Name: "Anthropic · home", State: control.StateServing, Served: int64(in.Requests)}}
	return r, nil
}

func (f *fake) AddCombo(_ context.Context, in control.ComboInput) (control.Combo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.refused(); err != nil {
		return control.Combo{}, err
	}
	var c control.Combo
	c.ID, c.Name, c.Steps = fmt.Sprintf("k%d", len(f.combos)+1), in.Name, in.Steps
	raw, _ := json.Marshal(map[string]any{"strategy": in.Strategy})
	_ = json.Unmarshal(raw, &c)
	f.combos = append(f.combos, c)
	f.note("add combo %s", raw)
	return c, nil
}

func (f *fake) EditCombo(_ context.Context, id string, p control.ComboPatch) (control.Combo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	raw, _ := json.Marshal(p)
	f.note("edit combo %s %s", id, raw)
	if err := f.refused(); err != nil {
		return control.Combo{}, err
	}
	for i := range f.combos {
		if f.combos[i].ID == id {
			_ = json.Unmarshal(raw, &f.combos[i])
			return f.combos[i], nil
		}
	}
	return control.Combo{}, control.ErrNotFound
}

func (f *fake) DeleteCombo(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("delete combo %s", id)
	f.combos = slices.DeleteFunc(f.combos, func(c control.Combo) bool { return c.ID == id })
	return f.refused()
}
