package rest

import (
	"errors"
	"net/http"

	"breakwater/proxy/control"
)

func (a *api) listKeys(r *http.Request) (int, any, error) {
	limit, offset, err := paging(r)
	if err != nil {
		return 0, nil, err
	}
	keys, err := a.facade.Keys(r.Context())
	if err != nil {
		return 0, nil, err
	}
	// Keys are shown once, so that there is nothing to reveal afterwards.
	return http.StatusOK, keyPage{Keys: page(keys, limit, offset), Total: len(keys)}, nil
}

// keyPage is the answer of GET /api/keys.
type keyPage struct {
	Keys           []control.APIKey `json:"keys"`
	Total          int              `json:"total"`
	AllowKeyReveal bool             `json:"allowKeyReveal"`
}

// paging reads limit, 0 for none, and offset from the query.
func paging(r *http.Request) (limit, offset int, err error) {
	q := query{values: r.URL.Query()}
	limit = q.integer("limit", 0, 1, 1000)
	offset = q.integer("offset", 0, 0, 1_000_000)
	return limit, offset, q.err()
}

// page cuts a page out of a list; limit 0 takes the rest.
func page[T any](all []T, limit, offset int) []T {
	out := all[min(offset, len(all)):]
	if limit > 0 {
		out = out[:min(limit, len(out))]
	}
	return list(out)
}

func (a *api) addKey(r *http.Request) (int, any, error) {
	var in control.KeyInput
	if err := decode(r, &in); err != nil {
		return 0, nil, err
	}
	if err := scopeBounds(in.Scopes); err != nil {
		return 0, nil, err
	}
	k, err := a.facade.AddKey(r.Context(), in)
	return http.StatusCreated, k, err
}

func (a *api) editKey(r *http.Request) (int, any, error) {
	var p control.KeyPatch
	if err := decode(r, &p); err != nil {
		return 0, nil, err
	}
	if p == (control.KeyPatch{}) {
		return 0, nil, errNoFields
	}
	if p.Scopes != nil {
		if err := scopeBounds(*p.Scopes); err != nil {
			return 0, nil, err
		}
	}
	k, err := a.facade.EditKey(r.Context(), r.PathValue("id"), p)
	return http.StatusOK, k, keyNotFound(err)
}

// scopeBounds are the sheet's: they keep nonsense out of the error's text.
func scopeBounds(scopes []string) error {
	if len(scopes) > 32 {
		return control.Invalid("scopes", "Expected at most 32 scopes")
	}
	for _, s := range scopes {
		if len(s) > 64 {
			return control.Invalid("scopes", "Expected scopes of at most 64 characters")
		}
	}
	return nil
}

func (a *api) deleteKey(r *http.Request) (int, any, error) {
	err := a.facade.DeleteKey(r.Context(), r.PathValue("id"))
	return http.StatusOK, map[string]any{"message": "Key deleted"}, keyNotFound(err)
}

// keyNotFound gives the answer the sheet's words.
func keyNotFound(err error) error {
	if errors.Is(err, control.ErrNotFound) {
		return errKeyNotFound
	}
	return err
}
