//go:build (cgo || ci) && !nogui

package windows

import (
	"testing"

	"fyne.io/fyne/v2/test"

	"breakwater/proxy/control"
)

func TestModelFactsAreAddedEditedAndForgotten(t *testing.T) {
	b := newBench(t, "busy", "")
	b.fake.policy.all.ModelFacts = map[string]control.ModelFact{"groq/llama": {Input: new(0.5), Tools: new(true)}}
	b.goTo("settings/resilience")
	b.wantShown("groq/llama")
	b.push("Add model…")
	f := b.fields()
	b.push("Save")
	b.wantShown("Name the model.")
	f[0].SetText("local/own")
	f[1].SetText("0,25 dollars")
	b.choices()[1].SetSelected("No")
	b.push("Save")
	if got := b.lastPatch(); got != `{"modelFacts":{"groq/llama":{"input":0.5,"tools":true},"local/own":{"input":0.25,"tools":false}},"expectedRevision":0}` {
		t.Error(got)
	}
	b.redraw()
	b.wantShown("local/own", "no tools")
	test.Tap(b.rowOf("groq/llama"))
	b.wantShown("Edit groq/llama")
	b.fake.refuse = control.Invalid("modelFacts.groq/llama", "is odd")
	b.push("Save")
	b.wantShown("is odd")
	b.fake.refuse = nil
	b.push("Cancel")
	test.Tap(b.rowOf("groq/llama").cells[4].(*keyIcon))
	b.wantShown("Forget what you know of groq/llama?")
	b.push("Delete")
	if got := b.lastPatch(); got != `{"modelFacts":{"local/own":{"input":0.25,"tools":false}},"expectedRevision":0}` {
		t.Error(got)
	}
	b.wantHidden("groq/llama")
}
