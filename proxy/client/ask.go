package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"breakwater/proxy/dialect"
)

// Ask sends one small request for a model through the proxy, as an agent would
// in the dialect of that name, and returns once it is answered.
// It carries no key. An answer other than a success is an error with the words
// of the answer; it never counts as a refused token, which has no part in it.
func (c *Client) Ask(ctx context.Context, speaks, model string) error {
	if c.err != nil {
		return c.err
	}
	d, ok := dialect.Of(dialect.Name(speaks))
	if !ok {
		return fmt.Errorf("test request: %q is no dialect; use %s", speaks, dialect.Choice())
	}
	path, body := "/v1"+d.Traits().Routes[0].Path, d.Ask(dialect.Question{Model: model, Words: "Say hello."})
	ctx, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("test request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "breakwater")
	if v := d.Traits().Version; v.Name != "" {
		req.Header.Set(v.Name, v.Value())
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return failure(ctx, http.MethodPost, path, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return failure(ctx, http.MethodPost, path, err)
	}
	if resp.StatusCode/100 == 2 {
		return nil
	}
	var said struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(answer, &said) == nil && said.Error.Message != "" {
		return errors.New(said.Error.Message)
	}
	return fmt.Errorf("status %d", resp.StatusCode)
}
