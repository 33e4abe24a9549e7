package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"breakwater/app/setup"
	"breakwater/build"
	"breakwater/db"
)

// start runs the headless program in this process until it serves.
func start(t *testing.T, dir string) (ended <-chan int) {
	t.Helper()
	t.Setenv(db.SecretsEnv, db.FileSecrets)
	out := make(chan int, 1)
	go func() { out <- run([]string{"--headless", "--port", "0", "--data-dir", dir}) }()
	deadline, tick := time.After(30*time.Second), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case code := <-out:
			t.Fatalf("the program ended with %d", code)
		case <-deadline:
			t.Fatal("the program does not serve")
		case <-tick.C:
			if _, err := os.Stat(filepath.Join(dir, "instance.addr")); err == nil {
				return out
			}
		}
	}
}

func TestQuitEndsTheRunningOne(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if code := run([]string{"quit", "--data-dir", dir}); code != 0 {
		t.Errorf("with nobody running: %d", code)
	}
	ended := start(t, dir)
	if code := run([]string{"quit", "--data-dir", dir}); code != 0 {
		t.Errorf("quit: %d", code)
	}
	if code := <-ended; code != 0 {
		t.Errorf("the program ended with %d", code)
	}
	if running, err := inUse(dir); running || err != nil {
		t.Errorf("in use: %v, %v", running, err)
	}
}

func TestCleanupEndsTheRunningOneAndDeletesItsData(t *testing.T) {
	privateHome(t)
	dir := filepath.Join(t.TempDir(), "data")
	ended := start(t, dir)
	if code := run([]string{"cleanup", "--data", "keep", "--data-dir", dir}); code != 0 {
		t.Errorf("cleanup: %d", code)
	}
	if code := <-ended; code != 0 {
		t.Errorf("the program ended with %d", code)
	}
	if _, err := os.Stat(filepath.Join(dir, db.FileName)); err != nil {
		t.Errorf("the data did not stay: %v", err)
	}
	if code := run([]string{"cleanup", "--data", "delete", "--data-dir", dir}); code != 0 {
		t.Errorf("cleanup: %d", code)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the data stayed: %v", err)
	}
}

// privateHome keeps a test away from the files of whoever runs it.
func privateHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{"HOME", "USERPROFILE"} {
		t.Setenv(name, home)
	}
	for name, sub := range map[string]string{
		"XDG_CONFIG_HOME": ".config", "XDG_CACHE_HOME": ".cache", "XDG_DATA_HOME": ".local/share",
		"APPDATA": "AppData/Roaming", "LOCALAPPDATA": "AppData/Local",
	} {
		t.Setenv(name, filepath.Join(home, filepath.FromSlash(sub)))
	}
	return home
}

func TestCleanupRemovesTheToolkitsFolders(t *testing.T) {
	privateHome(t)
	app, err := build.ReadApp(metadata)
	if err != nil {
		t.Fatal(err)
	}
	var ours []string
	for _, root := range toolkitRoots() {
		ours = append(ours, filepath.Join(root, "fyne", app.ID))
	}
	foreign := filepath.Join(toolkitRoots()[0], "fyne", "another.program")
	for _, dir := range append(ours, foreign) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "preferences.json"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	done, err := removeToolkitFiles()
	if err != nil || len(done) != len(ours) {
		t.Errorf("done %q, %v", done, err)
	}
	for _, dir := range ours {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s stayed", dir)
		}
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Error(err)
	}
	if last := filepath.Dir(ours[len(ours)-1]); last != filepath.Dir(foreign) {
		if _, err := os.Stat(last); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the empty %s stayed", last)
		}
	}
}

func TestDataIsDeletedOnlyWhenWanted(t *testing.T) {
	pipe, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	file, err := os.CreateTemp(t.TempDir(), "answers")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString("y\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, choice, answer string
		want                 bool
	}{
		{"told to keep", "keep", "y\n", false},
		{"told to delete", "delete", "", true},
		{"yes", "ask", " Yes \r\n", true},
		{"y at the end of the input", "ask", "y", true},
		{"no", "ask", "n\n", false},
		{"just return", "ask", "\n", false},
		{"nobody answers", "ask", "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out strings.Builder
			if got := wantsDeleted(tc.choice, "dir", strings.NewReader(tc.answer), &out); got != tc.want {
				t.Errorf("got %v", got)
			}
			if asked := out.Len() > 0; asked != (tc.choice == "ask") {
				t.Errorf("asked: %q", out.String())
			}
		})
	}
	var out strings.Builder
	if wantsDeleted("ask", "dir", file, &out) || out.Len() > 0 {
		t.Error("a script that feeds a file was asked")
	}
	if runtime.GOOS != "windows" && wantsDeleted("ask", "dir", pipe, &out) {
		t.Error("no answer counts as yes")
	}
}

func TestPartsNameTheLibraries(t *testing.T) {
	got := strings.Join(parts("3.1"), ", ")
	if !strings.Contains(got, "SQLite 3.1") {
		t.Errorf("parts = %q", got)
	}
	if strings.Contains(got, "without windows") == strings.Contains(got, "Fyne") {
		t.Errorf("with windows or without: %q", got)
	}
}

func TestLicencesAreEmbedded(t *testing.T) {
	text := build.Licences()
	for _, want := range []string{"fyne.io/fyne/v2 v", "modernc.org/sqlite v", "Go's standard library"} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing about %q", want)
		}
	}
	if len(text) < 100_000 {
		t.Errorf("only %d bytes", len(text))
	}
}

func TestTheVersionIsThatOfFyneAppTOML(t *testing.T) {
	app, err := build.ReadApp(metadata)
	if err != nil {
		t.Fatal(err)
	}
	if build.Version != app.Version || !strings.Contains(build.String(), "breakwater "+app.Version) {
		t.Errorf("the program says %q, FyneApp.toml %q", build.String(), app.Version)
	}
}

// agents sets Codex up from a data folder, in a private home.
func agents(t *testing.T, home, dir, endpoint string) string {
	t.Helper()
	s := agentSetup(dir, home)
	if err := s.Write(setup.Codex, setup.Target{Endpoint: endpoint}); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(home, ".codex", "config.toml")
}

// TestQ22CleanupUndoesProductAndDemo undoes both, the later one first, without
// any copy.
func TestQ22CleanupUndoesProductAndDemo(t *testing.T) {
	for name, first := range map[string]int{"Q22 the product first": 0, "Q22 the demo first": 1} {
		t.Run(name, func(t *testing.T) {
			home, dir := privateHome(t), filepath.Join(t.TempDir(), "data")
			file := filepath.Join(home, ".codex", "config.toml")
			const before = "\ufeffmodel_provider = 'openai' # mine\r\n"
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(before), 0o600)); err != nil {
				t.Fatal(err)
			}
			dirs := []string{dir, filepath.Join(dir, db.DemoDir)}
			agents(t, home, dirs[first], "http://127.0.0.1:7411")
			agents(t, home, dirs[1-first], "http://127.0.0.1:7499")
			for _, dir := range dirs {
				copies, _ := filepath.Glob(filepath.Join(dir, "*.copy"))
				for _, c := range copies {
					if err := os.Remove(c); err != nil {
						t.Fatal(err)
					}
				}
			}
			if code := run([]string{"cleanup", "--data", "delete", "--data-dir", dir}); code != 0 {
				t.Errorf("cleanup: %d", code)
			}
			if b, err := os.ReadFile(file); err != nil || string(b) != before {
				t.Errorf("%q, %v", b, err)
			}
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Error("the data stayed: ", err)
			}
		})
	}
}

// TestQ22CleanupKeepsWhatAnUndoNeeds does not delete the record of a file that
// could not be undone, and asks about the copy where a user can answer.
func TestQ22CleanupKeepsWhatAnUndoNeeds(t *testing.T) {
	home, dir := privateHome(t), filepath.Join(t.TempDir(), "data")
	file := agents(t, home, dir, "http://127.0.0.1:7411")
	if err := os.WriteFile(file, []byte("model = \"mine\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	agents(t, home, dir, "http://127.0.0.1:7411")
	if err := os.WriteFile(file, []byte("broken = [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := options{dataDir: dir, data: "delete"}
	var out strings.Builder
	if code := cleanup(t.Context(), o, strings.NewReader("n\n"), &out); code != 1 || !strings.Contains(out.String(), "Kept: "+dir) || !strings.Contains(out.String(), "Restore the copy?") {
		t.Errorf("%d: %s", code, out.String())
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "broken = [\n" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "clients.json")); err != nil {
		t.Error("the record is gone: ", err)
	}
	if code := cleanup(t.Context(), o, strings.NewReader("y\n"), &out); code != 0 {
		t.Errorf("%d: %s", code, out.String())
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "model = \"mine\"\n" {
		t.Errorf("%q, %v", b, err)
	}
}
