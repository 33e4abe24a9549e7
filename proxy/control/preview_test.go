package control

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"breakwater/resilience"
	"breakwater/resilience/combo"
	"breakwater/resilience/outcome"
)

// ahead tells a preview in a line: who would be tried, in which order, and why
// not those that would not.
func ahead(p ComboPreview) string {
	var parts []string
	for _, t := range p.Targets {
		part := t.ConnectionName
		if part == "" {
			part = t.Model
		}
		if !t.Usable {
			part += " (" + t.Reason
			if t.Until != nil {
				part += fmt.Sprintf(" %v", t.Until.Sub(t0).Round(time.Minute))
			}
			part += ")"
		}
		parts = append(parts, part)
	}
	if p.Refusal != "" {
		parts = append(parts, "refused: "+p.Refusal)
	}
	return strings.Join(parts, ", ")
}

func TestPreviewTellsWhoWouldBeAsked(t *testing.T) {
	s, _, _ := planned(t, conn("openai", "work"), conn("mistral", "home"), conn("groq", "spare-off"))
	steps := []ComboStep{step("openai/gpt-5-mini"), step("mistral/mistral-large-latest"), step("groq/llama-3.3-70b-versatile")}
	made(t, s, "inner", "priority", steps[1], steps[2])
	for _, tt := range []struct {
		name, strategy string
		steps          []ComboStep
		before         func()
		want           string
		draws          bool
	}{
		{"in order", "priority", steps, nil, "work, home, spare-off (unavailable)", false},
		{"a nested combo", "priority", []ComboStep{step("openai/gpt-5-mini"), step("inner")}, nil, "work, home, spare-off (unavailable)", false},
		{"a draw", "weighted", steps[:1], nil, "work", true},
		{"nobody of this name", "priority", []ComboStep{step("nobody/at-all")}, nil, "nobody/at-all (unavailable)", false},
		{"a cooldown", "priority", steps, func() {
			r, _ := s.Route("work")
			a, _ := s.Engine().Begin(resilience.Candidate{Conn: r.Conn, Model: "gpt-5-mini"})
			a.Report(outcome.Outcome{Class: outcome.Failure, Status: 429, Reason: outcome.ReasonRateLimit, Scope: outcome.ScopeConnection, Cooldown: time.Minute})
		}, "work (connection_cooldown 1m0s), home, spare-off (unavailable)", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.before != nil {
				tt.before()
			}
			p, err := s.PreviewCombo(t.Context(), PreviewRequest{Draft: &ComboInput{Strategy: tt.strategy, Steps: tt.steps}})
			if err != nil {
				t.Fatal(err)
			}
			if got := ahead(p); got != tt.want || p.Draws != tt.draws {
				t.Errorf("got %q, draws %v; want %q", got, p.Draws, tt.want)
			}
		})
	}
	if _, err := s.PreviewCombo(t.Context(), PreviewRequest{ID: "nobody"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("nobody: %v", err)
	}
	var refused *ComboError
	if _, err := s.PreviewCombo(t.Context(), PreviewRequest{Draft: &ComboInput{Name: "a*b"}}); !errors.As(err, &refused) {
		t.Errorf("a name that combos may not have: %v", err)
	}
}

// TestPreviewChangesNothing looks ahead a hundred times at every strategy: the
// real requests then go where they would have gone without it.
func TestPreviewChangesNothing(t *testing.T) {
	for _, strategy := range ComboStrategies() {
		t.Run(strategy, func(t *testing.T) {
			turns := func(looks int) string {
				s, _, _ := planned(t, conn("openai", "work"), conn("mistral", "home"), conn("groq", "spare"))
				c := made(t, s, "team", strategy, step("openai/gpt-5-mini"), step("mistral/mistral-large-latest"), step("groq/llama-3.3-70b-versatile"))
				planner := s.Planner()
				n := 0
				planner.Rand = func() float64 { n++; return float64(n%10) / 10 }
				var out []string
				for range 6 {
					for range looks {
						if _, err := s.PreviewCombo(t.Context(), PreviewRequest{ID: c.ID}); err != nil {
							t.Fatal(err)
						}
					}
					n = 0 // lots are no state
					q := combo.Request{Now: s.Now()}
					found, _ := s.Combo("team")
					p, refusal := planner.Plan(found, &q)
					if refusal != nil {
						t.Fatal(refusal)
					}
					for _, target := range p.Order {
						out = append(out, target.Model)
					}
					p.Serve(s.Now(), p.Order[0], "", nil)
				}
				return strings.Join(out, " ")
			}
			if with, without := turns(100), turns(0); with != without {
				t.Errorf("with looks\n%s\nwithout\n%s", with, without)
			}
		})
	}
}
