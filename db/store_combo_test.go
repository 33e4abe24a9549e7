package db

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"breakwater/proxy/control"
	"breakwater/resilience/combo"
)

// plain looks at what is stored of a combo.
var plain = cmpopts.IgnoreUnexported(combo.Combo{}, combo.Step{})

func comboRecord(id, name string, order int) control.ComboRecord {
	return control.ComboRecord{
		Combo: combo.Combo{
			ID: id, Name: name, Version: combo.Version, Strategy: combo.Weighted,
			Steps:  []combo.Step{{ID: "s1", Kind: combo.KindModel, Model: "openai/gpt-5", Provider: "openai", Weight: 2.5}, {ID: "s2", Kind: combo.KindRef, Combo: "other"}},
			Config: map[string]any{"maxRetries": 2.0, "auto": map[string]any{"explorationRate": 0.1}},
		},
		Order: order, CreatedAt: t0, UpdatedAt: t0.Add(time.Minute),
	}
}

func TestCombosSurvive(t *testing.T) {
	s := open(t, t.TempDir())
	second, first := comboRecord("a", "second", 2), comboRecord("b", "first", 1)
	if err := s.SaveCombos(t.Context(), []control.ComboRecord{second, first}); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, s)
	got, err := s.Combos(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]control.ComboRecord{first, second}, got, plain); diff != "" {
		t.Error(diff)
	}
	off := false
	first.Name, first.Active, first.Order = "renamed", &off, 3
	if err := s.SaveCombos(t.Context(), []control.ComboRecord{first}); err != nil {
		t.Fatal(err)
	}
	if err := s.SaveCombos(t.Context(), nil); err != nil {
		t.Errorf("nothing to save: %v", err)
	}
	s = reopen(t, s)
	if got, err = s.Combos(t.Context()); err != nil || cmp.Diff([]control.ComboRecord{second, first}, got, plain) != "" {
		t.Errorf("after the change %+v, %v", got, err)
	}
	for _, id := range []string{"b", "b", "nobody"} {
		if err := s.DeleteCombo(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	if got, err = s.Combos(t.Context()); err != nil || len(got) != 1 || got[0].ID != "a" {
		t.Errorf("after the deletion %+v, %v", got, err)
	}
}

func TestLastGoodPlacesAreWrittenBehind(t *testing.T) {
	s := open(t, t.TempDir())
	place := func(id, connection string) control.LastGood {
		return control.LastGood{ComboID: id, Combo: "name of " + id, Provider: "openai", ConnectionID: connection}
	}
	s.SaveLastGood(place("x", "c1"))
	s.SaveLastGood(place("x", "c2"))
	s.SaveLastGood(place("y", "c1"))
	s.SaveLastGood(place("z", ""))
	s = reopen(t, s)
	want := []control.LastGood{place("x", "c2"), place("y", "c1"), place("z", "")}
	if got, err := s.LastGoods(t.Context()); err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("%+v, %v", got, err)
	}
	s.SaveLastGood(control.LastGood{ComboID: "y", Combo: "name of y"})
	if err := s.DeleteCombo(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	s.SaveLastGood(place("gone", "c1"))
	if err := s.DeleteCombo(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, s)
	if got, err := s.LastGoods(t.Context()); err != nil || cmp.Diff(want[2:], got) != "" {
		t.Errorf("after forgetting %+v, %v", got, err)
	}
}
