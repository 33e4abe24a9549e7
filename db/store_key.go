package db

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"breakwater/proxy/control"
)

// apiKeyRow is a row of api_keys (settings sheet §2.13): KeyHash is the SHA-256
// of the key in lowercase hex; the lists are JSON.
type apiKeyRow struct {
	ID                 string `gorm:"type:text;primaryKey"`
	Name               string `gorm:"type:text;not null"`
	KeyHash            string `gorm:"type:text;not null;uniqueIndex:idx_api_keys_hash"`
	KeyTail            string `gorm:"type:text;not null"`
	Scopes             string `gorm:"type:text;not null"`
	AllowedConnections string `gorm:"type:text;not null"`
	AllowedModels      string `gorm:"type:text;not null"`
	IsActive           bool   `gorm:"type:integer;not null"`
	ExpiresAt          millis `gorm:"type:integer"`
	CreatedAt          millis `gorm:"type:integer;autoCreateTime:false"`
}

// TableName is the guide's.
func (apiKeyRow) TableName() string { return "api_keys" }

// APIKeys returns the keys in the order of their creation. A row that cannot be
// read whole is an error: a list that got lost would allow too much.
func (s *Store) APIKeys(ctx context.Context) ([]control.KeyRecord, error) {
	var rows []apiKeyRow
	if err := s.read.WithContext(ctx).Order("created_at, rowid").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read the API keys: %w", s.seen(err))
	}
	out := make([]control.KeyRecord, len(rows))
	for i, row := range rows {
		k, err := row.record()
		if err != nil {
			return nil, fmt.Errorf("read the API key %q: %w", row.Name, err)
		}
		out[i] = k
	}
	return out, nil
}

func (row apiKeyRow) record() (control.KeyRecord, error) {
	k := control.KeyRecord{
		ID: row.ID, Name: row.Name, Tail: row.KeyTail, Active: row.IsActive,
		ExpiresAt: row.ExpiresAt.Time, CreatedAt: row.CreatedAt.Time,
	}
	hash, err := hex.DecodeString(row.KeyHash)
	if err != nil || copy(k.Hash[:], hash) != len(k.Hash) || len(hash) != len(k.Hash) {
		return k, fmt.Errorf("the digest is damaged")
	}
	for text, list := range map[*string]*[]string{
		&row.Scopes: &k.Scopes, &row.AllowedConnections: &k.AllowedConnections, &row.AllowedModels: &k.AllowedModels,
	} {
		if err := json.Unmarshal([]byte(*text), list); err != nil {
			return k, fmt.Errorf("a list is damaged: %w", err)
		}
	}
	return k, nil
}

// SaveAPIKey inserts or replaces a key. It has reached the disk when the call
// returns.
func (s *Store) SaveAPIKey(ctx context.Context, k control.KeyRecord) error {
	row := apiKeyRow{
		ID: k.ID, Name: k.Name, KeyHash: hex.EncodeToString(k.Hash[:]), KeyTail: k.Tail, IsActive: k.Active,
		ExpiresAt: millis{k.ExpiresAt}, CreatedAt: millis{k.CreatedAt},
	}
	for text, list := range map[*string][]string{
		&row.Scopes: k.Scopes, &row.AllowedConnections: k.AllowedConnections, &row.AllowedModels: k.AllowedModels,
	} {
		raw, err := json.Marshal(list)
		if err != nil {
			return fmt.Errorf("save the API key: %w", err)
		}
		*text = string(raw)
	}
	err := s.durable(ctx, func(tx *gorm.DB) error {
		return tx.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, UpdateAll: true}).Create(&row).Error
	})
	if err != nil {
		return fmt.Errorf("save the API key: %w", err)
	}
	return nil
}

// DeleteAPIKey forgets a key.
func (s *Store) DeleteAPIKey(ctx context.Context, id string) error {
	err := s.durable(ctx, func(tx *gorm.DB) error { return tx.Where("id = ?", id).Delete(&apiKeyRow{}).Error })
	if err != nil {
		return fmt.Errorf("delete the API key: %w", err)
	}
	return nil
}
