package client

import (
	"context"
	"net/http"

	"breakwater/proxy/control"
)

// Export returns the configuration, with the sealed keys when a passphrase is
// given.
func (c *Client) Export(ctx context.Context, passphrase string) (control.Backup, error) {
	if passphrase == "" {
		return get[control.Backup](ctx, c, "/api/export")
	}
	var out control.Backup
	err := c.call(ctx, writeTimeout, http.MethodPost, "/api/export", map[string]any{"passphrase": passphrase}, &out)
	return out, err
}

// Import puts a backup in force, or reports what that would do.
func (c *Client) Import(ctx context.Context, in control.ImportRequest) (control.ImportReport, error) {
	var out control.ImportReport
	err := c.call(ctx, writeTimeout, http.MethodPost, "/api/import", in, &out)
	return out, err
}
