package db

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"breakwater/proxy/control"
	"breakwater/proxy/folder"
)

func TestFilesArePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no mode bits")
	}
	dir := filepath.Join(t.TempDir(), "deep", "data dir %41?#")
	s := open(t, dir)
	save(t, s, "a")
	want := map[string]os.FileMode{".": 0o700, FileName: 0o600, FileName + "-wal": 0o600, FileName + "-shm": 0o600}
	for name, mode := range want {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != mode {
			t.Errorf("%s has mode %v", name, info.Mode().Perm())
		}
	}
}

func TestOneFileAtRest(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	save(t, s, "a")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var names []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != FileName+" "+FileName+".seal "+folder.LockName {
		t.Errorf("files: %s", got)
	}
	if _, err := s.Connections(t.Context()); err == nil {
		t.Error("a closed store answered")
	}
}

func TestNewerFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	save(t, s, "a")
	if err := s.write.Exec("PRAGMA user_version = 99").Error; err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := contentOf(t, s.Path())
	_, err := Open(t.Context(), testOptions(dir))
	if !errors.Is(err, ErrNewer) || errors.Is(err, ErrDamaged) {
		t.Fatalf("got %v", err)
	}
	if contentOf(t, s.Path()) != before {
		t.Error("the file was changed")
	}
}

// seeded returns a directory with a store of a few pages and some rows,
// cleanly closed or as a crash leaves it.
func seeded(t *testing.T, clean bool) (dir string) {
	t.Helper()
	dir = t.TempDir()
	s := open(t, dir)
	for i := range 12 {
		save(t, s, fmt.Sprintf("id-%d", i))
	}
	for i := range 150 {
		s.AppendActivity(sampleActivity(int64(i + 1)))
	}
	flush(t, s)
	if clean {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	// A crash: the files are copied while they are in use.
	copied := t.TempDir()
	for _, suffix := range []string{"", "-wal"} {
		if err := os.WriteFile(filepath.Join(copied, FileName+suffix), []byte(contentOf(t, s.Path()+suffix)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return copied
}

func overwrite(t *testing.T, path string, offset int64, with []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(with, offset)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// refuses opens a damaged directory and makes sure that nothing in it changed.
func refuses(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, FileName)
	before := contentOf(t, path)
	for range 2 { // the second start must not take it for new either
		s, err := Open(t.Context(), testOptions(dir))
		var d *DamagedError
		if !errors.As(err, &d) || !errors.Is(err, ErrDamaged) {
			if err == nil {
				s.Close()
			}
			t.Fatalf("opened with %v", err)
		}
		if d.Path != path || !strings.Contains(err.Error(), path) {
			t.Errorf("the error does not name the file: %v", err)
		}
		if contentOf(t, path) != before {
			t.Fatal("the file was written over")
		}
	}
}

func TestDamagedFileIsKept(t *testing.T) {
	random := make([]byte, 512)
	for i := range random {
		random[i] = byte(rand.Uint32())
	}
	middle := func(t *testing.T, dir string) int64 {
		return int64(len(contentOf(t, filepath.Join(dir, FileName)))) / 2
	}
	for name, with := range map[string][]byte{
		"case P51 zeros": make([]byte, 512), "case P51 ones": bytes.Repeat([]byte{0xff}, 512), "case P51 random": random,
	} {
		t.Run(name, func(t *testing.T) {
			dir := seeded(t, true)
			overwrite(t, filepath.Join(dir, FileName), middle(t, dir), with)
			refuses(t, dir)
		})
	}
	t.Run("one byte of a text, unseen by SQLite", func(t *testing.T) {
		dir := seeded(t, true)
		at := strings.Index(contentOf(t, filepath.Join(dir, FileName)), "claude-opus-5")
		overwrite(t, filepath.Join(dir, FileName), int64(at), []byte("X"))
		refuses(t, dir)
	})
	t.Run("a page after a crash", func(t *testing.T) {
		dir := seeded(t, false)
		// The crash left everything in the log; SQLite folds it in first.
		s, err := Open(t.Context(), testOptions(dir))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(sealPath(s.Path())); err != nil {
			t.Fatal(err)
		}
		overwrite(t, s.Path(), middle(t, dir)/4096*4096, random)
		refuses(t, dir)
	})
	for name, content := range map[string][]byte{
		"empty": {}, "cut within the header": []byte("SQLite for"), "not a database": []byte(strings.Repeat("no ", 999)),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, FileName), content, 0o600); err != nil {
				t.Fatal(err)
			}
			refuses(t, dir)
		})
	}
	t.Run("cut in half", func(t *testing.T) {
		dir := seeded(t, true)
		if err := os.Truncate(filepath.Join(dir, FileName), middle(t, dir)); err != nil {
			t.Fatal(err)
		}
		refuses(t, dir)
	})
	t.Run("another program's database", func(t *testing.T) {
		dir := seeded(t, false)
		edit(t, dir, "PRAGMA application_id = 7")
		refuses(t, dir)
	})
	t.Run("a table gone", func(t *testing.T) {
		dir := seeded(t, true)
		edit(t, dir, "DROP TABLE provider_connections")
		if _, err := Open(t.Context(), testOptions(dir)); !errors.Is(err, ErrDamaged) {
			t.Errorf("got %v", err)
		}
	})
}

// edit changes the file of a closed store the way another SQLite program does.
func edit(t *testing.T, dir, statement string) {
	t.Helper()
	o := testOptions(dir)
	g, err := openPool(filepath.Join(dir, FileName), pool{params: writePool.params[:1], maxOpen: 1, maxIdle: 1}, o.Log, o.Now)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(g.Exec(statement).Error, closePool(g)); err != nil {
		t.Fatal(err)
	}
}

func TestEditByAnotherProgramIsAccepted(t *testing.T) {
	dir := seeded(t, true)
	edit(t, dir, "UPDATE provider_connections SET name = 'By hand' WHERE id = 'id-1'")
	s := open(t, dir)
	for _, r := range connections(t, s) {
		if r.ID == "id-1" && r.Name != "By hand" {
			t.Errorf("name %q", r.Name)
		}
	}
}

func TestCrashIsRecovered(t *testing.T) {
	s := open(t, seeded(t, false))
	if n := len(connections(t, s)); n != 12 {
		t.Errorf("%d connections", n)
	}
	if id, err := s.MaxActivityID(t.Context()); id != 150 || err != nil {
		t.Errorf("newest id %d, %v", id, err)
	}
}

// TestLogOfAMissingFileIsSetAside: the log of a database that was moved away
// must not be replayed into a new one.
func TestLogOfAMissingFileIsSetAside(t *testing.T) {
	dir := seeded(t, false)
	path := filepath.Join(dir, FileName)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	wal := contentOf(t, path+"-wal")
	s := open(t, dir)
	if n := len(connections(t, s)); n != 0 {
		t.Errorf("%d connections in a new file", n)
	}
	if contentOf(t, path+"-wal.old") != wal {
		t.Error("the old log was not kept")
	}
}

func TestHalfMadeFileIsMadeAnew(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, FileName+".new"), []byte("SQLite format 3\x00half"), 0o600); err != nil {
		t.Fatal(err)
	}
	save(t, open(t, dir), "a")
}

// TestDamageAtRunTime: the first sign of damage stops the writing, visibly,
// and nothing waits for it.
func TestDamageAtRunTime(t *testing.T) {
	s := open(t, t.TempDir())
	save(t, s, "a")
	if err := s.write.Exec(`UPDATE provider_connections SET provider_specific_data = '{'`).Error; err != nil {
		t.Fatal(err)
	}
	if _, err := s.Connections(t.Context()); !errors.Is(err, ErrDamaged) {
		t.Fatalf("got %v", err)
	}
	if err := s.SaveConnection(t.Context(), record("b")); !errors.Is(err, ErrDamaged) {
		t.Errorf("save: %v", err)
	}
	s.AppendActivity(plainActivity(1))
	flush(t, s)
	if s.Lost() != 1 || !errors.Is(s.Damaged(), ErrDamaged) {
		t.Errorf("lost %d, damaged %v", s.Lost(), s.Damaged())
	}
	codes := ""
	for _, n := range s.Notices() {
		codes += n.Code + " "
	}
	if codes != "database_damaged activity_lost " {
		t.Errorf("notices %q", codes)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, sealed := readSeal(s.Path()); sealed {
		t.Error("a damaged file was sealed")
	}
}

// TestBackgroundCheckStopsWriting: a large file is checked beside the program.
func TestBackgroundCheckStopsWriting(t *testing.T) {
	s := open(t, t.TempDir())
	for i := range 300 {
		s.AppendActivity(sampleActivity(int64(i + 1)))
	}
	flush(t, s)
	s.stopCheck()
	s.startBackgroundCheck(untrusted)
	s.checking.Wait()
	if s.Damaged() != nil {
		t.Fatalf("a sound file: %v", s.Damaged())
	}
	if err := s.write.Exec("PRAGMA wal_checkpoint(TRUNCATE)").Error; err != nil {
		t.Fatal(err)
	}
	middle := int64(count(t, s, "PRAGMA page_count")/2) * 4096
	overwrite(t, s.Path(), middle, bytes.Repeat([]byte{0xaa}, 512))
	// A fresh pool, as after a start, has nothing of the file in memory.
	o := testOptions("")
	fresh, err := openPool(s.Path(), readPool, o.Log, o.Now)
	if err != nil {
		t.Fatal(err)
	}
	if err := closePool(s.read); err != nil {
		t.Fatal(err)
	}
	s.read = fresh
	s.startBackgroundCheck(untrusted)
	s.checking.Wait()
	if !errors.Is(s.Damaged(), ErrDamaged) {
		t.Error("not noticed")
	}
}

func TestNoticesOfASoundStore(t *testing.T) {
	s := open(t, t.TempDir())
	if n := s.Notices(); len(n) != 0 || s.Damaged() != nil || s.Lost() != 0 {
		t.Errorf("notices %v, damaged %v, lost %d", n, s.Damaged(), s.Lost())
	}
	var _ []control.Notice = s.Notices()
}
