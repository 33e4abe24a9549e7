//go:build (cgo || ci) && !nogui

package windows

import (
	"testing"

	"breakwater/proxy/control"
)

func TestLimitsAreEditedWithTheirErrorsBeside(t *testing.T) {
	b := newBench(t, "busy", "connections/c2")
	c, _ := b.connectionByID("c2")
	c.RateLimitOverrides.RPM = new(int64(60))
	c.HealthCheckInterval = new(int64(30)) // which has no line at a connection with a key
	b.editDialog(c)
	b.wantShown("Limits and labels", "Requests per minute", "Quota cut-off by window")
	b.wantHidden("Organisation")
	find := func(text string) *field {
		for _, f := range b.fields() {
			if f.Text == text {
				return f
			}
		}
		t.Fatal("no field holds ", text)
		return nil
	}
	find("60").SetText("none")
	b.fake.refuse = &control.InvalidError{Fields: []control.FieldError{{Field: "rateLimitOverrides.rpm", Message: "must be a whole number"}}}
	b.push("Save")
	b.wantShown("Must be a whole number.")
	if b.win.Canvas().Focused() != find("none") {
		t.Error("the refused field has not the focus")
	}
	find("none").SetText("30")
	b.push("Save")
	if p := b.fake.patches[1]; p.RateLimitOverrides.JSON != `{"rpm":"30"}` || p.MaxConcurrent.Given || p.Tags != nil || p.HealthCheckInterval.Given {
		t.Errorf("%+v", p)
	}
}

func TestTheEditorHasEveryFieldOfTheSheet(t *testing.T) {
	b := newBench(t, "busy", "connections/c1") // a Claude subscription
	c, _ := b.connectionByID("c1")
	for i := range b.providers {
		if b.providers[i].ID == c.Provider {
			b.providers[i].Credentials = []string{"passthrough", "oauth"}
		}
	}
	c.ExcludedModels, c.UserAgent, c.PerModelQuota, c.HealthCheckInterval = []string{"claude-opus-*"}, "Own/1", new(true), new(int64(30))
	b.editDialog(c)
	b.wantShown("Models left out", "Model of the test", "User-Agent", "When a quota is used up", "Minutes between looks at the login")
	texts := map[string]*field{}
	for _, f := range b.fields() {
		texts[f.Text] = f
	}
	for _, want := range []string{"claude-opus-*", "Own/1", "30"} {
		if texts[want] == nil {
			t.Fatalf("no field holds %q", want)
		}
	}
	texts["30"].SetText("15")
	for _, x := range b.choices() {
		if x.Selected == "Only that model rests" {
			x.SetSelected("The whole connection rests")
		}
	}
	b.push("Save")
	if p := b.fake.patches[0]; p.HealthCheckInterval.JSON != "15" || p.PerModelQuota.JSON != "false" || p.ExcludedModels != nil || p.UserAgent != nil {
		t.Errorf("%+v", p)
	}
	b.addDialog("anthropic", nil) // a key has no login to look at
	b.wantHidden("Minutes between looks at the login")
}
