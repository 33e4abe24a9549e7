package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// Writable tries whether the database of a folder can be opened for writing and
// whether the folder takes another file, which is removed again. The error is
// control.ErrDiskFull where there is no space.
func Writable(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, FileName), os.O_RDWR, 0)
	if err == nil {
		err = f.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return tryToWrite(dir)
}

// Examine looks through a whole database without writing to it, whether a
// Breakwater uses it or not, and tells its size and schema. The error says
// what is wrong: ErrDamaged, ErrNewer, or that it cannot be read.
func Examine(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, FileName)
	size, err := checkHeader(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "there is none yet", nil
	}
	if err != nil {
		return "", err
	}
	g, err := openPool(path, lookPool, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		return "", classify(path, err)
	}
	defer func() { _ = closePool(g) }()
	g = g.WithContext(ctx)
	if err := checkOwner(g, path, latest(migrations)); err != nil {
		return "", err
	}
	if err := quickCheck(g, path, ""); err != nil {
		return "", err
	}
	version, err := pragmaInt(g, "user_version")
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(path + "-wal"); err == nil {
		size += info.Size()
	}
	return fmt.Sprintf("whole, schema %d, %d KiB", version, size>>10), nil
}
