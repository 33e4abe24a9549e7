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

// The statements of the log are compiled at every use, so they are short: the
// values stand in the order of the table's columns, which only ever grow at the
// end. A few rows at once cost a third less than one by one, many cost more. A
// row whose id exists already is left out, and counted as lost.
const (
	insertRow    = "INSERT OR IGNORE INTO proxy_logs VALUES"
	activityRow1 = "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
	rowsAtOnce   = 16
)

var (
	insertOne = insertRow + activityRow1
	insertFew = insertRow + strings.Repeat(activityRow1+",", rowsAtOnce-1) + activityRow1
)

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
		few := len(rows) - len(rows)%rowsAtOnce
		n, err := insertBy(ctx, tx, insertFew, rowsAtOnce, rows[:few])
		if err != nil {
			return err
		}
		one, err := insertBy(ctx, tx, insertOne, 1, rows[few:])
		skipped = len(rows) - n - one
		return err
	})
	return skipped, err
}

// insertBy runs a statement that takes some rows at once, and returns how many
// it wrote.
func insertBy(ctx context.Context, tx *gorm.DB, query string, atOnce int, rows []control.Activity) (written int, err error) {
	if len(rows) == 0 {
		return 0, nil
	}
	stmt, err := tx.Statement.ConnPool.PrepareContext(ctx, query)
	if err != nil {
		return 0, err
	}
	defer stmt.Close()
	args := make([]any, 0, atOnce*activityColumns)
	for i := range rows {
		if args, err = appendActivity(args, &rows[i]); err != nil {
			return written, err
		}
		if (i+1)%atOnce != 0 {
			continue
		}
		res, err := stmt.ExecContext(ctx, args...)
		if err != nil {
			return written, err
		}
		if n, err := res.RowsAffected(); err == nil {
			written += int(n)
		}
		args = args[:0]
	}
	return written, nil
}

// activityColumns is how many values a row has.
const activityColumns = 27

// appendActivity appends a row's values in the order of the table's columns.
func appendActivity(args []any, a *control.Activity) ([]any, error) {
	trace, err := traceJSON(a.Trace)
	if err != nil {
		return args, fmt.Errorf("trace of activity %d: %w", a.ID, err)
	}
	return append(
		args,
		a.ID, a.At.UnixMilli(), a.Method, a.Path, a.Dialect, a.Client, a.Model, a.Stream, a.Status,
		a.Result, a.Provider, a.ConnectionID, a.ConnectionName, a.FailedOver, a.DurationMs, a.FirstOutputMs,
		a.RequestBytes, a.ResponseBytes, a.EgressIP, triedList(tried(a)), trace,
		known(a.InputTokens), known(a.OutputTokens), known(a.CacheReadTokens), known(a.CacheWriteTokens), known(a.ReasoningTokens),
		a.StopReason,
	), nil
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

// known is a count, or NULL where nothing was told.
func known(n int64) any {
	if n == 0 {
		return nil
	}
	return n
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
		RequestBytes: row.RequestBytes, ResponseBytes: row.ResponseBytes, EgressIP: row.EgressIP,
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
