package attempt

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"breakwater/proxy/dialect"
	"breakwater/resilience/admission"
	"breakwater/resilience/watchdog"
)

const (
	aPing     = "event: ping\ndata: {\"type\": \"ping\"}\n\n"
	aComment  = ": still here\n\n"
	aStart    = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{}}}\n\n"
	aThink    = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"\"}}\n\n"
	aSign     = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"signature_delta\",\"signature\":\"\"}}\n\n"
	rCreated  = "event: response.created\ndata: {\"type\":\"response.created\"}\n\n"
	rThinks   = "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"reasoning\"}}\n\n"
	rSummary  = "data: {\"type\":\"response.reasoning_summary_text.delta\",\"delta\":\"\"}\n\n"
	rProgress = "event: response.in_progress\ndata: {\"type\":\"response.in_progress\"}\n\n"
	cRole     = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n"
	cText     = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\n"
	aText     = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}\n\n"
	aEmpty    = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"\"}}\n\n"
	aBlock    = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
	aCall     = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"w\",\"input\":{}}}\n\n"
	rText     = "data: {\"type\":\"response.output_text.delta\",\"delta\":\"hi\"}\n\n"
	rEmpty    = "data: {\"type\":\"response.output_text.delta\",\"delta\":\"\"}\n\n"
	rCall     = "data: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"function_call\",\"name\":\"w\",\"arguments\":\"\"}}\n\n"
	cCall     = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"w\",\"arguments\":\"\"}}]}}]}\n\n"
	cThink    = "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"\"}}]}\n\n"
	cEmpty    = "data: {\"choices\":[{\"delta\":{}}]}\n\n"
)

// guideLimits are the guide's figures.
var guideLimits = Limits{
	Headers: 600 * time.Second, Readiness: 80 * time.Second, ReadinessMax: 180 * time.Second, Stall: 300 * time.Second,
	Idle: 600 * time.Second, Body: 600 * time.Second, Total: 1260 * time.Second,
}

// sent is something that an upstream sends at a second, or every so many.
type sent struct {
	at, every float64
	bytes     string
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// givenUp plays a stream into a relay that writes nowhere, and returns after
// how long and why the watch gave up.
func givenUp(d dialect.Dialect, b watchdog.Budgets, stream []sent, end float64) (time.Duration, watchdog.Cause) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	began := time.Now()
	w := newDeadlines(time.Hour, limit{}, cancel)
	defer w.stop()
	w.accepted(b)
	s := (&attempt{req: &Request{Dialect: d}, deadlines: w}).newStream(nil)
	for tick := 0.0; tick < end && ctx.Err() == nil; tick++ {
		for _, x := range stream {
			if x.at == tick || x.every > 0 && tick > x.at && int(tick-x.at)%int(x.every) == 0 {
				s.now = readInfo{at: time.Now()}
				s.scan.Feed([]byte(x.bytes), s.event)
				w.read(s.now)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	var late overdue
	errors.As(w.expired(), &late)
	return time.Since(began), late.cause
}

// What re-arms the budgets in each dialect, at real events, to the second.
func TestStreamsAreGivenUpInTime(t *testing.T) {
	b := watchdog.Budgets{Ready: 80 * time.Second, ReadyCap: 180 * time.Second, Stall: 95 * time.Second, Idle: 600 * time.Second, Total: 1260 * time.Second}
	never := time.Duration(0)
	tests := []struct {
		name   string
		d      dialect.Dialect
		b      watchdog.Budgets
		stream []sent
		after  time.Duration
		cause  watchdog.Cause
	}{
		{"case P32 pings", dialect.Anthropic, b, []sent{{0, 0, aStart}, {0, 10, aPing}}, seconds(95), watchdog.Stalled},
		{"case P32 comments", dialect.Anthropic, b, []sent{{0, 0, aStart}, {0, 10, aComment}}, seconds(95), watchdog.Stalled},
		{"case P32 empty thinking deltas re-arm", dialect.Anthropic, b, []sent{{0, 0, aStart}, {60, 0, aThink}, {0, 10, aPing}}, seconds(155), watchdog.Stalled},
		{"case P32 signatures re-arm", dialect.Anthropic, b, []sent{{0, 0, aStart}, {60, 0, aThink}, {120, 0, aSign}, {0, 10, aPing}}, seconds(215), watchdog.Stalled},
		{"case 171 reasoning items", dialect.Responses, b, []sent{{0, 0, rCreated}, {50, 0, rThinks}, {100, 0, rSummary}, {0, 10, rProgress}}, seconds(195), watchdog.Stalled},
		{"case 171 a frame in two pieces counts once whole", dialect.Anthropic, b, []sent{{0, 0, aStart}, {40, 0, aThink[:50]}, {60, 0, aThink[50:]}, {0, 10, ""}}, seconds(155), watchdog.Stalled},
		{"output, then empty chunks", dialect.Chat, b, []sent{{0, 0, cRole}, {30, 0, cText}, {0, 10, cEmpty}}, seconds(125), watchdog.Stalled},
		{"output re-arms, Messages", dialect.Anthropic, b, []sent{{0, 0, aStart}, {30, 50, aText}}, seconds(1260), watchdog.TooLong},
		{"output re-arms, Responses", dialect.Responses, b, []sent{{0, 0, rCreated}, {30, 50, rText}}, seconds(1260), watchdog.TooLong},
		{"output, then empty deltas, Messages", dialect.Anthropic, b, []sent{{0, 0, aStart}, {30, 0, aText}, {35, 10, aEmpty}}, seconds(125), watchdog.Stalled},
		{"output, then empty deltas, Responses", dialect.Responses, b, []sent{{0, 0, rCreated}, {30, 0, rText}, {35, 10, rEmpty}}, seconds(125), watchdog.Stalled},
		{"output, then pings, Messages", dialect.Anthropic, b, []sent{{0, 0, aStart}, {30, 0, aText}, {35, 10, aPing}}, seconds(125), watchdog.Stalled},
		{"the start of a call re-arms, Messages", dialect.Anthropic, b, []sent{{0, 0, aStart}, {60, 0, aCall}}, seconds(155), watchdog.Stalled},
		{"the start of a call re-arms, Chat", dialect.Chat, b, []sent{{0, 0, cRole}, {60, 0, cCall}}, seconds(155), watchdog.Stalled},
		{"the start of a call re-arms, Responses", dialect.Responses, b, []sent{{0, 0, rCreated}, {60, 0, rCall}}, seconds(155), watchdog.Stalled},
		{"an empty frame of thinking re-arms, Chat", dialect.Chat, b, []sent{{0, 0, cRole}, {60, 0, cThink}}, seconds(155), watchdog.Stalled},
		{"empty block starts do not", dialect.Anthropic, b, []sent{{0, 0, aStart}, {0, 10, aBlock}}, seconds(95), watchdog.Stalled},
		{"a short budget is not ended early", dialect.Chat, watchdog.Budgets{Stall: 2 * time.Second}, []sent{{0, 0, cText}, {0, 1, cText}, {40, 0, cText}}, never, watchdog.None},
		{"output re-arms", dialect.Chat, b, []sent{{0, 0, cRole}, {30, 50, cText}}, seconds(1260), watchdog.TooLong},
		{"case 167 pings only", dialect.Anthropic, b, []sent{{0, 10, aPing}}, seconds(95), watchdog.Stalled},
		{"case 167 pings only, with the usual budgets", dialect.Anthropic, guideLimits.of(80 * time.Second), []sent{{0, 10, aPing}}, seconds(180), watchdog.NotReady},
		{"case 169 a role is ready", dialect.Chat, guideLimits.of(80 * time.Second), []sent{{70, 0, cRole}, {70, 10, cEmpty}}, seconds(300), watchdog.Stalled},
		{"silence after output", dialect.Chat, guideLimits.of(400 * time.Second), []sent{{0, 0, cText}}, seconds(400), watchdog.Stalled},
		{"watches switched off", dialect.Chat, watchdog.Budgets{}, []sent{{0, 0, cText}}, never, watchdog.None},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				after, cause := givenUp(tt.d, tt.b, tt.stream, 3000)
				if cause != tt.cause || cause != watchdog.None && after != tt.after {
					t.Errorf("expired for %q after %v, want %q after %v", cause.Code(), after, tt.cause.Code(), tt.after)
				}
			})
		})
	}
}

// The queue's limit holds until the answer begins, whatever the upstream sends
// before that, and over all calls of an attempt (case 160).
func TestLimitUntilTheAnswerBegins(t *testing.T) {
	begin := func(t *testing.T, within time.Duration) (context.Context, *deadlines) {
		ctx, cancel := context.WithCancel(t.Context())
		return ctx, newDeadlines(time.Hour, limitOf(time.Now(), within), cancel)
	}
	run := func(name string, f func(t *testing.T)) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
	}
	run("it ends the wait for headers", func(t *testing.T) {
		ctx, w := begin(t, time.Minute)
		defer w.stop()
		began := time.Now()
		<-ctx.Done()
		local, ok := admission.Local(w.expired())
		if !ok || local.Code != admission.ExecutionTimeout || time.Since(began) != time.Minute {
			t.Errorf("after %v: %v", time.Since(began), w.expired())
		}
	})
	run("headers and a preamble do not move it", func(t *testing.T) {
		ctx, w := begin(t, time.Minute)
		defer w.stop()
		began := time.Now()
		time.AfterFunc(30*time.Second, func() {
			w.accepted(watchdog.Budgets{Ready: time.Hour})
			w.read(readInfo{ready: true})
		})
		<-ctx.Done()
		if time.Since(began) != time.Minute {
			t.Errorf("after %v: %v", time.Since(began), w.expired())
		}
	})
	run("an answer that has begun is not cut", func(t *testing.T) {
		ctx, w := begin(t, time.Minute)
		defer w.stop()
		w.accepted(watchdog.Budgets{})
		w.lift()
		select {
		case <-ctx.Done():
			t.Error(w.expired())
		case <-time.After(time.Hour):
		}
	})
	run("a call after it has none", func(t *testing.T) {
		_, cancel := context.WithCancel(t.Context())
		w := newDeadlines(time.Hour, limitOf(time.Now().Add(-time.Hour), time.Minute), cancel)
		defer w.stop()
		if _, ok := admission.Local(w.expired()); !ok {
			t.Error(w.expired())
		}
	})
}

// The rate of output is judged on text alone (case 190).
func TestTrickleIsGivenUp(t *testing.T) {
	b := watchdog.Budgets{Throughput: watchdog.Throughput{Enabled: true, WarmUp: seconds(30), Window: seconds(30), BytesPerSecond: 4, MinBytes: 1}}
	tool := `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"x"}}]}}]}` + "\n\n"
	think := `data: {"choices":[{"delta":{"reasoning_content":"hm"}}]}` + "\n\n"
	fill := fmt.Sprintf(`data: {"choices":[{"delta":{"content":%q}}]}`+"\n\n", "0123456789")
	for _, tt := range []struct {
		name   string
		stream []sent
		cause  watchdog.Cause
	}{
		{"slow text", []sent{{0, 4, cText}}, watchdog.TooSlow},
		{"quick text", []sent{{0, 2, fill}}, watchdog.None},
		{"a tool call is open", []sent{{0, 0, cText}, {1, 4, tool}}, watchdog.None},
		{"reasoning is open", []sent{{0, 0, cText}, {1, 4, think}}, watchdog.None},
		{"heartbeats", []sent{{0, 0, cText}, {1, 1, cEmpty}}, watchdog.TooSlow},
	} {
		t.Run("case 190 "+tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if after, cause := givenUp(dialect.Chat, b, tt.stream, 600); cause != tt.cause || cause != watchdog.None && after > seconds(62) {
					t.Errorf("expired for %q after %v, want %q", cause.Code(), after, tt.cause.Code())
				}
			})
		})
	}
}
