package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
)

// pool says how one set of connections is opened.
type pool struct {
	params  []string // after the file name, in order
	maxOpen int
	maxIdle int
}

var (
	// busy_timeout comes first: the pragmas after it may already have to wait.
	// fullfsync matters on macOS only, where fsync alone promises little.
	// The page caches are small because the whole program shall be (KiB).
	writePool = pool{
		params: []string{
			"_pragma=busy_timeout(5000)", "_pragma=journal_mode(WAL)", "_pragma=synchronous(NORMAL)",
			"_pragma=fullfsync(1)", "_pragma=foreign_keys(1)", "_pragma=cache_size(-512)", "_pragma=journal_size_limit(4194304)", "_txlock=immediate", "mode=rw",
		},
		maxOpen: 1, maxIdle: 1,
	}
	readPool = pool{
		params:  []string{"_pragma=busy_timeout(5000)", "_pragma=query_only(1)", "_pragma=cache_size(-256)", "mode=rw"},
		maxOpen: 2, maxIdle: 1,
	}
	// lookPool cannot write: a file that turns out to be damaged stays as it is.
	lookPool = pool{
		params:  []string{"mode=ro", "_pragma=busy_timeout(5000)", "_pragma=query_only(1)", "_pragma=cache_size(-512)"},
		maxOpen: 1, maxIdle: 1,
	}
)

// pragmas are those of the pool, for a connection that the driver does not open.
func (p pool) pragmas() []string {
	var list []string
	for _, param := range p.params {
		if pragma, ok := strings.CutPrefix(param, "_pragma="); ok {
			list = append(list, pragma)
		}
	}
	return list
}

// dsn returns the name under which the driver opens path.
func dsn(path string, p pool) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") && filepath.IsAbs(path) {
		slashed = "/" + slashed // C:/… must read file:///C:/…
	}
	return "file:" + (&url.URL{Path: slashed}).EscapedPath() + "?" + strings.Join(p.params, "&")
}

// openPool opens connections to path. The driver compiles every statement anew,
// so that GORM's own statement cache would cost a goroutine and save nothing.
func openPool(path string, p pool, log *slog.Logger, now func() time.Time) (*gorm.DB, error) {
	return openPoolOn(func() string { return dsn(path, p) }, p, log, now)
}

// door opens connections on what source names at the time.
type door struct {
	driver driver.Driver
	source func() string
}

// Connect opens a connection.
func (d door) Connect(context.Context) (driver.Conn, error) { return d.driver.Open(d.source()) }

// Driver returns SQLite's.
func (d door) Driver() driver.Driver { return d.driver }

// openPoolOn is openPool for a name that changes while the pool is open.
func openPoolOn(source func() string, p pool, log *slog.Logger, now func() time.Time) (*gorm.DB, error) {
	named, err := sql.Open(sqlite.DriverName, "")
	if err != nil {
		return nil, err
	}
	conns := sql.OpenDB(door{named.Driver(), source})
	_ = named.Close() // it has opened nothing
	conns.SetMaxOpenConns(p.maxOpen)
	conns.SetMaxIdleConns(p.maxIdle)
	g, err := gorm.Open(sqlite.Dialector{Conn: conns}, &gorm.Config{
		Logger:                 gormLog{log},
		NowFunc:                func() time.Time { return now().UTC() },
		SkipDefaultTransaction: true,
		DisableAutomaticPing:   true,
	})
	if err != nil {
		conns.Close()
		return nil, err
	}
	return g, nil
}

func closePool(g *gorm.DB) error {
	conns, err := g.DB()
	if err != nil {
		return err
	}
	return conns.Close()
}

// leaveWAL folds the write-ahead log into the file and reports whether the file
// is now all there is.
func leaveWAL(g *gorm.DB) bool {
	if err := g.Exec("PRAGMA wal_checkpoint(TRUNCATE)").Error; err != nil {
		return false
	}
	var mode string
	err := g.Raw("PRAGMA journal_mode = DELETE").Scan(&mode).Error
	return err == nil && mode == "delete"
}

// SQLiteVersion returns the version of the SQLite that is linked in.
func SQLiteVersion(ctx context.Context) (string, error) {
	conn, err := sql.Open(sqlite.DriverName, ":memory:")
	if err != nil {
		return "", err
	}
	defer conn.Close()
	var version string
	if err := conn.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return "", fmt.Errorf("ask SQLite for its version: %w", err)
	}
	return version, nil
}
