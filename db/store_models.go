package db

import (
	"context"
	"encoding/json"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"breakwater/proxy/control"
)

// modelListRow is a row of connection_models: the list of models that a
// connection's provider gave. Models is JSON.
type modelListRow struct {
	ConnectionID string `gorm:"type:text;primaryKey"`
	Models       string `gorm:"type:text;not null"`
	FetchedAt    millis `gorm:"type:integer"`
}

// TableName says what the rows are.
func (modelListRow) TableName() string { return "connection_models" }

// ModelLists returns the stored lists; one that cannot be read is left out, it
// is fetched again.
func (s *Store) ModelLists(ctx context.Context) ([]control.ModelList, error) {
	var rows []modelListRow
	if err := s.read.WithContext(ctx).Order("connection_id").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read model lists: %w", s.seen(err))
	}
	var out []control.ModelList
	for _, row := range rows {
		l := control.ModelList{ConnectionID: row.ConnectionID, FetchedAt: row.FetchedAt.Time}
		if json.Unmarshal([]byte(row.Models), &l.Models) == nil {
			out = append(out, l)
		}
	}
	return out, nil
}

// SaveModelList replaces the list of a connection; one without models is
// deleted. The list of a connection that is gone is not kept.
func (s *Store) SaveModelList(ctx context.Context, l control.ModelList) error {
	raw, err := json.Marshal(l.Models)
	if err != nil {
		return fmt.Errorf("save the model list of %s: %w", l.ConnectionID, err)
	}
	row := modelListRow{ConnectionID: l.ConnectionID, Models: string(raw), FetchedAt: millis{l.FetchedAt}}
	err = s.durable(ctx, func(tx *gorm.DB) error {
		var there int64
		if err := tx.Model(&connectionRow{}).Where("id = ?", l.ConnectionID).Count(&there).Error; err != nil {
			return err
		}
		if there == 0 || len(l.Models) == 0 {
			return tx.Delete(&modelListRow{ConnectionID: l.ConnectionID}).Error
		}
		return tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error
	})
	if err != nil {
		return fmt.Errorf("save the model list of %s: %w", l.ConnectionID, err)
	}
	return nil
}
