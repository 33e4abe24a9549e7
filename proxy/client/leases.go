package client

import (
	"context"
	"net/http"
	"net/url"

	"breakwater/proxy/control"
)

// Leases returns the exclusive leases in force, the first to end first.
func (c *Client) Leases(ctx context.Context) ([]control.HeldLease, error) {
	out, err := get[struct {
		Leases []control.HeldLease `json:"leases"`
	}](ctx, c, "/api/session-leases")
	return out.Leases, err
}

// EndLease takes a lease from its owner.
func (c *Client) EndLease(ctx context.Context, id string) error {
	if id == "" || id == "." || id == ".." {
		return control.ErrNotFound
	}
	return c.call(ctx, writeTimeout, http.MethodDelete, "/api/session-leases/"+url.PathEscape(id), nil, nil)
}
