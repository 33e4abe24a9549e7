//go:build (cgo || ci) && !nogui

package windows

import (
	"testing"

	"breakwater/proxy/control"
)

func TestAMissingKeyIsToldAndTypedAgain(t *testing.T) {
	b := newBench(t, "busy", pageConnections)
	c := &b.fake.snap.Connections[1]
	c.State, c.Reason, c.HasSecret, c.Until = control.StateKeyMissing, "key_missing", false, nil
	b.sync()
	b.goTo("connections/c2")
	b.wantShown("key missing", "Anthropic · home: its key is missing. Type it again.")
	b.push("Edit…")
	if f := b.fields()[1]; f.PlaceHolder != "paste it here" {
		t.Errorf("the key's field says %q", f.PlaceHolder)
	}
	b.fields()[1].SetText("sk-again")
	b.push("Save")
	if p := b.fake.patches[0]; p.APIKey == nil || *p.APIKey != "sk-again" {
		t.Errorf("%+v", p)
	}
	b.goTo("")
	b.wantShown("key missing")
}
