package proxy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// Instance is the lock that makes a data directory the property of one running
// program.
type Instance struct {
	lock *flock.Flock
	addr string
}

// RunningError tells that another Breakwater uses the data directory; URL is
// where it answers.
type RunningError struct{ URL string }

// Error says where the running one answers.
func (e *RunningError) Error() string { return "Breakwater is already running at " + e.URL }

// Claim takes the data directory. It returns a *RunningError when another
// process has it.
func Claim(dir string) (*Instance, error) {
	i := &Instance{lock: flock.New(filepath.Join(dir, "instance.lock")), addr: filepath.Join(dir, "instance.addr")}
	ok, err := i.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	if !ok {
		url, err := Address(dir)
		if err != nil {
			url = "an address that is not known yet"
		}
		return nil, &RunningError{URL: url}
	}
	return i, nil
}

// Address returns where the Breakwater that uses the data directory answers.
func Address(dir string) (string, error) {
	url, err := os.ReadFile(filepath.Join(dir, "instance.addr"))
	if errors.Is(err, os.ErrNotExist) {
		return "", errors.New("no Breakwater is running with this data folder")
	}
	return strings.TrimSpace(string(url)), err
}

// Publish writes the address under which this program answers, for a second
// start and for the command line.
func (i *Instance) Publish(url string) error {
	tmp := i.addr + ".new"
	err := os.WriteFile(tmp, []byte(url+"\n"), 0o600)
	if err == nil {
		err = os.Rename(tmp, i.addr)
	}
	if err != nil {
		// An old address, or a part of this one, would lead astray.
		return fmt.Errorf("publish the address: %w", errors.Join(err, remove(tmp), remove(i.addr)))
	}
	return nil
}

// remove deletes a file that may be missing.
func remove(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Release gives the data directory back.
func (i *Instance) Release() error {
	if err := remove(i.addr); err != nil {
		return err
	}
	return i.lock.Unlock()
}
