package db

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"breakwater/proxy/control"
)

// comboRow is a row of combos; Data is the whole record as JSON.
type comboRow struct {
	ID        string `gorm:"type:text;primaryKey"`
	Name      string `gorm:"type:text;not null"`
	Data      string `gorm:"type:text;not null"`
	SortOrder int    `gorm:"type:integer;not null"`
	CreatedAt millis `gorm:"type:integer;autoCreateTime:false"`
	UpdatedAt millis `gorm:"type:integer;autoUpdateTime:false"`
}

// TableName is the guide's.
func (comboRow) TableName() string { return "combos" }

// lastGoodRow is a row of combo_last_good.
type lastGoodRow struct {
	ComboID      string `gorm:"type:text;primaryKey"`
	ComboName    string `gorm:"type:text;not null"`
	Provider     string `gorm:"type:text;not null"`
	ConnectionID string `gorm:"type:text;not null"`
	UpdatedAt    millis `gorm:"type:integer;autoUpdateTime:false"`
}

// TableName is ours.
func (lastGoodRow) TableName() string { return "combo_last_good" }

// Combos returns the combos in the user's order.
func (s *Store) Combos(ctx context.Context) ([]control.ComboRecord, error) {
	var rows []comboRow
	if err := s.read.WithContext(ctx).Order("sort_order, created_at, id").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read combos: %w", s.seen(err))
	}
	list := make([]control.ComboRecord, len(rows))
	for i, row := range rows {
		r := control.ComboRecord{Order: row.SortOrder, CreatedAt: row.CreatedAt.Time, UpdatedAt: row.UpdatedAt.Time}
		if err := json.Unmarshal([]byte(row.Data), &r.Combo); err != nil {
			return nil, s.seen(damage(s.path, "combo %s: %v", row.ID, err))
		}
		r.ID, r.Name = row.ID, row.Name
		list[i] = r
	}
	return list, nil
}

// SaveCombos inserts or replaces combos, all or none. They have reached the
// disk when the call returns.
func (s *Store) SaveCombos(ctx context.Context, list []control.ComboRecord) error {
	if len(list) == 0 {
		return nil
	}
	rows := make([]comboRow, len(list))
	for i, r := range list {
		data, err := json.Marshal(r.Combo)
		if err != nil {
			return fmt.Errorf("save combo %s: %w", r.ID, err)
		}
		rows[i] = comboRow{
			ID: r.ID, Name: r.Name, Data: string(data), SortOrder: r.Order,
			CreatedAt: millis{r.CreatedAt}, UpdatedAt: millis{r.UpdatedAt},
		}
	}
	err := s.durable(ctx, func(tx *gorm.DB) error {
		return tx.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, UpdateAll: true}).Create(&rows).Error
	})
	if err != nil {
		return fmt.Errorf("save combos: %w", err)
	}
	return nil
}

// DeleteCombo forgets a combo and its last good place; an unknown id is no
// error.
func (s *Store) DeleteCombo(ctx context.Context, id string) error {
	s.writer.forgetGood(id)
	err := s.durable(ctx, func(tx *gorm.DB) error {
		if err := tx.Where("combo_id = ?", id).Delete(&lastGoodRow{}).Error; err != nil {
			return err
		}
		return tx.Where("id = ?", id).Delete(&comboRow{}).Error
	})
	if err != nil {
		return fmt.Errorf("delete combo %s: %w", id, err)
	}
	return nil
}

// LastGoods returns the last good places of all combos, with the newest that
// were given to the store.
func (s *Store) LastGoods(ctx context.Context) ([]control.LastGood, error) {
	if err := s.Flush(ctx); err != nil {
		return nil, err
	}
	var rows []lastGoodRow
	if err := s.read.WithContext(ctx).Order("combo_id").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read the last good places: %w", s.seen(err))
	}
	list := make([]control.LastGood, len(rows))
	for i, row := range rows {
		list[i] = control.LastGood{ComboID: row.ComboID, Combo: row.ComboName, Provider: row.Provider, ConnectionID: row.ConnectionID}
	}
	return list, nil
}

// SaveLastGood queues the last good place of a combo; one without a provider
// is forgotten.
func (s *Store) SaveLastGood(g control.LastGood) {
	s.writer.add(false, func(b *batch) {
		if _, waits := b.goods[g.ComboID]; waits || len(b.goods) < queueKeys {
			b.goods[g.ComboID] = g
		}
	})
}

// forgetGood drops the waiting place of a combo that is being deleted.
func (w *writer) forgetGood(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.pending.goods, id)
}

func writeLastGood(tx *gorm.DB, g control.LastGood, now time.Time) error {
	if g.Provider == "" {
		return tx.Where("combo_id = ?", g.ComboID).Delete(&lastGoodRow{}).Error
	}
	row := lastGoodRow{ComboID: g.ComboID, ComboName: g.Combo, Provider: g.Provider, ConnectionID: g.ConnectionID, UpdatedAt: millis{now.UTC()}}
	return tx.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "combo_id"}}, UpdateAll: true}).Create(&row).Error
}
