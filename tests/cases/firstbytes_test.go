package cases

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// Streams of the three dialects that lack nothing.
var (
	wholeMessage = event("message_start", messageStart) + event("content_block_start", blockStart) + event("content_block_delta", textDelta) +
		event("content_block_stop", `{"type":"content_block_stop","index":0}`) +
		event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":7}}`) +
		event("message_stop", `{"type":"message_stop"}`)
	wholeChat = "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n" +
		"data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"alpha\"},\"finish_reason\":null}]}\n\n" +
		"data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	wholeResponse = event("response.created", `{"type":"response.created","response":{"id":"r1"}}`) +
		event("response.output_text.delta", `{"type":"response.output_text.delta","item_id":"m1","output_index":0,"content_index":0,"delta":"alpha"}`) +
		event("response.completed", `{"type":"response.completed","response":{"id":"r1","object":"response","status":"completed","output":[{"type":"message","id":"m1","role":"assistant","content":[{"type":"output_text","text":"alpha","annotations":[]}]}],"usage":{"input_tokens":3,"output_tokens":7}}}`)
)

var wholeStreams = []struct{ name, path, request, stream string }{
	{"Messages", "/v1/messages", scenario.Messages, wholeMessage},
	{"Chat", "/v1/chat/completions", scenario.Chat, wholeChat},
	{"Responses", "/v1/responses", scenario.Responses, wholeResponse},
}

// raw is an upstream whose answer is written by hand. The label "none" leaves
// the type out.
func raw(t *testing.T, k *scenario.Kit, label string, write func(w io.Writer, flush func())) {
	t.Helper()
	up := upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header()["Content-Type"] = []string{label}
		if label == "none" {
			w.Header()["Content-Type"] = nil
		}
		flush := func() { _ = http.NewResponseController(w).Flush() }
		flush()
		write(w, flush)
	})
	k.Add("alpha", "demo", func(in *control.ConnectionInput) { in.BaseURL = up + "/v1" })
}

// answeredWith fails the test unless the last request was answered by alpha,
// which nothing is held against, with this remark in the trace.
func answeredWith(t *testing.T, k *scenario.Kit, remark string) {
	t.Helper()
	last := k.Last()
	end := last.Trace[len(last.Trace)-1]
	if last.Result != "answered" || last.ConnectionName != "alpha" || end.Reason != remark {
		t.Errorf("recorded as %s by %s, %+v", last.Result, last.ConnectionName, end)
	}
	if c, b := k.Connection("alpha"), k.Breaker("demo"); c.State != "serving" || c.Failed != 0 || b.FailureCount != 0 {
		t.Errorf("alpha is %s, failed %d, breaker %d", c.State, c.Failed, b.FailureCount)
	}
}

// Case Q11: the first bytes say that an answer is an event stream, whatever its
// label and layout, and the client gets the right label (ruling 60).
func TestEventStreamsUnderOtherLabels(t *testing.T) {
	layouts := []struct {
		name string
		made func(stream string) (sent, want string)
	}{
		{"plain", func(s string) (string, string) { return s, s }},
		{"CRLF", func(s string) (string, string) { s = strings.ReplaceAll(s, "\n", "\r\n"); return s, s }},
		{"mark", func(s string) (string, string) { return "\ufeff" + s, "\ufeff" + s }},
		{"empty lines and a comment", func(s string) (string, string) { return "\n\r\n: hi\n\n" + s, "\n\r\n: hi\n\n" + s }},
		{"spaces that would hide the first field", func(s string) (string, string) { return "\ufeff \t" + s, s }},
		{"retry first", func(s string) (string, string) { return "retry: 5\n\n" + s, "retry: 5\n\n" + s }},
	}
	for i, d := range wholeStreams {
		for _, label := range []string{"application/json", "text/plain; charset=utf-8", "application/octet-stream", "none", "text/html", "Text/Event-Stream"} {
			l := layouts[i]
			for _, size := range []int{1 << 20, 1} {
				t.Run("Q11 "+d.name+" "+label+" "+l.name, func(t *testing.T) {
					k := scenario.Start(t)
					sent, want := l.made(d.stream)
					raw(t, k, label, func(w io.Writer, flush func()) {
						for at := 0; at < len(sent); at += size {
							_, _ = io.WriteString(w, sent[at:min(at+size, len(sent))])
							flush()
						}
					})
					a := k.Post(d.path, d.request)
					if a.Status != 200 || a.Err != nil || a.Body != want || !strings.HasPrefix(strings.ToLower(a.Header.Get("Content-Type")), "text/event-stream") {
						t.Fatalf("got %d, %v, %q: %q, want %q", a.Status, a.Err, a.Header.Get("Content-Type"), a.Body, want)
					}
					answeredWith(t, k, "")
				})
			}
			i = (i + 1) % len(layouts)
		}
	}
	t.Run("Q11 a mark torn between two reads, and the first byte after a second", func(t *testing.T) {
		k := scenario.Start(t)
		raw(t, k, "application/json", func(w io.Writer, flush func()) {
			<-time.After(time.Second)
			for _, p := range []string{"\xef", "\xbb\xbf", "\n", "ev", "ent: message_start\ndata: " + messageStart + "\n\n"} {
				_, _ = io.WriteString(w, p)
				flush()
			}
			_, _ = io.WriteString(w, wholeMessage[len(event("message_start", messageStart)):])
		})
		a := k.Post("/v1/messages", scenario.Messages)
		if a.Err != nil || a.Body != "\ufeff\n"+wholeMessage {
			t.Errorf("%v: %q", a.Err, a.Body)
		}
		answeredWith(t, k, "")
	})
	t.Run("Q11 a page is no answer whatever its label", func(t *testing.T) {
		for _, label := range []string{"text/event-stream", "application/json", "text/html"} {
			k := scenario.Start(t)
			alpha, _ := k.Pair()
			alpha.Script(simulator.Raw(label, "\ufeff\r\n<!doctype html><p>alpha</p>"))
			if a := k.Post("/v1/messages", scenario.Messages); a.From() != "beta" || a.Err != nil {
				t.Errorf("%s: %d, %v: %s", label, a.Status, a.Err, a.Body)
			}
		}
	})
	t.Run("Q11 blanks without end are not held", func(t *testing.T) {
		k := scenario.Start(t)
		raw(t, k, "application/json", func(w io.Writer, flush func()) {
			_, _ = io.WriteString(w, strings.Repeat(" \n", 200<<10)+wholeMessage)
		})
		if a := k.Post("/v1/messages", scenario.Messages); a.Err != nil || !strings.HasSuffix(a.Body, wholeMessage) {
			t.Errorf("%d, %v: %.200q", a.Status, a.Err, a.Body)
		}
	})
}

// Case Q12: once the finish was seen, a clean end is complete in every dialect,
// and what is missing is added (ruling 59).
func TestTheMissingEndIsAdded(t *testing.T) {
	stop, done := event("message_stop", `{"type":"message_stop"}`), "data: [DONE]\n\n"
	blockStop := event("content_block_stop", `{"type":"content_block_stop","index":0}`)
	message, chat := strings.TrimSuffix(wholeMessage, stop), strings.TrimSuffix(wholeChat, done)
	both := "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"alpha\"},\"finish_reason\":null},{\"index\":1,\"delta\":{\"content\":\"x\"},\"finish_reason\":null}]}\n\n" +
		"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
	other := "data: {\"choices\":[{\"index\":1,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n"
	two := strings.Replace(scenario.Chat, `"stream"`, `"n":2,"stream"`, 1)
	for _, tt := range []struct{ name, path, request, sent, want, result string }{
		{"Messages", "/v1/messages", scenario.Messages, message, message + stop, "answered"},
		{"Messages, CRLF", "/v1/messages", scenario.Messages, strings.ReplaceAll(message, "\n", "\r\n"), strings.ReplaceAll(message, "\n", "\r\n") + stop, "answered"},
		{"Messages, the last event is torn off at its end", "/v1/messages", scenario.Messages, strings.TrimSuffix(message, "\n\n"), message + stop, "answered"},
		{"Messages, the block is open", "/v1/messages", scenario.Messages, strings.Replace(message, blockStop, "", 1), strings.Replace(message, blockStop, "", 1) + blockStop + stop, "answered"},
		{"Chat", "/v1/chat/completions", scenario.Chat, chat, chat + done, "answered"},
		{"Chat, words and finish in one chunk", "/v1/chat/completions", scenario.Chat, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"alpha\"},\"finish_reason\":\"stop\"}]}\n\n", "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"alpha\"},\"finish_reason\":\"stop\"}]}\n\n" + done, "answered"},
		{"Chat, usage behind the finish", "/v1/chat/completions", scenario.Chat, chat + "data: {\"choices\":[],\"usage\":{\"completion_tokens\":7}}\n\n", chat + "data: {\"choices\":[],\"usage\":{\"completion_tokens\":7}}\n\n" + done, "answered"},
		{"Chat, both choices", "/v1/chat/completions", two, both + other, both + other + done, "answered"},
		{"Chat, one choice of two", "/v1/chat/completions", two, both, "", "truncated"},
		{"Messages, no stop reason", "/v1/messages", scenario.Messages, strings.Replace(message, `"end_turn"`, "null", 1), "", "truncated"},
		{"Responses without its last event", "/v1/responses", scenario.Responses, wholeResponse[:strings.Index(wholeResponse, "event: response.completed")], "", "truncated"},
	} {
		for _, size := range []int{1 << 20, 1} {
			t.Run("Q12 "+tt.name, func(t *testing.T) {
				k := scenario.Start(t)
				alpha, _ := k.Pair()
				alpha.Script(simulator.Raw("text/event-stream", tt.sent).InChunks(size))
				a := k.Post(tt.path, tt.request)
				if got := k.Last().Result; got != tt.result {
					t.Errorf("recorded as %s", got)
				}
				if tt.result != "answered" {
					if a.Err == nil {
						t.Errorf("a clean end: %s", a.Body)
					}
					return
				}
				if a.Status != 200 || a.Err != nil || a.Body != tt.want {
					t.Fatalf("got %d, %v: %q, want %q", a.Status, a.Err, a.Body, tt.want)
				}
				answeredWith(t, k, "end_added")
			})
		}
	}
	t.Run("Q12 an end that is not clean", func(t *testing.T) {
		k := scenario.Start(t)
		raw(t, k, "text/event-stream", func(w io.Writer, flush func()) {
			_, _ = io.WriteString(w, message)
			flush()
			panic(http.ErrAbortHandler)
		})
		if a := k.Post("/v1/messages", scenario.Messages); a.Err == nil {
			t.Errorf("a clean end: %s", a.Body)
		}
	})
}

// Case Q13: what has no content yet is no output, in every dialect (ruling 58).
func TestEmptyBlocksAreNoOutput(t *testing.T) {
	toolStart := event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"alpha","input":{}}}`)
	chunk := func(delta string) string {
		return "data: {\"choices\":[{\"index\":0,\"delta\":" + delta + ",\"finish_reason\":null}]}\n\n"
	}
	start, fails := event("message_start", messageStart), event("error", overloaded)
	created := event("response.created", `{"type":"response.created","response":{"id":"alpha"}}`)
	chatFails := "data: {\"error\":{\"message\":\"Overloaded\",\"type\":\"server_error\"}}\n\n"
	responseFails := event("response.failed", `{"type":"response.failed","response":{"error":{"code":"server_error","message":"Overloaded"}}}`)
	for _, tt := range []struct {
		name, path, request, before, fails string
		committed                          bool
	}{
		{"text block", "/v1/messages", scenario.Messages, start + event("content_block_start", blockStart), fails, false},
		{"tool block", "/v1/messages", scenario.Messages, start + toolStart, fails, false},
		{"tool block and an empty piece", "/v1/messages", scenario.Messages, start + toolStart + event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":""}}`), fails, false},
		{"thinking block", "/v1/messages", scenario.Messages, start + event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`), fails, false},
		{"the first argument byte", "/v1/messages", scenario.Messages, start + toolStart + event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{"}}`), fails, true},
		{"the end of a call without arguments", "/v1/messages", scenario.Messages, start + toolStart + event("content_block_stop", `{"type":"content_block_stop","index":0}`), fails, true},
		{"chat role, null and empty deltas", "/v1/chat/completions", scenario.Chat, chunk(`{"role":"assistant","content":""}`) + chunk(`{"content":null}`) + chunk(`{"content":""}`), chatFails, false},
		{"chat call without arguments", "/v1/chat/completions", scenario.Chat, chunk(`{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"alpha","arguments":""}}]}`), chatFails, false},
		{"chat argument", "/v1/chat/completions", scenario.Chat, chunk(`{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"alpha","arguments":"{"}}]}`), chatFails, true},
		{"response items", "/v1/responses", scenario.Responses, created + event("response.output_item.added", `{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f","call_id":"c","name":"alpha","arguments":""}}`) + event("response.output_item.added", `{"type":"response.output_item.added","item":{"type":"reasoning","id":"rs","summary":[]}}`), responseFails, false},
		{"response empty delta", "/v1/responses", scenario.Responses, created + event("response.output_text.delta", `{"type":"response.output_text.delta","delta":""}`), responseFails, false},
		{"response delta", "/v1/responses", scenario.Responses, created + event("response.output_text.delta", `{"type":"response.output_text.delta","delta":"alpha"}`), responseFails, true},
		{"a preamble of 200 KiB", "/v1/responses", scenario.Responses, event("response.created", `{"type":"response.created","response":{"id":"alpha","instructions":"`+strings.Repeat("x", 200<<10)+`"}}`), responseFails, false},
	} {
		t.Run("Q13 "+tt.name, func(t *testing.T) {
			k := scenario.Start(t)
			raw(t, k, "text/event-stream", func(w io.Writer, flush func()) {
				_, _ = io.WriteString(w, tt.before)
				flush()
				<-time.After(50 * time.Millisecond)
				_, _ = io.WriteString(w, tt.fails)
			})
			k.Add("beta", "demo")
			a := k.Post(tt.path, tt.request)
			if tt.committed {
				if !strings.HasPrefix(a.Body, tt.before) || a.Err == nil {
					t.Errorf("not committed: %v %s", a.Err, a.Body)
				}
				return
			}
			if a.From() != "beta" || strings.Contains(a.Body, "alpha") || a.Err != nil {
				t.Errorf("%d, %v: %.300s", a.Status, a.Err, a.Body)
			}
		})
	}
}

// Case Q14: vendors' parsers read no event without its name, so it is added from
// the data's type.
func TestEventNamesAreAdded(t *testing.T) {
	long := strings.Repeat("alpha ", 20<<10)
	bare := func(s string) string {
		var b strings.Builder
		for line := range strings.Lines(s) {
			if !strings.HasPrefix(line, "event: ") {
				b.WriteString(line)
			}
		}
		return b.String()
	}
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	mixed := strings.Replace(wholeMessage, "event: content_block_delta\n", "", 1)
	big := strings.Replace(wholeMessage, `"text":"alpha"`, `"text":"`+long+`"`, 1)
	late := strings.Replace(wholeMessage, `{"type":"message_stop"}`, `{"x":"y","type":"message_stop"}`, 1)
	for _, tt := range []struct{ name, path, request, sent, want string }{
		{"Messages", "/v1/messages", scenario.Messages, bare(wholeMessage), wholeMessage},
		{"Messages, CRLF", "/v1/messages", scenario.Messages, crlf(bare(wholeMessage)), crlf(wholeMessage)},
		{"Messages, CR", "/v1/messages", scenario.Messages, strings.ReplaceAll(bare(wholeMessage), "\n", "\r"), strings.ReplaceAll(wholeMessage, "\n", "\r")},
		{"Messages, mark", "/v1/messages", scenario.Messages, "\ufeff" + bare(wholeMessage), "\ufeff" + wholeMessage},
		{"Messages, some have it", "/v1/messages", scenario.Messages, mixed, wholeMessage},
		{"Messages, an event of 120 KiB", "/v1/messages", scenario.Messages, bare(big), big},
		{"Messages, the type comes last", "/v1/messages", scenario.Messages, bare(late), late},
		{"Messages, a done mark of another dialect", "/v1/messages", scenario.Messages, bare(wholeMessage) + "data: [DONE]\n\n", wholeMessage + "data: [DONE]\n\n"},
		{"Responses", "/v1/responses", scenario.Responses, bare(wholeResponse), wholeResponse},
	} {
		for _, size := range []int{1 << 20, 100, 1} {
			if size == 1 && len(tt.sent) > 1<<15 {
				continue
			}
			t.Run("Q14 "+tt.name, func(t *testing.T) {
				k := scenario.Start(t)
				k.Add("alpha", "demo")
				k.Sim.Account("alpha").Script(simulator.Raw("text/event-stream", tt.sent).InChunks(size))
				a := k.Post(tt.path, tt.request)
				if a.Status != 200 || a.Err != nil || a.Body != tt.want {
					t.Fatalf("got %d, %v: %.2000q, want %.2000q", a.Status, a.Err, a.Body, tt.want)
				}
				answeredWith(t, k, "event_names_added")
			})
		}
	}
	t.Run("Q14 chat has no names", func(t *testing.T) {
		k := scenario.Start(t)
		k.Add("alpha", "demo")
		stream := strings.Replace(wholeChat, `{"id":"c1"`, `{"type":"x","id":"c1"`, 1)
		k.Sim.Account("alpha").Script(simulator.Raw("text/event-stream", stream))
		if a := k.Post("/v1/chat/completions", scenario.Chat); a.Body != stream {
			t.Errorf("got %q", a.Body)
		}
	})
}

// upstreamOf serves a handler and returns its address.
func upstreamOf(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	up := httptest.NewServer(h)
	t.Cleanup(up.Close)
	return up.URL
}
