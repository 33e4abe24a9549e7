package db

import (
	"fmt"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// prepared is one statement that stays compiled, on a connection of its own. The
// driver compiles a statement anew each time it runs, which takes longer than
// writing a row; so the one that runs for every request goes to the library
// beneath the driver. It is not safe for use by several goroutines.
type prepared struct {
	tls  *libc.TLS // what the library keeps for its caller
	conn uintptr
	stmt uintptr
	text []byte // the texts of one run
}

// cell is the value of one parameter.
type cell struct {
	kind   cellKind
	number int64
	text   string
}

type cellKind uint8

const (
	nullCell cellKind = iota
	numberCell
	textCell
)

// number is a whole number.
func number(n int64) cell { return cell{kind: numberCell, number: n} }

// known is a count, NULL where none was told.
func known(n int64) cell {
	if n == 0 {
		return cell{}
	}
	return number(n)
}

// yes is a switch.
func yes(on bool) cell {
	if on {
		return number(1)
	}
	return number(0)
}

func text(s string) cell { return cell{kind: textCell, text: s} }

// sqliteError is an error of SQLite in the form in which the driver has them.
type sqliteError struct {
	code int
	text string
}

// Error is SQLite's own text.
func (e *sqliteError) Error() string { return fmt.Sprintf("%s (%d)", e.text, e.code) }

// Code is SQLite's result code.
func (e *sqliteError) Code() int { return e.code }

// prepare opens the database at path for writing, runs the pragmas and compiles
// the statement.
func prepare(path, query string, pragmas []string) (*prepared, error) {
	p := &prepared{tls: libc.NewTLS()}
	err := p.open(path, pragmas)
	if err == nil {
		err = p.obtain(&p.stmt, query, func(text, out uintptr) int32 {
			return sqlite3.Xsqlite3_prepare_v2(p.tls, p.conn, text, -1, out, 0)
		})
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *prepared) open(path string, pragmas []string) error {
	const flags = sqlite3.SQLITE_OPEN_READWRITE | sqlite3.SQLITE_OPEN_NOMUTEX
	err := p.obtain(&p.conn, path, func(name, out uintptr) int32 {
		return sqlite3.Xsqlite3_open_v2(p.tls, name, out, flags, 0)
	})
	for _, pragma := range pragmas {
		if err == nil {
			err = p.exec("PRAGMA " + pragma)
		}
	}
	return err
}

// obtain calls a function of the library that takes a text and stores a handle.
func (p *prepared) obtain(handle *uintptr, from string, call func(text, out uintptr) int32) error {
	in, err := libc.CString(from)
	if err != nil {
		return err
	}
	defer libc.Xfree(p.tls, in)
	out, err := libc.CString("a handle") // room for one
	if err != nil {
		return err
	}
	defer libc.Xfree(p.tls, out)
	rc := call(in, out)
	*handle = libc.AtomicLoadPUintptr(out) // a connection that failed to open has one, too
	return p.check(rc)
}

// check turns a result code into an error.
func (p *prepared) check(rc int32) error {
	switch rc {
	case sqlite3.SQLITE_OK, sqlite3.SQLITE_DONE, sqlite3.SQLITE_ROW:
		return nil
	}
	return &sqliteError{int(rc), libc.GoString(sqlite3.Xsqlite3_errmsg(p.tls, p.conn))}
}

// exec runs another statement, which returns nothing of interest.
func (p *prepared) exec(query string) error {
	q, err := libc.CString(query)
	if err != nil {
		return err
	}
	defer libc.Xfree(p.tls, q)
	return p.check(sqlite3.Xsqlite3_exec(p.tls, p.conn, q, 0, 0, 0))
}

// run runs the statement with these values and returns how many rows it
// changed.
func (p *prepared) run(cells []cell) (changed int, err error) {
	p.text = p.text[:0]
	for i := range cells {
		p.text = append(p.text, cells[i].text...)
	}
	texts, err := libc.CString(string(p.text))
	if err != nil {
		return 0, err
	}
	defer libc.Xfree(p.tls, texts) // no run reads an earlier one's values
	if err := p.bind(cells, texts); err != nil {
		return 0, err
	}
	err = p.check(sqlite3.Xsqlite3_step(p.tls, p.stmt))
	changed = int(sqlite3.Xsqlite3_changes(p.tls, p.conn))
	sqlite3.Xsqlite3_reset(p.tls, p.stmt) // it repeats the error of the step
	return changed, err
}

// bind sets all parameters. The texts stand one behind the other.
func (p *prepared) bind(cells []cell, texts uintptr) error {
	for i := range cells {
		var rc int32
		switch c, at := &cells[i], int32(i+1); c.kind {
		case nullCell:
			rc = sqlite3.Xsqlite3_bind_null(p.tls, p.stmt, at)
		case numberCell:
			rc = sqlite3.Xsqlite3_bind_int64(p.tls, p.stmt, at, c.number)
		case textCell:
			rc = sqlite3.Xsqlite3_bind_text(p.tls, p.stmt, at, texts, int32(len(c.text)), sqlite3.SQLITE_STATIC)
			texts += uintptr(len(c.text))
		}
		if err := p.check(rc); err != nil {
			return err
		}
	}
	return nil
}

// inTransaction reports whether a transaction is open.
func (p *prepared) inTransaction() bool { return sqlite3.Xsqlite3_get_autocommit(p.tls, p.conn) == 0 }

// close gives everything back. What close_v2 says is of no use: the rows are
// committed or lost by now.
func (p *prepared) close() {
	sqlite3.Xsqlite3_finalize(p.tls, p.stmt)
	sqlite3.Xsqlite3_close_v2(p.tls, p.conn)
	p.tls.Close()
}
