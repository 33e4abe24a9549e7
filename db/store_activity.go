package db

import (
	"context"
	"database/sql"
	"fmt"

	"breakwater/proxy/control"
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
		g = g.Where("(connection_id = ? OR instr(tried, ?) > 0)", q.ConnectionID, " "+q.ConnectionID+" ")
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
	a.Trace = readTrace(&a, row.Trace)
	return a
}
