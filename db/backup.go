package db

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gorm.io/gorm"
)

// keptBackups is how many copies made before migrations are kept.
const keptBackups = 2

// halfSuffix ends the name of a copy that is being written.
const halfSuffix = ".bak.half"

// backup writes a copy of the whole database beside it before a migration. The
// name sorts by time and tells the schema: breakwater.db.20300102T030405Z.v1.bak.
func backup(ctx context.Context, g *gorm.DB, path string, version int, now time.Time) error {
	name := fmt.Sprintf("%s.%s.v%d.bak", path, now.UTC().Format("20060102T150405Z"), version)
	half := path + halfSuffix
	if err := os.Remove(half); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("copy before migrating: %w", err)
	}
	// VACUUM INTO wants an absent or empty file; ours is private from the start.
	if err := touchPrivate(half); err != nil {
		return fmt.Errorf("copy before migrating: %w", err)
	}
	if err := g.WithContext(ctx).Exec("VACUUM INTO ?", half).Error; err != nil {
		os.Remove(half)
		return fmt.Errorf("copy before migrating: %w", err)
	}
	if err := syncFile(half); err != nil {
		return fmt.Errorf("copy before migrating: %w", err)
	}
	if err := os.Rename(half, name); err != nil {
		return fmt.Errorf("copy before migrating: %w", err)
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return err
	}
	return dropOldBackups(path)
}

func dropOldBackups(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("list copies: %w", err)
	}
	var copies []string
	for _, e := range entries {
		if ok, _ := filepath.Match(FileName+".*.v*.bak", e.Name()); ok {
			copies = append(copies, e.Name())
		}
	}
	slices.Sort(copies)
	for len(copies) > keptBackups {
		if err := os.Remove(filepath.Join(filepath.Dir(path), copies[0])); err != nil {
			return fmt.Errorf("remove an old copy: %w", err)
		}
		copies = copies[1:]
	}
	return nil
}
