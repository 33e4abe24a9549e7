package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// LockName is the file in a data folder whose lock a process holds while it
// changes another file of the folder.
const LockName = "instance.files.lock"

const (
	// lockWait is how long a change waits for that of another process: the
	// first start may be waiting for a keychain.
	lockWait = 15 * time.Second
	// lockPause is the pause between two attempts.
	lockPause = 5 * time.Millisecond
)

// ErrBusy means that another process has been changing the folder's files for
// longer than this one waits.
var ErrBusy = errors.New("another process is changing the files of the data folder")

// Lock takes the lock of a data folder, which must exist, and returns what
// gives it back. It excludes other processes and other callers in this one; a
// process that is killed gives it back. It fails with ErrBusy after fifteen
// seconds.
func Lock(ctx context.Context, dir string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lockWait, ErrBusy)
	defer cancel()
	path := filepath.Join(dir, LockName)
	for {
		l, err := Exclusive(path)
		if err != nil {
			return nil, fmt.Errorf("lock the data folder: %w", err)
		}
		if l != nil {
			return func() { _ = l.Unlock() }, nil // the system frees it in any case
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("lock the data folder: %w", context.Cause(ctx))
		case <-time.After(lockPause):
		}
	}
}

// Exclusive tries to lock a lock file, which is made when it is missing. It
// returns nil without an error while somebody else holds the lock. A link or
// anything else in the file's place is refused and not followed.
func Exclusive(path string) (*flock.Flock, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, notPlain(path)
	}
	l := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDONLY|noFollow), flock.SetPermissions(0o600))
	ok, err := l.TryLock()
	if err != nil || !ok {
		_ = l.Unlock() // closes the file
		return nil, err
	}
	// The file may have been deleted, with the folder, between opening and
	// locking: such a lock excludes nobody.
	held, err := l.Stat()
	if err == nil {
		var there fs.FileInfo
		if there, err = os.Lstat(path); err == nil && os.SameFile(held, there) {
			return l, nil
		}
	}
	_ = l.Unlock()
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // documented: not now
	}
	return nil, err
}

// Change runs fn while no other process changes the folder's files.
func Change(ctx context.Context, dir string, fn func() error) error {
	unlock, err := Lock(ctx, dir)
	if err != nil {
		return err
	}
	defer unlock()
	return fn()
}
