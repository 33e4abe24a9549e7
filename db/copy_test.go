package db

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"breakwater/proxy/control"
)

func agreed(control.RestorePlan) error { return nil }

func TestBackupWhileItIsUsedAndRestore(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	s := open(t, dir)
	save(t, s, "a", "b")
	s.AppendActivity(sampleActivity(1))
	flush(t, s)
	copied := filepath.Join(other, "copy.db")
	if err := Backup(t.Context(), dir, copied); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(copied); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the copy can be read by others: %v %v", info.Mode(), err)
	}
	if err := Backup(t.Context(), dir, copied); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), copied+" is there already") {
		t.Errorf("a file that was there: %v", err)
	}
	save(t, s, "c") // is not in the copy

	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	kept, err := Restore(t.Context(), dir, copied, agreed)
	if err != nil || kept == "" {
		t.Fatalf("%q %v", kept, err)
	}
	if list := connections(t, open(t, dir)); len(list) != 2 {
		t.Errorf("%d connections are restored", len(list))
	}
	elsewhere := t.TempDir()
	if err := os.Rename(kept, filepath.Join(elsewhere, FileName)); err != nil {
		t.Fatal(err)
	}
	if list := connections(t, open(t, elsewhere)); len(list) != 3 {
		t.Errorf("%d connections are in what was kept", len(list))
	}
	if kept, err := Restore(t.Context(), t.TempDir(), copied, agreed); err != nil || kept != "" {
		t.Errorf("into an empty folder: %q %v", kept, err)
	}
}

// What a crash left beside the database goes aside with it: SQLite would play it
// into the copy.
func TestRestoreLeavesNoJournalOfTheOldDatabase(t *testing.T) {
	dir, copied := t.TempDir(), filepath.Join(t.TempDir(), "copy.db")
	s := open(t, dir)
	save(t, s, "a")
	if err := Backup(t.Context(), dir, copied); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	journal := filepath.Join(dir, FileName) + "-journal"
	if err := os.WriteFile(journal, []byte("of the old one"), 0o600); err != nil {
		t.Fatal(err)
	}
	kept, err := Restore(t.Context(), dir, copied, agreed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(journal); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it stayed beside the copy: %v", err)
	}
	if got := contentOf(t, kept+"-journal"); got != "of the old one" {
		t.Errorf("beside what is kept lies %q", got)
	}
}

func TestRestoreRefusesWhatIsNoGoodCopy(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	save(t, s, "a")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole := contentOf(t, filepath.Join(dir, FileName))
	for name, text := range map[string]string{
		"nothing": "", "text": "hello", "half": whole[:len(whole)/2], "overwritten": whole[:4196] + strings.Repeat("x", 512) + whole[4708:],
	} {
		bad := filepath.Join(t.TempDir(), "bad.db")
		if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Restore(t.Context(), dir, bad, agreed)
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), bad) || strings.Contains(err.Error(), restoredSuffix) {
			t.Errorf("%s: %v", name, err)
		}
	}
	future := t.TempDir()
	newer, err := openWith(t.Context(), testOptions(future), append(slices.Clone(migrations), migration{name: "later", sql: []string{"CREATE TABLE later (a)"}}))
	if err != nil {
		t.Fatal(err)
	}
	if err := newer.Close(); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{
		filepath.Join(future, FileName):     ErrNewer,
		filepath.Join(future, "nothing.db"): fs.ErrNotExist,
	} {
		_, err := Restore(t.Context(), dir, path, agreed)
		if !errors.Is(err, want) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), restoredSuffix) {
			t.Errorf("%s: %v", path, err)
		}
	}
	export := filepath.Join(future, "export.json")
	if err := os.WriteFile(export, []byte(`{"format":1,"connections":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), dir, export, agreed); err == nil || !strings.Contains(err.Error(), "exported configuration") {
		t.Errorf("an export: %v", err)
	}
	if err := Backup(t.Context(), filepath.Join(future, "none"), filepath.Join(future, "b.db")); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "no database in") {
		t.Errorf("a folder without a database: %v", err)
	}
	if _, err := Restore(t.Context(), dir, future, agreed); err == nil || !strings.Contains(err.Error(), future+" is a folder") {
		t.Errorf("a folder: %v", err)
	}
	if contentOf(t, filepath.Join(dir, FileName)) != whole {
		t.Error("the database was touched")
	}
	if names, err := filepath.Glob(filepath.Join(dir, "*.restored")); err != nil || len(names) > 0 {
		t.Errorf("left behind: %v %v", names, err)
	}
}
