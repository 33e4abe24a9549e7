package db

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A program that is killed between writing a secret and renaming the file
// leaves the new content beside it; the next start takes it away, and nothing
// else.
func TestStartRemovesWhatAKilledProgramLeftHalfWritten(t *testing.T) {
	dir := t.TempDir()
	gone := []string{
		"secrets.enc.1234567.tmp", "secrets.key.9.tmp", "secrets.backend.42.tmp", "breakwater.db.seal.77.tmp", "breakwater.db.trial.5.tmp",
		"breakwater.db.restored", "breakwater.db.restored-journal", "breakwater.db.bak.half",
	}
	stay := []string{
		"secrets.enc", "secrets.key", "secrets.enc.tmp", "secrets.enc.old.tmp", "secrets.enc.12.tmp.mine", "my-secrets.enc.12.tmp",
		"notes.12.tmp", "breakwater.db.20300102T030405Z.v1.bak", "breakwater.db.20300102T030405.000Z.before",
	}
	for _, name := range slices.Concat(gone, stay) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	folder := filepath.Join(dir, "secrets.enc.5.tmp")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(dir, "other", "secrets.enc.6.tmp")
	if err := os.Mkdir(filepath.Dir(below), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(below, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	open(t, dir)
	for _, name := range gone {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	for _, path := range append([]string{folder, below}, stay...) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if _, err := os.Stat(path); err != nil {
			t.Errorf("gone: %v", err)
		}
	}
}

// What writePrivate leaves behind is what the start looks for.
func TestHalfWrittenFilesAreKnownByTheirNames(t *testing.T) {
	for _, name := range []string{secretsFile, keyFile, choiceFile, filepath.Base(sealPath(FileName))} {
		f, err := os.CreateTemp(t.TempDir(), temporary(name))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if !halfWritten.MatchString(filepath.Base(f.Name())) {
			t.Errorf("%s would stay", filepath.Base(f.Name()))
		}
	}
}
