//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"errors"
	"testing"

	"breakwater/proxy/control"
)

func TestFirstStepsEndWithACheckWhenARequestWentThrough(t *testing.T) {
	b := newBench(t, "well", "")
	b.wantHidden("First steps") // there are answers from before
	b = newBench(t, "well", "")
	b.activity = nil
	var asked string
	refusal := errors.New("nobody offers the model")
	b.options.Ask = func(_ context.Context, dialect, model string) error { asked = dialect + " " + model; return refusal }
	b.fake.snap.Connections[0].DefaultModel, b.fake.snap.Connections[0].Credential = "the-model", "apikey"
	b.fake.snap.Connections[0].Dialects = []string{"chat"}
	b.sync()
	b.wantShown("First steps", "Get a first answer")
	spanish, english := b.settings, b.settings
	spanish.Language = "es"
	b.useSettings(spanish)
	b.wantShown("Primeros pasos")
	b.useSettings(english)
	b.wantHidden("Done")
	b.push("Send a test request")
	if asked != "chat the-model" {
		t.Errorf("asked %q", asked)
	}
	b.wantShown("The test request failed: nobody offers the model")
	b.wantHidden("Your requests go through Breakwater")
	b.activity = []control.Activity{{At: noon, Client: "unknown", Path: "/v1/messages", Result: "answered", Status: 200, ConnectionID: "a", ConnectionName: "work"}}
	b.sync()
	b.useSettings(spanish)
	b.useSettings(english) // the card stays after the first answer, too
	b.wantShown("work answered. Your requests go through Breakwater.", "A request of a client came.")
	b.push("Done")
	b.wantHidden("First steps")
}
