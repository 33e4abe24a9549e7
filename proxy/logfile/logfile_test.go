package logfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func small(t *testing.T) (*File, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "breakwater.log")
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	l.max, l.kept = 100, 2
	t.Cleanup(func() { _ = l.Close() })
	return l, path
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestTheLogTurnsAndStaysBounded(t *testing.T) {
	l, path := small(t)
	for i := range 50 {
		if n, err := fmt.Fprintf(l, "line %02d of a log\n", i); n == 0 || err != nil {
			t.Fatal(n, err)
		}
	}
	var all string
	for _, name := range []string{path + ".2", path + ".1", path} {
		text := read(t, name)
		if len(text) > 100 || !strings.HasPrefix(text, "line ") || !strings.HasSuffix(text, "log\n") {
			t.Errorf("%s holds %q", name, text)
		}
		all += text
	}
	if !strings.Contains(all, "line 49") || strings.Contains(all, "line 10") {
		t.Errorf("what is kept is not the newest: %s", all)
	}
	if names, err := filepath.Glob(path + "*"); err != nil || len(names) != 3 || l.Lost() != 0 {
		t.Errorf("files %v %v, lost %d", names, err, l.Lost())
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
}

func TestTheLogGoesOnAfterARestart(t *testing.T) {
	l, path := small(t)
	fmt.Fprintln(l, "before")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(l, "into a closed one")
	again, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	fmt.Fprintln(again, "after")
	if got := read(t, path); got != "before\nafter\n" || l.Lost() != 1 {
		t.Errorf("%q, lost %d", got, l.Lost())
	}
}

// A place that cannot be written to costs lines, never the program.
func TestAFailingDiskIsSurvived(t *testing.T) {
	l, path := small(t)
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if n, err := fmt.Fprintln(l, "a line that has nowhere to go"); n == 0 || err != nil {
			t.Fatal(n, err)
		}
	}
	if l.Lost() == 0 {
		t.Error("nothing was lost without a place")
	}
	if _, err := Open(filepath.Join(path, "x")); err == nil {
		t.Error("a log in no folder was opened")
	}
}

func TestManyMayWrite(t *testing.T) {
	l, path := small(t)
	l.max = 1 << 20
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				fmt.Fprintln(l, "one whole line")
			}
		})
	}
	all.Wait()
	if got := read(t, path); strings.Count(got, "one whole line\n") != 400 || len(got) != 400*len("one whole line\n") {
		t.Error("lines are torn")
	}
}
