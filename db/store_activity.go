package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm"

	"breakwater/proxy/control"
)

// insertRow begins the statement that writes a row. The driver compiles every
// statement anew and looks for each parameter from the first one on, so that
// the cheapest statement writes one row with hardly any: numbers and plain words
// stand in it as they are, in the order of the table's columns, which only ever
// grow at the end. A row whose id exists already is left out, and counted as
// lost.
const insertRow = "INSERT OR IGNORE INTO proxy_logs VALUES"

const (
	defaultActivityRows = 100
	maxActivityRows     = 500
)

// Activity returns rows of the log, the newest first, the queued ones included.
func (s *Store) Activity(ctx context.Context, q control.ActivityQuery) ([]control.Activity, error) {
	if err := s.Flush(ctx); err != nil {
		return nil, err
	}
	g := s.read.WithContext(ctx).Order("id DESC").Limit(pageSize(q.Limit))
	if q.Before > 0 {
		g = g.Where("id < ?", q.Before)
	}
	if q.ConnectionID != "" {
		g = g.Where("instr(tried, ?) > 0", triedList([]string{q.ConnectionID}))
	}
	if q.FailedOnly {
		g = g.Where("(failed_over = 1 OR result IN ('failed', 'refused', 'truncated'))")
	}
	var rows []activityRow
	if err := g.Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read activity: %w", s.seen(err))
	}
	list := make([]control.Activity, len(rows))
	for i, row := range rows {
		list[i] = row.activity()
	}
	return list, nil
}

func pageSize(limit int) int {
	if limit <= 0 {
		return defaultActivityRows
	}
	return min(limit, maxActivityRows)
}

// MaxActivityID returns the newest row's id, 0 in an empty log.
func (s *Store) MaxActivityID(ctx context.Context) (int64, error) {
	if err := s.Flush(ctx); err != nil {
		return 0, err
	}
	var id sql.NullInt64
	if err := s.read.WithContext(ctx).Raw("SELECT max(id) FROM proxy_logs").Scan(&id).Error; err != nil {
		return 0, fmt.Errorf("read activity: %w", s.seen(err))
	}
	return id.Int64, nil
}

// insertRows writes rows in one transaction and returns how many of them were
// left out. It goes past GORM's callbacks, which cost more than SQLite does.
func insertRows(ctx context.Context, g *gorm.DB, rows []control.Activity) (skipped int, err error) {
	err = g.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var s statement
		for i := range rows {
			if err := s.insert(&rows[i]); err != nil {
				return err
			}
			res, err := tx.Statement.ConnPool.ExecContext(ctx, string(s.sql), s.args...)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err == nil && n == 0 {
				skipped++
			}
		}
		return nil
	})
	return skipped, err
}

// statement is the text of an insert and its parameters.
type statement struct {
	sql  []byte
	args []any
}

// insert makes it the statement that writes this row.
func (s *statement) insert(a *control.Activity) error {
	trace, err := traceJSON(a.Trace)
	if err != nil {
		return fmt.Errorf("trace of activity %d: %w", a.ID, err)
	}
	s.sql, s.args = append(s.sql[:0], insertRow...), s.args[:0]
	s.numbers(a.ID, a.At.UnixMilli())
	s.texts(a.Method, a.Path, a.Dialect, a.Client, a.Model)
	s.numbers(oneIf(a.Stream), int64(a.Status))
	s.texts(a.Result, a.Provider, a.ConnectionID, a.ConnectionName)
	s.numbers(oneIf(a.FailedOver), a.DurationMs, a.FirstOutputMs, a.RequestBytes, a.ResponseBytes)
	s.texts(a.EgressIP, triedList(tried(a)), trace)
	s.known(a.InputTokens, a.OutputTokens, a.CacheReadTokens, a.CacheWriteTokens, a.ReasoningTokens)
	s.texts(a.StopReason, a.Combo)
	s.sql = append(s.sql, ')')
	return nil
}

// next begins the next value.
func (s *statement) next() {
	sep := byte(',')
	if len(s.sql) == len(insertRow) {
		sep = '('
	}
	s.sql = append(s.sql, sep)
}

func (s *statement) numbers(values ...int64) {
	for _, n := range values {
		s.next()
		s.sql = strconv.AppendInt(s.sql, n, 10)
	}
}

// known appends counts, NULL where nothing was told.
func (s *statement) known(counts ...int64) {
	for _, n := range counts {
		if n != 0 {
			s.numbers(n)
			continue
		}
		s.next()
		s.sql = append(s.sql, "NULL"...)
	}
}

// texts appends words; what is more than a plain one becomes a parameter.
func (s *statement) texts(values ...string) {
	for _, text := range values {
		s.next()
		if !isWord(text) {
			s.sql = append(s.sql, '?')
			s.args = append(s.args, text)
			continue
		}
		s.sql = append(append(append(s.sql, '\''), text...), '\'')
	}
}

// isWord tells that a text can stand between quotes in SQL as it is.
func isWord(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '-', c == '_', c == '/', c == '.', c == ':', c == ' ':
		default:
			return false
		}
	}
	return true
}

func oneIf(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// traceJSON writes the steps. The plain case, one connection that answered, is
// written by hand: it is nearly every row.
func traceJSON(steps []control.Step) (string, error) {
	if len(steps) == 0 {
		return "[]", nil
	}
	if s := &steps[0]; len(steps) == 1 && s.Until == nil && s.Reason == "" &&
		isPlain(s.ConnectionID) && isPlain(s.ConnectionName) && isPlain(s.Provider) && isPlain(s.Model) {
		return plainStep(s), nil
	}
	raw, err := json.Marshal(steps)
	return string(raw), err
}

func plainStep(s *control.Step) string {
	b := make([]byte, 0, 256)
	b = append(b, `[{"kind":"`...)
	b = append(b, s.Kind...)
	b = append(b, `","offsetMs":`...)
	b = strconv.AppendInt(b, s.OffsetMs, 10)
	for _, f := range [...][2]string{
		{`,"connectionId":"`, s.ConnectionID},
		{`,"connectionName":"`, s.ConnectionName},
		{`,"provider":"`, s.Provider},
		{`,"model":"`, s.Model},
	} {
		if f[1] != "" {
			b = append(append(append(b, f[0]...), f[1]...), '"')
		}
	}
	if s.Status != 0 {
		b = strconv.AppendInt(append(b, `,"status":`...), int64(s.Status), 10)
	}
	if s.DurationMs != 0 {
		b = strconv.AppendInt(append(b, `,"durationMs":`...), s.DurationMs, 10)
	}
	return string(append(b, `}]`...))
}

// isPlain tells that a text stands in JSON as it is.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

// tried returns the connections that were really tried, each once.
func tried(a *control.Activity) []string {
	var ids []string
	add := func(id string) {
		if id == "" {
			return
		}
		if slices.Contains(ids, id) {
			return
		}
		ids = append(ids, id)
	}
	for i := range a.Trace {
		switch step := &a.Trace[i]; step.Kind {
		case control.StepFailed, control.StepAnswered, control.StepCut, control.StepLeft:
			add(step.ConnectionID)
		}
	}
	add(a.ConnectionID)
	return ids
}

// triedList puts each id between spaces, so that a search for one never finds
// the middle of another.
func triedList(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return " " + strings.Join(ids, " ") + " "
}

func (row activityRow) activity() control.Activity {
	a := control.Activity{
		ID: row.ID, At: row.Timestamp.Time, Method: row.Method, Path: row.Path, Dialect: row.Dialect,
		Client: row.Client, Model: row.Model, Stream: row.Stream, Status: row.Status, Result: row.Result,
		Provider: row.Provider, ConnectionID: row.ConnectionID, ConnectionName: row.ConnectionName,
		FailedOver: row.FailedOver, DurationMs: row.DurationMs, FirstOutputMs: row.FirstOutputMs,
		RequestBytes: row.RequestBytes, ResponseBytes: row.ResponseBytes, EgressIP: row.EgressIP, Combo: row.Combo.String,
		Usage: control.Usage{
			InputTokens: row.InputTokens.Int64, OutputTokens: row.OutputTokens.Int64,
			CacheReadTokens: row.CacheReadTokens.Int64, CacheWriteTokens: row.CacheWriteTokens.Int64,
			ReasoningTokens: row.ReasoningTokens.Int64, StopReason: row.StopReason.String,
		},
	}
	// A trace that cannot be read costs the story, not the row.
	if json.Unmarshal([]byte(row.Trace), &a.Trace) != nil || a.Trace == nil {
		a.Trace = []control.Step{}
	}
	return a
}
