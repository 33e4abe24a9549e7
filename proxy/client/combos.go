package client

import (
	"context"
	"net/http"
	"net/url"
	"reflect"

	"breakwater/proxy/control"
)

// Combos returns the combos in the user's order.
func (c *Client) Combos(ctx context.Context) ([]control.Combo, error) {
	out, err := get[struct {
		Combos []control.Combo `json:"combos"`
	}](ctx, c, "/api/combos")
	return out.Combos, err
}

// AddCombo stores a new combo.
func (c *Client) AddCombo(ctx context.Context, in control.ComboInput) (control.Combo, error) {
	if in.Steps == nil {
		in.Steps = []control.ComboStep{}
	}
	var out control.Combo
	err := c.call(ctx, writeTimeout, http.MethodPost, "/api/combos", in, &out)
	return out, err
}

// EditCombo changes the fields that the patch holds.
func (c *Client) EditCombo(ctx context.Context, id string, patch control.ComboPatch) (control.Combo, error) {
	path, err := comboPath(id)
	if err != nil {
		return control.Combo{}, err
	}
	var out control.Combo
	if reflect.ValueOf(patch).IsZero() { // the API refuses a patch of nothing
		err = c.call(ctx, readTimeout, http.MethodGet, path, nil, &out)
		return out, err
	}
	err = c.call(ctx, writeTimeout, http.MethodPatch, path, patch, &out)
	return out, err
}

// DeleteCombo forgets a combo.
func (c *Client) DeleteCombo(ctx context.Context, id string) error {
	path, err := comboPath(id)
	if err != nil {
		return err
	}
	return c.call(ctx, writeTimeout, http.MethodDelete, path, nil, nil)
}

// ReorderCombos lists the combos in this order.
func (c *Client) ReorderCombos(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return c.err // nothing to order
	}
	return c.post(ctx, "/api/combos/reorder", map[string]any{"ids": ids})
}

// PreviewCombo tells what the next request for a combo would do now.
func (c *Client) PreviewCombo(ctx context.Context, in control.PreviewRequest) (control.ComboPreview, error) {
	if in.Draft != nil && in.Draft.Steps == nil {
		draft := *in.Draft
		draft.Steps = []control.ComboStep{}
		in.Draft = &draft
	}
	var out control.ComboPreview
	err := c.call(ctx, readTimeout, http.MethodPost, "/api/combos/preview", in, &out)
	return out, err
}

// Drill has faults happen to a twin of a combo.
func (c *Client) Drill(ctx context.Context, in control.DrillRequest) (control.DrillReport, error) {
	if in.Faults == nil {
		in.Faults = []control.DrillFault{}
	}
	var out control.DrillReport
	err := c.call(ctx, drillTimeout, http.MethodPost, "/api/drill", in, &out)
	return out, err
}

func comboPath(id string) (string, error) {
	if id == "" || id == "." || id == ".." {
		return "", control.ErrNotFound
	}
	return "/api/combos/" + url.PathEscape(id), nil
}
