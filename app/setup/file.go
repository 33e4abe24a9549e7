package setup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxFile bounds a settings file, in bytes.
const maxFile = 8 << 20

// settingsFile is a file as it was read.
type settingsFile struct {
	path   string // behind all links
	text   []byte
	mode   fs.FileMode
	exists bool
	info   fs.FileInfo
}

// errRaced means that another program changed the file between read and write.
var errRaced = errors.New("another program is changing the file; try again")

// resolve follows links to the file behind them, which need not exist. A link
// into a folder that is not there is refused: nothing tells what it stood for.
func resolve(path string) (string, error) {
	for range 40 {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return filepath.EvalSymlinks(path)
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		if _, err := os.Stat(filepath.Dir(to)); err != nil {
			return "", fmt.Errorf("it is a link into a folder that is not there: %s", to)
		}
		path = to
	}
	return "", errors.New("too many links")
}

// isLink reports whether a path is a link, wherever it leads.
func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// load reads a settings file through its links; one that is missing is empty.
func load(path string) (settingsFile, error) {
	to, err := resolve(path)
	if err != nil {
		return settingsFile{}, err
	}
	f := settingsFile{path: to}
	info, err := os.Stat(to)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, err
	}
	if !info.Mode().IsRegular() {
		return f, errors.New("it is not a plain file")
	}
	f.text, err = readAtMost(to, maxFile)
	f.mode, f.exists, f.info = info.Mode().Perm(), true, info
	return f, err
}

func readAtMost(path string, limit int64) ([]byte, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("it is larger than %d MB", limit>>20)
	}
	return text, err
}

// readOnly reports whether its owner made the file read-only.
func (f settingsFile) readOnly() bool { return f.exists && f.mode&0o200 == 0 }

// unchanged reports whether the file still is as it was read.
func (f settingsFile) unchanged() bool {
	now, err := load(f.path)
	return err == nil && now.exists == f.exists && bytes.Equal(now.text, f.text) && (!f.exists || os.SameFile(now.info, f.info))
}

// replace writes new text whole or not at all, if the file still is as it was
// read (errRaced). Its mode and owner stay.
func (f settingsFile) replace(text []byte) error {
	temp, err := temporary(f.path, text, f.mode)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp) }() // it is gone once renamed
	if f.exists {
		if err := keepOwner(temp, f.info); err != nil {
			return fmt.Errorf("keep the file's owner: %w", err)
		}
	}
	if !f.unchanged() {
		return errRaced
	}
	if f.exists {
		err = os.Rename(temp, f.path)
	} else if err = os.Link(temp, f.path); err != nil { // a link never replaces what has come meanwhile
		if errors.Is(err, fs.ErrExist) {
			return errRaced
		}
		err = os.Rename(temp, f.path)
	}
	if err == nil {
		syncDir(filepath.Dir(f.path))
	}
	return err
}

// remove deletes the file if it still is as it was read (errRaced).
func (f settingsFile) remove() error {
	if !f.unchanged() {
		return errRaced
	}
	return os.Remove(f.path)
}

// temporary writes a file beside another one; mode 0 makes a private one.
func temporary(path string, text []byte, mode fs.FileMode) (string, error) {
	if mode == 0 {
		mode = 0o600
	}
	out, err := os.CreateTemp(filepath.Dir(path), "."+strings.TrimPrefix(filepath.Base(path), ".")+".*")
	if err != nil {
		return "", err
	}
	_, err = out.Write(text)
	if err = errors.Join(err, out.Chmod(mode), out.Sync(), out.Close()); err != nil {
		_ = os.Remove(out.Name())
		return "", err
	}
	return out.Name(), nil
}

// writeWhole replaces one of our own files, atomically.
func writeWhole(path string, text []byte) error {
	temp, err := temporary(path, text, 0o600)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		_ = os.Remove(temp)
		return err
	}
	syncDir(filepath.Dir(path))
	return nil
}

// syncDir makes a rename last through a power cut, where the system can.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

// makeDir makes a folder and returns the topmost one that was missing.
func makeDir(dir string) (made string, err error) {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); err == nil || at == filepath.Dir(at) {
			break
		}
		made = at
	}
	return made, os.MkdirAll(dir, 0o700)
}

// removeEmpty deletes a folder that was made, and those between, while empty.
func removeEmpty(dir, top string) {
	for top != "" && len(dir) >= len(top) && strings.HasPrefix(dir, top) && os.Remove(dir) == nil {
		dir = filepath.Dir(dir)
	}
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}
