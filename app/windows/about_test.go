//go:build (cgo || ci) && !nogui

package windows

import (
	"testing"

	"breakwater/build"
)

func TestAboutTellsWhatTheProgramIsMadeOf(t *testing.T) {
	commit, parts := build.Commit, []string{"Fyne 1.2", "SQLite 3.4"}
	t.Cleanup(func() { build.Commit = commit })
	build.Commit = "0123456789abcdef"
	b := newBench(t, "busy", "overview")
	b.ui.options.Parts = parts
	b.goTo("settings/general")
	b.wantShown("0123456789ab", "Fyne 1.2, SQLite 3.4")
	b.push("Read the licences")
	if len(modals) != 1 {
		t.Fatal("no dialog opened")
	}
	b.wantShown("Breakwater is made of the following")
	b.push("Close")
	if len(modals) != 0 {
		t.Error("the dialog stays open")
	}
}
