package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"breakwater/resilience/lease"
)

// keptLeases is how long an ended lease is remembered; an owner who stayed away
// for longer begins at generation 1 again.
const keptLeases = 90 * 24 * time.Hour

// leaseRow is a row of exclusive_connection_leases (settings sheet §4.6). Only
// a digest of the owner is in it.
type leaseRow struct {
	ID             string         `gorm:"type:text;primaryKey"`
	LeaseOwnerHash string         `gorm:"type:text;not null;index:idx_ecl_generation,priority:1;uniqueIndex:idx_ecl_owner,where:state = 'ACTIVE'"`
	APIKeyID       string         `gorm:"type:text;not null"`
	Provider       string         `gorm:"type:text;not null"`
	ConnectionID   string         `gorm:"type:text;not null;uniqueIndex:idx_ecl_connection,where:state = 'ACTIVE'"`
	Generation     int64          `gorm:"type:integer;not null;index:idx_ecl_generation,priority:2"`
	State          string         `gorm:"type:text;not null;index:idx_ecl_state,priority:1"`
	AcquiredAt     millis         `gorm:"type:integer;not null"`
	RenewedAt      millis         `gorm:"type:integer;not null"`
	ExpiresAt      millis         `gorm:"type:integer;not null;index:idx_ecl_state,priority:2"`
	EndedAt        millis         `gorm:"type:integer"`
	EndReason      sql.NullString `gorm:"type:text"`
}

// TableName is the sheet's.
func (leaseRow) TableName() string { return "exclusive_connection_leases" }

// ChangeLease decides an operation on what is stored and stores what comes of
// it, in one transaction that excludes every other writer from its first
// statement on. It has reached the disk when the call returns.
func (s *Store) ChangeLease(ctx context.Context, op lease.Op, now time.Time) (out lease.Outcome, err error) {
	err = s.durable(ctx, func(tx *gorm.DB) error {
		v, err := leaseView(tx, op)
		if err != nil {
			return err
		}
		out = lease.Apply(v, op, now)
		for _, l := range out.Write {
			row := newLeaseRow(l)
			err := tx.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, UpdateAll: true}).Create(&row).Error
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return lease.Outcome{}, fmt.Errorf("change a lease: %w", err)
	}
	return out, nil
}

// CheckLease decides an operation on what is stored and stores nothing.
func (s *Store) CheckLease(ctx context.Context, op lease.Op, now time.Time) (lease.Outcome, error) {
	v, err := leaseView(s.read.WithContext(ctx), op)
	if err != nil {
		return lease.Outcome{}, fmt.Errorf("check a lease: %w", s.seen(err))
	}
	return lease.Apply(v, op, now), nil
}

// ActiveLeases returns the leases that nobody has ended, run out or not, and
// forgets those that ended long ago.
func (s *Store) ActiveLeases(ctx context.Context, now time.Time) ([]lease.Lease, error) {
	if s.Damaged() == nil {
		err := s.write.WithContext(ctx).
			Where("state <> ? AND ended_at < ?", string(lease.Active), millis{now.Add(-keptLeases)}).Delete(&leaseRow{}).Error
		if err != nil {
			s.log.Warn("old leases not deleted", "error", s.seen(err))
		}
	}
	var rows []leaseRow
	err := s.read.WithContext(ctx).Where("state = ?", string(lease.Active)).Order("acquired_at, id").Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read the leases: %w", s.seen(err))
	}
	list := make([]lease.Lease, len(rows))
	for i, row := range rows {
		list[i] = row.lease()
	}
	return list, nil
}

// leaseView reads what an operation must know.
func leaseView(g *gorm.DB, op lease.Op) (v lease.View, err error) {
	if v.Own, err = oneLease(g.Where("lease_owner_hash = ? AND state = ?", op.OwnerHash, string(lease.Active))); err != nil {
		return v, err
	}
	if op.ConnectionID != "" {
		if v.Holder, err = oneLease(g.Where("connection_id = ? AND state = ?", op.ConnectionID, string(lease.Active))); err != nil {
			return v, err
		}
	}
	if op.Action == lease.Release && v.Own == nil {
		past := g.Where("lease_owner_hash = ? AND generation = ? AND state <> ?", op.OwnerHash, op.Generation, string(lease.Active))
		if v.Past, err = oneLease(past.Order("ended_at DESC, rowid DESC")); err != nil {
			return v, err
		}
	}
	if op.Action == lease.Acquire {
		err = g.Model(&leaseRow{}).Where("lease_owner_hash = ?", op.OwnerHash).Select("coalesce(max(generation), 0)").Scan(&v.Highest).Error
	}
	return v, err
}

func oneLease(g *gorm.DB) (*lease.Lease, error) {
	var row leaseRow
	err := g.Take(&row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l := row.lease()
	return &l, nil
}

func newLeaseRow(l lease.Lease) leaseRow {
	return leaseRow{
		ID: l.ID, LeaseOwnerHash: l.OwnerHash, APIKeyID: l.KeyID, Provider: l.Provider, ConnectionID: l.ConnectionID,
		Generation: l.Generation, State: string(l.State), AcquiredAt: millis{l.AcquiredAt}, RenewedAt: millis{l.RenewedAt},
		ExpiresAt: millis{l.ExpiresAt}, EndedAt: millis{l.EndedAt}, EndReason: sql.NullString{String: string(l.EndReason), Valid: l.EndReason != ""},
	}
}

func (row leaseRow) lease() lease.Lease {
	return lease.Lease{
		ID: row.ID, OwnerHash: row.LeaseOwnerHash, KeyID: row.APIKeyID, Provider: row.Provider, ConnectionID: row.ConnectionID,
		Generation: row.Generation, State: lease.State(row.State), AcquiredAt: row.AcquiredAt.Time, RenewedAt: row.RenewedAt.Time,
		ExpiresAt: row.ExpiresAt.Time, EndedAt: row.EndedAt.Time, EndReason: lease.Reason(row.EndReason.String),
	}
}
