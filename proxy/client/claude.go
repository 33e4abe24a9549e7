package client

import (
	"context"

	"breakwater/proxy/control"
)

// LeaveLane ends the low-priority lane of a Claude connection.
func (c *Client) LeaveLane(ctx context.Context, id string) error {
	return c.about(ctx, id, "/leave-lane")
}

// CheckLimitReset lets the next request at the wall ask for the limit reset.
func (c *Client) CheckLimitReset(ctx context.Context, id string) error {
	return c.about(ctx, id, "/check-reset")
}

// ClaudeUsage returns the quota windows of a Claude connection.
func (c *Client) ClaudeUsage(ctx context.Context, id string) (control.ClaudeUsage, error) {
	path, err := connectionPath(id)
	if err != nil {
		return control.ClaudeUsage{}, err
	}
	return get[control.ClaudeUsage](ctx, c, path+"/usage")
}

func (c *Client) about(ctx context.Context, id, what string) error {
	path, err := connectionPath(id)
	if err != nil {
		return err
	}
	return c.post(ctx, path+what, map[string]any{})
}
