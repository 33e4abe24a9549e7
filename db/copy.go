package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"gorm.io/gorm"

	"breakwater/proxy/control"
)

// copyPool reads a database for a copy of it, whoever else uses it.
var copyPool = pool{params: []string{"mode=ro", "_pragma=busy_timeout(5000)", "_pragma=cache_size(-512)"}, maxOpen: 1, maxIdle: 1}

// Backup writes a copy of the database of a folder to a new file, while a
// Breakwater may use it: everything written before the call is in it. There
// are no secrets in it; those are not in the database.
func Backup(ctx context.Context, dir, to string) error {
	from := filepath.Join(dir, FileName)
	if _, err := checkHeader(from); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("backup: there is no database in %s: %w", dir, fs.ErrNotExist)
	} else if err != nil {
		return err
	}
	if err := touchPrivate(to); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("backup: %s is there already, and nothing is written over; name a new file: %w", to, fs.ErrExist)
	} else if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	err := withFile(ctx, from, copyPool, func(g *gorm.DB) error {
		if err := checkOwner(g, from, latest(migrations)); err != nil {
			return err
		}
		return g.Exec("VACUUM INTO ?", to).Error
	})
	if err == nil {
		err = syncFile(to)
	}
	if err == nil {
		err = syncDir(filepath.Dir(to))
	}
	if err != nil {
		_ = os.Remove(to) // half a copy is worse than none
		return fmt.Errorf("backup: %w", classify(from, err))
	}
	return nil
}

// foldPool opens a copy that is ours so that the file is all there is.
var foldPool = pool{params: []string{"_pragma=busy_timeout(5000)", "_pragma=journal_mode(DELETE)", "_pragma=synchronous(FULL)", "_pragma=cache_size(-512)"}, maxOpen: 1, maxIdle: 1}

func withFile(ctx context.Context, path string, p pool, do func(g *gorm.DB) error) error {
	g, err := openPool(path, p, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		return err
	}
	defer func() { _ = closePool(g) }()
	return do(g.WithContext(ctx))
}

// restoredSuffix ends the name of a copy that is being checked.
const restoredSuffix = ".restored"

// Restore puts a copy in the place of a folder's database, which must not be
// in use. The copy is checked first; then agree is told what changes and may
// stop it with an error. API keys that were revoked since the copy was made come
// back switched off. What was there is kept beside it under the name that is
// returned, empty when there was nothing. It returns an UnfitError for a copy
// that cannot be used.
func Restore(ctx context.Context, dir, from string, agree func(control.RestorePlan) error) (kept string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("restore: %w", err)
	}
	path := filepath.Join(dir, FileName)
	fresh := path + restoredSuffix
	defer func() { _ = removeDatabase(fresh) }() // where it went on, nothing is left of it
	if info, err := os.Stat(from); err == nil && info.IsDir() {
		return "", fmt.Errorf("restore: %s is a folder, not a copy of the database", from)
	}
	if err := copyDatabase(from, fresh); err != nil {
		return "", fmt.Errorf("restore: %w", err)
	}
	if err := checkCopy(ctx, fresh); err != nil {
		if exported(from) {
			err = errors.New("it is an exported configuration, which the window takes (Settings, Backup), or POST /api/import")
		}
		return "", unfit(from, err)
	}
	plan, off, err := planRestore(ctx, path, fresh, time.Now())
	if err != nil {
		return "", unfit(from, err)
	}
	if err := agree(plan); err != nil {
		return "", err
	}
	err = withFile(ctx, fresh, foldPool, func(g *gorm.DB) error { return switchKeysOff(g, off) })
	if err == nil {
		err = syncFile(fresh)
	}
	if err != nil {
		return "", fmt.Errorf("restore: %w", err)
	}
	if kept, err = setDatabaseAside(path, time.Now()); err != nil {
		return "", fmt.Errorf("restore: %w", err)
	}
	if err := os.Rename(fresh, path); err != nil {
		return kept, fmt.Errorf("restore: %w", err)
	}
	return kept, syncDir(dir)
}

// exported reports whether a file is the JSON of an export.
func exported(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var head struct {
		Format *int `json:"format"`
	}
	return json.NewDecoder(io.LimitReader(f, 1<<20)).Decode(&head) == nil && head.Format != nil
}

// parts are the endings of the files that a database is made of: what SQLite
// keeps beside it, and itself.
var parts = []string{"-wal", "-shm", "-journal", ""}

func removeDatabase(path string) (failed error) {
	for _, part := range parts {
		if err := os.Remove(path + part); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// copyDatabase copies a database with what it has not yet taken in from its
// logs: what an earlier restore kept may have them.
func copyDatabase(from, to string) error {
	if err := removeDatabase(to); err != nil {
		return err
	}
	if err := copyFile(from, to); err != nil {
		return err
	}
	for _, part := range []string{"-wal", "-journal"} {
		if err := copyFile(from+part, to+part); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// checkCopy looks through the whole copy that is to be restored.
func checkCopy(ctx context.Context, path string) error {
	if _, err := checkHeader(path); err != nil {
		return err
	}
	err := withFile(ctx, path, foldPool, func(g *gorm.DB) error {
		if err := checkOwner(g, path, latest(migrations)); err != nil {
			return err
		}
		return quickCheck(g, path, "")
	})
	return classify(path, err)
}

// setDatabaseAside renames a database with its logs, so that they still belong
// together, and none of them is played into the file that takes its place. Its seal would be a lie about another file.
func setDatabaseAside(path string, now time.Time) (string, error) {
	if err := removeSeal(path); err != nil {
		return "", err
	}
	kept := path + "." + now.UTC().Format("20060102T150405.000Z") + ".before"
	for _, part := range parts {
		err := os.Rename(path+part, kept+part)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
	}
	if _, err := os.Stat(kept); err != nil {
		return "", nil //nolint:nilerr // there was none
	}
	return kept, nil
}

// copyFile copies into a new private file and waits for the disk.
func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}
