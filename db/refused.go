package db

import (
	"context"
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
	codePerm     = 3
	codeBusy     = 5
	codeLocked   = 6
	codeReadOnly = 8
	codeIO       = 10
	codeFull     = 13
	codeCantOpen = 14
)

// refusal is a reason for which the file takes no writes.
type refusal struct {
	reason error
	notice control.Notice
}

// refusals are what the user is told while the file takes no writes (case P52).
var refusals = []refusal{
	{control.ErrDiskFull, control.Notice{Code: "disk_full", Text: "Changes cannot be saved: the disk is full. Requests go on, but nothing can be changed or recorded until there is free space."}},
	{control.ErrDatabaseGone, control.Notice{Code: "database_gone", Text: "Changes cannot be saved: the database was moved, deleted or replaced while Breakwater ran. Requests go on; put it back, or quit Breakwater and start it again."}},
	{control.ErrReadOnly, control.Notice{Code: "read_only", Text: "Changes cannot be saved: the data folder or a file in it cannot be written. Requests go on, but nothing can be changed or recorded; check its permissions and the disk."}},
	{control.ErrDatabaseBusy, control.Notice{Code: "database_busy", Text: "Changes cannot be saved: another program has locked the database. Requests go on, but nothing can be changed or recorded until that program lets it go."}},
}

// unwritten puts the reason for which a write failed before the error, if it is
// one that the user can mend.
func (s *Store) unwritten(err error) error {
	if err == nil || faulty(err) {
		return err
	}
	switch sqliteCode(err) {
	case 0:
		return spaceless(err)
	case codeFull:
		return fmt.Errorf("%w: %w", control.ErrDiskFull, err)
	case codeBusy, codeLocked:
		return fmt.Errorf("%w: %w", control.ErrDatabaseBusy, err)
	case codeReadOnly, codePerm, codeIO, codeCantOpen:
		// What SQLite says of a file that was moved, or of one of its side
		// files, does not tell which it was.
		why := s.standing()
		if why == nil {
			why = tryToWrite(filepath.Dir(s.path))
		}
		if why == nil && sqliteCode(err) == codeReadOnly {
			why = control.ErrReadOnly
		}
		if faulty(why) {
			return fmt.Errorf("%w: %w", why, err)
		}
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

// spaceless puts the reason before the error of a file that found no space, or
// no right to be written.
func spaceless(err error) error {
	switch {
	case faulty(err):
	case diskFull(err):
		return fmt.Errorf("%w: %w", control.ErrDiskFull, err)
	case unwritable(err):
		return fmt.Errorf("%w: %w", control.ErrReadOnly, err)
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
	for i := range refusals {
		if !errors.Is(err, refusals[i].reason) {
			continue
		}
		old := s.refused.Load()
		if old == nil || old.Code != refusals[i].notice.Code {
			notice := refusals[i].notice
			notice.Since = s.now()
			s.refused.Store(&notice)
			s.tell()
		}
		if s.writer != nil {
			poke(s.writer.wake) // it tries again until one succeeds
		}
		break
	}
	return err
}

// ready refuses a write that cannot succeed: the file was never opened
// for writing, is not in its place, or is locked, for which SQLite would wait.
func (s *Store) ready() error {
	refused := s.refused.Load()
	if refused != nil && (mode(s.mode.Load()) != inFile || refused.Code == "database_busy") {
		for i := range refusals {
			if refusals[i].notice.Code == refused.Code {
				return refusals[i].reason
			}
		}
	}
	return s.standing()
}

// OnNotice has fn called when Notices may have changed.
func (s *Store) OnNotice(fn func()) { s.onNotice.Store(&fn) }

func (s *Store) tell() {
	if fn := s.onNotice.Load(); fn != nil {
		(*fn)()
	}
}

// recover finds out whether the file can be written, and makes good what it can.
// It is nil where nothing was wrong. Only the writer's goroutine calls it.
func (s *Store) recover() error {
	if s.refused.Load() == nil && mode(s.mode.Load()) == inFile && s.standing() == nil {
		return nil
	}
	err := s.repair(context.Background())
	if err == nil {
		err = s.try()
	}
	return s.wrote(err)
}
