package db

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"gorm.io/gorm"
)

// applicationID marks the file as ours (the letters BWKR), so that another
// program's database is never taken for one.
const applicationID = 0x42574b52

// create makes a new database beside its final name and moves it there when it
// is complete: an empty or half-made file under the final name is then always
// a damaged one, never a new one (case P51).
func create(ctx context.Context, path string, steps []migration, log *slog.Logger, now func() time.Time) error {
	if err := setAside(path+"-wal", log); err != nil {
		return err
	}
	fresh := path + ".new"
	for _, leftover := range []string{fresh, fresh + "-wal", fresh + "-shm", fresh + "-journal", path + "-shm", path + "-journal"} {
		if err := os.Remove(leftover); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove a half-made database: %w", err)
		}
	}
	if err := touchPrivate(fresh); err != nil {
		return err
	}
	g, err := openPool(fresh, pool{params: writePool.params[:1], maxOpen: 1, maxIdle: 1}, log, now)
	if err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	// auto_vacuum lets retention shrink the file; it must precede the tables.
	err = g.Exec("PRAGMA auto_vacuum = INCREMENTAL").Error
	if err == nil {
		err = apply(ctx, g, 0, steps)
	}
	if cerr := closePool(g); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	if err := os.Rename(fresh, path); err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	return syncDir(filepath.Dir(path))
}

// setAside keeps the write-ahead log of a file that was moved away: it must
// not be replayed into a new one.
func setAside(wal string, log *slog.Logger) error {
	if _, err := os.Stat(wal); err != nil {
		return nil
	}
	kept := wal + ".old"
	log.Warn("write-ahead log without its database set aside", "path", kept)
	if err := os.Rename(wal, kept); err != nil {
		return fmt.Errorf("set the old write-ahead log aside: %w", err)
	}
	return nil
}

// migrate brings an open database to the newest schema, after a copy of the
// file was made.
func migrate(ctx context.Context, g *gorm.DB, path string, steps []migration, now func() time.Time) error {
	version, err := pragmaInt(g, "user_version")
	if err != nil {
		return err
	}
	if version >= latest(steps) {
		return nil
	}
	if err := backup(ctx, g, path, version, now()); err != nil {
		return err
	}
	return apply(ctx, g, version, steps)
}

// apply runs the steps after version, each in a transaction of its own that
// also stores the version it leads to.
func apply(ctx context.Context, g *gorm.DB, version int, steps []migration) error {
	for i := version; i < len(steps); i++ {
		err := g.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
			for _, stmt := range steps[i].sql {
				if err := tx.Exec(stmt).Error; err != nil {
					return err
				}
			}
			if err := tx.Exec(fmt.Sprintf("PRAGMA application_id = %d", applicationID)).Error; err != nil {
				return err
			}
			return tx.Exec(fmt.Sprintf("PRAGMA user_version = %d", i+1)).Error
		})
		if err != nil {
			return fmt.Errorf("migrate to schema %d (%s): %w", i+1, steps[i].name, err)
		}
	}
	return nil
}

// pragmaInt reads a pragma that answers with one number.
func pragmaInt(g *gorm.DB, name string) (int, error) {
	var n int
	if err := g.Raw("PRAGMA " + name).Scan(&n).Error; err != nil {
		return 0, fmt.Errorf("read %s: %w", name, err)
	}
	return n, nil
}
