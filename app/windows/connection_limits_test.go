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
	if p := b.fake.patches[1]; p.RateLimitOverrides.JSON != `{"rpm":"30"}` || p.MaxConcurrent.Given || p.Tags != nil {
		t.Errorf("%+v", p)
	}
}
