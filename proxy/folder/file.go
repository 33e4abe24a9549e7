package folder

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// MaxFile bounds in bytes what Read reads: the files of a data folder that it
// is for are small.
const MaxFile = 16 << 20

// Errors of reading, for errors.Is.
var (
	// ErrNotPlain means that a link, a folder, a pipe or a device lies where a
	// file is expected.
	ErrNotPlain = errors.New("it is not a plain file")
	// ErrTooLarge means that a file is larger than its reader allows.
	ErrTooLarge = errors.New("the file is too large")
)

func notPlain(path string) error { return &fs.PathError{Op: "open", Path: path, Err: ErrNotPlain} }

// Temporary is the pattern, for os.CreateTemp, of the names under which a file
// is written before it takes its place.
func Temporary(name string) string { return name + ".*.tmp" }

// Read returns a file of a data folder. A link is not followed; nothing that
// lies in the file's place can hold up the caller. An absent file is
// fs.ErrNotExist.
func Read(path string) ([]byte, error) {
	return readPlain(path, MaxFile, os.Lstat, noFollow)
}

// Write replaces a file in one step: it has the old content or the new one
// after a crash, never half of either. A link in its place is replaced, not
// followed. Only its owner can read it. Callers that read, change and write
// hold the folder's Lock meanwhile.
func Write(path string, content []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), Temporary(filepath.Base(path))) // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// Remove deletes a file; one that is missing is no error. A link is deleted,
// not what it names.
func Remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// SyncDir makes a rename or removal in dir survive a power cut. Windows knows
// no such call and needs none.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// readPlain reads a plain file without waiting for anything that is none: the
// writer of a pipe, or a device.
func readPlain(path string, limit int64, look func(string) (fs.FileInfo, error), flags int) ([]byte, error) {
	// Looked at before as well: opening a device may do something.
	if info, err := look(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, notPlain(path)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlocking|flags, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	switch info, err := f.Stat(); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, notPlain(path)
	case info.Size() > limit:
		return nil, &fs.PathError{Op: "read", Path: path, Err: ErrTooLarge}
	}
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit { // it grew meanwhile
		err = &fs.PathError{Op: "read", Path: path, Err: ErrTooLarge}
	}
	if err != nil {
		return nil, err
	}
	return content, nil
}
