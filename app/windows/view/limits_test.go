package view

import (
	"encoding/json"
	"maps"
	"testing"

	"breakwater/proxy/control"
)

func TestLimitsOfAConnectionAreEdited(t *testing.T) {
	var was control.Connection
	raw := `{"group":"work","tags":["fast","cheap one"],"maxConcurrent":4,"rateLimitOverrides":{"rpm":60,"maxWaitMs":5000,"modelConcurrency":{"opus":2}},"quotaWindowThresholds":{"five_hour":5,"seven_day":2},"timeoutMs":90000,"excludedModels":["opus-*","big"],"customUserAgent":"Own/1","validationModelId":"small","passthroughModels":false,"healthCheckInterval":0}`
	if err := json.Unmarshal([]byte(raw), &was); err != nil {
		t.Fatal(err)
	}
	p := control.Provider{ID: "claude", Claude: true}
	d := EditDraft(was)
	for key, want := range map[string]string{
		"group": "work", "tags": "fast, cheap one", "maxConcurrent": "4", "rpm": "60", "tpm": "", "models": "opus=2", "windows": "five_hour=5, seven_day=2", "timeout": "90",
		"excluded": "opus-*, big", "agent": "Own/1", "validation": "small", "health": "0",
	} {
		if d.Limits[key] != want {
			t.Errorf("%s is %q", key, d.Limits[key])
		}
	}
	patch := func(change map[string]string) string {
		d := EditDraft(was)
		maps.Copy(d.Limits, change)
		out, err := json.Marshal(d.Patch(was, p))
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	for _, c := range []struct {
		change map[string]string
		want   string
	}{
		{nil, `{}`},
		{map[string]string{"rpm": "", "models": "", "tpd": "9x"}, `{"rateLimitOverrides":{"maxWaitMs":5000,"tpd":"9x"}}`},
		{map[string]string{"models": "opus=3, haiku"}, `{"rateLimitOverrides":{"maxWaitMs":5000,"modelConcurrency":{"haiku":"","opus":"3"},"rpm":"60"}}`},
		{map[string]string{"windows": "seven_day=3"}, `{"quotaWindowThresholds":{"five_hour":null,"seven_day":3}}`},
		{map[string]string{"maxConcurrent": "", "timeout": ""}, `{"maxConcurrent":0,"timeoutMs":0}`},
		{map[string]string{"maxConcurrent": "many", "group": "", "tags": "slow", "organization": " o "}, `{"maxConcurrent":-1,"tags":["slow"],"group":"","organizationUUID":"o"}`},
	} {
		if got := patch(c.change); got != c.want {
			t.Errorf("%v: %s\nwant %s", c.change, got, c.want)
		}
	}
	for _, c := range []struct {
		change   map[string]string
		perModel string
		want     string
	}{
		{map[string]string{"excluded": "big", "agent": " Other/2 ", "validation": "", "health": ""}, "no", `{"healthCheckInterval":null,"excludedModels":["big"],"customUserAgent":"Other/2","validationModelId":""}`},
		{map[string]string{"excluded": "", "health": "often"}, "", `{"healthCheckInterval":-1,"excludedModels":[],"passthroughModels":null}`},
		{map[string]string{"health": "30"}, "yes", `{"healthCheckInterval":30,"passthroughModels":true}`},
	} {
		d := EditDraft(was)
		maps.Copy(d.Limits, c.change)
		d.PerModel = c.perModel
		out, err := json.Marshal(d.Patch(was, p))
		if err != nil || string(out) != c.want {
			t.Errorf("%v: %s, %v\nwant %s", c.change, out, err, c.want)
		}
	}
	own := Draft{PerModel: "yes", Limits: map[string]string{"excluded": "a b", "agent": "x", "validation": "m", "health": "0"}}
	if in := own.Input(p); len(in.ExcludedModels) != 2 || in.UserAgent != "x" || in.ValidationModel != "m" || *in.HealthCheckInterval != 0 || !*in.PerModelQuota || !(Draft{PerModel: "yes"}).HasLimits() {
		t.Errorf("%+v", in)
	}
	fresh := Draft{Limits: map[string]string{"rpm": "5", "windows": "week=x", "timeout": "30", "tags": "a", "maxConcurrent": "2"}}
	in := fresh.Input(p)
	if in.RateLimitOverrides["rpm"] != "5" || in.QuotaWindowThresholds["week"] != -1 || in.TimeoutMs != 30_000 || in.Tags[0] != "a" || in.MaxConcurrent != 2 {
		t.Errorf("%+v", in)
	}
	if !fresh.HasLimits() || (Draft{}).HasLimits() || NewDraft(p).HasLimits() {
		t.Error("limits out of nothing")
	}
}
