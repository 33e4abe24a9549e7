//go:build (cgo || ci) && !nogui

package windows

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"testing"

	"fyne.io/fyne/v2"
)

func TestActivityIsSearchedByWordsAndConnection(t *testing.T) {
	b := newBench(t, "busy", pageActivity)
	b.win.Resize(fyne.NewSize(1600, 1000))
	p := pageOf[*activity](b)
	all := len(p.rows)
	p.search.SetText("codex refused")
	if len(p.rows) != 1 || p.rows[0].Status != 429 {
		t.Errorf("%d rows", len(p.rows))
	}
	b.wantShown("1 of 46")
	p.search.SetText("nothing like it")
	b.wantShown("Nothing matches")
	p.search.SetText("")
	p.who.SetSelected("OpenRouter")
	if len(p.rows) != 1 || p.filter.ConnectionID != "c5" {
		t.Errorf("%d rows", len(p.rows))
	}
	p.who.SetSelected("All connections")
	if len(p.rows) != all {
		t.Errorf("%d of %d rows", len(p.rows), all)
	}
	b.wantShown("102 k / 830", "$0.077", "Tokens: in 12400, out 830, read from the cache 90000, written to it 0. About $0.077 at list prices.")
}

func TestActivityIsExportedAsTheFilterLeavesIt(t *testing.T) {
	b := newBench(t, "busy", pageActivity)
	p := pageOf[*activity](b)
	p.which.choose(1)
	b.push("Export…")
	b.wantShown("The requests that the filter leaves", "Prompts, answers, keys and addresses are not in it.")
	path := b.fields()[0].Text
	b.push("Export")
	b.wantShown("5 requests are written to")
	text, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	rows, err := csv.NewReader(text).ReadAll()
	if err != nil || len(rows) != 6 {
		t.Error(len(rows), err)
	}
	b.push("Export…")
	b.push("Export")
	b.wantShown("There is a file of this name already.")
	b.fields()[0].SetText(filepath.Join(t.TempDir(), "none", "a.csv"))
	b.push("Export")
	b.wantShown("The file cannot be used")
}
