package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"breakwater/proxy/control"
)

// insertActivity is run per row: in this driver a statement with many rows costs
// more per row than many statements with one. It is compiled every time, so it
// is short: the values stand in the order of the table's columns, which only
// ever grow at the end. A row whose id exists already is left out, and counted
// as lost.
const insertActivity = `INSERT OR IGNORE INTO proxy_logs VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`

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
		stmt, err := tx.Statement.ConnPool.PrepareContext(ctx, insertActivity)
		if err != nil {
			return err
		}
		defer stmt.Close()
		for i := range rows {
			args, err := activityArgs(&rows[i])
			if err != nil {
				return err
			}
			res, err := stmt.ExecContext(ctx, args[:]...)
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

// activityArgs returns a row's values in the order of the table's columns.
func activityArgs(a *control.Activity) (args [27]any, err error) {
	trace := []byte("[]")
	if len(a.Trace) > 0 {
		if trace, err = json.Marshal(a.Trace); err != nil {
			return args, fmt.Errorf("trace of activity %d: %w", a.ID, err)
		}
	}
	return [27]any{
		a.ID, a.At.UnixMilli(), a.Method, a.Path, a.Dialect, a.Client, a.Model, a.Stream, a.Status,
		a.Result, a.Provider, a.ConnectionID, a.ConnectionName, a.FailedOver, a.DurationMs, a.FirstOutputMs,
		a.RequestBytes, a.ResponseBytes, a.EgressIP, triedList(tried(a)), string(trace),
		known(a.InputTokens), known(a.OutputTokens), known(a.CacheReadTokens), known(a.CacheWriteTokens), known(a.ReasoningTokens),
		a.StopReason,
	}, nil
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
