package db

import (
	"errors"
	"path/filepath"
	"testing"
)

func newPrepared(t *testing.T, path, query string) *prepared {
	t.Helper()
	p, err := prepare(path, query, writePool.pragmas())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	return p
}

// A statement runs many times; each run has values of its own.
func TestPreparedRuns(t *testing.T) {
	s := open(t, t.TempDir())
	p := newPrepared(t, s.Path(), "INSERT OR IGNORE INTO key_value VALUES (?, ?, ?)")
	for _, run := range []struct {
		cells   []cell
		changed int
	}{
		{[]cell{text("n"), text(""), text("a\x00b")}, 1},
		{[]cell{text("n"), text("2"), number(-7)}, 1},
		{[]cell{text("n"), text("2"), text("again")}, 0},
		{[]cell{text("n"), text("3"), yes(true)}, 1},
		{[]cell{text(""), text(""), text("")}, 1},
	} {
		if changed, err := p.run(run.cells); changed != run.changed || err != nil {
			t.Errorf("%v changed %d, %v", run.cells, changed, err)
		}
	}
	var values []string
	if err := s.read.Raw("SELECT hex(value) FROM key_value WHERE namespace = 'n' ORDER BY key").Scan(&values).Error; err != nil {
		t.Fatal(err)
	}
	if len(values) != 3 || values[0] != "610062" || values[1] != "2D37" || values[2] != "31" {
		t.Errorf("stored %q", values)
	}
}

// An error names its cause and leaves the statement usable.
func TestPreparedErrors(t *testing.T) {
	s := open(t, t.TempDir())
	p := newPrepared(t, s.Path(), "INSERT INTO key_value VALUES (?, ?, ?)")
	const constraint = 19
	if _, err := p.run([]cell{text("n"), text("1"), known(0)}); sqliteCode(err) != constraint {
		t.Errorf("NULL where none may be: %v", err)
	}
	if n, err := p.run([]cell{text("n"), text("1"), text("x")}); n != 1 || err != nil {
		t.Errorf("afterwards %d, %v", n, err)
	}
	if _, err := p.run(make([]cell, 4)); err == nil {
		t.Error("more values than parameters were taken")
	}
	for name, c := range map[string][2]string{
		"no such file":  {filepath.Join(t.TempDir(), "absent.db"), "SELECT 1"},
		"no such table": {s.Path(), "INSERT INTO absent VALUES (?)"},
	} {
		var coded *sqliteError
		if _, err := prepare(c[0], c[1], nil); !errors.As(err, &coded) || coded.text == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := prepare(s.Path(), "SELECT 1", []string{"journal_mode("}); err == nil {
		t.Error("a pragma that cannot be read was taken")
	}
}
