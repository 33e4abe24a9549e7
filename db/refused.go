package db

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"breakwater/proxy/control"
)

// SQLite's primary result codes for a file that takes no writes.
const (
	codeReadOnly = 8
	codeIO       = 10
	codeFull     = 13
)

// refusals are what the user is told while the file takes no writes (case P52).
var refusals = map[error]control.Notice{
	control.ErrDiskFull: {Code: "disk_full", Text: "The disk is full. Requests go on, but nothing can be changed or recorded until there is free space."},
	control.ErrReadOnly: {Code: "read_only", Text: "The data folder cannot be written. Requests go on, but nothing can be changed or recorded; check its permissions and the disk."},
}

// unwritten puts the reason for which a write failed before the error, if it is
// one that the user can mend.
func (s *Store) unwritten(err error) error {
	switch sqliteCode(err) {
	case codeFull:
		return fmt.Errorf("%w: %w", control.ErrDiskFull, err)
	case codeReadOnly:
		return fmt.Errorf("%w: %w", control.ErrReadOnly, err)
	case codeIO:
		if !errors.Is(tryToWrite(filepath.Dir(s.path)), control.ErrDiskFull) {
			return err
		}
		return fmt.Errorf("%w: %w", control.ErrDiskFull, err)
	}
	return err
}

// trialBytes are written to see whether the disk takes them: more than the page
// that a file system may have spare.
const trialBytes = 64 << 10

// tryToWrite writes a file of trialBytes to a folder and removes it again.
func tryToWrite(dir string) error {
	trial, err := os.CreateTemp(dir, temporary(FileName+trialSuffix))
	if err != nil {
		return spaceless(err)
	}
	_, err = trial.Write(make([]byte, trialBytes))
	return errors.Join(spaceless(err), trial.Close(), os.Remove(trial.Name())) //nolint:gosec // the name is our own, in our own folder
}

// diskFull reports whether a file was not written for want of space.
func diskFull(err error) bool {
	var code syscall.Errno
	if !errors.As(err, &code) {
		return false
	}
	const windowsHandleFull, windowsFull = 39, 112
	return code == syscall.ENOSPC || code == syscall.EDQUOT ||
		runtime.GOOS == "windows" && (code == windowsHandleFull || code == windowsFull)
}

// spaceless puts the reason before the error of a file that found no space.
func spaceless(err error) error {
	if diskFull(err) {
		return fmt.Errorf("%w: %w", control.ErrDiskFull, err)
	}
	return err
}

// wrote looks at how a write ended: a refused one is remembered and shown until
// one succeeds, and tried again meanwhile.
func (s *Store) wrote(err error) error {
	if err == nil {
		if s.refused.Swap(nil) != nil {
			s.tell()
		}
		return nil
	}
	err = s.unwritten(s.seen(err))
	for reason, notice := range refusals {
		if errors.Is(err, reason) && s.refused.Swap(&notice) == nil {
			s.tell()
			poke(s.writer.wake) // it tries again until one succeeds
		}
	}
	return err
}

// OnNotice has fn called when Notices may have changed.
func (s *Store) OnNotice(fn func()) { s.onNotice.Store(&fn) }

func (s *Store) tell() {
	if fn := s.onNotice.Load(); fn != nil {
		(*fn)()
	}
}

// trial finds out whether the file can be written again.
func (s *Store) trial() error {
	return s.wrote(s.write.Exec("INSERT INTO key_value (namespace, key, value) VALUES ('trial', 'written', ?) "+
		"ON CONFLICT (namespace, key) DO UPDATE SET value = excluded.value", s.now().UnixMilli()).Error)
}
