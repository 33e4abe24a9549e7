// Package leaks looks through what the other tests left behind for keys that
// are nobody's business.
package leaks

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"breakwater/tests/scenario"
)

// run is how many characters of a secret in a row count as a leak.
const run = 6

// least is how many scenarios a run of the suites leaves at the very least;
// fewer mean that something was not looked at.
const least = 100

// parts are all runs of the secrets.
type parts struct {
	first [1 << 16]bool // by the first two bytes of a run
	all   map[string]bool
}

func newParts(secrets []string) *parts {
	p := &parts{all: map[string]bool{}}
	for _, s := range secrets {
		for i := range len(s) - run + 1 {
			p.all[s[i:i+run]] = true
			p.first[int(s[i])<<8|int(s[i+1])] = true
		}
	}
	return p
}

// find returns the first part of a secret in data, empty for none.
func (p *parts) find(data []byte) string {
	for i := range len(data) - run + 1 {
		if p.first[int(data[i])<<8|int(data[i+1])] && p.all[string(data[i:i+run])] {
			return string(data[i : i+run])
		}
	}
	return ""
}

// search looks through a folder. It returns how many bytes of each kind of file
// it saw, by the file's name.
func search(t *testing.T, p *parts, dir string) map[string]int {
	t.Helper()
	seen := map[string]int{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		seen[e.Name()] += len(data)
		if part := p.find(data); part != "" {
			t.Errorf("%s holds the part %q of a key", path, part)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// P50, over everything: whatever the scenarios left behind, database, journal,
// log, events with the alerts that notifications are made of, answers, errors,
// figures and exports, holds no six characters of any of the twenty keys.
func TestNothingLeftTellsAKey(t *testing.T) {
	dir := os.Getenv(scenario.KeepVariable)
	if dir == "" {
		t.Skip("build/test sets " + scenario.KeepVariable + " for the suites and then for this")
	}
	scenarios, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(scenarios) < least {
		t.Errorf("only %d scenarios left anything", len(scenarios))
	}
	seen := search(t, newParts(scenario.Secrets()), dir)
	for _, name := range []string{"told-log", "told-events", "told-answers"} {
		if seen[name] == 0 {
			t.Errorf("no %s was left to look at", name)
		}
	}
	database, total := 0, 0
	for name, n := range seen {
		total += n
		if strings.Contains(name, ".db") {
			database += n
		}
	}
	if database == 0 {
		t.Error("no database was left to look at")
	}
	t.Logf("%d scenarios, %d bytes, %d of them of databases", len(scenarios), total, database)
}

// The search finds a part of any key, wherever it is.
func TestSearchFindsEveryKey(t *testing.T) {
	secrets := scenario.Secrets()
	if len(secrets) != 20 {
		t.Fatalf("%d keys, want 20", len(secrets))
	}
	p := newParts(secrets)
	for _, s := range secrets {
		for i := range len(s) - run + 1 {
			if got := p.find([]byte("  " + s[i:i+run] + "  ")); got != s[i:i+run] {
				t.Errorf("%q is not found", s[i:i+run])
			}
			if i > 0 && p.find([]byte(s[:run-1]+"!"+s[len(s)-run+1:])) != "" {
				t.Error("five characters pass for six")
			}
		}
	}
}
