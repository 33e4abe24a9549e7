package rest

import (
	"errors"
	"net/http"
	"reflect"

	"breakwater/proxy/control"
)

// combosAnswer is the answer of GET /api/combos.
type combosAnswer struct {
	Combos []control.Combo `json:"combos"`
	Total  int             `json:"total"`
}

// deletedAnswer is the answer of DELETE /api/combos/{id}.
type deletedAnswer struct {
	Success bool `json:"success"`
}

func (a *api) listCombos(r *http.Request) (int, any, error) {
	q := query{values: r.URL.Query()}
	limit := q.integer("limit", 0, 1, 1000)
	offset := q.integer("offset", 0, 0, 1_000_000)
	if err := q.err(); err != nil {
		return 0, nil, err
	}
	all, err := a.facade.Combos(r.Context())
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, combosAnswer{Combos: page(all, limit, offset), Total: len(all)}, nil
}

// comboExtras are fields that clients send and that mean nothing to us: what
// an answer of ours holds besides, and the optional ones of the sheet (§1.1).
var comboExtras = []string{
	"id", "version", "createdAt", "updatedAt", "warning", "warnings", "compressionOverride", "dimensions", "autoConfig", "universal_handoff",
}

func (a *api) addCombo(r *http.Request) (int, any, error) {
	var in control.ComboInput
	if err := decode(r, &in, comboExtras...); err != nil {
		return 0, nil, comboSchema(err)
	}
	c, err := a.facade.AddCombo(r.Context(), in)
	return http.StatusCreated, c, err
}

func (a *api) getCombo(r *http.Request) (int, any, error) {
	all, err := a.facade.Combos(r.Context())
	if err != nil {
		return 0, nil, err
	}
	for _, c := range all {
		if c.ID == r.PathValue("id") {
			return http.StatusOK, c, nil
		}
	}
	return 0, nil, noSuchCombo
}

var noSuchCombo = &control.ComboError{Code: "COMBO_007", Message: "Combo not found"}

// editCombo changes what the body holds and nothing else, for PUT as well
// (compare ruling 26).
func (a *api) editCombo(r *http.Request) (int, any, error) {
	var p control.ComboPatch
	if err := decode(r, &p, comboExtras...); err != nil {
		return 0, nil, comboSchema(err)
	}
	if reflect.ValueOf(p).IsZero() {
		return 0, nil, comboSchema(errNoFields)
	}
	c, err := a.facade.EditCombo(r.Context(), r.PathValue("id"), p)
	return http.StatusOK, c, err
}

func (a *api) deleteCombo(r *http.Request) (int, any, error) {
	err := a.facade.DeleteCombo(r.Context(), r.PathValue("id"))
	return http.StatusOK, deletedAnswer{Success: true}, err
}

func (a *api) reorderCombos(r *http.Request) (int, any, error) {
	var in idsBody
	if err := decode(r, &in); err != nil {
		return 0, nil, err
	}
	if len(in.IDs) == 0 {
		return 0, nil, control.Invalid("ids", "Required")
	}
	if err := a.facade.ReorderCombos(r.Context(), in.IDs); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, okAnswer{true}, nil
}

func (a *api) previewCombo(r *http.Request) (int, any, error) {
	var in control.PreviewRequest
	if err := decode(r, &in); err != nil {
		return 0, nil, comboSchema(err)
	}
	p, err := a.facade.PreviewCombo(r.Context(), in)
	return http.StatusOK, p, err
}

func (a *api) drill(r *http.Request) (int, any, error) {
	var in control.DrillRequest
	if err := decode(r, &in); err != nil {
		return 0, nil, err
	}
	report, err := a.facade.Drill(r.Context(), in)
	return http.StatusOK, report, err
}

// comboSchema gives a body that was refused the code of combos (settings sheet
// §2.14): 001 is no JSON, 002 has another form.
func comboSchema(err error) error {
	inv, ok := errors.AsType[*control.InvalidError](err)
	if !ok {
		return err
	}
	e := &control.ComboError{Code: "COMBO_002", Message: "The combo does not have the expected form", Details: inv.Fields}
	if inv.Fields[0].Message == badJSON {
		e.Code, e.Message = "COMBO_001", badJSON
	}
	return e
}
