package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"breakwater/resilience/combo"
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

func TestLastGoodPlacesSurviveARestart(t *testing.T) {
	s, store, _ := planned(t, conn("openai", "a"), conn("groq", "b"))
	c := made(t, s, "keep", "lkgp", step("openai/gpt-5"), step("groq/llama-3.1-8b-instant"))
	serve := func(s *Service, i int) {
		t.Helper()
		q := combo.Request{Now: t0}
		p, refusal := s.Planner().Plan(mustCombo(t, s, "keep"), &q)
		if refusal != nil {
			t.Fatal(refusal)
		}
		p.Serve(t0, p.Order[i], "b", nil)
	}
	serve(s, 1)
	if g := store.goods[c.ID]; g != (LastGood{ComboID: c.ID, Combo: "keep", Provider: "groq", ConnectionID: "b"}) {
		t.Errorf("stored %+v", g)
	}
	s, _, _ = restarted(t, store)
	if got := plan(t, s, "keep", combo.Request{}); got[0].Provider != "groq" {
		t.Errorf("after the restart %s is first", got[0].Model)
	}
	q := combo.Request{Now: t0}
	p, _ := s.Planner().Plan(mustCombo(t, s, "keep"), &q)
	p.Fail(p.Order[0])
	p.Abandon(t0)
	if len(store.goods) != 0 {
		t.Errorf("a place that failed is kept: %+v", store.goods)
	}
}

func TestRenamingACombo(t *testing.T) {
	s, store, _ := planned(t, conn("openai", "a"))
	inner := made(t, s, "inner", "", step("openai/gpt-5"))
	made(t, s, "outer", "", step("inner"), step("openai/gpt-5-mini"))
	if _, err := s.EditCombo(t.Context(), inner.ID, ComboPatch{Name: new(" core ")}); err != nil {
		t.Fatal(err)
	}
	if got := plan(t, s, "outer", combo.Request{}); len(got) != 2 || got[0].Model != "openai/gpt-5" {
		t.Errorf("the reference is lost: %d targets", len(got))
	}
	if _, ok := s.Combo("inner"); ok {
		t.Error("the old name still leads somewhere")
	}
	s, _, _ = restarted(t, store)
	if got := plan(t, s, "outer", combo.Request{}); len(got) != 2 {
		t.Errorf("after a restart %d targets", len(got))
	}
}

func TestWhatCannotBeStoredIsNotInForce(t *testing.T) {
	s, store, _ := planned(t, conn("openai", "a"))
	c := made(t, s, "x", "", step("openai/gpt-5"))
	store.fail(true)
	if _, err := s.AddCombo(t.Context(), ComboInput{Name: "y"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("AddCombo: %v", err)
	}
	if _, err := s.EditCombo(t.Context(), c.ID, ComboPatch{Name: new("z")}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("EditCombo: %v", err)
	}
	if _, err := s.EditAllSettings(t.Context(), AllSettingsPatch{ComboSettingsPatch: ComboSettingsPatch{StickyWeightedLimit: new(5)}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("EditAllSettings: %v", err)
	}
	all, err := s.Combos(t.Context())
	if err != nil || len(all) != 1 || all[0].Name != "x" || s.comboGlobals().StickyWeighted != nil {
		t.Errorf("in force %+v, %v", all, err)
	}
}

func TestDeletingAConnectionClearsItFromCombos(t *testing.T) {
	s, store, _ := planned(t, conn("openai", "a"), conn("openai", "b"))
	made(t, s, "x", "", ComboStep{Model: "openai/gpt-5", Connection: "a"}, ComboStep{Model: "openai/gpt-5", Allowed: []string{"a", "b"}}, ComboStep{Model: "openai/o3", Allowed: []string{"a"}}, step("openai/gpt-5-mini"))
	made(t, s, "y", "", step("openai/gpt-5"))
	if err := s.DeleteConnection(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	for _, r := range store.combos {
		if r.Name == "x" && (len(r.Steps) != 2 || !slices.Equal(r.Steps[0].Allowed, []string{"b"}) || len(r.Steps[1].Allowed) != 0) {
			t.Errorf("stored %+v", r.Steps)
		}
		if r.Name == "y" && len(r.Steps) != 1 {
			t.Errorf("a combo that never named it changed: %+v", r.Steps)
		}
	}
}

func TestComboSettings(t *testing.T) {
	s, store, _ := planned(t, conn("openai", "a"))
	made(t, s, "x", "round-robin", step("openai/gpt-5"))
	patch := func(p ComboSettingsPatch) error {
		_, err := s.EditAllSettings(t.Context(), AllSettingsPatch{ComboSettingsPatch: p})
		return err
	}
	config := func(s *Service) *combo.Config {
		t.Helper()
		p, refusal := s.Planner().Plan(mustCombo(t, s, "x"), &combo.Request{Now: t0})
		if refusal != nil {
			t.Fatal(refusal)
		}
		defer p.Abandon(t0)
		return p.Config
	}
	t.Run("case 46 sticky limits", func(t *testing.T) {
		for _, c := range []struct{ own, combos, account, want int }{{5, 2, 3, 5}, {0, 2, 3, 2}, {0, 0, 7, 7}, {0, 0, 0, 1}} {
			if err := patch(ComboSettingsPatch{ComboStickyRoundRobinLimit: &c.combos, StickyRoundRobinLimit: &c.account}); err != nil {
				t.Fatal(err)
			}
			own := map[string]any{}
			if c.own > 0 {
				own["stickyRoundRobinLimit"] = float64(c.own)
			}
			all, _ := s.Combos(t.Context())
			if _, err := s.EditCombo(t.Context(), all[0].ID, ComboPatch{Config: &own}); err != nil {
				t.Fatal(err)
			}
			if got := config(s).StickyRoundRobin; got != c.want {
				t.Errorf("%+v gives %d", c, got)
			}
		}
	})
	t.Run("defaults and overrides of a provider", func(t *testing.T) {
		if err := patch(ComboSettingsPatch{
			ComboDefaults:     &map[string]any{"maxRetries": 4.0, "retryDelayMs": 10.0, "timeoutMs": 1.0, "unheardOf": true},
			ProviderOverrides: &map[string]map[string]any{"openai": {"maxRetries": 6.0}},
		}); err != nil {
			t.Fatal(err)
		}
		again, _, _ := restarted(t, store)
		for _, s := range []*Service{s, again} {
			if c := config(s); c.MaxRetries != 6 || c.RetryDelayMs != 10 {
				t.Errorf("retries %d, delay %d", c.MaxRetries, c.RetryDelayMs)
			}
		}
		if set, _ := again.AllSettings(t.Context()); len(set.ComboDefaults) != 2 {
			t.Errorf("stored %v", set.ComboDefaults)
		}
	})
	for field, p := range map[string]ComboSettingsPatch{
		"comboDefaults.maxRetries":            {ComboDefaults: &map[string]any{"maxRetries": 11.0}},
		"comboDefaults.compositeTiers":        {ComboDefaults: &map[string]any{"compositeTiers": map[string]any{}}},
		"providerOverrides.openai.queueDepth": {ProviderOverrides: &map[string]map[string]any{"openai": {"queueDepth": "many"}}},
		"stickyRoundRobinLimit":               {StickyRoundRobinLimit: new(1001)},
		"stickyWeightedLimit":                 {StickyWeightedLimit: new(-1)},
		"modelFacts.m":                        {ModelFacts: &map[string]ModelFact{"m": {Output: new(1.0)}}},
		"modelFacts.n":                        {ModelFacts: &map[string]ModelFact{"n": {Tier: "golden"}}},
		"modelFacts.o":                        {ModelFacts: &map[string]ModelFact{"o": {Context: -1}}},
	} {
		inv, ok := errors.AsType[*InvalidError](patch(p))
		if !ok || inv.Fields[0].Field != field {
			t.Errorf("%s: %+v", field, inv)
		}
	}
}

func TestCombosAreReadWhileTheyChange(t *testing.T) {
	s, _, _ := planned(t, conn("openai", "a"), conn("openai", "b"))
	c := made(t, s, "x", "headroom", step("openai/gpt-5"))
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if found, ok := s.Combo("x"); ok {
					p := s.Planner()
					if plan, refusal := p.Plan(found, &combo.Request{Now: t0}); refusal == nil {
						plan.Serve(t0, plan.Order[0], "", nil)
					}
				}
			}
		})
	}
	for i := range 50 {
		on := i%2 == 0
		if _, err := s.EditCombo(t.Context(), c.ID, ComboPatch{Active: &on, Description: new(fmt.Sprint(i))}); err != nil {
			t.Error(err)
		}
		if err := s.ReorderConnections(t.Context(), []string{[]string{"a", "b"}[i%2]}); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	readers.Wait()
	if r := s.combos.Load().records[0]; r.Description != "49" || r.UpdatedAt.Before(t0.Add(-time.Hour)) {
		t.Errorf("in the end %+v", r)
	}
}
