package db

import (
	"context"
	"fmt"

	"breakwater/proxy/control"
)

// Usage sums up the kept rows of the log, the queued ones included, by
// connection and model, the most requests first.
func (s *Store) Usage(ctx context.Context, q control.UsageQuery) ([]control.UsageRow, error) {
	if err := s.Flush(ctx); err != nil {
		return nil, err
	}
	g := s.read.WithContext(ctx).Model(&activityRow{}).Select(`provider, connection_id, max(connection_name) AS connection_name, model,
		count(*) AS requests,
		sum(result IN ('failed', 'refused', 'truncated')) AS failed,
		coalesce(sum(input_tokens), 0) AS input_tokens,
		coalesce(sum(output_tokens), 0) AS output_tokens,
		coalesce(sum(cache_read_tokens), 0) AS cache_read_tokens,
		coalesce(sum(cache_write_tokens), 0) AS cache_write_tokens,
		coalesce(sum(reasoning_tokens), 0) AS reasoning_tokens`).
		Group("provider, connection_id, model").Order("requests DESC, connection_id, model")
	if !q.Since.IsZero() {
		g = g.Where("timestamp >= ?", q.Since.UnixMilli())
	}
	if !q.Until.IsZero() {
		g = g.Where("timestamp < ?", q.Until.UnixMilli())
	}
	rows := []control.UsageRow{}
	if err := g.Scan(&rows).Error; err != nil {
		return nil, fmt.Errorf("sum up the usage: %w", s.seen(err))
	}
	return rows, nil
}
