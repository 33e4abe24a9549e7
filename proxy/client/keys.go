package client

import (
	"context"
	"net/http"
	"net/url"

	"breakwater/proxy/control"
)

// Keys returns the API keys, masked.
func (c *Client) Keys(ctx context.Context) ([]control.APIKey, error) {
	out, err := get[struct {
		Keys []control.APIKey `json:"keys"`
	}](ctx, c, "/api/keys")
	return out.Keys, err
}

// AddKey makes an API key; the answer is the only one that holds it whole.
func (c *Client) AddKey(ctx context.Context, in control.KeyInput) (control.APIKey, error) {
	var out control.APIKey
	err := c.call(ctx, writeTimeout, http.MethodPost, "/api/keys", in, &out)
	return out, err
}

// EditKey changes the fields that the patch holds.
func (c *Client) EditKey(ctx context.Context, id string, patch control.KeyPatch) (control.APIKey, error) {
	if patch == (control.KeyPatch{}) { // the API refuses a patch of nothing
		return c.keyOf(ctx, id)
	}
	path, err := keyPath(id)
	if err != nil {
		return control.APIKey{}, err
	}
	var out control.APIKey
	err = c.call(ctx, writeTimeout, http.MethodPatch, path, patch, &out)
	return out, err
}

func (c *Client) keyOf(ctx context.Context, id string) (control.APIKey, error) {
	keys, err := c.Keys(ctx)
	if err != nil {
		return control.APIKey{}, err
	}
	for _, k := range keys {
		if k.ID == id {
			return k, nil
		}
	}
	return control.APIKey{}, control.ErrNotFound
}

// DeleteKey forgets an API key.
func (c *Client) DeleteKey(ctx context.Context, id string) error {
	path, err := keyPath(id)
	if err != nil {
		return err
	}
	return c.call(ctx, writeTimeout, http.MethodDelete, path, nil, nil)
}

func keyPath(id string) (string, error) {
	if id == "" || id == "." || id == ".." {
		return "", control.ErrNotFound
	}
	return "/api/keys/" + url.PathEscape(id), nil
}
