package proxy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"breakwater/proxy/folder"
)

// The files by which the programs of one data directory know of each other.
const (
	instanceLock    = "instance.lock"
	instanceAddress = "instance.addr"
)

// Instance is the lock that makes a data directory the property of one running
// program.
type Instance struct {
	lock *flock.Flock
	file *flock.Flock // taken by Publish where lock is that of the folder
	addr string
}

// RunningError tells that another Breakwater uses the data directory; URL is
// where it answers.
type RunningError struct{ URL string }

// Error says where the running one answers.
func (e *RunningError) Error() string { return "Breakwater is already running at " + e.URL }

// errTaken means that another process holds the lock of the instance.
var errTaken = errors.New("the data directory is in use")

// Claim takes the data directory, which must exist. It returns a *RunningError
// when another process has it.
func Claim(dir string) (*Instance, error) {
	var lock *flock.Flock
	err := alone(dir, func() (err error) {
		lock, err = take(dir)
		return err
	})
	if errors.Is(err, errTaken) {
		url, err := Address(dir)
		if err != nil {
			url = "an address that is not known yet"
		}
		return nil, &RunningError{URL: url}
	}
	if err != nil {
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	i := &Instance{lock: lock, addr: filepath.Join(dir, instanceAddress)}
	// That of a program that was killed would lead to whoever listens there now.
	// Where it cannot be removed, no address can be published either.
	_ = folder.Remove(i.addr)
	return i, nil
}

// Running reports whether a program uses the data directory, and leaves
// everything as it is.
func Running(dir string) (bool, error) {
	err := alone(dir, func() error {
		lock, err := take(dir)
		if err != nil {
			return err
		}
		return lock.Unlock()
	})
	switch {
	case errors.Is(err, errTaken):
		return true, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, fmt.Errorf("look at the lock of the data directory: %w", err)
	}
	return false, nil
}

// alone runs fn under the lock of the folder: a look at the lock of the
// instance must not keep a program from starting at the same moment. Where the
// folder cannot be locked, because it is read-only or the disk is full, fn runs
// all the same.
func alone(dir string, fn func() error) error {
	unlock, err := folder.Lock(context.Background(), dir)
	switch {
	case err == nil:
		defer unlock()
	case errors.Is(err, folder.ErrBusy), errors.Is(err, folder.ErrNotPlain):
		return err
	}
	return fn()
}

// take takes the lock of the instance, or fails with errTaken.
func take(dir string) (*flock.Flock, error) {
	lock, err := folder.Exclusive(filepath.Join(dir, instanceLock))
	if _, missing := os.Lstat(filepath.Join(dir, instanceLock)); err != nil && errors.Is(missing, fs.ErrNotExist) {
		// No file can be made in a folder that takes no writes, or on a full disk;
		// the folder itself can be locked all the same (case P52).
		lock = flock.New(dir, flock.SetFlag(os.O_RDONLY))
		var ok bool
		if ok, err = lock.TryLock(); !ok {
			_ = lock.Unlock() // closes the folder
			lock = nil
		}
	}
	if err == nil && lock == nil {
		err = errTaken
	}
	return lock, err
}

// Address returns where the Breakwater that uses the data directory answers.
func Address(dir string) (string, error) {
	url, err := folder.Read(filepath.Join(dir, instanceAddress))
	if errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("no Breakwater is running with this data folder")
	}
	return strings.TrimSpace(string(url)), err
}

// Publish writes the address under which this program answers, for a second
// start and for the command line.
func (i *Instance) Publish(url string) error {
	err := folder.Change(context.Background(), filepath.Dir(i.addr), func() (err error) {
		if i.lock.Path() == filepath.Dir(i.addr) && i.file == nil {
			// Others look at the file as soon as there can be one.
			if i.file, err = folder.Exclusive(filepath.Join(i.lock.Path(), instanceLock)); err != nil {
				return err
			}
		}
		return folder.Write(i.addr, []byte(url+"\n"))
	})
	if err != nil {
		// An old address would lead astray.
		return fmt.Errorf("publish the address: %w", errors.Join(err, folder.Remove(i.addr)))
	}
	return nil
}

// Release gives the data directory back.
func (i *Instance) Release() error {
	err := errors.Join(folder.Remove(i.addr), i.lock.Unlock())
	if i.file != nil {
		err = errors.Join(err, i.file.Unlock())
	}
	return err
}
