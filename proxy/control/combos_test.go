package control

import (
	"cmp"
	"context"
	"maps"
	"slices"
)

func (m *memory) Combos(context.Context) ([]ComboRecord, error) {
	list := slices.Clone(m.combos)
	slices.SortStableFunc(list, func(a, b ComboRecord) int { return cmp.Compare(a.Order, b.Order) })
	return list, nil
}

func (m *memory) SaveCombos(_ context.Context, list []ComboRecord) error {
	if m.failing {
		return context.DeadlineExceeded
	}
	for _, r := range list {
		m.combos = append(slices.DeleteFunc(m.combos, func(o ComboRecord) bool { return o.ID == r.ID }), r)
	}
	return nil
}

func (m *memory) DeleteCombo(_ context.Context, id string) error {
	m.combos = slices.DeleteFunc(m.combos, func(o ComboRecord) bool { return o.ID == id })
	delete(m.goods, id)
	return nil
}

func (m *memory) LastGoods(context.Context) ([]LastGood, error) {
	return slices.Collect(maps.Values(m.goods)), nil
}

func (m *memory) SaveLastGood(g LastGood) {
	if m.goods == nil {
		m.goods = map[string]LastGood{}
	}
	if m.goods[g.ComboID] = g; g.Provider == "" {
		delete(m.goods, g.ComboID)
	}
}

func (m *memory) SavePriorities(context.Context, map[string]int) error { return nil }

func (m *memory) SaveSettings(ctx context.Context, values map[string][]byte) error {
	for key, value := range values {
		if err := m.SaveSetting(ctx, key, value); err != nil {
			return err
		}
	}
	return nil
}
