package db

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"gorm.io/gorm"
)

// quickLimit is the file size in bytes up to which SQLite's own check runs
// before the start; larger files are checked beside the running program.
const quickLimit = 64 << 20

// trust says how much of a file was checked before it was opened.
type trust int

const (
	untrusted trust = iota // only the small tables were checked
	trusted
)

// magic begins every SQLite file.
var magic = []byte("SQLite format 3\x00")

// coreTables are the small tables, checked at every unclean start.
var coreTables = []string{"provider_connections", "domain_circuit_breakers", "key_value"}

// inspect decides whether an existing file may be opened for writing. It reads
// only, so that a damaged file stays as it is (case P51).
func inspect(ctx context.Context, path string, known int, log *slog.Logger) (trust, error) {
	size, err := checkHeader(path)
	if err != nil {
		return untrusted, err
	}
	if err := recoverJournal(ctx, path, log); err != nil {
		return untrusted, classify(path, err)
	}
	g, err := openPool(path, lookPool, log, time.Now)
	if err != nil {
		return untrusted, classify(path, err)
	}
	defer func() { _ = closePool(g) }()
	g = g.WithContext(ctx)
	if err := checkOwner(g, path, known); err != nil {
		return untrusted, err
	}
	return checkContent(g, path, size, log)
}

// checkHeader tells an empty, cut or foreign file from a database without
// SQLite, which takes an empty file for a new one.
func checkHeader(path string) (size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("database file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, fmt.Errorf("database file: %w", err)
	}
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(f, head); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, damage(path, "the file has only %d bytes", info.Size())
	} else if err != nil {
		return 0, fmt.Errorf("database file: %w", err)
	}
	if !bytes.Equal(head, magic) {
		return 0, damage(path, "the file does not begin like a database")
	}
	return info.Size(), nil
}

// recoverJournal lets SQLite undo a write that a crash during a clean stop cut
// short; a read-only connection cannot.
func recoverJournal(ctx context.Context, path string, log *slog.Logger) error {
	info, err := os.Stat(path + "-journal")
	if err != nil || info.Size() == 0 {
		return nil
	}
	g, err := openPool(path, pool{params: writePool.params[:1], maxOpen: 1, maxIdle: 1}, log, time.Now)
	if err != nil {
		return err
	}
	defer func() { _ = closePool(g) }()
	_, err = pragmaInt(g.WithContext(ctx), "user_version")
	return err
}

// checkOwner refuses files of newer versions and of other programs.
func checkOwner(g *gorm.DB, path string, known int) error {
	id, err := pragmaInt(g, "application_id")
	if err != nil {
		return classify(path, err)
	}
	version, err := pragmaInt(g, "user_version")
	if err != nil {
		return classify(path, err)
	}
	switch {
	case id != applicationID || version < 1:
		return damage(path, "the file is not a database of Breakwater")
	case version > known:
		return &NewerError{Path: path, Schema: version, Known: known}
	}
	return nil
}

// checkContent compares the file with its seal, or has SQLite check it where
// there is none because the last stop was not clean.
func checkContent(g *gorm.DB, path string, size int64, log *slog.Logger) (trust, error) {
	stored, sealed := readSeal(path)
	if sealed {
		found, err := takeSeal(path)
		if err != nil {
			return untrusted, fmt.Errorf("database file: %w", err)
		}
		switch {
		case found == stored:
			return trusted, nil
		case found.Changes == stored.Changes:
			return untrusted, damage(path, "bytes were overwritten while Breakwater was not running")
		}
		// Somebody wrote to it with SQLite, or put a copy in its place.
		log.Warn("database was changed by another program", "path", path)
	}
	if size <= quickLimit {
		return trusted, quickCheck(g, path, "")
	}
	for _, table := range coreTables {
		if err := quickCheck(g, path, table); err != nil {
			return untrusted, err
		}
	}
	return untrusted, nil
}

// quickCheck runs SQLite's structure check on one table, or on the whole file.
func quickCheck(g *gorm.DB, path, table string) error {
	query := "PRAGMA quick_check(1)"
	if table != "" {
		query = "PRAGMA quick_check('" + table + "')"
	}
	var found []string
	if err := g.Raw(query).Scan(&found).Error; err != nil {
		return classify(path, err)
	}
	if !slices.Equal(found, []string{"ok"}) {
		return damage(path, "%q", found)
	}
	return nil
}

// checkSchema makes sure that every table has the columns we use, so that a
// file that lost some is refused at the start and not in mid-request.
func checkSchema(g *gorm.DB) error {
	for _, m := range models {
		stmt := &gorm.Statement{DB: g}
		if err := stmt.Parse(m); err != nil {
			return err
		}
		var have []string
		if err := g.Raw("SELECT name FROM pragma_table_info(?)", stmt.Schema.Table).Scan(&have).Error; err != nil {
			return err
		}
		for _, want := range stmt.Schema.DBNames {
			if !slices.Contains(have, want) {
				return fmt.Errorf("table %s has no column %s", stmt.Schema.Table, want)
			}
		}
	}
	return nil
}

// startBackgroundCheck checks a large file that was not closed cleanly while
// the program already runs.
func (s *Store) startBackgroundCheck(t trust) {
	ctx, cancel := context.WithCancel(context.Background())
	s.stopCheck = cancel
	if t == trusted {
		return
	}
	s.checking.Go(func() {
		if err := quickCheck(s.read.WithContext(ctx), s.path, ""); err != nil && ctx.Err() == nil {
			_ = s.seen(err) // it logs and stops the writing
		}
	})
}
