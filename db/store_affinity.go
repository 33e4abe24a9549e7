package db

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"breakwater/resilience/affinity"
)

// queuePins is how many distinct sessions wait to be written at most. A pin
// that is lost costs a session its account at the next start, no more.
const queuePins = 1 << 15

// pinRow is a row of session_account_affinity (ruling 25).
type pinRow struct {
	Provider       string `gorm:"type:text;primaryKey"`
	SessionKeyHash string `gorm:"type:text;primaryKey"`
	ConnectionID   string `gorm:"type:text;not null"`
	CreatedAt      millis `gorm:"type:integer;autoCreateTime:false"`
	LastUsedAt     millis `gorm:"type:integer"`
	ExpiresAt      millis `gorm:"type:integer"`
}

// TableName is the guide's sessionAccountAffinity in the spelling of SQL.
func (pinRow) TableName() string { return "session_account_affinity" }

type pinKey struct{ provider, hash string }

// SavePin queues a session's pin.
func (s *Store) SavePin(p affinity.Pin) {
	s.queuePin(pinRow{p.Provider, p.Hash, p.Connection, millis{p.CreatedAt}, millis{p.LastUsedAt}, millis{p.ExpiresAt}})
}

// DeletePin queues the removal of a session's pin.
func (s *Store) DeletePin(provider, hash string) {
	s.queuePin(pinRow{Provider: provider, SessionKeyHash: hash})
}

// queuePin queues a row, or with no connection in it the removal of one. It is
// in no hurry: a busy session changes its pin with every request.
func (s *Store) queuePin(row pinRow) {
	k := pinKey{row.Provider, row.SessionKeyHash}
	s.writer.add(false, func(b *batch) {
		if _, waits := b.pins[k]; waits || len(b.pins) < queuePins {
			b.pins[k] = row
		}
	})
}

// Pins returns the stored pins, the queued ones included.
func (s *Store) Pins(ctx context.Context) ([]affinity.Pin, error) {
	if err := s.Flush(ctx); err != nil {
		return nil, err
	}
	var rows []pinRow
	if err := s.read.WithContext(ctx).Order("provider, session_key_hash").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read session affinity: %w", s.seen(err))
	}
	list := make([]affinity.Pin, len(rows))
	for i, r := range rows {
		list[i] = affinity.Pin{
			Provider: r.Provider, Hash: r.SessionKeyHash, Connection: r.ConnectionID,
			CreatedAt: r.CreatedAt.Time, LastUsedAt: r.LastUsedAt.Time, ExpiresAt: r.ExpiresAt.Time,
		}
	}
	return list, nil
}

func writePins(tx *gorm.DB, pins map[pinKey]pinRow) error {
	for k, r := range pins {
		var err error
		if r.ConnectionID == "" {
			err = tx.Exec("DELETE FROM session_account_affinity WHERE provider = ? AND session_key_hash = ?", k.provider, k.hash).Error
		} else {
			err = tx.Exec(`INSERT INTO session_account_affinity
				(provider, session_key_hash, connection_id, created_at, last_used_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)
				ON CONFLICT (provider, session_key_hash) DO UPDATE SET connection_id = excluded.connection_id,
				created_at = excluded.created_at, last_used_at = excluded.last_used_at, expires_at = excluded.expires_at`,
				r.Provider, r.SessionKeyHash, r.ConnectionID, r.CreatedAt, r.LastUsedAt, r.ExpiresAt).Error
		}
		if err != nil {
			return fmt.Errorf("write session affinity: %w", err)
		}
	}
	return nil
}
