package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"time"

	"breakwater/proxy/control"
)

// Snapshot returns the present state of everything.
func (c *Client) Snapshot(ctx context.Context) (control.Snapshot, error) {
	return get[control.Snapshot](ctx, c, "/api/state")
}

// Providers returns the catalogue.
func (c *Client) Providers(ctx context.Context) ([]control.Provider, error) {
	out, err := get[struct {
		Providers []control.Provider `json:"providers"`
	}](ctx, c, "/api/catalog")
	return out.Providers, err
}

// KnownModels returns the models that each connection is known to offer.
func (c *Client) KnownModels(ctx context.Context) ([]control.ConnectionModels, error) {
	out, err := get[struct {
		Models []control.ConnectionModels `json:"models"`
	}](ctx, c, "/api/models")
	return out.Models, err
}

// AddConnection stores a new connection.
func (c *Client) AddConnection(ctx context.Context, in control.ConnectionInput) (control.Connection, error) {
	return c.connection(ctx, http.MethodPost, "/api/providers", in)
}

// EditConnection changes the fields that the patch holds.
func (c *Client) EditConnection(ctx context.Context, id string, patch control.ConnectionPatch) (control.Connection, error) {
	path, err := connectionPath(id)
	if err != nil {
		return control.Connection{}, err
	}
	if patch == (control.ConnectionPatch{}) { // the API refuses a patch of nothing
		return c.connection(ctx, http.MethodGet, path, nil)
	}
	return c.connection(ctx, http.MethodPatch, path, patch)
}

func (c *Client) connection(ctx context.Context, method, path string, in any) (control.Connection, error) {
	var out struct {
		Connection control.Connection `json:"connection"`
	}
	err := c.call(ctx, writeTimeout, method, path, in, &out)
	return out.Connection, err
}

// DeleteConnection forgets a connection and its secret.
func (c *Client) DeleteConnection(ctx context.Context, id string) error {
	path, err := connectionPath(id)
	if err != nil {
		return err
	}
	return c.call(ctx, writeTimeout, http.MethodDelete, path, nil, nil)
}

// ReorderConnections gives the connections the priorities 1, 2, 3 in this order.
func (c *Client) ReorderConnections(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return c.err // nothing to order
	}
	return c.post(ctx, "/api/providers/reorder", map[string]any{"ids": ids})
}

// TestConnection asks the provider whether the credential works.
func (c *Client) TestConnection(ctx context.Context, id string) (control.TestResult, error) {
	var out control.TestResult
	path, err := connectionPath(id)
	if err != nil {
		return out, err
	}
	err = c.call(ctx, testTimeout, http.MethodPost, path+"/test", nil, &out)
	return out, err
}

// ClearCooldown puts a cooling connection back into routing. The API counts
// what it cleared and leaves unknown ids out, which are ErrNotFound here.
func (c *Client) ClearCooldown(ctx context.Context, id string) error {
	if id == "" {
		return control.ErrNotFound
	}
	var out struct {
		Cleared         int `json:"cleared"`
		Unchanged       int `json:"unchanged"`
		SkippedTerminal int `json:"skippedTerminal"`
	}
	in := map[string]any{"connectionIds": []string{id}}
	err := c.call(ctx, writeTimeout, http.MethodPost, "/api/resilience/cooldowns", in, &out)
	if err == nil && out.Cleared+out.Unchanged+out.SkippedTerminal == 0 {
		return control.ErrNotFound
	}
	return err
}

// ResetBreakers closes every breaker and returns how many there were.
func (c *Client) ResetBreakers(ctx context.Context) (int, error) {
	var out struct {
		Count int `json:"resetCount"`
	}
	err := c.call(ctx, writeTimeout, http.MethodPost, "/api/resilience/reset", nil, &out)
	return out.Count, err
}

// ResetBreaker closes the breaker of one provider.
func (c *Client) ResetBreaker(ctx context.Context, provider string) (int, error) {
	var out struct {
		Count int `json:"resetCount"`
	}
	path := "/api/resilience/reset?" + url.Values{"provider": {provider}}.Encode()
	err := c.call(ctx, writeTimeout, http.MethodPost, path, nil, &out)
	return out.Count, err
}

// SetPaused makes the proxy refuse new requests, or serve them again.
func (c *Client) SetPaused(ctx context.Context, paused bool) error {
	return c.post(ctx, "/api/app/pause", map[string]any{"paused": paused})
}

// PauseFor makes the proxy refuse new requests for a while, to the second.
func (c *Client) PauseFor(ctx context.Context, d time.Duration) error {
	return c.post(ctx, "/api/app/pause", map[string]any{"paused": true, "seconds": int64(d / time.Second)})
}

// Activity returns the newest requests first.
func (c *Client) Activity(ctx context.Context, q control.ActivityQuery) ([]control.Activity, error) {
	v := url.Values{}
	if q.Before != 0 {
		v.Set("before", strconv.FormatInt(q.Before, 10))
	}
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.ConnectionID != "" {
		v.Set("connectionId", q.ConnectionID)
	}
	if q.FailedOnly {
		v.Set("failedOnly", "true")
	}
	out, err := get[struct {
		Activity []control.Activity `json:"activity"`
	}](ctx, c, "/api/activity?"+v.Encode())
	return out.Activity, err
}

// Usage sums up the activity that is still kept.
func (c *Client) Usage(ctx context.Context, q control.UsageQuery) ([]control.UsageRow, error) {
	v := url.Values{}
	for name, t := range map[string]time.Time{"since": q.Since, "until": q.Until} {
		if !t.IsZero() {
			v.Set(name, t.UTC().Format(time.RFC3339Nano))
		}
	}
	out, err := get[struct {
		Rows []control.UsageRow `json:"rows"`
	}](ctx, c, "/api/usage?"+v.Encode())
	return out.Rows, err
}

// SetRateLimitProtection puts a connection's requests under the request queue,
// or takes the wish back.
func (c *Client) SetRateLimitProtection(ctx context.Context, id string, on bool) error {
	if id == "" {
		return control.ErrNotFound
	}
	return c.post(ctx, "/api/rate-limits", map[string]any{"connectionId": id, "enabled": on})
}

// Settings returns the stored settings.
func (c *Client) Settings(ctx context.Context) (control.Settings, error) {
	return get[control.Settings](ctx, c, "/api/settings")
}

// EditSettings changes the fields that the patch holds.
func (c *Client) EditSettings(ctx context.Context, patch control.SettingsPatch) (control.Settings, error) {
	if patch == (control.SettingsPatch{}) {
		return c.Settings(ctx)
	}
	var out control.Settings
	err := c.call(ctx, writeTimeout, http.MethodPatch, "/api/settings", patch, &out)
	return out, err
}

// AllSettings returns the settings of both kinds with their revision.
func (c *Client) AllSettings(ctx context.Context) (control.AllSettings, error) {
	return get[control.AllSettings](ctx, c, "/api/settings")
}

// EditAllSettings changes the fields that the patch holds, all or none.
func (c *Client) EditAllSettings(ctx context.Context, patch control.AllSettingsPatch) (control.AllSettings, error) {
	if reflect.ValueOf(patch).IsZero() { // the API refuses a patch of nothing
		return c.AllSettings(ctx)
	}
	var out control.AllSettings
	err := c.call(ctx, writeTimeout, http.MethodPatch, "/api/settings", patch, &out)
	return out, err
}

// ClearLockouts makes locked models available again.
func (c *Client) ClearLockouts(ctx context.Context, which control.LockoutFilter) (int, error) {
	in := map[string]any{"provider": which.Provider, "connection": which.ConnectionID, "model": which.Model}
	if which == (control.LockoutFilter{}) {
		in = map[string]any{"all": true}
	}
	var out struct {
		Removed int `json:"removedCount"`
	}
	err := c.call(ctx, writeTimeout, http.MethodDelete, "/api/resilience/model-cooldowns", in, &out)
	return out.Removed, err
}

// Resilience returns the resilience settings in force.
func (c *Client) Resilience(ctx context.Context) (control.Resilience, error) {
	return get[control.Resilience](ctx, c, "/api/resilience")
}

// EditResilience applies a strict partial patch.
func (c *Client) EditResilience(ctx context.Context, patch json.RawMessage) (control.Resilience, error) {
	var out control.Resilience
	if !json.Valid(patch) {
		return out, control.Invalid("body", "Invalid JSON body")
	}
	err := c.call(ctx, writeTimeout, http.MethodPatch, "/api/resilience", patch, &out)
	return out, err
}

// Guide returns the guide's further settings.
func (c *Client) Guide(ctx context.Context) (control.Guide, error) {
	return get[control.Guide](ctx, c, "/api/settings")
}

// EditGuide changes the fields that the patch holds.
func (c *Client) EditGuide(ctx context.Context, patch control.GuidePatch) (control.Guide, error) {
	var out control.Guide
	err := c.call(ctx, writeTimeout, http.MethodPatch, "/api/settings", patch, &out)
	return out, err
}

// ShowWindow asks the desktop to raise the window at a page.
func (c *Client) ShowWindow(ctx context.Context, page string) error {
	return c.post(ctx, "/api/app/show", map[string]any{"page": page})
}

// Quit ends the program.
func (c *Client) Quit(ctx context.Context) error { return c.post(ctx, "/api/app/quit", nil) }

// Demo returns the fault panel.
func (c *Client) Demo(ctx context.Context) (control.Demo, error) {
	return get[control.Demo](ctx, c, "/api/demo")
}

// EditDemo changes the fault panel and the demo's clock.
func (c *Client) EditDemo(ctx context.Context, patch control.DemoPatch) (control.Demo, error) {
	var out control.Demo
	err := c.call(ctx, writeTimeout, http.MethodPatch, "/api/demo", patch, &out)
	return out, err
}

func (c *Client) post(ctx context.Context, path string, in any) error {
	return c.call(ctx, writeTimeout, http.MethodPost, path, in, nil)
}

func get[T any](ctx context.Context, c *Client, path string) (T, error) {
	var out T
	err := c.call(ctx, readTimeout, http.MethodGet, path, nil, &out)
	return out, err
}

// connectionPath refuses the ids that would name another route: an empty one,
// and those that the server would clean away.
func connectionPath(id string) (string, error) {
	if id == "" || id == "." || id == ".." {
		return "", control.ErrNotFound
	}
	return "/api/providers/" + url.PathEscape(id), nil
}
