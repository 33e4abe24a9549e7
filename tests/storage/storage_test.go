//go:build !windows

package storage

import (
	"bytes"
	"database/sql"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	_ "github.com/glebarez/sqlite"
)

const database = "breakwater.db"

// fault is something that happens to the files of a running program.
type fault struct {
	name   string
	begin  func(p *program)
	end    func(p *program)
	kind   string // of the state; empty where it mends itself
	code   string // of the refusal
	doctor string
}

func move(p *program, from, to string) {
	p.t.Helper()
	if err := os.Rename(from, to); err != nil {
		p.t.Fatal(err)
	}
}

func remove(p *program, names ...string) {
	p.t.Helper()
	for _, name := range names {
		if err := os.Remove(p.path(name)); err != nil {
			p.t.Fatal(err)
		}
	}
}

func nothing(*program) {}

var faults = []fault{
	{"the folder cannot be written", func(p *program) { p.chmod("", 0o500) }, (*program).allow, "read_only", "READ_ONLY", "permission denied"},
	{"the file cannot be written", func(p *program) { p.chmod(database, 0o400) }, (*program).allow, "read_only", "READ_ONLY", "permission denied"},
	{"SQLite's log alone cannot be written", func(p *program) { p.chmod(database+"-wal", 0o400) }, (*program).allow, "read_only", "READ_ONLY", "cannot be saved"},
	{"the folder was moved away", func(p *program) { move(p, p.data, p.data+".away") }, func(p *program) { move(p, p.data+".away", p.data) }, "database_gone", "DATABASE_GONE", ""},
	{"another file is in its place", func(p *program) {
		move(p, p.path(database), p.data+".kept")
		content, err := os.ReadFile(p.data + ".kept")
		if err == nil {
			err = os.WriteFile(p.path(database), content, 0o666)
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}, func(p *program) { move(p, p.data+".kept", p.path(database)) }, "database_gone", "DATABASE_GONE", "cannot be"},
	{"the file was deleted", func(p *program) { remove(p, database) }, nothing, "", "DATABASE_GONE", ""},
	{"all files were deleted", func(p *program) { remove(p, database, database+"-wal", database+"-shm") }, nothing, "", "DATABASE_GONE", ""},
	{"SQLite's log was deleted", func(p *program) { remove(p, database+"-wal") }, nothing, "", "DATABASE_GONE", ""},
	{"SQLite's index was deleted", func(p *program) { remove(p, database+"-shm") }, nothing, "", "DATABASE_GONE", ""},
}

// Each fault is noticed, no write is accepted that is lost, what was saved
// before is kept, and it saves again within ten seconds, without a restart.
func TestFaultsWhileItRuns(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			p := prepare(t)
			p.begin()
			if status, code := p.save(2001); status != http.StatusOK {
				t.Fatalf("%d %s before the fault", status, code)
			}
			f.begin(p)
			if status, code := p.save(2002); f.kind != "" && (status != http.StatusServiceUnavailable || code != f.code) {
				t.Errorf("%d %s", status, code)
			} else if f.kind == "" && status != http.StatusOK && code != f.code {
				t.Errorf("%d %s", status, code)
			}
			if f.kind != "" {
				p.eventually("the fault shows", within, func() bool { return p.fault() == f.kind })
				if f.doctor != "" {
					if said := p.doctor(); !strings.Contains(said, f.doctor) {
						t.Errorf("the doctor says %s", said)
					}
				}
			}
			if got := p.saved(); f.kind != "" && got != 2001 {
				t.Errorf("after a refusal it is %d", got)
			}
			f.end(p)
			p.eventually("it saves again", within, func() bool {
				status, _ := p.save(2003)
				return status == http.StatusOK && p.fault() == ""
			})
			p.stop(syscall.SIGKILL)
			p.start()
			if got := p.saved(); got != 2003 {
				t.Errorf("after a restart it is %d", got)
			}
		})
	}
}

// In a folder that takes no writes it starts all the same, and saves as soon as
// it may.
func TestStartsWithoutRights(t *testing.T) {
	for name, c := range map[string]struct {
		fresh bool
		kill  bool
		begin func(p *program)
	}{
		"the folder":                  {begin: func(p *program) { p.chmod("", 0o500) }},
		"the file":                    {begin: func(p *program) { p.chmod(database, 0o400) }},
		"both":                        {begin: func(p *program) { p.chmod(database, 0o400); p.chmod("", 0o500) }},
		"an empty folder":             {fresh: true, begin: func(p *program) { p.chmod("", 0o500) }},
		"after a crash, the folder":   {kill: true, begin: func(p *program) { p.chmod("", 0o500) }},
		"after a crash, SQLite's log": {kill: true, begin: func(p *program) { p.chmod(database+"-wal", 0o400) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := prepare(t)
			if !c.fresh {
				p.begin()
				if status, code := p.save(2001); status != http.StatusOK {
					t.Fatalf("%d %s", status, code)
				}
				sig := syscall.SIGTERM
				if c.kill {
					sig = syscall.SIGKILL
				}
				p.stop(sig)
			}
			c.begin(p)
			p.start()
			if !c.fresh {
				if got := p.saved(); got != 2001 {
					t.Errorf("it reads %d", got)
				}
				if kind := p.fault(); kind != "read_only" {
					t.Errorf("the state is %q", kind)
				}
				if status, code := p.save(2002); status != http.StatusServiceUnavailable || code != "READ_ONLY" {
					t.Errorf("%d %s", status, code)
				}
			}
			if said := p.doctor(); !strings.Contains(said, "permission denied") && !strings.Contains(said, "cannot be saved") {
				t.Errorf("the doctor says %s", said)
			}
			p.allow()
			p.eventually("its address is published", within, func() bool { _, err := os.Stat(p.path("instance.addr")); return err == nil })
			p.eventually("the token can be read", within, p.readToken)
			p.eventually("it saves", within, func() bool {
				status, _ := p.save(2003)
				return status == http.StatusOK && p.fault() == ""
			})
			p.stop(syscall.SIGKILL)
			p.start()
			if got := p.saved(); got != 2003 {
				t.Errorf("after a restart it is %d", got)
			}
		})
	}
}

// A database that another program locks is refused with that reason, also where
// it was locked before the start.
func TestLockedByAnotherProgram(t *testing.T) {
	for name, atStart := range map[string]bool{"while it runs": false, "before the start": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := prepare(t)
			p.begin()
			if status, code := p.save(2001); status != http.StatusOK {
				t.Fatalf("%d %s", status, code)
			}
			if atStart {
				p.stop(syscall.SIGTERM)
			}
			release := lock(t, p.path(database))
			if atStart {
				p.start()
			}
			if status, code := p.save(2002); status != http.StatusServiceUnavailable || code != "DATABASE_BUSY" {
				t.Errorf("%d %s", status, code)
			}
			if kind := p.fault(); kind != "database_busy" {
				t.Errorf("the state is %q", kind)
			}
			if said := p.doctor(); !strings.Contains(said, "another program has locked") {
				t.Errorf("the doctor says %s", said)
			}
			if got := p.saved(); got != 2001 {
				t.Errorf("it reads %d", got)
			}
			release()
			p.eventually("it saves again", within, func() bool {
				status, _ := p.save(2003)
				return status == http.StatusOK && p.fault() == ""
			})
			p.stop(syscall.SIGKILL)
			p.start()
			if got := p.saved(); got != 2003 {
				t.Errorf("after a restart it is %d", got)
			}
		})
	}
}

// lock holds a database as another program would, until release.
func lock(t *testing.T, path string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=rw&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err == nil {
		_, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := conn.ExecContext(t.Context(), "ROLLBACK"); err != nil {
			t.Error(err)
		}
		_ = conn.Close()
		_ = db.Close()
	}
}

// On a full disk it starts as it would go on running, and saves when there is
// room.
func TestStartsOnAFullDisk(t *testing.T) {
	for name, sig := range map[string]os.Signal{"after a clean stop": syscall.SIGTERM, "after a crash": syscall.SIGKILL, "for the first time": nil} {
		t.Run(name, func(t *testing.T) {
			p := prepare(t)
			disk(t, p)
			if sig != nil {
				p.begin()
				if status, code := p.save(2001); status != http.StatusOK {
					t.Fatalf("%d %s", status, code)
				}
				p.stop(sig)
			}
			fill(t, p)
			p.start()
			if sig != nil {
				if got := p.saved(); got != 2001 {
					t.Errorf("it reads %d", got)
				}
				// After a crash SQLite's log has room of its own to write to again.
				if status, code := p.save(2002); sig == syscall.SIGKILL && status == http.StatusOK {
					if got := p.saved(); got != 2002 {
						t.Errorf("what was accepted is %d", got)
					}
				} else if status != http.StatusInsufficientStorage || code != "DISK_FULL" {
					t.Errorf("%d %s", status, code)
				} else {
					p.eventually("the fault shows", within, func() bool { return p.fault() == "disk_full" })
				}
			}
			if said := p.doctor(); !strings.Contains(said, "disk is full") {
				t.Errorf("the doctor says %s", said)
			}
			remove(p, "filler")
			p.eventually("its address is published", within, func() bool { _, err := os.Stat(p.path("instance.addr")); return err == nil })
			p.eventually("the token can be read", within, p.readToken)
			p.eventually("it saves", within, func() bool {
				status, _ := p.save(2003)
				return status == http.StatusOK && p.fault() == ""
			})
			p.stop(syscall.SIGKILL)
			p.start()
			if got := p.saved(); got != 2003 {
				t.Errorf("after a restart it is %d", got)
			}
		})
	}
}

// fill takes all room of the small disk.
func fill(t *testing.T, p *program) {
	t.Helper()
	f, err := os.Create(p.path("filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{64 << 10, 512, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

// A file of secrets that cannot be written is written anew; where the folder
// forbids that, the key is refused and not lost in silence.
func TestSecretsThatCannotBeWritten(t *testing.T) {
	const key = `{"provider":"openai","name":"Work","apiKey":"fake-key-for-a-test"}`
	for name, c := range map[string]struct {
		path   string
		mode   os.FileMode
		status int
	}{
		"the file":   {"secrets.enc", 0o400, http.StatusCreated},
		"its key":    {"secrets.key", 0o400, http.StatusCreated},
		"the folder": {"", 0o500, http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := prepare(t)
			p.begin()
			p.chmod(c.path, c.mode)
			status, out := p.call(http.MethodPost, "/api/providers", key)
			if status != c.status || status >= 500 && !bytes.Contains(out, []byte("READ_ONLY")) {
				t.Errorf("%d %s", status, out)
			}
			p.allow()
			p.stop(syscall.SIGKILL)
			p.start()
			_, out = p.call(http.MethodGet, "/api/state", "")
			if kept := bytes.Contains(out, []byte(`"hasSecret":true`)); kept != (status < 300) {
				t.Errorf("answered %d, kept %v: %s", status, kept, out)
			}
		})
	}
}

// Rights of others are taken away at the start, and the user is told.
func TestRightsAreTightened(t *testing.T) {
	p := prepare(t)
	p.begin()
	p.stop(syscall.SIGTERM)
	loose := map[string]os.FileMode{"": 0o755, database: 0o644, "secrets.enc": 0o666, "secrets.key": 0o604}
	for name, mode := range loose {
		p.chmod(name, mode)
	}
	p.start()
	for name := range loose {
		info, err := os.Stat(p.path(name))
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%q has %v, %v", filepath.Join(p.data, name), info.Mode(), err)
		}
	}
	if _, out := p.call(http.MethodGet, "/api/state", ""); !bytes.Contains(out, []byte("permissions_tightened")) {
		t.Errorf("the state says nothing: %s", out)
	}
}
