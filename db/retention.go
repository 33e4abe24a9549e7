package db

import (
	"database/sql"
	"fmt"

	"gorm.io/gorm"
)

const (
	trimEvery  = 1024 // rows written between two looks at the limit
	trimRows   = 1000 // rows deleted in one step
	sizeRows   = 100  // the same when the file is too large
	freePages  = 256  // free pages that are not worth giving back
	vacuumStep = 256  // pages given back in one step
)

// SetActivityLimit sets how many rows of activity are kept; rows above it are
// deleted in small steps beside the other work (case P52).
func (s *Store) SetActivityLimit(n int) {
	s.writer.limit.Store(int64(max(n, 0)))
	s.writer.mu.Lock()
	s.writer.trim = true
	s.writer.mu.Unlock()
	poke(s.writer.wake)
}

// retention does one step of the cleaning and reports whether more is left. It
// counts by id, which needs no look at the rows: ids are consecutive but for
// lost rows, so that the limit is never exceeded by more than trimEvery.
func (w *writer) retention() (again bool) {
	if w.failing || w.store.damaged.Load() != nil {
		return false
	}
	w.mu.Lock()
	w.trim = w.trim || w.sinceTrim >= trimEvery
	due := w.trim
	w.mu.Unlock()
	if !due {
		return false
	}
	w.sinceTrim = 0
	limit := w.limit.Load()
	more, err := w.trimStep(limit)
	if err != nil {
		w.store.log.Warn("activity not trimmed", "error", w.store.seen(err))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trim = more || w.limit.Load() != limit
	return w.trim
}

// trimStep deletes the oldest rows above the limit. A range of ids is deleted in
// half the time of a list of them.
func (w *writer) trimStep(limit int64) (more bool, err error) {
	g := w.store.write
	var ends struct{ Oldest, Newest sql.NullInt64 }
	err = g.Raw("SELECT (SELECT min(id) FROM proxy_logs) AS oldest, (SELECT max(id) FROM proxy_logs) AS newest").Scan(&ends).Error
	if err != nil {
		return false, err
	}
	over := ends.Newest.Int64 - limit // the highest id that is too old
	if !ends.Oldest.Valid || ends.Oldest.Int64 > over {
		return w.fit(g)
	}
	end := min(over, ends.Oldest.Int64+trimRows-1)
	if err := g.Exec("DELETE FROM proxy_logs WHERE id <= ?", end).Error; err != nil {
		return false, err
	}
	if end < over {
		return true, nil
	}
	return w.fit(g)
}

// fit keeps the file within its size.
func (w *writer) fit(g *gorm.DB) (more bool, err error) {
	if more, err := w.trimSize(g); more || err != nil {
		return more, err
	}
	return shrink(g)
}

// maxSize is the size in bytes that the file may have with its log of activity:
// long stories of few requests count as much as short ones of many (case P52).
const maxSize = 256 << 20

// trimSize deletes the oldest rows while the pages in use exceed the size.
func (w *writer) trimSize(g *gorm.DB) (more bool, err error) {
	var used int64
	err = g.Raw(`SELECT (page_count - freelist_count) * page_size
		FROM pragma_page_count, pragma_freelist_count, pragma_page_size`).Scan(&used).Error
	if err != nil || used <= w.size.Load() {
		return false, err
	}
	res := g.Exec("DELETE FROM proxy_logs WHERE id IN (SELECT id FROM proxy_logs ORDER BY id LIMIT ?)", sizeRows)
	return res.RowsAffected > 0, res.Error
}

// shrink gives free pages back to the system when they are many; a few are kept
// because the next rows need them.
func shrink(g *gorm.DB) (more bool, err error) {
	free, err := pragmaInt(g, "freelist_count")
	if err != nil {
		return false, err
	}
	pages, err := pragmaInt(g, "page_count")
	if err != nil || free <= freePages || free*4 <= pages {
		return false, err
	}
	// The pragma works page by page, as its rows are read.
	rows, err := g.Raw(fmt.Sprintf("PRAGMA incremental_vacuum(%d)", vacuumStep)).Rows()
	if err != nil {
		return false, err
	}
	for rows.Next() {
	}
	if err := rows.Err(); err != nil {
		rows.Close()
		return false, err
	}
	return true, rows.Close()
}
