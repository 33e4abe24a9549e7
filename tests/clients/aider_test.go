package clients

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// aiderRoute is one of the two ways in which aider reaches a model.
type aiderRoute int

const (
	// aiderOpenAI goes through the OpenAI Python SDK, which tries twice more
	// by itself.
	aiderOpenAI aiderRoute = iota
	// aiderAnthropic goes through litellm's own HTTP client, which does not.
	aiderAnthropic
)

// aiderClient sends what aider sends and retries as aider retries: eight
// times, after 0.25 s, 0.5 s … 32 s, without a look at Retry-After.
type aiderClient struct {
	base  string
	route aiderRoute
}

// statusError is an answer that is no answer.
type statusError struct {
	status     int
	retryAfter string
	body       string
}

func (e *statusError) Error() string { return fmt.Sprintf("status %d: %s", e.status, e.body) }

// errBroken is a stream that ended before its end.
var errBroken = errors.New("the stream broke off")

// pause waits for d, or for the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// send is aider's outer loop.
func (a *aiderClient) send(ctx context.Context, prompt string, stream bool) (string, error) {
	const retryTimeout = time.Minute
	for delay := 125 * time.Millisecond; ; {
		text, err := a.complete(ctx, prompt, stream)
		if err == nil || ctx.Err() != nil || !aiderRetries(err) {
			return text, err
		}
		if delay *= 2; delay > retryTimeout {
			return "", fmt.Errorf("gave up: %w", err)
		}
		if err := pause(ctx, delay); err != nil {
			return "", err
		}
	}
}

// aiderRetries tells after which errors aider tries again: those of the
// request's own making and of the login end the turn.
func aiderRetries(err error) bool {
	e, ok := errors.AsType[*statusError](err)
	if !ok {
		return true // a connection error, a timeout, a broken stream
	}
	switch e.status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusRequestEntityTooLarge:
		return false
	}
	return true
}

// complete is one call of litellm, with the SDK's two retries on the OpenAI
// route: after Retry-After of up to a minute, else 0.5 s doubled, at most 8 s.
func (a *aiderClient) complete(ctx context.Context, prompt string, stream bool) (string, error) {
	retries := 0
	if a.route == aiderOpenAI {
		retries = 2
	}
	for attempt := 0; ; attempt++ {
		text, err := a.once(ctx, prompt, stream, attempt)
		e, isStatus := errors.AsType[*statusError](err)
		retryable := err != nil && !errors.Is(err, errBroken) &&
			(!isStatus || e.status == 408 || e.status == 409 || e.status == 429 || e.status >= 500)
		if !retryable || attempt == retries {
			return text, err
		}
		wait := min(500*time.Millisecond<<attempt, 8*time.Second)
		if isStatus {
			if s, err := strconv.Atoi(e.retryAfter); err == nil && s > 0 && s <= 60 {
				wait = time.Duration(s) * time.Second
			}
		}
		if err := pause(ctx, wait); err != nil {
			return "", err
		}
	}
}

const aiderSystem = "Act as an expert software developer. Always use best practices when coding."

// request makes the HTTP request of one attempt.
func (a *aiderClient) request(ctx context.Context, prompt string, stream bool, attempt int) (*http.Request, error) {
	type part = map[string]any
	path, body := "/v1/chat/completions", part{
		"model":       "gpt-5.1",
		"messages":    []part{{"role": "system", "content": aiderSystem}, {"role": "user", "content": prompt}},
		"temperature": 0,
	}
	if a.route == aiderAnthropic {
		path, body = "/v1/messages", part{
			"model":       "claude-sonnet-4-5",
			"messages":    []part{{"role": "user", "content": []part{{"type": "text", "text": prompt}}}},
			"system":      []part{{"type": "text", "text": aiderSystem}},
			"max_tokens":  8192,
			"temperature": 0,
		}
	}
	if stream {
		body["stream"] = true
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+path, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json")
	if a.route == aiderAnthropic {
		h.Set("User-Agent", "litellm/1.82.3")
		h.Set("x-api-key", "local")
		h.Set("anthropic-version", "2023-06-01")
		return req, nil
	}
	h.Set("User-Agent", "OpenAI/Python 2.28.0")
	h.Set("Authorization", "Bearer local")
	h.Set("X-Stainless-Lang", "python")
	h.Set("X-Stainless-Package-Version", "2.28.0")
	h.Set("X-Stainless-Runtime", "CPython")
	h.Set("X-Stainless-Retry-Count", strconv.Itoa(attempt))
	return req, nil
}

// once makes one attempt and returns the text of its answer.
func (a *aiderClient) once(ctx context.Context, prompt string, stream bool, attempt int) (string, error) {
	req, err := a.request(ctx, prompt, stream, attempt)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return "", err
		}
		return "", &statusError{resp.StatusCode, resp.Header.Get("Retry-After"), string(body)}
	}
	if stream {
		return a.readStream(resp.Body)
	}
	var whole aiderAnswer
	if err := json.NewDecoder(resp.Body).Decode(&whole); err != nil {
		return "", fmt.Errorf("%w: %w", errBroken, err)
	}
	return whole.text(), nil
}

// aiderAnswer has the text of both dialects' answers and stream events.
type aiderAnswer struct {
	Type    string
	Content []struct{ Text string }
	Delta   struct{ Text string }
	Choices []struct {
		Message, Delta struct{ Content string }
	}
}

func (x aiderAnswer) text() string {
	s := x.Delta.Text
	for _, c := range x.Content {
		s += c.Text
	}
	for _, c := range x.Choices {
		s += c.Message.Content + c.Delta.Content
	}
	return s
}

// readStream reads an event stream to its end mark.
func (a *aiderClient) readStream(r io.Reader) (string, error) {
	var text strings.Builder
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if !ok {
			continue
		}
		if data = strings.TrimSpace(data); data == "[DONE]" {
			return text.String(), nil
		}
		var event aiderAnswer
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return "", fmt.Errorf("%w: %w", errBroken, err)
		}
		switch event.Type {
		case "message_stop":
			return text.String(), nil
		case "error":
			return "", fmt.Errorf("%w: %s", errBroken, data)
		}
		text.WriteString(event.text())
	}
	return "", errors.Join(errBroken, lines.Err())
}
