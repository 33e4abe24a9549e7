package db

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExamineChangesNothing(t *testing.T) {
	dir := t.TempDir()
	if found, err := Examine(t.Context(), dir); err != nil || found != "there is none yet" {
		t.Errorf("an empty folder: %q %v", found, err)
	}
	s := open(t, dir)
	save(t, s, "a")
	if found, err := Examine(t.Context(), dir); err != nil || !strings.Contains(found, "whole, schema ") {
		t.Errorf("while it is used: %q %v", found, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, FileName)
	before := contentOf(t, path)
	if found, err := Examine(t.Context(), dir); err != nil || !strings.Contains(found, "KiB") {
		t.Errorf("at rest: %q %v", found, err)
	}
	if contentOf(t, path) != before {
		t.Error("the file has changed")
	}
	broken := before[:4096+100] + strings.Repeat("x", 512) + before[4096+612:]
	if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Examine(t.Context(), dir); !errors.Is(err, ErrDamaged) {
		t.Errorf("a damaged file: %v", err)
	}
	if contentOf(t, path) != broken {
		t.Error("the damaged file has changed")
	}
}

// Writable finds a folder that takes no file, and leaves nothing in one that
// does.
func TestWritable(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := Writable(dir); err != nil {
		t.Error(err)
	}
	if after, err := os.ReadDir(dir); err != nil || len(after) != len(before) {
		t.Errorf("%d files became %d, %v", len(before), len(after), err)
	}
	save(t, s, "a") // the store did not mind
	if err := Writable(filepath.Join(dir, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, FileName), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Writable(folder); err == nil {
		t.Error("a folder in the database's place can be written")
	}
}
