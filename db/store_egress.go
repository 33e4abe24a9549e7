package db

import (
	"context"
	"fmt"
	"time"

	"breakwater/proxy/control"
)

// LastEgress returns by which address each connection left last, as far as rows
// since then tell.
func (s *Store) LastEgress(ctx context.Context, since time.Time) ([]control.EgressSeen, error) {
	if err := s.Flush(ctx); err != nil {
		return nil, err
	}
	var rows []struct {
		ConnectionID, EgressIP string
		At                     millis
	}
	// With max() SQLite takes the other columns from the newest row.
	err := s.read.WithContext(ctx).Model(&activityRow{}).Select("connection_id, egress_ip, max(timestamp) AS at").
		Where("timestamp >= ? AND egress_ip <> '' AND connection_id <> ''", since.UnixMilli()).
		Group("connection_id").Order("connection_id").Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read the egress addresses: %w", s.seen(err))
	}
	list := make([]control.EgressSeen, len(rows))
	for i, r := range rows {
		list[i] = control.EgressSeen{ConnectionID: r.ConnectionID, Address: r.EgressIP, At: r.At.Time}
	}
	return list, nil
}
