package db

import (
	"errors"
	"fmt"
)

// ErrNewer is returned by Open for a file that a newer version has made.
var ErrNewer = errors.New("the database was made by a newer version of Breakwater")

// NewerError tells which file a newer version has made.
type NewerError struct {
	Path          string
	Schema, Known int // of the file; the newest that this version reads
}

// Error names the file and what the user can do.
func (e *NewerError) Error() string {
	return fmt.Sprintf("%v: %s has schema %d, this version knows %d; start the newer version again, or move the file away and put an older copy (*.bak) in its place", ErrNewer, e.Path, e.Schema, e.Known)
}

// Is reports whether target is ErrNewer.
func (e *NewerError) Is(target error) bool { return target == ErrNewer }

// UnfitError refuses to restore a copy; Path is the file that the user named,
// and Err is ErrDamaged or ErrNewer where it is one of them.
type UnfitError struct {
	Path   string
	Detail string
	Err    error
}

// Error names the file and the reason.
func (e *UnfitError) Error() string {
	return fmt.Sprintf("%s cannot be restored: %s; nothing was changed", e.Path, e.Detail)
}

// Unwrap returns the cause.
func (e *UnfitError) Unwrap() error { return e.Err }

// unfit puts what was found in a copy into words about the file that the user
// named, whose advice is not that of the database in use.
func unfit(path string, err error) error {
	out := &UnfitError{Path: path, Detail: err.Error(), Err: err}
	if d, ok := errors.AsType[*DamagedError](err); ok {
		out.Detail, out.Err = d.Detail, ErrDamaged
	}
	if n, ok := errors.AsType[*NewerError](err); ok {
		out.Detail, out.Err = fmt.Sprintf("it was made by a newer version of Breakwater (schema %d, this version knows %d)", n.Schema, n.Known), ErrNewer
	}
	return out
}

// ErrDamaged is what every DamagedError is.
var ErrDamaged = errors.New("the database is damaged")

// DamagedError tells which file cannot be trusted and why. The file is kept as
// it was found (case P51).
type DamagedError struct {
	Path   string
	Detail string
}

// Error names the file, the finding and what the user can do.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("%v: %s: %s; the file was left as it is, move it away to start with an empty one", ErrDamaged, e.Path, e.Detail)
}

// Is reports whether target is ErrDamaged.
func (e *DamagedError) Is(target error) bool { return target == ErrDamaged }

func damage(path, format string, args ...any) *DamagedError {
	return &DamagedError{Path: path, Detail: fmt.Sprintf(format, args...)}
}

// SQLite's primary result codes that this package tells apart.
const (
	codeCorrupt = 11
	codeNotADB  = 26
)

// sqliteCode returns SQLite's primary result code, 0 when err has none.
func sqliteCode(err error) int {
	var coded interface{ Code() int }
	if errors.As(err, &coded) {
		return coded.Code() & 0xff
	}
	return 0
}

// classify turns SQLite's own words for a damaged file into a DamagedError.
func classify(path string, err error) error {
	switch sqliteCode(err) {
	case codeCorrupt, codeNotADB:
		return damage(path, "%v", err)
	}
	return err
}

// seen looks at the error of a running store: the first sign of damage stops
// all writing.
func (s *Store) seen(err error) error {
	err = classify(s.path, err)
	var d *DamagedError
	if errors.As(err, &d) && s.damaged.CompareAndSwap(nil, d) {
		s.log.Error("database damaged, no more writes", "path", d.Path, "detail", d.Detail)
	}
	return err
}
