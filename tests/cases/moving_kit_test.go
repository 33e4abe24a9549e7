package cases

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"breakwater/proxy/control"
	"breakwater/tests/scenario"
)

// sealer is an upstream account that reads only reasoning that it made itself.
type sealer struct {
	name string
	url  string

	mu     sync.Mutex
	made   int
	bodies [][]byte
	limits int // how many of the next requests meet a rate limit
	// refusal writes what the account answers to reasoning of others; nil is the
	// vendor's own refusal.
	refusal func(w http.ResponseWriter, kind string)
	// compacts makes each answer hold encrypted compaction, torn breaks it off
	// after its text.
	compacts, torn bool
}

// newSealer adds a connection of this name that such an account answers.
func newSealer(k *scenario.Kit, name, provider string, more ...func(*control.ConnectionInput)) *sealer {
	s := &sealer{name: name}
	srv := httptest.NewServer(s)
	k.Cleanup(srv.Close)
	s.url = srv.URL + "/v1"
	k.Add(name, provider, append([]func(*control.ConnectionInput){func(in *control.ConnectionInput) { in.BaseURL = s.url }}, more...)...)
	return s
}

func (s *sealer) limited(n int) { s.mu.Lock(); s.limits = n; s.mu.Unlock() }

// calls returns the bodies of the requests so far.
func (s *sealer) calls() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([][]byte{}, s.bodies...)
}

func (s *sealer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodies = append(s.bodies, raw)
	if s.limits > 0 {
		s.limits--
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`)
		return
	}
	if kind := s.foreign(raw); kind != "" {
		refuse := s.refusal
		if refuse == nil {
			refuse = vendorRefusal
		}
		refuse(w, kind)
		return
	}
	s.made++
	s.answer(w, strings.HasSuffix(r.URL.Path, "/messages"), strings.Contains(string(raw), `"stream":true`))
}

// foreign returns the kind of the first sealed part that another account made.
func (s *sealer) foreign(raw []byte) (kind string) {
	var body any
	_ = json.Unmarshal(raw, &body) // what is no JSON holds nothing
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, field := range []string{"signature", "data", "encrypted_content"} {
				if text, ok := v[field].(string); ok && kind == "" && !strings.Contains(text, s.name) {
					kind, _ = v["type"].(string)
				}
			}
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(body)
	return kind
}

// vendorRefusal is what OpenAI and Anthropic say.
func vendorRefusal(w http.ResponseWriter, kind string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = io.WriteString(w, refusalText(kind, `"invalid_encrypted_content"`))
}

func refusalText(kind, code string) string {
	switch kind {
	case "thinking":
		return "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.1.content.0: Invalid `signature` in `thinking` block\"}}"
	case "redacted_thinking":
		return "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.1.content.0: Invalid `data` in `redacted_thinking` block\"}}"
	}
	return `{"error":{"message":"The encrypted content gAAA...pha could not be verified. Reason: Encrypted content could not be decrypted or parsed.","type":"invalid_request_error","param":null,"code":` + code + `}}`
}

// seal is the latest signature or ciphertext of the account.
func (s *sealer) seal() string { return fmt.Sprintf("gAAAAB-%s-%d", s.name, s.made) }

func (s *sealer) answer(w http.ResponseWriter, messages, stream bool) {
	var events []string
	var doc string
	if messages {
		doc = fmt.Sprintf(`{"id":"msg_%d","type":"message","role":"assistant","model":"m1","content":[{"type":"thinking","thinking":"hm","signature":"%s"},{"type":"text","text":"from %s"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`, s.made, s.seal(), s.name)
		events = []string{
			fmt.Sprintf(`{"type":"message_start","message":{"id":"msg_%d","type":"message","role":"assistant","model":"m1","content":[],"usage":{"input_tokens":1}}}`, s.made),
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"` + s.seal() + `"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"from ` + s.name + `"}}`,
			`{"type":"content_block_stop","index":1}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}`,
			`{"type":"message_stop"}`,
		}
	} else {
		items := []string{
			fmt.Sprintf(`{"type":"reasoning","id":"rs_%d","summary":[],"encrypted_content":"%s"}`, s.made, s.seal()),
			fmt.Sprintf(`{"type":"message","id":"msg_%d","role":"assistant","status":"completed","content":[{"type":"output_text","text":"from %s"}]}`, s.made, s.name),
		}
		if s.compacts {
			items = append([]string{`{"type":"compaction","id":"cmp_1","encrypted_content":"` + s.seal() + `-compact"}`}, items...)
		}
		doc = fmt.Sprintf(`{"id":"resp_%s_%d","object":"response","status":"completed","output":[%s],"usage":{"input_tokens":1,"output_tokens":1}}`, s.name, s.made, strings.Join(items, ","))
		events = []string{fmt.Sprintf(`{"type":"response.created","response":{"id":"resp_%s_%d","status":"in_progress"}}`, s.name, s.made)}
		for i, item := range items {
			events = append(events, fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":{"type":"message"}}`, i))
			if strings.Contains(item, "output_text") {
				events = append(events, fmt.Sprintf(`{"type":"response.output_text.delta","output_index":%d,"delta":"from %s"}`, i, s.name))
			}
			events = append(events, fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, i, item))
		}
		events = append(events, `{"type":"response.completed","response":`+doc+`}`)
	}
	if !stream {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, doc)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for i, e := range events {
		if s.torn && i == len(events)-2 {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		var kind struct{ Type string }
		_ = json.Unmarshal([]byte(e), &kind) // written above
		_, _ = io.WriteString(w, "event: "+kind.Type+"\ndata: "+e+"\n\n")
	}
}

// failover changes switches of failover.
func failover(t *testing.T, k *scenario.Kit, json string) {
	t.Helper()
	if _, err := k.Facade().EditResilience(t.Context(), []byte(`{"failover":`+json+`}`)); err != nil {
		t.Fatal(err)
	}
}

// repairs counts the lines of a trace that say what was taken out of a request.
func repairs(a control.Activity) (lines, items int) {
	for _, s := range a.Trace {
		if s.Kind == control.StepRepaired {
			lines, items = lines+1, items+s.Count
		}
	}
	return lines, items
}
