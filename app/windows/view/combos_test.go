package view

import (
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
)

func TestEveryStrategyIsExplainedInOneSentence(t *testing.T) {
	const guide = 20 // one that was added to the guide's shows its name until somebody finds words
	words := map[string]string{}
	for i, name := range control.ComboStrategies() {
		word, help := Strategy(name)
		if i >= guide && word == name && help == "" {
			continue
		}
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
	snap := control.Snapshot{Connections: []control.Connection{
		{ID: "a", Name: "work", Provider: "p", ProviderName: "P", State: control.StateCooling, Reason: "rate_limit_exceeded", Until: &until},
		{ID: "b", Name: "home", Provider: "q", State: control.StateServing},
	}}
	target := func(id, name string, usable bool, reason string) control.PreviewTarget {
		return control.PreviewTarget{Model: "p/m-" + name, ConnectionID: id, ConnectionName: name, Usable: usable, Reason: reason, Weight: 2}
	}
	work, home := target("a", "work", false, "connection_cooldown"), target("b", "home", true, "")
	far := target("c", "far", true, "")
	far.QuotaLeft, far.Price, far.Requests, far.LatencyMs, far.Context = new(64.0), new(0.25), 12, 320, 200_000
	locked := target("d", "locked", false, "model_lockout")
	locked.Until = &until
	two := home
	two.Model = "q/other"
	for _, c := range []struct {
		name string
		p    control.ComboPreview
		want string
	}{
		{"one", control.ComboPreview{Targets: []control.PreviewTarget{home}}, "Right now: home."},
		{"one rests", control.ComboPreview{Targets: []control.PreviewTarget{work, home}}, "Right now: home. Passed over: work: rate limited, back in 4 min 00 s."},
		{"a locked model", control.ComboPreview{Targets: []control.PreviewTarget{home, locked}}, "Right now: home. Passed over: locked: model locked, back in 4 min 00 s."},
		{"nobody", control.ComboPreview{Targets: []control.PreviewTarget{work}}, "Right now: nobody. work: rate limited, back in 4 min 00 s."},
		{"refused", control.ComboPreview{Refusal: "x", Targets: []control.PreviewTarget{locked}}, "Right now: nobody. locked: model locked, back in 4 min 00 s."},
		{"no targets at all", control.ComboPreview{Refusal: "x"}, "Right now: nobody."},
		{"a draw", control.ComboPreview{Strategy: "weighted", Draws: true, Targets: []control.PreviewTarget{home, far}}, "Right now: home (weight 2). Then: far (weight 2). This strategy draws lots: another request may begin elsewhere."},
		{"quotas", control.ComboPreview{Strategy: "headroom", Targets: []control.PreviewTarget{far, home}}, "Right now: far (64 % of the quota left). Then: home."},
		{"prices", control.ComboPreview{Strategy: "cost-optimized", Targets: []control.PreviewTarget{far, home}}, "Right now: far ($0.25 for a million tokens). Then: home."},
		{"counts", control.ComboPreview{Strategy: "least-used", Targets: []control.PreviewTarget{home, far}}, "Right now: home (0 requests). Then: far (12 requests, 320 ms on average)."},
		{"contexts", control.ComboPreview{Strategy: "context-optimized", Targets: []control.PreviewTarget{far}}, "Right now: far (200000 tokens of context)."},
		{"all at once", control.ComboPreview{Strategy: "fusion", Together: true, Targets: []control.PreviewTarget{home, far}}, "Right now all of these take part: home, far."},
		{"one connection twice", control.ComboPreview{Targets: []control.PreviewTarget{home, two}}, "Right now: home · m-home. Then: home · other."},
		{"many", control.ComboPreview{Targets: []control.PreviewTarget{far, home, target("e", "e", true, ""), target("f", "f", true, ""), target("g", "g", true, "")}}, "Right now: far. Then: home, e, f, 1 more."},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ComboAhead(c.p, snap, now); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
