//go:build cgo || !darwin

package tray

import (
	"testing"

	"breakwater/app/tray/menu"
)

func TestEscapeKeepsShortcutMarksInNames(t *testing.T) {
	for _, c := range [][3]string{
		{"linux", "work_eu & R&D", "work__eu & R&D"},
		{"windows", "work_eu & R&D", "work_eu && R&&D"},
		{"darwin", "work_eu & R&D", "work_eu & R&D"},
	} {
		if got := escape(c[1], c[0]); got != c[2] {
			t.Errorf("%s: %q, want %q", c[0], got, c[2])
		}
	}
}

func TestClicksNeverBlockTheDesktop(t *testing.T) {
	d := newDesktop("t")
	for range 100 {
		d.send(menu.Action{Kind: menu.QuitProgram}) // nobody fetches them
	}
	if len(d.clicks) != cap(d.clicks) {
		t.Errorf("%d clicks kept of %d", len(d.clicks), cap(d.clicks))
	}
}
