package db

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"time"

	"gorm.io/gorm"

	"breakwater/proxy/control"
)

// inventory is what a database has of the things that a restore must not bring
// back without a word.
type inventory struct {
	keys        []control.KeyRecord
	connections []connectionRow
}

// inventoryOf reads them from a file of any schema, without writing to it.
func inventoryOf(ctx context.Context, path string) (h inventory, err error) {
	if _, err := checkHeader(path); err != nil {
		return h, err
	}
	g, err := openPool(path, lookPool, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		return h, err
	}
	defer func() { _ = closePool(g) }()
	g = g.WithContext(ctx)
	connections := g.Select("id, name, provider, auth_type, is_active, default_model, provider_specific_data").Order("priority, created_at, id")
	if err := connections.Find(&h.connections).Error; err != nil {
		return h, err
	}
	var tables int
	if err := g.Raw("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?", apiKeyRow{}.TableName()).Scan(&tables).Error; err != nil || tables == 0 {
		return h, err // a schema before the keys
	}
	var rows []apiKeyRow
	if err := g.Order("created_at, rowid").Find(&rows).Error; err != nil {
		return h, err
	}
	for _, row := range rows {
		k, err := row.record()
		if err != nil {
			return h, err
		}
		h.keys = append(h.keys, k)
	}
	return h, nil
}

// planRestore compares a copy with the database in whose place it is to go. off
// are the ids of the keys that must come back switched off.
func planRestore(ctx context.Context, present, copied string, now time.Time) (plan control.RestorePlan, off []string, err error) {
	then, err := inventoryOf(ctx, copied)
	if err != nil {
		return plan, nil, err
	}
	plan = control.RestorePlan{
		KeysSwitchedOff: []string{}, KeysActive: []string{}, KeysLost: []string{},
		ConnectionsBack: []string{}, ConnectionsLost: []string{}, ConnectionsChanged: []string{},
	}
	_, err = os.Stat(present)
	plan.Replaces = !errors.Is(err, fs.ErrNotExist)
	today, err := inventoryOf(ctx, present)
	if plan.Compared = err == nil; !plan.Compared {
		for _, k := range then.keys {
			if k.State(now) == control.KeyOn {
				plan.KeysActive = append(plan.KeysActive, k.Name)
			}
		}
		return plan, nil, nil
	}
	off = compareKeys(&plan, then.keys, today.keys, now)
	compareConnections(&plan, then.connections, today.connections)
	return plan, off, nil
}

func compareKeys(plan *control.RestorePlan, then, today []control.KeyRecord, now time.Time) (off []string) {
	with := func(list []control.KeyRecord, id string) (control.KeyRecord, bool) {
		i := slices.IndexFunc(list, func(k control.KeyRecord) bool { return k.ID == id })
		if i < 0 {
			return control.KeyRecord{}, false
		}
		return list[i], true
	}
	for _, k := range then {
		if t, ok := with(today, k.ID); k.State(now) == control.KeyOn && (!ok || couldMore(k, t, now)) {
			plan.KeysSwitchedOff = append(plan.KeysSwitchedOff, k.Name)
			off = append(off, k.ID)
		}
	}
	for _, k := range today {
		if _, ok := with(then, k.ID); !ok {
			plan.KeysLost = append(plan.KeysLost, k.Name)
		}
	}
	return off
}

func compareConnections(plan *control.RestorePlan, then, today []connectionRow) {
	left := map[string]connectionRow{}
	for _, c := range today {
		left[c.ID] = c
	}
	for _, c := range then {
		t, ok := left[c.ID]
		switch {
		case !ok:
			plan.ConnectionsBack = append(plan.ConnectionsBack, c.Name)
		case t != c:
			plan.ConnectionsChanged = append(plan.ConnectionsChanged, t.Name)
		}
		delete(left, c.ID)
	}
	for _, c := range today {
		if _, ok := left[c.ID]; ok {
			plan.ConnectionsLost = append(plan.ConnectionsLost, c.Name)
		}
	}
}

// couldMore reports whether a key that is in force by the copy was able to do
// then what it cannot do today.
func couldMore(then, today control.KeyRecord, now time.Time) bool {
	wider := func(then, today []string) bool { // an empty list allows all
		return len(today) > 0 && (len(then) == 0 || slices.ContainsFunc(then, func(v string) bool { return !slices.Contains(today, v) }))
	}
	return today.State(now) != control.KeyOn ||
		slices.ContainsFunc(then.Scopes, func(s string) bool { return !slices.Contains(today.Scopes, s) }) ||
		wider(then.AllowedConnections, today.AllowedConnections) || wider(then.AllowedModels, today.AllowedModels) ||
		!today.ExpiresAt.IsZero() && (then.ExpiresAt.IsZero() || then.ExpiresAt.After(today.ExpiresAt))
}

// switchKeysOff writes to the copy, before it takes the database's place.
func switchKeysOff(g *gorm.DB, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	return g.Model(&apiKeyRow{}).Where("id IN ?", ids).Update("is_active", false).Error
}
