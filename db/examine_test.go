package db

import (
	"errors"
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
