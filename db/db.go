// Package db keeps what must survive a restart: connections, breakers, settings
// and activity in one SQLite file, and the secrets in the system's keychain or
// an encrypted file.
package db

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"breakwater/proxy/control"
)

// FileName is the name of the database inside the data directory, LogName that
// of the program's log.
const (
	FileName = "breakwater.db"
	LogName  = "breakwater.log"
)

// Options say where the database lies and what it runs with.
type Options struct {
	Dir string           // the data directory; made with mode 0700 when absent
	Now func() time.Time // nil is time.Now; only created and updated stamps use it
	Log *slog.Logger     // nil is slog.Default
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// Store is the database. It implements control.Store and is safe for use by
// several goroutines.
type Store struct {
	path string
	log  *slog.Logger
	now  func() time.Time

	steps []migration
	files identity     // which files are open
	mode  atomic.Int32 // what the connections are opened on

	// One connection writes and a small pool reads: SQLite has one writer, and
	// waiting in database/sql is kinder than waiting for a file lock.
	write, read *gorm.DB
	writer      *writer

	tightened int // files that others could read before the start

	damaged   atomic.Pointer[DamagedError]
	refused   atomic.Pointer[control.Notice] // why the file takes no writes at present
	onNotice  atomic.Pointer[func()]
	stopCheck context.CancelFunc
	checking  sync.WaitGroup
	closeOnce sync.Once
	closeErr  error
}

var _ control.Store = (*Store)(nil)

// Open opens the database of a data directory, making it when there is none.
// It returns ErrNewer for a file of a newer version and ErrDamaged for one that
// cannot be trusted; in both cases the file stays as it was (case P51).
func Open(ctx context.Context, o Options) (*Store, error) {
	return openWith(ctx, o, migrations)
}

// openWith opens with a given list of migrations, so that tests can have a
// future.
func openWith(ctx context.Context, o Options, steps []migration) (*Store, error) {
	o = o.withDefaults()
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	tightened := tighten(o.Dir, o.Log)
	removeLeftovers(ctx, o.Dir, o.Log)
	path := filepath.Join(o.Dir, FileName)
	s := &Store{path: path, log: o.Log, now: o.Now, steps: steps, tightened: tightened}

	s.mode.Store(int32(inMemory)) // until the file was looked at
	if err := s.connect(); err != nil {
		return nil, classify(path, err)
	}
	trust, err := s.begin(ctx)
	if err != nil {
		s.disconnect()
		return nil, err
	}
	s.writer = newWriter(s)       //nolint:contextcheck // it outlives the start
	s.startBackgroundCheck(trust) //nolint:contextcheck // it outlives the start
	return s, nil
}

// prepare makes a new file, or looks at an existing one without writing to it.
func (s *Store) prepare(ctx context.Context, steps []migration) (trust, error) {
	_, err := os.Stat(s.path)
	if errors.Is(err, os.ErrNotExist) {
		return trusted, create(ctx, s.path, steps, s.log, s.now)
	}
	if err != nil {
		return untrusted, fmt.Errorf("database file: %w", err)
	}
	return inspect(ctx, s.path, latest(steps), s.log)
}

func (s *Store) connect() (err error) {
	if s.write, err = openPoolOn(func() string { return s.source(writePool) }, writePool, s.log, s.now); err != nil {
		return err
	}
	if s.read, err = openPoolOn(func() string { return s.source(readPool) }, readPool, s.log, s.now); err != nil {
		_ = closePool(s.write)
		return err
	}
	return nil
}

func (s *Store) disconnect() {
	_ = closePool(s.read)
	_ = closePool(s.write)
}

// Path returns where the database file is.
func (s *Store) Path() string { return s.path }

// Lost returns how many activity rows could not be kept since the start: the
// disk was full, the file was damaged, or the queue was.
func (s *Store) Lost() int64 { return s.writer.lost.Load() }

// Damaged returns what was found wrong with the file while it was in use, or
// nil. A damaged store writes no more.
func (s *Store) Damaged() error {
	if d := s.damaged.Load(); d != nil {
		return d
	}
	return nil
}

// Notices returns what the user should know of the store: lost activity and
// damage found at run time (cases P51 and P52). It is empty when all is well.
func (s *Store) Notices() []control.Notice {
	var list []control.Notice
	if d := s.damaged.Load(); d != nil {
		list = append(list, control.Notice{Code: "database_damaged", Text: "The database is damaged and no longer written: " + d.Path + ". Requests go on; changes are lost at the next start."})
	}
	if n := s.refused.Load(); n != nil {
		list = append(list, *n)
	}
	if s.tightened > 0 {
		list = append(list, control.Notice{Code: "permissions_tightened", Text: "Other users of this computer could read or change files in the data folder. Only you can now; if others use this computer, replace the keys that are stored."})
	}
	if n := s.Lost(); n > 0 {
		list = append(list, control.Notice{Code: "activity_lost", Text: fmt.Sprintf("%d rows of activity could not be stored. Requests go on; check the free space of the disk.", n)})
	}
	return list
}

// Flush waits until everything queued so far has been written, or until ctx
// ends.
func (s *Store) Flush(ctx context.Context) error { return s.writer.flushWait(ctx) }

// Close writes what is queued and closes the file. Later calls return the
// first one's result; queued writes after it are counted as lost.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		s.stopCheck()
		s.checking.Wait()
		s.writer.close()
		_ = closePool(s.read)
		s.closeErr = s.closeWriter()
	})
	return s.closeErr
}

// closeWriter leaves a single file at rest and seals it, unless something is
// wrong or somebody else still reads it.
func (s *Store) closeWriter() error {
	single := s.damaged.Load() == nil && mode(s.mode.Load()) == inFile && s.standing() == nil && leaveWAL(s.write)
	if err := closePool(s.write); err != nil {
		return fmt.Errorf("close database: %w", err)
	}
	if !single {
		return nil
	}
	if err := writeSeal(s.path); err != nil {
		// Without a seal the next start checks the file the long way.
		s.log.Warn("database seal not written", "error", err)
	}
	return nil
}
