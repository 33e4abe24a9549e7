package view

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
)

func TestEveryStrategyIsExplainedInOneSentence(t *testing.T) {
	words := map[string]string{}
	for _, name := range control.ComboStrategies() {
		word, help := Strategy(name)
		if word == name || help == "" || strings.Count(help, ".") != 1 || !strings.HasSuffix(help, ".") {
			t.Errorf("%s: %q, %q", name, word, help)
		}
		if words[word] != "" {
			t.Errorf("%s and %s are both called %q", name, words[word], word)
		}
		words[word] = name
	}
}

func TestTargetsAreNamedByWhereTheyAreAsked(t *testing.T) {
	snap := control.Snapshot{Connections: []control.Connection{{ID: "a", Name: "work", Provider: "openai", ProviderName: "OpenAI"}, {ID: "b", Name: "home", Provider: "openai", ProviderName: "OpenAI"}}}
	for _, c := range []struct {
		step         control.ComboStep
		model, where string
	}{
		{control.ComboStep{Model: "openai/gpt-5", Provider: "openai", Connection: "a"}, "gpt-5", "work"},
		{control.ComboStep{Model: "openai/gpt-5", Provider: "openai", Connection: "x"}, "gpt-5", "a connection that is gone"},
		{control.ComboStep{Model: "openai/*", Provider: "openai"}, "every model that fits *", "any connection of OpenAI"},
		{control.ComboStep{Model: "glm/glm-4.6", Provider: "glm"}, "glm-4.6", "any connection of GLM"},
		{control.ComboStep{Combo: "fast"}, "fast", "another combo"},
	} {
		model, where := StepWords(c.step, snap, []control.Provider{{ID: "glm", Name: "GLM"}})
		if model != c.model || where != c.where {
			t.Errorf("%q at %q, want %q at %q", model, where, c.model, c.where)
		}
	}
	var own control.Combo
	own.ID = "k"
	got := Places(snap, []control.Combo{own}, "k")
	if len(got) != 3 || got[2].Word != "any connection of OpenAI" {
		t.Errorf("%+v", got)
	}
}

func TestDraftOfACombo(t *testing.T) {
	d := NewComboDraft(nil)
	place := Place{Word: "work", Provider: "openai", Connection: "a"}
	for _, m := range []string{"one", "openai/two", "three"} {
		if wrong := d.Add(place, m); wrong != "" {
			t.Fatal(wrong)
		}
	}
	if d.Steps[0].Model != "openai/one" || d.Steps[1].Model != "openai/two" {
		t.Errorf("%+v", d.Steps)
	}
	if d.Move(0, 0) || d.Move(-1, 1) || d.Move(0, 3) || !d.Move(2, 0) || d.Steps[0].Model != "openai/three" {
		t.Errorf("%+v", d.Steps)
	}
	if d.SetWeight(0, "200") || d.SetWeight(0, "x") || !d.SetWeight(0, "2,5") || d.Steps[0].Weight != 2.5 {
		t.Error(d.Steps[0].Weight)
	}
	d.Remove(1)
	if len(d.Steps) != 2 || d.Check() == "" {
		t.Error("a combo without a name can be sent")
	}
	d.Name = " night "
	if d.Check() != "" || d.Input().Name != "night" || *d.Patch().Name != "night" {
		t.Errorf("%+v", d.Input())
	}
}

func TestNextRequestOfACombo(t *testing.T) {
	now := time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
	until := now.Add(4 * time.Minute)
	cooling := control.Connection{ID: "a", Name: "work", Provider: "p", ProviderName: "P", State: control.StateCooling, Reason: "rate_limit_exceeded", Until: &until}
	home := control.Connection{ID: "b", Name: "home", Provider: "q", State: control.StateServing}
	spare := control.Connection{ID: "c", Name: "spare", Provider: "p", State: control.StateServing}
	read := func(raw string) *control.Combo {
		c := &control.Combo{}
		if err := json.Unmarshal([]byte(raw), c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	both := `"models":[{"model":"p/m","providerId":"p","connectionId":"a"},{"model":"q/m","providerId":"q","connectionId":"b"}]`
	for _, c := range []struct {
		combo string
		snap  []control.Connection
		want  string
	}{
		{`{"strategy":"priority",` + both + `}`, []control.Connection{cooling, home}, "Right now: home. Passed over: work: rate limited, back in 4 min 00 s."},
		{`{"strategy":"priority",` + both + `}`, []control.Connection{cooling}, "Right now: nobody. work: rate limited, back in 4 min 00 s."},
		{`{"strategy":"fill-first","models":[{"model":"p/m","providerId":"p"}]}`, []control.Connection{cooling, spare}, "Right now: spare."},
		{`{"strategy":"random",` + both + `}`, []control.Connection{cooling, home}, ""},
		{`{"strategy":"priority","isActive":false,` + both + `}`, []control.Connection{home}, ""},
		{`{"strategy":"priority","models":[{"kind":"combo-ref","comboName":"x"}]}`, []control.Connection{home}, ""},
	} {
		if got := ComboNow(read(c.combo), control.Snapshot{Connections: c.snap}, now); got != c.want {
			t.Errorf("%s: %q, want %q", c.combo, got, c.want)
		}
	}
}
