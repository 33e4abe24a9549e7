package control

import (
	"context"
	"errors"
	"slices"
	"strings"

	"breakwater/resilience/combo"
)

// ImportCombo is what becomes of one combo of a backup.
type ImportCombo struct {
	Name string `json:"name"`
	// Action is add, skip (there is one of this name) or refuse.
	Action string `json:"action"`
	Error  string `json:"error,omitempty"` // why it is refused
}

// exportCombos returns the combos with the names of connections in place of
// their ids: an import gives connections new ones.
func (s *Service) exportCombos() []ComboInput {
	out := []ComboInput{}
	for _, r := range s.combos.Load().records {
		in := ComboInput{
			Name: r.Name, Description: r.Description, Strategy: string(r.Strategy), Config: r.Config, Active: r.Active,
			AllowedProviders: r.AllowedProviders, AllowedFamilies: r.AllowedFamilies, SystemMessage: r.SystemMessage,
			ToolFilter: r.ToolFilter, CacheProtection: r.CacheProtection, ContextLength: r.ContextLength,
		}
		in.Steps = translated(r.Steps, func(id string) string {
			if route, ok := s.Route(id); ok {
				return route.Record.Name
			}
			return id
		})
		out = append(out, in)
	}
	return out
}

// translated returns the steps with other words for the connections.
func translated(steps []combo.Step, word func(string) string) []combo.Step {
	out := make([]combo.Step, len(steps))
	for i, st := range steps {
		if st.Connection != "" {
			st.Connection = word(st.Connection)
		}
		st.Allowed = slices.Clone(st.Allowed)
		for j := range st.Allowed {
			st.Allowed[j] = word(st.Allowed[j])
		}
		out[i] = st
	}
	return out
}

// importCombos adds the combos whose names are free, or reports what that
// would do. It runs when the connections are in place.
func (s *Service) importCombos(ctx context.Context, list []ComboInput, dry bool) ([]ImportCombo, error) {
	rows := []ImportCombo{}
	if !dry { // a report waits for no change that is being stored
		s.edit.Lock()
		defer s.edit.Unlock()
	}
	x := &comboIndex{records: slices.Clone(s.combos.Load().records)}
	var fresh []ComboRecord
	for _, in := range list {
		row := ImportCombo{Name: in.Name, Action: ImportAdd}
		in.Steps = translated(in.Steps, s.connectionNamed)
		rec, _, err := s.newCombo(in, x)
		switch e, refused := errors.AsType[*ComboError](err); {
		case refused && e.Code == string(combo.NameTaken):
			row.Action = ImportSkip
		case refused:
			row.Action, row.Error = ImportRefuse, e.Message
		case err != nil:
			return nil, err
		default:
			x.records, fresh = append(x.records, rec), append(fresh, rec)
		}
		rows = append(rows, row)
	}
	if dry || len(fresh) == 0 {
		return rows, nil
	}
	return rows, s.saveCombos(ctx, x.records, fresh...)
}

// connectionNamed returns the id of the connection that a backup names, the
// name itself where there is none: the step then waits for it.
func (s *Service) connectionNamed(name string) string {
	for _, r := range s.Routes() {
		if strings.EqualFold(r.Record.Name, name) {
			return r.Record.ID
		}
	}
	return name
}

// patch returns the settings of combos as a patch that brings them about.
func (c ComboSettings) patch() ComboSettingsPatch {
	return ComboSettingsPatch{
		ComboDefaults: &c.ComboDefaults, ProviderOverrides: &c.ProviderOverrides, ModelFacts: &c.ModelFacts,
		ComboStickyRoundRobinLimit: &c.ComboStickyRoundRobinLimit, StickyRoundRobinLimit: &c.StickyRoundRobinLimit,
		StickyWeightedLimit: &c.StickyWeightedLimit, DisableSessionStickiness: &c.DisableSessionStickiness,
		CompatFilterFailOpen: &c.CompatFilterFailOpen,
	}
}
