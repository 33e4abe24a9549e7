package view

import (
	"reflect"
	"testing"

	"breakwater/proxy/control"
)

func TestFactsAreShownAndReadBack(t *testing.T) {
	facts := map[string]control.ModelFact{
		"groq/llama": {Input: new(0.5), Output: new(0.8), Context: 131072, Tools: new(true), Vision: new(false), Tier: "cheap", Reasoning: true},
		"bare":       {Input: new(1.0), MaxOutput: 8000, Schema: new(false)},
	}
	rows := FactRows(facts)
	if len(rows) != 2 || rows[0].Model != "bare" || rows[0].More != "no JSON answers" || rows[1].Window != "131072" || rows[1].More != "tools, no images, thinks, cheap" {
		t.Errorf("%+v", rows)
	}
	for model, f := range facts {
		got, wrong := DraftOfFact(model, f).Fact()
		if len(wrong) > 0 || !reflect.DeepEqual(got, f) {
			t.Errorf("%s: %+v, %v", model, got, wrong)
		}
	}
	for field, d := range map[string]FactDraft{
		"model": {Input: "1"}, "input": {Model: "m", Input: "100001"}, "output": {Model: "m", Input: "1", Output: "1.2.3"},
		"context": {Model: "m", Context: "1.5"}, "maxOutput": {Model: "m", MaxOutput: "100000001"},
	} {
		if _, wrong := d.Fact(); len(wrong) != 1 || wrong[0].Field != field {
			t.Errorf("%s: %+v", field, wrong)
		}
	}
	if _, wrong := (FactDraft{Model: "m", Output: "1"}).Fact(); len(wrong) != 1 || wrong[0].Field != "input" {
		t.Error(wrong)
	}
	if Figure("1,5 $x") != "1.5" {
		t.Error(Figure("1,5 $x"))
	}
}

func TestAFactReplacesTheOneItWasMadeFrom(t *testing.T) {
	all := map[string]control.ModelFact{"a": {Context: 1000}, "b": {}}
	next, wrong := ReplaceFact(all, "a", FactDraft{Model: " c ", Context: "2000"})
	if len(wrong) > 0 || len(next) != 2 || next["c"].Context != 2000 || len(all) != 2 || all["a"].Context != 1000 {
		t.Errorf("%v, %v", next, wrong)
	}
	if _, wrong := ReplaceFact(all, "", FactDraft{Model: "b"}); len(wrong) != 1 || wrong[0].Field != "model" {
		t.Error(wrong)
	}
	if next, _ := ReplaceFact(nil, "", FactDraft{Model: "b"}); len(next) != 1 {
		t.Error(next)
	}
}
