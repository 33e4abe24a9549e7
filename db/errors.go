package db

import (
	"errors"
	"fmt"
)

// ErrNewer is returned by Open for a file that a newer version has made.
var ErrNewer = errors.New("the database was made by a newer version of Breakwater")

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
