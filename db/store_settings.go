package db

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// settingsNamespace is the namespace of key_value that Setting reads.
const settingsNamespace = "settings"

// Setting returns the JSON stored under a key; ok is false when there is none.
func (s *Store) Setting(ctx context.Context, key string) (value []byte, ok bool, err error) {
	var row keyValueRow
	err = s.read.WithContext(ctx).Where("namespace = ? AND key = ?", settingsNamespace, key).Take(&row).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("read setting %s: %w", key, s.seen(err))
	}
	return []byte(row.Value), true, nil
}

// SaveSetting stores JSON under a key. It has reached the disk when the call
// returns.
func (s *Store) SaveSetting(ctx context.Context, key string, value []byte) error {
	return s.SaveSettings(ctx, map[string][]byte{key: value})
}

// SaveSettings stores JSON under several keys, all or none. It has reached the
// disk when the call returns.
func (s *Store) SaveSettings(ctx context.Context, values map[string][]byte) error {
	var rows []keyValueRow
	for key, value := range values {
		rows = append(rows, keyValueRow{Namespace: settingsNamespace, Key: key, Value: string(value)})
	}
	if len(rows) == 0 {
		return nil
	}
	err := s.durable(ctx, func(tx *gorm.DB) error {
		return tx.Clauses(clause.OnConflict{
			Columns:   []clause.Column{{Name: "namespace"}, {Name: "key"}},
			DoUpdates: clause.AssignmentColumns([]string{"value"}),
		}).Create(&rows).Error
	})
	if err != nil {
		return fmt.Errorf("save settings: %w", err)
	}
	return nil
}
