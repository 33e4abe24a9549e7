package view

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"breakwater/proxy/control"
)

func guideOf(t *testing.T, raw string) control.Guide {
	t.Helper()
	var g control.Guide
	if err := json.Unmarshal([]byte(raw), &g); err != nil {
		t.Fatal(err)
	}
	return g
}

const someRules = `{"b":[{"status":503,"scope":"provider","reason":"server_error","cooldownMs":1800000}],"a":[{"status":429,"match":"weekly","scope":"connection"},{"match":"gone","scope":"model","cooldownMs":90000}]}`

func TestRulesSurviveTheWayThereAndBack(t *testing.T) {
	g := guideOf(t, `{"providerErrorRules":`+someRules+`,"providerErrorDefaults":{"c":{"cooldownMs":60000,"scope":"model","reason":"server_error"},"a":{"cooldownMs":3600000,"scope":"connection"}}}`)
	rules := ErrorRules(g)
	if len(rules) != 3 || rules[0].Provider != "a" || rules[2].Provider != "b" || rules[1].Match != "gone" {
		t.Fatalf("%+v", rules)
	}
	back := guideOf(t, `{"providerErrorRules":`+string(RulesPatch(rules).ProviderErrorRules)+`}`)
	if !reflect.DeepEqual(back.ProviderErrorRules, g.ProviderErrorRules) {
		t.Errorf("%+v", back.ProviderErrorRules)
	}
	back = guideOf(t, `{"providerErrorDefaults":`+string(DefaultsPatch(ErrorDefaults(g)).ProviderErrorDefaults)+`}`)
	if !reflect.DeepEqual(back.ProviderErrorDefaults, g.ProviderErrorDefaults) {
		t.Errorf("%+v", back.ProviderErrorDefaults)
	}
	if got := string(RulesPatch(nil).ProviderErrorRules); got != "{}" {
		t.Error("the last rule leaves", got)
	}
}

func TestRulesDraftsKeepStoredFigures(t *testing.T) {
	for _, r := range ErrorRules(guideOf(t, `{"providerErrorRules":`+someRules+`}`)) {
		want := r
		want.Reason = ruleReason(r.Reason)
		if got := DraftOfRule(r).Rule(); got != want {
			t.Errorf("%+v became %+v", want, got)
		}
	}
	odd := ErrorRule{Provider: "a", Status: 429, Scope: "model", Reason: "unknown", CooldownMs: 1500}
	if d := DraftOfRule(odd); d.Rule() != odd || len(d.Check()) != 0 {
		t.Errorf("%+v %v", d.Rule(), d.Check())
	}
	e := ErrorDefault{Provider: "a", CooldownMs: 300_000, Scope: "provider"}
	if got := DraftOfDefault(e).Blanket(); got != e {
		t.Errorf("%+v", got)
	}
}

func TestReplaceAndMoveRules(t *testing.T) {
	rules := ErrorRules(guideOf(t, `{"providerErrorRules":`+someRules+`}`)) // a weekly, a gone, b
	order := func(list []ErrorRule) string {
		var out []string
		for _, r := range list {
			out = append(out, r.Provider+":"+r.Match)
		}
		return strings.Join(out, " ")
	}
	for want, got := range map[string][]ErrorRule{
		"a:weekly a:gone a:new b:": ReplaceRule(rules, -1, ErrorRule{Provider: "a", Match: "new"}),
		"a:weekly a:new b:":        ReplaceRule(rules, 1, ErrorRule{Provider: "a", Match: "new"}),
		"a:gone b: b:new":          ReplaceRule(rules, 0, ErrorRule{Provider: "b", Match: "new"}),
		"a:weekly a:gone b: c:new": ReplaceRule(rules, -1, ErrorRule{Provider: "c", Match: "new"}),
		"a:gone a:weekly b:":       MoveRule(rules, 0, 1),
	} {
		if order(got) != want {
			t.Errorf("%q, want %q", order(got), want)
		}
	}
	if MoveRule(rules, 1, 1) != nil || MoveRule(rules, 0, -1) != nil || MoveRule(rules, 2, 1) != nil {
		t.Error("a rule moves among those of its provider only")
	}
	if order(rules) != "a:weekly a:gone b:" {
		t.Error("the list itself was changed")
	}
}

func TestAProviderHasOneDefault(t *testing.T) {
	list := []ErrorDefault{{Provider: "a", CooldownMs: 60_000}, {Provider: "b", CooldownMs: 60_000}}
	_, err := ReplaceDefault(list, -1, ErrorDefault{Provider: "a"})
	var invalid *control.InvalidError
	if !errors.As(err, &invalid) || invalid.Fields[0].Field != "provider" {
		t.Error(err)
	}
	if got, err := ReplaceDefault(list, 0, ErrorDefault{Provider: "a", CooldownMs: 120_000}); err != nil || len(got) != 2 {
		t.Error(got, err)
	}
}

func TestRuleDraftsAreChecked(t *testing.T) {
	good := RuleDraft{Provider: "a", Status: "429", Scope: "model", Reason: "unknown"}
	for field, spoil := range map[string]func(*RuleDraft){
		"":           func(*RuleDraft) {},
		"provider":   func(d *RuleDraft) { d.Provider = " " },
		"status":     func(d *RuleDraft) { d.Status = "99" },
		"match":      func(d *RuleDraft) { d.Status = "" },
		"cooldownMs": func(d *RuleDraft) { d.Minutes = "43201" },
	} {
		d := good
		spoil(&d)
		errs := d.Check()
		if field == "" && len(errs) != 0 || field != "" && (len(errs) != 1 || errs[0].Field != field) {
			t.Errorf("%q: %+v", field, errs)
		}
	}
	for _, minutes := range []string{"0", "-1", "1.5", "x", "?"} {
		d := good
		d.Minutes = minutes
		if len(d.Check()) != 1 {
			t.Errorf("%q minutes are accepted", minutes)
		}
	}
	d := good
	d.Match, d.Minutes = strings.Repeat("ñ", 200), "43200"
	if errs := d.Check(); errs != nil || d.Rule().CooldownMs != 30*86_400_000 {
		t.Error(errs, d.Rule().CooldownMs)
	}
	d.Match += "x"
	if len(d.Check()) != 1 {
		t.Error("201 characters are accepted")
	}
	if d := NewRuleDraft("a", true); len(d.Check()) != 0 || d.Blanket().CooldownMs != 1_800_000 {
		t.Errorf("%+v", d)
	}
	d = NewRuleDraft("a", true)
	d.Minutes = ""
	if len(d.Check()) != 1 {
		t.Error("a default needs a cooldown")
	}
}

func TestRuleRowsTellWhatNeverFires(t *testing.T) {
	s := coolSnapshot()
	row := NewRuleRow(ErrorRule{Provider: "a", Status: 400, Match: "too long", Scope: "model"}, s, nil)
	if row.Provider != "Alpha (3)" || row.Status != "400" || row.Match != "“too long”" || row.Scope != "Model" || row.Reason != "quota used up" || row.Cooldown != "Default" || row.Inactive == "" {
		t.Errorf("%+v", row)
	}
	row = NewRuleRow(ErrorRule{Provider: "zeta", Match: "x", Scope: "provider", Reason: "unknown", CooldownMs: 3_600_000}, s, []control.Provider{{ID: "zeta", Name: "Zeta"}})
	if row.Provider != "Zeta" || row.Status != "any" || row.Scope != "Provider" || row.Reason != "not known" || row.Cooldown != "1 h" || row.Inactive != "" {
		t.Errorf("%+v", row)
	}
	if row := NewDefaultRow(ErrorDefault{Provider: "b", CooldownMs: 60_000, Scope: "connection"}, s, nil); row.Provider != "Beta (2)" || row.Reason != "by the status" || row.Cooldown != "1 min" {
		t.Errorf("%+v", row)
	}
}

func TestCooldownsInWords(t *testing.T) {
	for ms, want := range map[int64]string{0: "Default", 1500: "1.5 s", 60_000: "1 min", 1_800_000: "30 min", 3_600_000: "1 h", 18_000_000: "5 h", 86_400_000: "24 h", 2_592_000_000: "30 d", 5_400_000: "90 min"} {
		if got := Cooldown(ms); got != want {
			t.Errorf("%d: %q, want %q", ms, got, want)
		}
	}
}

func TestDraftsTellWhatTheyDo(t *testing.T) {
	d := RuleDraft{Provider: "a", Status: "429", Match: "weekly", Scope: "connection", Reason: "quota_exhausted", Minutes: "300"}
	if got := d.Told("Alpha"); got != "When Alpha answers 429 and “weekly”, the connection rests for 5 h." {
		t.Error(got)
	}
	d.Status, d.Minutes, d.Scope = "", "", "model"
	if got := d.Told("Alpha"); got != "When Alpha answers “weekly”, that model of the connection rests as long as the ladder says." {
		t.Error(got)
	}
	d.Status = "400"
	if got := d.Told("Alpha"); got != "Never fires: no rule is asked about status 400." {
		t.Error(got)
	}
	d = NewRuleDraft("a", true)
	d.Scope = "provider"
	if got := d.Told("Alpha"); got != "When Alpha answers 402, 403, 408, 429 or 5xx and no rule matches, every connection of it rests for 30 min." {
		t.Error(got)
	}
	d.Minutes = "x"
	if d.Told("Alpha") != "" {
		t.Error("an unfinished draft tells nothing")
	}
}

func TestRuleProvidersPutConfiguredOnesFirst(t *testing.T) {
	got := RuleProviders(coolSnapshot(), []control.Provider{{ID: "z", Name: "Zeta"}, {ID: "a", Name: "Alpha"}, {ID: "d", Name: "delta"}})
	var names []string
	for _, o := range got {
		names = append(names, o.Word)
	}
	if strings.Join(names, ", ") != "Alpha (3), Beta (2), gamma (1), delta, Zeta" {
		t.Error(names)
	}
}
