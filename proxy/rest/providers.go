package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"breakwater/proxy/control"
)

// maxBatch is how many connections one PATCH /api/providers may name.
const maxBatch = 100

// providerData holds the fields that the guide keeps in providerSpecificData;
// we take them there and at the top.
type providerData struct {
	BaseURL         *string `json:"baseUrl"`
	DisableCooling  *bool   `json:"disableCooling"`
	LowPriorityMode *bool   `json:"lowPriorityMode"`
	AutoLimitReset  *bool   `json:"autoLimitReset"`

	Tags              *[]string                  `json:"tags"`
	RotationOverrides *control.RotationOverrides `json:"rotationOverrides"`

	TimeoutMs        *int64  `json:"timeoutMs"`
	OrganizationUUID *string `json:"organizationUUID"`
	ProxyURL         *string `json:"proxyUrl"`
}

// providerInput is the body of POST /api/providers.
type providerInput struct {
	control.ConnectionInput
	Specific providerData `json:"providerSpecificData"`
}

// providerPatch is the body of PUT and PATCH /api/providers/{id}.
type providerPatch struct {
	control.ConnectionPatch
	Specific providerData `json:"providerSpecificData"`
}

func (a *api) listProviders(r *http.Request) (int, any, error) {
	q := query{values: r.URL.Query()}
	limit := q.integer("limit", 0, 1, 1000)
	offset := q.integer("offset", 0, 0, 1_000_000)
	if err := q.err(); err != nil {
		return 0, nil, err
	}
	snap, err := a.snapshot(r.Context())
	if err != nil {
		return 0, nil, err
	}
	page := snap.Connections[min(offset, len(snap.Connections)):]
	if limit > 0 {
		page = page[:min(limit, len(page))]
	}
	return http.StatusOK, map[string]any{"connections": page, "total": len(snap.Connections)}, nil
}

func (a *api) addProvider(r *http.Request) (int, any, error) {
	var in providerInput
	if err := decode(r, &in); err != nil {
		return 0, nil, err
	}
	var m merge
	c := in.ConnectionInput
	m.str("baseUrl", &c.BaseURL, in.Specific.BaseURL)
	m.flag("disableCooling", &c.DisableCooling, in.Specific.DisableCooling)
	m.flag("lowPriorityMode", &c.LowPriorityMode, in.Specific.LowPriorityMode)
	m.flag("autoLimitReset", &c.AutoLimitReset, in.Specific.AutoLimitReset)
	m.str("organizationUUID", &c.OrganizationUUID, in.Specific.OrganizationUUID)
	m.str("proxyUrl", &c.ProxyURL, in.Specific.ProxyURL)
	if ms := in.Specific.TimeoutMs; ms != nil {
		m.twice("timeoutMs", c.TimeoutMs != 0 && c.TimeoutMs != *ms)
		c.TimeoutMs = *ms
	}
	if tags := in.Specific.Tags; tags != nil {
		m.twice("tags", len(c.Tags) > 0)
		c.Tags = *tags
	}
	if o := in.Specific.RotationOverrides; o != nil {
		m.twice("rotationOverrides", c.RotationOverrides != (control.RotationOverrides{}))
		c.RotationOverrides = *o
	}
	if err := m.err(); err != nil {
		return 0, nil, err
	}
	conn, err := a.facade.AddConnection(r.Context(), c)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, map[string]any{"connection": conn}, nil
}

func (a *api) getProvider(r *http.Request) (int, any, error) {
	id := r.PathValue("id")
	snap, err := a.snapshot(r.Context())
	if err != nil {
		return 0, nil, err
	}
	for _, c := range snap.Connections {
		if c.ID == id {
			return http.StatusOK, map[string]any{"connection": c}, nil
		}
	}
	return 0, nil, control.ErrNotFound
}

// editProvider changes what the body holds and nothing else; the guide keeps
// rateLimitProtection out of reach of this route, so it is taken and ignored
// (ruling 26, case 60).
func (a *api) editProvider(r *http.Request) (int, any, error) {
	var in providerPatch
	if err := decode(r, &in, "rateLimitProtection"); err != nil {
		return 0, nil, err
	}
	var m merge
	p := in.ConnectionPatch
	patched(&m, "baseUrl", &p.BaseURL, in.Specific.BaseURL)
	patched(&m, "disableCooling", &p.DisableCooling, in.Specific.DisableCooling)
	patched(&m, "lowPriorityMode", &p.LowPriorityMode, in.Specific.LowPriorityMode)
	patched(&m, "autoLimitReset", &p.AutoLimitReset, in.Specific.AutoLimitReset)
	patched(&m, "timeoutMs", &p.TimeoutMs, in.Specific.TimeoutMs)
	patched(&m, "organizationUUID", &p.OrganizationUUID, in.Specific.OrganizationUUID)
	patched(&m, "proxyUrl", &p.ProxyURL, in.Specific.ProxyURL)
	only(&m, "tags", &p.Tags, in.Specific.Tags)
	only(&m, "rotationOverrides", &p.RotationOverrides, in.Specific.RotationOverrides)
	if err := m.err(); err != nil {
		return 0, nil, err
	}
	if p == (control.ConnectionPatch{}) {
		return 0, nil, errNoFields
	}
	conn, err := a.facade.EditConnection(r.Context(), r.PathValue("id"), p)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]any{"connection": conn}, nil
}

var errNoFields = control.Invalid("body", "No valid fields to update")

func (a *api) deleteProvider(r *http.Request) (int, any, error) {
	if err := a.facade.DeleteConnection(r.Context(), r.PathValue("id")); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]any{"message": "Connection deleted"}, nil
}

func (a *api) switchProviders(r *http.Request) (int, any, error) {
	var in switchBody
	if err := decode(r, &in); err != nil {
		return 0, nil, err
	}
	var m merge
	if len(in.IDs) < 1 || len(in.IDs) > maxBatch {
		m.add("ids", "Expected 1 to 100 ids")
	}
	if in.Active == nil {
		m.add("isActive", "Required")
	}
	if err := m.err(); err != nil {
		return 0, nil, err
	}
	updated, notFound := 0, []string{}
	for _, id := range in.IDs {
		_, err := a.facade.EditConnection(r.Context(), id, control.ConnectionPatch{Active: in.Active})
		switch {
		case errors.Is(err, control.ErrNotFound):
			notFound = append(notFound, id)
		case err != nil:
			return 0, nil, err
		default:
			updated++
		}
	}
	return http.StatusOK, map[string]any{
		"message": "Updated " + count(updated, "connection"), "updated": updated, "notFound": notFound,
	}, nil
}

func (a *api) reorderProviders(r *http.Request) (int, any, error) {
	var in idsBody
	if err := decode(r, &in); err != nil {
		return 0, nil, err
	}
	if len(in.IDs) == 0 {
		return 0, nil, control.Invalid("ids", "Required")
	}
	seen := map[string]bool{}
	for i, id := range in.IDs {
		if seen[id] {
			return 0, nil, control.Invalid(fmt.Sprintf("ids.%d", i), "Given twice")
		}
		seen[id] = true
	}
	if err := a.facade.ReorderConnections(r.Context(), in.IDs); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]any{"ok": true}, nil
}

// testProvider takes the guide's validationModelId but leaves the choice of
// the cheapest check to the provider's own entry in the catalogue.
func (a *api) testProvider(r *http.Request) (int, any, error) {
	var in testBody
	if err := decodeOptional(r, &in); err != nil {
		return 0, nil, err
	}
	if len(in.Model) > 500 {
		return 0, nil, control.Invalid("validationModelId", "Expected at most 500 characters")
	}
	ctx, cancel := context.WithTimeout(r.Context(), TestTimeout)
	defer cancel()
	res, err := a.facade.TestConnection(ctx, r.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, res, nil
}

// merge joins a field with its twin in providerSpecificData and collects what
// contradicts itself.
type merge struct{ errs []control.FieldError }

func (m *merge) add(field, message string) {
	m.errs = append(m.errs, control.FieldError{Field: field, Message: message})
}

func (m *merge) err() error {
	if len(m.errs) == 0 {
		return nil
	}
	return &control.InvalidError{Fields: m.errs}
}

func (m *merge) str(name string, flat *string, nested *string) {
	switch {
	case nested == nil:
	case *flat != "" && *flat != *nested:
		m.contradiction(name)
	default:
		*flat = *nested
	}
}

// flag takes the switch when either place sets it: on creation, false is what
// an absent field means.
func (m *merge) flag(_ string, flat *bool, nested *bool) {
	*flat = *flat || nested != nil && *nested
}

func patched[T comparable](m *merge, name string, flat **T, nested *T) {
	switch {
	case nested == nil:
	case *flat != nil && **flat != *nested:
		m.contradiction(name)
	default:
		*flat = nested
	}
}

// only takes a value that may stand in either place, but not in both.
func only[T any](m *merge, name string, flat **T, nested *T) {
	if m.twice(name, nested != nil && *flat != nil); nested != nil {
		*flat = nested
	}
}

func (m *merge) twice(name string, both bool) {
	if both {
		m.add("providerSpecificData."+name, "Given twice")
	}
}

func (m *merge) contradiction(name string) {
	m.add("providerSpecificData."+name, "Contradicts "+name)
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
