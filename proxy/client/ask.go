package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Ask sends one small request for a model through the proxy, as an agent would
// in the dialect anthropic, chat or responses, and returns once it is answered.
// It carries no key. An answer other than a success is an error with the words
// of the answer; it never counts as a refused token, which has no part in it.
func (c *Client) Ask(ctx context.Context, dialect, model string) error {
	if c.err != nil {
		return c.err
	}
	path, body := question(dialect, model)
	data, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("test request: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("test request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "breakwater")
	if dialect == "anthropic" {
		req.Header.Set("Anthropic-Version", "2023-06-01")
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

// question is the smallest request of a dialect, and where it goes.
func question(dialect, model string) (path string, body map[string]any) {
	hello := []map[string]string{{"role": "user", "content": "Say hello."}}
	switch dialect {
	case "chat":
		return "/v1/chat/completions", map[string]any{"model": model, "messages": hello}
	case "responses":
		return "/v1/responses", map[string]any{"model": model, "input": "Say hello."}
	default:
		return "/v1/messages", map[string]any{"model": model, "max_tokens": 64, "messages": hello}
	}
}
