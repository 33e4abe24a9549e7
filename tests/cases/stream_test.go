package cases

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"breakwater/proxy"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

const claudeCode = "X-Claude-Code-Session-Id"

// event writes one event of a named stream.
func event(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

const (
	messageStart = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m1","content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}`
	blockStart   = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	textDelta    = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"alpha"}}`
	overloaded   = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`
)

// Case P19: failover happens before the first output and never after it.
func TestFailureInTheMiddleOfAStream(t *testing.T) {
	preamble := event("message_start", messageStart)
	output := preamble + event("content_block_start", blockStart) + event("content_block_delta", textDelta)
	tests := []struct {
		name, stream string
		client       string
		check        func(t *testing.T, a scenario.Answer)
	}{
		{
			"case P19 error after output, unknown client", output + event("error", overloaded), "X-Nobody",
			func(t *testing.T, a scenario.Answer) {
				if strings.Count(a.Body, "message_start\"") != 1 || strings.Count(a.Body, "event: error") != 1 || a.Err == nil {
					t.Errorf("ended with %v: %s", a.Err, a.Body)
				}
			},
		},
		{
			"case P19 error after output, Claude Code is cut", output + event("error", overloaded), claudeCode,
			func(t *testing.T, a scenario.Answer) {
				if strings.Contains(a.Body, "event: error") || !strings.Contains(a.Body, "alpha") || a.Err == nil {
					t.Errorf("ended with %v: %s", a.Err, a.Body)
				}
			},
		},
		{
			"case P19 only a ping and a comment before the error", ": hi\n\n" + event("ping", `{"type":"ping"}`) + event("error", overloaded), "X-Nobody",
			func(t *testing.T, a scenario.Answer) {
				if a.From() != "beta" || a.Err != nil || strings.Contains(a.Body, ": hi") {
					t.Errorf("ended with %v: %s", a.Err, a.Body)
				}
			},
		},
		{
			"case P31 end inside a block, unknown client", output, "X-Nobody",
			func(t *testing.T, a scenario.Answer) {
				stop, errAt := strings.Index(a.Body, "event: content_block_stop"), strings.Index(a.Body, "event: error")
				if stop < 0 || errAt < stop || a.Err == nil {
					t.Errorf("ended with %v: %s", a.Err, a.Body)
				}
			},
		},
		{
			"case P31 end inside a block, Claude Code is cut", output, claudeCode,
			func(t *testing.T, a scenario.Answer) {
				if a.Body != output || !errors.Is(a.Err, io.ErrUnexpectedEOF) {
					t.Errorf("ended with %v: %s", a.Err, a.Body)
				}
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := scenario.Start(t)
			alpha, _ := k.Pair()
			alpha.Script(simulator.Raw("text/event-stream", tt.stream))
			a := k.Post("/v1/messages", scenario.Messages, tt.client, "s")
			tt.check(t, a)
			want := "answered"
			if a.Err != nil {
				want = "truncated"
			}
			if last := k.Last(); last.Result != want {
				t.Errorf("recorded as %s, want %s", last.Result, want)
			}
		})
	}
}

// Case P29: the lifecycle events of the Responses dialect commit nothing.
func TestErrorRightAfterThePreamble(t *testing.T) {
	t.Run("case P29", func(t *testing.T) {
		k := scenario.Start(t)
		alpha, _ := k.Pair()
		alpha.Script(simulator.Raw("text/event-stream",
			event("response.created", `{"type":"response.created","response":{"id":"r1"}}`),
			event("response.in_progress", `{"type":"response.in_progress","response":{"id":"r1"}}`),
			event("error", `{"type":"error","error":{"code":"server_is_overloaded"}}`)))
		a := k.Post("/v1/responses", scenario.Responses)
		if a.From() != "beta" || a.Err != nil || strings.Contains(a.Body, `"r1"`) {
			t.Errorf("ended with %v: %s", a.Err, a.Body)
		}
		if b := k.Breaker("demo"); b.FailureCount != 0 {
			t.Errorf("overload counted as %d breaker failures", b.FailureCount)
		}
	})
}

// Complete answers pass unchanged and are no failure.
func TestCompleteAnswersPass(t *testing.T) {
	tests := []struct{ name, path, request, kind, answer string }{
		{
			"case P27 Responses without an end mark", "/v1/responses", scenario.Responses, "text/event-stream",
			event("response.created", `{"type":"response.created"}`) + event("response.output_text.delta", `{"type":"response.output_text.delta","delta":"x"}`) +
				event("response.completed", `{"type":"response.completed"}`),
		},
		{
			"case P30 empty for its token limit", "/v1/messages", scenario.NoStream(scenario.Messages), "application/json",
			`{"type":"message","content":[],"stop_reason":"max_tokens","usage":{"output_tokens":1}}`,
		},
		{
			"case P30 empty for its token limit, as a stream", "/v1/messages", scenario.Messages, "text/event-stream",
			event("message_start", messageStart) + event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":1}}`) +
				event("message_stop", `{"type":"message_stop"}`),
		},
		{
			"case P30 empty chat for its length", "/v1/chat/completions", scenario.Chat, "text/event-stream",
			"data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"},\"finish_reason\":null}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n",
		},
		{
			"case P25 comments in between", "/v1/chat/completions", scenario.Chat, "text/event-stream",
			": warming up\n\n: still warming\ndata: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n\n",
		},
		{
			"case P26 a line of 9 MiB", "/v1/chat/completions", scenario.Chat, "text/event-stream",
			"data: {\"choices\":[{\"delta\":{\"content\":\"" + strings.Repeat("x", 9<<20) + "\"}}]}\n\ndata: [DONE]\n\n",
		},
		{
			"case P23 runes torn between writes", "/v1/chat/completions", scenario.Chat, "text/event-stream",
			"data: {\"choices\":[{\"delta\":{\"content\":\"caf\xc3\xa9 \xf0\x9f\x99\x82\"}}]}\r\n\r\ndata: [DONE]\r\r",
		},
	}
	for _, tt := range tests {
		for _, size := range []int{1 << 20, 1} {
			if size == 1 && len(tt.answer) > 1<<16 {
				continue
			}
			t.Run(tt.name, func(t *testing.T) {
				k := scenario.Start(t)
				alpha, _ := k.Pair()
				alpha.Script(simulator.Raw(tt.kind, tt.answer).InChunks(size))
				a := k.Post(tt.path, tt.request)
				if a.Status != 200 || a.Err != nil || a.Body != tt.answer {
					t.Fatalf("got %d, %v, %d bytes of %d: %.300s", a.Status, a.Err, len(a.Body), len(tt.answer), a.Body)
				}
				if last := k.Last(); last.Result != "answered" || last.ConnectionName != "alpha" {
					t.Errorf("recorded as %s by %s", last.Result, last.ConnectionName)
				}
			})
		}
	}
}

// Case P10: our own deadline is no penalty. Without another connection the
// client is told that time ran out; with one, that one answers.
func TestLocalDeadlineIsNoPenalty(t *testing.T) {
	limits := proxy.DefaultLimits()
	limits.Headers = 100 * time.Millisecond
	t.Run("case P10", func(t *testing.T) {
		k := scenario.StartWith(t, limits)
		k.Add("alpha", "demo")
		alpha := k.Sim.Account("alpha")
		alpha.Script(simulator.OK().Delayed(time.Minute))
		if a := k.Post("/v1/messages", scenario.Messages); a.Status != http.StatusGatewayTimeout || !strings.Contains(a.Body, "timeout_error") {
			t.Fatalf("got %d %s", a.Status, a.Body)
		}
		if c := k.Connection("alpha"); c.State != "serving" || k.Breaker("demo").FailureCount != 0 {
			t.Errorf("alpha is %s", c.State)
		}
		if a := k.Post("/v1/messages", scenario.Messages); a.Status != 200 {
			t.Errorf("the second request got %d", a.Status)
		}
		k.Add("beta", "demo")
		alpha.Script(simulator.OK().Delayed(time.Minute))
		if a := k.Post("/v1/messages", scenario.Messages); a.From() != "beta" {
			t.Errorf("with beta: %d %s", a.Status, a.Body)
		}
	})
}

// A stream that opens and then says nothing is replaced before the client sees
// any of it; pings keep nobody waiting (case P32).
func TestStalledStreamIsReplaced(t *testing.T) {
	limits := proxy.DefaultLimits()
	limits.Readiness, limits.ReadinessMax, limits.Stall = 200*time.Millisecond, time.Minute, 200*time.Millisecond
	for name, step := range map[string]simulator.Step{
		"silence":        simulator.OK().StallAfter(simulator.AfterPreamble, simulator.Forever),
		"case P32 pings": simulator.OK().KeepAliveAt(simulator.AfterPreamble, "ping", 20*time.Millisecond, simulator.Forever),
	} {
		t.Run(name, func(t *testing.T) {
			k := scenario.StartWith(t, limits)
			alpha, _ := k.Pair()
			alpha.Script(step)
			a := k.Post("/v1/messages", scenario.Messages)
			if a.From() != "beta" || a.Err != nil {
				t.Fatalf("got %d, %v: %s", a.Status, a.Err, a.Body)
			}
			if c := k.Connection("alpha"); c.RateLimitedUntil != nil {
				t.Errorf("a stall cooled alpha until %v", c.RateLimitedUntil)
			}
		})
	}
}

// Case P33: an event reaches the client before the next one is written.
func TestEventsAreNotBuffered(t *testing.T) {
	t.Run("case P33", func(t *testing.T) {
		k := scenario.Start(t)
		k.Add("alpha", "demo")
		release := make(chan struct{})
		k.Sim.Account("alpha").Script(simulator.OK("one two three").HoldAfter(1, release))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, k.URL+"/v1/messages", strings.NewReader(scenario.Messages))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", "gzip")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		if enc := res.Header.Get("Content-Encoding"); enc != "" {
			t.Errorf("the stream is encoded: %s", enc)
		}
		seen := readUntil(t, res.Body, "text_delta")
		if strings.Contains(seen, "message_stop") {
			t.Error("the whole stream came at once")
		}
		close(release)
		if rest := readUntil(t, res.Body, "message_stop"); rest == "" {
			t.Error("the rest is missing")
		}
	})
}

// readUntil reads until the text holds want.
func readUntil(t *testing.T, r io.Reader, want string) string {
	t.Helper()
	var got strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(got.String(), want) {
		n, err := r.Read(buf)
		got.Write(buf[:n])
		if err != nil && !strings.Contains(got.String(), want) {
			t.Fatalf("%v before %q: %s", err, want, got.String())
		}
	}
	return got.String()
}

// Cases P35 and P36: identity is asked for, and a body that is compressed all
// the same is decoded, headers included.
func TestCompressedAnswersAreDecoded(t *testing.T) {
	for _, enc := range []simulator.Encoding{simulator.Gzip, simulator.Brotli, simulator.Zstd} {
		for id, body := range map[string]string{"case P35 stream": scenario.Messages, "case P36 document": scenario.NoStream(scenario.Messages)} {
			t.Run(id+" "+string(enc), func(t *testing.T) {
				k := scenario.Start(t)
				k.Add("alpha", "demo")
				alpha := k.Sim.Account("alpha")
				alpha.Script(simulator.OK().Encoded(enc))
				a := k.Post("/v1/messages", body, "Accept-Encoding", "gzip, br, zstd")
				if a.Status != 200 || a.Err != nil || a.From() != "alpha" || a.Header.Get("Content-Encoding") != "" {
					t.Fatalf("got %d, %v, %q: %q", a.Status, a.Err, a.Header.Get("Content-Encoding"), a.Body)
				}
				if got := alpha.Requests()[0].Header.Get("Accept-Encoding"); got != "identity" {
					t.Errorf("asked upstream for %q", got)
				}
				if enc == simulator.Brotli {
					return // its bytes do not tell
				}
				alpha.Script(simulator.OK().Encoded(enc).WithHeader("Content-Encoding", ""))
				if a := k.Post("/v1/messages", body); a.Status != 200 || a.Err != nil || a.From() != "alpha" {
					t.Errorf("without the header: got %d, %v: %q", a.Status, a.Err, a.Body)
				}
			})
		}
	}
}

// Case P21: a client that leaves is nobody's failure, and the upstream is told
// at once.
func TestClientThatLeavesIsNoPenalty(t *testing.T) {
	t.Run("case P21", func(t *testing.T) {
		k := scenario.Start(t)
		k.Add("alpha", "demo")
		alpha := k.Sim.Account("alpha")
		for range 10 {
			alpha.Script(simulator.OK("one two three").StallAfter(1, simulator.Forever))
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, k.URL+"/v1/messages", strings.NewReader(scenario.Messages))
			if err != nil {
				t.Fatal(err)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			readUntil(t, res.Body, "text_delta")
			_ = res.Body.Close()
		}
		if _, err := alpha.Await(t.Context(), func(rs []simulator.Request) bool {
			return len(rs) == 10 && !slices.ContainsFunc(rs, func(r simulator.Request) bool { return r.CancelledAt.IsZero() })
		}); err != nil {
			t.Fatal(err)
		}
		if a := k.Post("/v1/messages", scenario.Messages); a.Status != 200 {
			t.Fatalf("the eleventh got %d %s", a.Status, a.Body)
		}
		if c := k.Connection("alpha"); c.State != "serving" || k.Breaker("demo").FailureCount != 0 {
			t.Errorf("alpha is %s after ten cancelled streams", c.State)
		}
	})
}
