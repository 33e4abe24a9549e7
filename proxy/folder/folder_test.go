package folder

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestWriteReplacesWhateverIsThere(t *testing.T) {
	for name, put := range map[string]func(t *testing.T, path, outside string) error{
		"nothing":          func(*testing.T, string, string) error { return nil },
		"a file":           func(_ *testing.T, path, _ string) error { return os.WriteFile(path, []byte("old"), 0o644) },
		"a link":           func(_ *testing.T, path, outside string) error { return os.Symlink(outside, path) },
		"a dangling link":  func(_ *testing.T, path, outside string) error { return os.Symlink(outside+".none", path) },
		"a link to itself": func(_ *testing.T, path, _ string) error { return os.Symlink(path, path) },
		"a read-only file": func(_ *testing.T, path, _ string) error { return os.WriteFile(path, nil, 0o400) },
		"a link to a folder": func(_ *testing.T, path, outside string) error {
			return os.Symlink(filepath.Dir(outside), path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
			path := filepath.Join(dir, "file")
			if err := os.WriteFile(outside, []byte("theirs"), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := put(t, path, outside); err != nil {
				t.Skip(err) // links need a right on Windows
			}
			if err := Write(path, []byte("new")); err != nil {
				t.Fatal(err)
			}
			if got, err := Read(path); err != nil || string(got) != "new" {
				t.Errorf("%q, %v", got, err)
			}
			if got, err := os.ReadFile(outside); err != nil || string(got) != "theirs" {
				t.Errorf("the file outside: %q, %v", got, err)
			}
			if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
				t.Errorf("%d files, %v", len(list), err)
			}
		})
	}
}

func TestWriteThatFailsLeavesTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "there", "file")
	if err := Write(path, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a folder that is not there: %v", err)
	}
	inTheWay := filepath.Join(t.TempDir(), "file")
	if err := os.MkdirAll(filepath.Join(inTheWay, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(inTheWay, nil); err == nil {
		t.Error("a folder was replaced")
	}
	if list, err := os.ReadDir(filepath.Dir(inTheWay)); err != nil || len(list) != 1 {
		t.Errorf("%d files, %v", len(list), err)
	}
}

func TestReadFollowsNoLink(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "file")
	if _, err := Read(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent file: %v", err)
	}
	if err := os.Symlink(outside, path); err != nil {
		t.Skip(err)
	}
	if got, err := Read(path); !errors.Is(err, ErrNotPlain) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestLockIsHeldByOne(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "n")
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			err := Change(t.Context(), dir, func() error {
				old, err := Read(path)
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
				return Write(path, append(old, 'x'))
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got, err := Read(path); err != nil || string(got) != strings.Repeat("x", 40) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestLockRefusesWhatIsNoFile(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	for name, put := range map[string]func(path string) error{
		"a folder":        func(path string) error { return os.Mkdir(path, 0o700) },
		"a link":          func(path string) error { return os.Symlink(filepath.Dir(outside), path) },
		"a dangling link": func(path string) error { return os.Symlink(outside, path) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := put(filepath.Join(dir, LockName)); err != nil {
				t.Skip(err)
			}
			if _, err := Lock(t.Context(), dir); !errors.Is(err, ErrNotPlain) {
				t.Error(err)
			}
			if _, err := os.Lstat(outside); err == nil {
				t.Error("the link was followed")
			}
		})
	}
}

func TestLockOfADeletedFileExcludesNobody(t *testing.T) {
	dir := t.TempDir()
	unlock, err := Lock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, LockName)); err != nil {
		t.Skip(err) // a file that is open stays on Windows
	}
	again, err := Lock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	unlock() // that of the deleted file
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Lock(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("beside the second: %v", err)
	}
	again()
}

func TestANamedFileIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots, answers := make(chan struct{}, 2), make(chan struct{})
		hang := func() ([]byte, error) { <-answers; return nil, nil }
		for _, name := range []string{"the first", "the second", "with no thread left"} {
			start := time.Now()
			if _, err := bounded(t.Context(), slots, hang); !errors.Is(err, ErrSlow) {
				t.Errorf("%s: %v", name, err)
			}
			if took := time.Since(start); took != namedWait {
				t.Errorf("%s took %v", name, took)
			}
		}
		ctx, leave := context.WithCancel(t.Context())
		leave()
		if _, err := bounded(ctx, slots, hang); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that left: %v", err)
		}
		close(answers)
		synctest.Wait()
		if got, err := bounded(t.Context(), slots, func() ([]byte, error) { return []byte("x"), nil }); err != nil || string(got) != "x" {
			t.Errorf("afterwards: %q, %v", got, err)
		}
	})
}
