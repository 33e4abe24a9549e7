package cases

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"breakwater/proxy/control"
	"breakwater/proxy/upstream"
	"breakwater/tests/scenario"
)

// knownKeys have the forms in which vendors hand out keys; none of them opens
// anything. The bar ends what is no secret.
var knownKeys = []string{
	"sk-ant-api03-|Qm7Zt2LxV9cRb4NwKs8PyDf1HgJ6uAeW3oTiXz5BvCn0Mq7Zt2LxV9cRb4NwKs8PyDf1HgJ-AbCdEfAA",
	"sk-ant-oat01-|Lw4Kd8RvX2nTq6JbYs9Gm3HzPf7CuE1oAi5WtZkVxNcQrBdMgSyLpFhJ0-u4Kd8RvX2nTq6JbYs9-GhIjKlBB",
	"sk-ant-|T9vBx3NqR7mZc2KdWs6LgYf8PjHt4UeAo1i",
	"sk-proj-|Vd3Jx8MnQ2rTb7LwKc5ZgYs9PfHt1UeAo4iWqXzRvBnCmDkJgLpSyF6T3BlbkFJh0Vd3Jx8MnQ2rTb7LwKc5",
	"sk-svcacct-|Rk5Wb9TnX3qLd7JvYc2Gz8MsPf6HuE4oAi1",
	"sk-|Zp4Nc8KtR2vXb6LwJd9QgYs3MfHu7EeAo5iWxTzVqBnCk1Dj",
	"sk-or-v1-|7f3a9c2e8b4d6f1a5c9e3b7d2f8a4c6e1b5d9f3a7c2e8b4d6f1a5c9e3b7d2f8a",
	"gsk_|Hx6Vb2NqK9mTd4RwLc8ZgYs3PfJt7UeAo1iWqXzRvBnCmDkJgLp5",
	"xai-|Mt8Rc3XvK6nQb2LwJd7ZgYs9PfHu4EeAo1iWxTzVqBnCk5DjSgLpFyR0Mt8Rc3XvK6nQb2LwJd7",
	"AIzaSy|D4kVx9Nq2RmTb7LwKc5ZgYs8PfHt3Ue",
	"pplx-|6bd2f8a4c9e1b5d7f3a8c2e6b4d9f1a5c7e3b8d2f6a4c9e1",
	"fw_|3ZkVx8NqR2mTb7LwKd5GgYs9PfHt",
	"r8_|Wq5Zt9LxV3cRb7NwKs2PyDf8HgJ4uAeM1oTi",
	"hf_|KxVbNqRmTdZwLcGgYsPfJtUeAoIiWqXzRv",
	"nvapi-|Yt6Vb2NqK9mTd4RwLc8ZgXs3PfJh7UeAo1iWqMzRvBnCmDkJgLp5SyFxT0Yt6Vb2NqK",
	"csk-|8n4xv2k9m6rtd3w7lcb5zgys1pfhq0ue8n4xv2k9m6rtd3w",
	"tgp_v1_|Bq7Zt3LxV8cRb2NwKs9PyDf4HgJ6uAeW1oTiXz5",
	"co-|Jk5Wb9TnX3qLd7RvYc2Gz8MsPf6HuE4oAi1Vt",
	"|5c8e2b9f4a7d1c6e3b8f5a2d9c4e7b1f.Xq7Lm2Vd9RtB4wZs",
	"|eyJhbGciOiJub25lIn0.eyJzdWIiOiJjYW5hcnkiLCJleHAiOjF9.Nq2RmTb7LwKc5ZgYs8PfHt3UeVx9D4k",
}

// leaks returns a part of the secret that stands in a text, or nothing.
func leaks(text, key string) string {
	_, part, _ := strings.Cut(key, "|")
	for i := range len(part) - run + 1 {
		if strings.Contains(text, part[i:i+run]) {
			return part[i : i+run]
		}
	}
	return ""
}

// pieceByPiece is an upstream whose answer arrives in exactly these pieces, each
// read by the proxy before the next one is sent.
func pieceByPiece(t *testing.T, pieces func() []string) func(context.Context, string, string) (net.Conn, error) {
	t.Helper()
	return func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			req, err := http.ReadRequest(bufio.NewReader(theirs))
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, req.Body)
			_, _ = io.WriteString(theirs, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
			for _, p := range pieces() {
				if _, err := fmt.Fprintf(theirs, "%x\r\n%s\r\n", len(p), p); err != nil {
					return
				}
			}
			_, _ = io.WriteString(theirs, "0\r\n\r\n")
		}()
		return ours, nil
	}
}

// An error event that repeats the key reaches the client without it, wherever
// the network tears the event, and everything before it byte for byte.
func TestErrorEventsWithoutTheKey(t *testing.T) {
	for _, tt := range []struct{ name, path, body, output, failure, kept string }{
		{
			"messages", "/v1/messages", scenario.Messages,
			event("message_start", messageStart) + event("content_block_start", blockStart) + event("content_block_delta", textDelta),
			"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"invalid key KEY, sorry\"}}\n\n", ", sorry",
		},
		{
			"chat", "/v1/chat/completions", scenario.Chat,
			"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"}}]}\n\n: a comment\n\n",
			"data: {\"id\":\"x\",\"error\":{\"code\":529,\"message\":\"invalid key KEY, sorry\"},\"choices\":[]}\r\n\r\n", ", sorry",
		},
		{
			"responses", "/v1/responses", scenario.Responses,
			event("response.created", `{"type":"response.created","response":{}}`) + event("response.output_text.delta", `{"type":"response.output_text.delta","delta":"hi"}`),
			"event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"server_is_overloaded\",\"message\":\"invalid key KEY, sorry\"}}}\n\n", ", sorry",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			key := knownKeys[3]
			secret := strings.Replace(key, "|", "", 1)
			failure := strings.Replace(tt.failure, "KEY", secret, 1)
			var pieces []string
			k := scenario.StartBehind(t, upstream.Options{Proxy: noProxy, Dial: pieceByPiece(t, func() []string { return pieces })})
			k.Add("alpha", "demo", func(in *control.ConnectionInput) { in.BaseURL, in.APIKey = "http://10.255.0.1/v1", secret })
			ask := func(how string) {
				t.Helper()
				if err := k.Facade().ClearCooldown(t.Context(), k.Connection("alpha").ID); err != nil {
					t.Fatal(err)
				}
				if _, err := k.Facade().ResetBreakers(t.Context()); err != nil {
					t.Fatal(err)
				}
				a := k.Do(http.MethodPost, tt.path, tt.body)
				if a.Status != 200 || a.Err == nil {
					t.Fatalf("%s: %d, %v: %s", how, a.Status, a.Err, a.Body)
				}
				if !strings.HasPrefix(a.Body, tt.output) || !strings.Contains(a.Body, tt.kept) {
					t.Errorf("%s: %q", how, a.Body)
				}
				if part := leaks(a.Body, key); part != "" {
					t.Errorf("%s: the client sees %q: %q", how, part, a.Body)
				}
			}
			for at := 1; at < len(failure); at += 3 {
				pieces = []string{tt.output, failure[:at], failure[at:]}
				ask(fmt.Sprintf("torn at %d", at))
			}
			pieces = strings.Split(tt.output+failure, "")
			ask("byte by byte")
			pieces = []string{tt.output + failure}
			ask("in one piece")
		})
	}
}

// Twenty keys: none turns up in an answer, in its headers, in the log, in the
// state or in a file, whatever an upstream repeats of it.
func TestTwentyKeys(t *testing.T) {
	k := scenario.Start(t)
	var seen strings.Builder
	events := recorder(t, k)
	for i, key := range knownKeys {
		secret := strings.Replace(key, "|", "", 1)
		masked := secret[:len(secret)/2] + "****" + secret[len(secret)-4:]
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("X-Echo", "key="+secret)
			w.Header().Set("Content-Type", "application/json")
			switch r.Header.Get("X-Case") {
			case "answer":
				_, _ = fmt.Fprintf(w, `{"choices":[{"message":{"content":"hi"},"finish_reason":%q}]}`, secret[:min(len(secret), 60)])
			case "limit":
				w.Header().Set("Retry-After", secret)
				w.WriteHeader(http.StatusTooManyRequests)
				_, _ = fmt.Fprintf(w, `{"error":{"message":"key %s is limited","type":%q}}`, masked, secret)
			case "early":
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = fmt.Fprintf(w, "data: {\"error\":{\"code\":400,\"type\":\"invalid_request_error\",\"message\":\"key %s\"}}\n\n", secret)
			default:
				w.Header().Set("Www-Authenticate", "Bearer error=\""+masked+"\"")
				w.WriteHeader(http.StatusBadRequest)
				_, _ = fmt.Fprintf(w, `{"error":{"message":"key %s\nor %s","type":"invalid_request_error"}}`, secret, masked)
			}
		}))
		name := fmt.Sprintf("c%d", i)
		k.Add(name, "demo", func(in *control.ConnectionInput) { in.BaseURL, in.APIKey = up.URL+"/v1", secret })
		for _, what := range []string{"answer", "refusal", "early", "limit"} {
			a := k.Post("/v1/chat/completions", strings.Replace(scenario.NoStream(scenario.Chat), "m1", name+"/m1", 1), "X-Case", what)
			if a.Status == 0 || a.Status == 401 || a.Status == 404 {
				t.Errorf("%s of %s: %d %v %s", what, name, a.Status, a.Err, a.Body)
			}
			if what == "answer" {
				a.Body = "" // what a model says is nobody's to change
			}
			fmt.Fprintf(&seen, "%s of %s: %v %s\n", what, name, a.Header, a.Body)
		}
		up.Close()
	}
	k.Last()
	for _, path := range []string{"/api/state", "/api/activity?limit=500", "/api/providers"} {
		seen.WriteString(k.Do(http.MethodGet, path, "", "Authorization", "Bearer "+k.Token).Body)
	}
	seen.WriteString(events())
	seen.WriteString(k.Log.String())
	seen.WriteString(filesOf(t, filepath.Dir(k.Store.Path())))
	if n := strings.Count(seen.String(), "[redacted]"); n < 4*len(knownKeys) {
		t.Errorf("only %d redactions: the upstream's words did not come through", n)
	}
	for _, key := range knownKeys {
		if part := leaks(seen.String(), key); part != "" {
			at := strings.Index(seen.String(), part)
			t.Errorf("%q turns up in ...%s...", part, seen.String()[max(0, at-120):min(at+60, seen.Len())])
		}
	}
}

// What we say of a broken stream is never glued to half an event.
func TestHalfAnEventIsNotPassedOn(t *testing.T) {
	output := event("message_start", messageStart) + event("content_block_start", blockStart) + event("content_block_delta", textDelta)
	for _, half := range []string{"event: content_bl", "event: content_block_delta\n", "event: content_block_delta\ndata: {\"ty", "data: {}\n", "event: error\ndata: {\"type\":\"er"} {
		t.Run(half, func(t *testing.T) {
			k := scenario.StartBehind(t, upstream.Options{Proxy: noProxy, Dial: pieceByPiece(t, func() []string { return []string{output, half} })})
			k.Add("alpha", "demo", func(in *control.ConnectionInput) { in.BaseURL = "http://10.255.0.1/v1" })
			a := k.Post("/v1/messages", scenario.Messages)
			if rest, ok := strings.CutPrefix(a.Body, output); !ok || a.Err == nil || !strings.HasPrefix(rest, "event: content_block_stop\n") || !strings.Contains(rest, "event: error\n") {
				t.Errorf("%v: %s", a.Err, a.Body)
			}
		})
	}
}
