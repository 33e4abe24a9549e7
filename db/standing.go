package db

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"breakwater/proxy/control"
)

// sideFiles are what SQLite keeps beside the database while it is open.
var sideFiles = []string{"-wal", "-shm"}

// identity remembers which files are open. SQLite goes on writing to a file
// that was deleted or moved away, and all of it would be lost; files are only
// compared by name and number, because opening and closing the database a
// second time would drop the locks of this process.
type identity struct {
	mu    sync.Mutex
	known map[string]os.FileInfo // by suffix, the database's own is ""
}

// learn remembers the files that the connections have open.
func (i *identity) learn(path string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.known = map[string]os.FileInfo{}
	for _, suffix := range append([]string{""}, sideFiles...) {
		if info, err := os.Stat(path + suffix); err == nil {
			i.known[suffix] = info
		}
	}
}

// changed returns the suffixes of the files that are not those that are open.
func (i *identity) changed(path string) (lost []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, suffix := range append([]string{""}, sideFiles...) {
		before, open := i.known[suffix]
		if !open {
			continue
		}
		if now, err := os.Stat(path + suffix); err != nil || !os.SameFile(before, now) {
			lost = append(lost, suffix)
		}
	}
	return lost
}

// standing looks whether what is written now would be kept: the files are in
// their place and may be written. It costs a few calls of the system.
func (s *Store) standing() error {
	if lost := s.files.changed(s.path); len(lost) > 0 {
		return fmt.Errorf("%w: %s", control.ErrDatabaseGone, s.path+lost[0])
	}
	return s.rights()
}

// rights looks whether the folder and the files in it may be written.
func (s *Store) rights() error {
	for _, path := range []string{filepath.Dir(s.path), s.path, s.path + "-wal", s.path + "-shm"} {
		if err := writable(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %s: %w", control.ErrReadOnly, path, err)
		}
	}
	return nil
}

// unwritable reports whether a file was not written for want of rights.
func unwritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// faulty reports whether err is one that the user can mend while the program
// runs.
func faulty(err error) bool {
	for _, r := range refusals {
		if errors.Is(err, r.reason) {
			return true
		}
	}
	return false
}
