//go:build cgo || !darwin

package app

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"breakwater/app/notify"
	"breakwater/proxy/control"
)

// The test binary is also the window process of these tests.
const playVar = "BREAKWATER_TEST_PLAY"

func TestMain(m *testing.M) {
	switch os.Getenv(playVar) {
	case "fine":
		os.Exit(0)
	case "no display":
		os.Exit(NoDisplayCode)
	case "hint":
		if os.Getenv(EnvNoTray) == "" {
			os.Exit(9)
		}
		os.Exit(0)
	case "crash":
		_, _ = io.WriteString(os.Stderr, strings.Repeat("x", 5000)+" the last words")
		os.Exit(7)
	case "demo":
		_, _ = io.WriteString(os.Stderr, "data in "+os.Getenv(EnvDataDir)+" token "+os.Getenv(EnvToken)+"\n")
		c := make(chan os.Signal, 1)
		signal.Notify(c, os.Interrupt)
		<-c
	case "bad demo":
		_, _ = io.WriteString(os.Stderr, "a remark\nbreakwater: the database is damaged\n")
		os.Exit(1)
	case "shown":
		TellShown(os.Stdout, 0)
		var line string
		_, _ = fmt.Scanln(&line) // to be told what to answer
		if n, err := strconv.ParseUint(line, 10, 64); err == nil {
			_, _ = io.WriteString(os.Stdout, "another line\n")
			TellShown(os.Stdout, n)
		}
		os.Exit(0)
	case "stay":
		_, _ = io.WriteString(os.Stdout, os.Getenv(EnvURL)+" "+os.Getenv(EnvToken)+"\n")
		select {}
	}
	os.Exit(m.Run())
}

// fixture is a window whose process plays a part; say collects the messages.
func fixture(t *testing.T, play string) (w *window, said chan notify.Message, log *strings.Builder) {
	t.Helper()
	said, log = make(chan notify.Message, 4), &strings.Builder{}
	o := Options{
		URL: "http://127.0.0.1:1", Token: "secret",
		Log: slog.New(slog.NewTextHandler(log, nil)),
		Window: func(page string) *exec.Cmd {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "window", page)
			cmd.Env = append(os.Environ(), playVar+"="+play)
			cmd.Stderr, cmd.Stdout = nil, nil
			return cmd
		},
	}
	w = newWindow(o, func(m notify.Message) { said <- m })
	t.Cleanup(w.close)
	return w, said, log
}

func TestWindowThatEndsWellIsNoNews(t *testing.T) {
	w, said, _ := fixture(t, "fine")
	if !w.open("") {
		t.Fatal("not opened")
	}
	<-w.ended
	if !w.open("") {
		t.Fatal("not opened again")
	}
	<-w.ended
	if len(said) != 0 {
		t.Errorf("%+v", <-said)
	}
}

func TestWindowSaysWhyItFailed(t *testing.T) {
	for play, want := range map[string]string{
		"no display": "no OpenGL",
		"crash":      "code 7",
	} {
		w, said, log := fixture(t, play)
		w.open("")
		m := <-said
		if m.Title != "No window" || !strings.Contains(m.Body, want) || strings.Contains(m.Body, "last words") {
			t.Errorf("%s: %+v", play, m)
		}
		if play == "crash" && (!strings.Contains(log.String(), "the last words") || log.Len() > 2*tailSize) {
			t.Errorf("logged %d bytes: %s", log.Len(), log)
		}
	}
}

func TestWindowThatCannotStartSaysSo(t *testing.T) {
	w, said, _ := fixture(t, "")
	w.command = func(string) *exec.Cmd { return exec.CommandContext(t.Context(), "/nowhere/at/all") }
	w.open("")
	if m := <-said; m.Title != "No window" || !strings.Contains(m.Body, "could not be started") {
		t.Errorf("%+v", m)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running != nil {
		t.Error("a window that never was is thought to run")
	}
}

func TestWindowIsOneAndEndsAtQuit(t *testing.T) {
	w, said, _ := fixture(t, "stay")
	if !w.open("") || w.open("settings") {
		t.Error("one window process must open, a second must not")
	}
	if slices.ContainsFunc(w.running.Args, func(a string) bool { return strings.Contains(a, "secret") }) {
		t.Error("the token is on the command line")
	}
	if !slices.Contains(w.running.Env, EnvToken+"=secret") || !slices.Contains(w.running.Env, EnvURL+"=http://127.0.0.1:1") {
		t.Error("the environment lacks URL or token")
	}
	w.close()
	if w.open("") {
		t.Error("a window opened after the end")
	}
	if len(said) != 0 {
		t.Errorf("%+v", <-said)
	}
}

// TestWindowOpensAgainForWhatItMissed asks for a window that is there already,
// which answers or ends first.
func TestWindowOpensAgainForWhatItMissed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		asked  []uint64 // while the first window is there
		answer string   // what it answers before it ends
		old    bool     // the request is from long ago
		want   string   // the page at which it opens again, "" for not at all
	}{
		{"nothing was asked", nil, "", false, ""},
		{"an answer to all", []uint64{3, 4}, "4", false, ""},
		{"no answer", []uint64{3}, "", false, "page3"},
		{"an answer to the first only", []uint64{3, 4}, "3", false, "page4"},
		{"an answer before the event", []uint64{2, 1}, "2", false, ""},
		{"asked long ago", []uint64{3}, "", true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, _, _ := fixture(t, "shown")
			pages, inputs, again := make(chan string, 8), make(chan io.WriteCloser, 8), make(chan string, 8)
			command := w.command
			w.command = func(page string) *exec.Cmd {
				cmd := command(page)
				in, err := cmd.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				pages <- page
				inputs <- in
				return cmd
			}
			w.again = func(page string) { again <- page }
			w.open("first")
			<-pages
			in, ended := <-inputs, w.ended
			for _, n := range tt.asked {
				w.ensure(fmt.Sprint("page", n), n)
			}
			if tt.old {
				w.mu.Lock()
				w.asked.at = w.asked.at.Add(-time.Hour)
				w.mu.Unlock()
			}
			_, _ = io.WriteString(in, tt.answer+"\n")
			_ = in.Close()
			<-ended
			if tt.want != "" {
				if got := <-pages; got != tt.want {
					t.Errorf("opened again at %q, want %q", got, tt.want)
				}
				return
			}
			w.close() // waits for one that is just starting
			if len(pages) != 0 {
				t.Errorf("opened again at %q", <-pages)
			}
		})
	}
}

func TestAnswersAreTakenFromTheOutput(t *testing.T) {
	var out strings.Builder
	var got []uint64
	a := &answers{next: &out, shown: func(n uint64) { got = append(got, n) }}
	for _, part := range []string{"a line\nbreakwater-win", "dow shown 7\r\nrest", " of it\nbreakwater-window shown x\n", "breakwater-window shown 0\n", strings.Repeat("z", 3000)} {
		if n, err := a.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if !slices.Equal(got, []uint64{7, 0}) || out.String() != "a line\nrest of it\n"+strings.Repeat("z", 3000) {
		t.Errorf("answers %v, output %.60q", got, out.String())
	}
}

func TestClipboardsOfEachSystem(t *testing.T) {
	for _, c := range []struct {
		goos string
		env  map[string]string
		want string
	}{
		{"windows", nil, "clip.exe"},
		{"darwin", nil, "pbcopy"},
		{"linux", nil, ""},
		{"linux", map[string]string{"DISPLAY": ":0"}, "xclip xsel"},
		{"linux", map[string]string{"DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0"}, "wl-copy xclip xsel"},
	} {
		var names []string
		for _, args := range clipboards(c.goos, func(k string) string { return c.env[k] }) {
			names = append(names, args[0])
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s %v: %q, want %q", c.goos, c.env, got, c.want)
		}
	}
}

func TestOfferKeepsTheNewest(t *testing.T) {
	ch := make(chan control.Snapshot, 1)
	for n := range uint64(5) {
		offer(ch, control.Snapshot{Seq: n})
	}
	if s := <-ch; s.Seq != 4 {
		t.Errorf("the tray would show snapshot %d", s.Seq)
	}
}

func TestAnyServing(t *testing.T) {
	on := control.Connection{Active: true, State: control.StateDegraded}
	for _, c := range []struct {
		s    control.Snapshot
		want bool
	}{
		{control.Snapshot{}, false},
		{control.Snapshot{Connections: []control.Connection{on}}, true},
		{control.Snapshot{Connections: []control.Connection{on}, Paused: true}, false},
		{control.Snapshot{Connections: []control.Connection{{State: control.StateOff}, {Active: true, State: control.StateOpen}}}, false},
	} {
		if got := anyServing(c.s); got != c.want {
			t.Errorf("%+v: %t", c.s, got)
		}
	}
}

func TestMissingTrayIsToldOnce(t *testing.T) {
	dir := t.TempDir()
	told := func(play, dataDir string) bool {
		w, _, _ := fixture(t, play)
		w.trayless, w.dataDir = func() bool { return true }, dataDir
		make, ran := w.command, (*exec.Cmd)(nil)
		w.command = func(page string) *exec.Cmd { ran = make(page); return ran }
		w.open("")
		<-w.ended
		return ran.ProcessState.ExitCode() == 0
	}
	told("no display", dir)
	if _, err := os.Stat(filepath.Join(dir, hintFile)); err == nil {
		t.Error("a window that did not open told it")
	}
	demo := filepath.Join(dir, demoFolder)
	for i, c := range []struct {
		dir  string
		want bool
	}{{"", true}, {demo, true}, {demo, false}, {dir, false}, {t.TempDir(), true}} {
		if got := told("hint", c.dir); got != c.want {
			t.Errorf("start %d: told %v", i, got)
		}
	}
}
