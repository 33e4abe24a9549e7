package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gorm.io/gorm"

	"breakwater/proxy/control"
	"breakwater/proxy/folder"
)

// mode says what the connections of the store are opened on.
type mode int32

const (
	inFile   mode = iota // the file, for writing
	asIs                 // the file, for reading: it could not be written at the start
	inMemory             // nothing that is kept: no file could be made at the start
)

// repairLimit is how long a repair waits for readers to end.
const repairLimit = 3 * time.Second

// standIn is a database of this process alone, shared by its connections.
const standIn = "file:/breakwater-%p?vfs=memdb"

// source returns the name under which a pool opens its connections at present.
func (s *Store) source(p pool) string {
	switch mode(s.mode.Load()) {
	case inMemory:
		return fmt.Sprintf(standIn, s)
	case asIs:
		look := lookPool
		if info, err := os.Stat(s.path + "-wal"); err != nil || info.Size() == 0 {
			// Without rights or space SQLite cannot make the files that it wants
			// beside a database, and here it needs none.
			look.params = append(slices.Clone(look.params), "immutable=1")
		}
		return dsn(s.path, look)
	}
	return dsn(s.path, p)
}

// begin gets everything ready for writing. A fault that the user can mend does
// not hold up the start: the store then reads what is there, refuses changes,
// and tries again while it runs (case P52).
func (s *Store) begin(ctx context.Context) (trust, error) {
	t, err := s.prepare(ctx, s.steps)
	if err == nil {
		err = s.settle(ctx)
	}
	if err == nil {
		return t, nil
	}
	if err = s.unwritten(err); !faulty(err) {
		return t, classify(s.path, err)
	}
	if reduced := s.reduce(ctx); reduced != nil {
		return t, errors.Join(err, classify(s.path, reduced))
	}
	s.log.Error("the database cannot be written, changes are refused", "error", err)
	_ = s.wrote(err) // it is remembered and shown
	return t, nil
}

// settle makes the file in its place the one that is written.
func (s *Store) settle(ctx context.Context) error {
	// From here on the file changes, so that its seal would be a lie.
	if err := s.rights(); err != nil {
		return err
	}
	if err := removeSeal(s.path); err != nil {
		return err
	}
	if err := s.reset(ctx, inFile); err != nil {
		return err
	}
	if err := migrate(ctx, s.write, s.path, s.steps, s.now); err != nil {
		return err
	}
	if err := checkSchema(s.write); err != nil {
		if sqliteCode(err) != 0 {
			return err
		}
		return damage(s.path, "%v", err)
	}
	if err := s.try(); err != nil {
		return err
	}
	s.files.learn(s.path)
	return nil
}

// reduce reads the file as it is, or starts with nothing where there is none.
func (s *Store) reduce(ctx context.Context) error {
	if _, err := os.Stat(s.path); err == nil {
		if err := s.reset(ctx, asIs); err != nil {
			return err
		}
		return checkSchema(s.write)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.reset(ctx, inMemory); err != nil {
		return err
	}
	return apply(ctx, s.write, 0, s.steps)
}

// repair makes good what it can before a write is tried again. Only the
// writer's goroutine calls it, and Open before there is one.
func (s *Store) repair(ctx context.Context) error {
	if before := mode(s.mode.Load()); before != inFile {
		_, err := s.prepare(ctx, s.steps)
		if err == nil {
			err = s.settle(ctx)
		}
		if err != nil && mode(s.mode.Load()) != before {
			err = errors.Join(err, s.reduce(ctx))
		}
		return err
	}
	lost := s.files.changed(s.path)
	if len(lost) == 0 {
		return s.rights()
	}
	if err := s.rights(); err != nil {
		return err
	}
	if err := s.putBack(ctx, lost); err != nil {
		return err
	}
	if err := s.reset(ctx, inFile); err != nil {
		return err
	}
	if err := s.try(); err != nil {
		return err
	}
	s.files.learn(s.path)
	s.log.Warn("the database was written back from what is open", "path", s.path, "lost", len(lost))
	return nil
}

// putBack saves what only the open files hold: SQLite's log goes into the
// database, and a database that was deleted is written anew. A file that
// another put in its place is left alone.
func (s *Store) putBack(ctx context.Context, lost []string) error {
	if !slices.Contains(lost, "") {
		return s.write.WithContext(ctx).Exec("PRAGMA wal_checkpoint(TRUNCATE)").Error
	}
	if _, err := os.Lstat(s.path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s is another file now", control.ErrDatabaseGone, s.path)
	}
	if _, err := os.Stat(filepath.Dir(s.path)); err != nil {
		return fmt.Errorf("%w: %w", control.ErrDatabaseGone, err)
	}
	half := s.path + halfSuffix
	if err := folder.Remove(half); err != nil {
		return err
	}
	if err := touchPrivate(half); err != nil {
		return spaceless(err)
	}
	err := s.write.WithContext(ctx).Exec("VACUUM INTO ?", half).Error
	if err == nil {
		err = syncFile(half)
	}
	for _, suffix := range sideFiles { // of the file that is gone: they must not be read into the new one
		err = errors.Join(err, folder.Remove(s.path+suffix))
	}
	if err == nil {
		err = os.Link(half, s.path) // unlike a rename it replaces nothing
	}
	return errors.Join(err, folder.Remove(half))
}

// reset closes all connections at once, so that the next ones open what the
// mode says and is in the folder now: as long as one is open, SQLite shares its files with new
// ones.
func (s *Store) reset(ctx context.Context, next mode) error {
	ctx, cancel := context.WithTimeout(ctx, repairLimit)
	defer cancel()
	if s.writer != nil {
		s.writer.log.reset()
	}
	var held []*sql.Conn
	defer func() {
		for _, c := range held {
			_ = c.Raw(func(any) error { return driver.ErrBadConn }) // so that the pool drops it
		}
	}()
	// A connection is closed first and given up last, with all others.
	for _, p := range []struct {
		g *gorm.DB
		n int
	}{{s.write, writePool.maxOpen}, {s.read, readPool.maxOpen}} {
		db, err := p.g.DB()
		if err != nil {
			return err
		}
		for range p.n {
			c, err := db.Conn(ctx)
			if err != nil {
				if errors.Is(err, context.DeadlineExceeded) {
					return fmt.Errorf("readers of the database did not end: %w", err)
				}
				continue // it cannot be opened as it is, so that there is none to close
			}
			held = append(held, c)
		}
	}
	for _, c := range held {
		_ = c.Raw(func(conn any) error { return conn.(driver.Conn).Close() }) // it holds nothing by now
	}
	s.mode.Store(int32(next))
	return nil
}

// try writes something that is of no use, to see that it can be written.
func (s *Store) try() error {
	return s.write.Exec("INSERT INTO key_value (namespace, key, value) VALUES ('trial', 'written', ?) "+
		"ON CONFLICT (namespace, key) DO UPDATE SET value = excluded.value", s.now().UnixMilli()).Error
}
