// Package logfile keeps a log in a file that changes places before it grows too
// large.
package logfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// Bounds of the log on disk: the file in use and Kept older ones.
const (
	MaxSize = 2 << 20 // bytes
	Kept    = 3
)

// File is a log file. Writing to it never fails: a full or read-only disk must
// not stop what is logged about; what cannot be written is lost and counted.
type File struct {
	path string
	max  int64
	kept int

	mu   sync.Mutex
	f    *os.File
	size int64
	lost int64
}

// Open opens the log at a path for appending. The older ones are path.1, the
// youngest, path.2 and so on. All can be read by their owner only.
func Open(path string) (*File, error) {
	l := &File{path: path, max: MaxSize, kept: Kept}
	return l, l.open()
}

func (l *File) open() error {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("log file: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close() // the first error counts
		return fmt.Errorf("log file: %w", err)
	}
	l.f, l.size = f, info.Size()
	return nil
}

// Write appends whole lines.
func (l *File) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size > 0 && l.size+int64(len(p)) > l.max {
		l.turn()
	}
	if l.f == nil {
		l.lost++
		return len(p), nil
	}
	n, err := l.f.Write(p)
	l.size += int64(n)
	if err != nil {
		l.lost++
	}
	return len(p), nil
}

// turn makes room: each file takes the next older one's place. When that fails
// the present one is cut, so that the log stays bounded in any case.
func (l *File) turn() {
	if l.f != nil {
		_ = l.f.Close() // its lines are written
		l.f = nil
	}
	var failed error
	for i := l.kept; i > 0; i-- {
		older, younger := fmt.Sprintf("%s.%d", l.path, i), l.path
		if i > 1 {
			younger = fmt.Sprintf("%s.%d", l.path, i-1)
		}
		if err := os.Rename(younger, older); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = err
		}
	}
	if failed != nil {
		_ = os.Truncate(l.path, 0) // what else could be done
	}
	l.size = 0
	_ = l.open() // Write counts what is lost
}

// Lost is how many writes did not reach the disk.
func (l *File) Lost() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// Close closes the file; later writes are lost.
func (l *File) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return nil
	}
	err := l.f.Close()
	l.f = nil
	return err
}
