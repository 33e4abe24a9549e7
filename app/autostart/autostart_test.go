package autostart

import (
	"encoding/xml"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func entry(t *testing.T, program string, args ...string) (e Entry, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "autostart", id+".desktop")
	return Entry{Program: program, Args: args, place: file{path: path, render: desktopEntry}}, path
}

func TestEntryIsMadeRefreshedAndRemoved(t *testing.T) {
	e, path := entry(t, "/opt/breakwater")
	if e.Enabled() {
		t.Fatal("enabled from the start")
	}
	if err := e.Refresh(); err != nil || e.Enabled() {
		t.Error("a refresh must not switch it on: ", err)
	}
	if err := e.Set(true); err != nil || !e.Enabled() {
		t.Fatal(err)
	}
	moved := e
	moved.Program = "/usr/bin/breakwater"
	if err := moved.Refresh(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || !strings.Contains(string(b), `Exec="/usr/bin/breakwater"`) {
		t.Errorf("%s %v", b, err)
	}
	for range 2 {
		if err := e.Set(false); err != nil || e.Enabled() {
			t.Error("twice is no error: ", err)
		}
	}
}

func TestOnlyAnEmptyFolderGoesWithTheEntry(t *testing.T) {
	e, path := entry(t, "/opt/breakwater")
	dir := filepath.Dir(path)
	if err := errors.Join(e.Set(true), e.Set(false)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the folder made for the entry stayed: ", err)
	}
	if err := e.Set(true); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other.desktop")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := e.Set(false); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error("another program's entry is gone: ", err)
	}
}

func TestExecLineIsQuoted(t *testing.T) {
	e, path := entry(t, `/opt/my "apps"/100% $HOME`+"`x`", `--data-dir`, `C:\x`)
	want := `"/opt/my \\"apps\\"/100%% \\$HOME\\` + "`x\\\\`" + `" "--data-dir" "C:\\\\x"`
	if got := execLine(e); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	tool, err := exec.LookPath("desktop-file-validate")
	if err != nil {
		return // the line above is what counts
	}
	if err := e.Set(true); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), tool, path).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestLaunchAgentIsWholeXML(t *testing.T) {
	text := launchAgent(Entry{Program: "/Applications/A & B.app/breakwater", Args: []string{"--data-dir", "<x>"}})
	var doc struct {
		Dict struct {
			Array struct {
				String []string `xml:"string"`
			} `xml:"array"`
		} `xml:"dict"`
	}
	if err := xml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(doc.Dict.Array.String, "|"); got != "/Applications/A & B.app/breakwater|--data-dir|<x>" {
		t.Error(got)
	}
	if !strings.Contains(text, "<key>RunAtLoad</key>\n\t<true/>") {
		t.Error(text)
	}
}

func TestRunLineQuotesEachWord(t *testing.T) {
	got := runLine(Entry{Program: `C:\Program Files\Breakwater\breakwater.exe`, Args: []string{"--data-dir", `D:\my data`}})
	if got != `"C:\Program Files\Breakwater\breakwater.exe" "--data-dir" "D:\my data"` {
		t.Error(got)
	}
}
