package attempt

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"breakwater/proxy/catalog"
	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/combo"
	"breakwater/resilience/outcome"
	"breakwater/resilience/watchdog"
)

const (
	askMessages  = `{"model":"x","messages":[{"role":"user","content":"hi"}]}`
	askStream    = `{"model":"x","stream":true,"messages":[{"role":"user","content":"hi"}]}`
	askResponses = `{"model":"x","stream":true,"input":"hi"}`

	aStop = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":7}}\n\n"
	aDone = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	aFail = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"sk-secret is busy\"}}\n\n"
	cStop = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
	cDone = "data: [DONE]\n\n"
	rDone = "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"usage\":{\"output_tokens\":7}}}\n\n"

	aDoc  = `{"type":"message","role":"assistant","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":7}}`
	aNone = `{"type":"message","role":"assistant","content":[],"stop_reason":"end_turn","usage":{}}`
	cDoc  = `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`
)

var errReset = &syscallError{syscall.ECONNRESET}

type syscallError struct{ syscall.Errno }

// How an attempt ends by what the upstream does, for streams and documents.
func TestAttempts(t *testing.T) {
	long := strings.Repeat(" ", maxHeld) + "x"
	for _, tt := range []struct {
		name   string
		d      dialect.Dialect
		ask    string
		call   call
		edit   func(*rig)
		end    End
		status int // of the result
		code   string
		reason outcome.Reason
		mended string
		body   string // what the client got; "=" for all that was sent
		sent   int    // calls; 1 when it is 0
	}{
		{name: "a whole stream, Messages", d: dialect.Anthropic, ask: askStream, call: events(aStart, aText, aStop, aDone), end: Answered, status: 200, body: "="},
		{name: "a whole stream, Chat", d: dialect.Chat, ask: askStream, call: events(cRole, cText, cStop, cDone), end: Answered, status: 200, body: "="},
		{name: "a whole stream, Responses", d: dialect.Responses, ask: askResponses, call: events(rCreated, "event: response.output_text.delta\n"+rText, rDone), end: Answered, status: 200, body: "="},
		{name: "a stream in one piece", d: dialect.Chat, ask: askStream, call: events(cRole + cText + cStop + cDone), end: Answered, status: 200, body: "="},
		{name: "a stream without its last event", d: dialect.Chat, ask: askStream, call: events(cRole, cText, cStop), end: Answered, status: 200, mended: "end_added", body: cRole + cText + cStop + cDone},
		{name: "a stream without its last line", d: dialect.Chat, ask: askStream, call: events(cRole, cText, cStop, "data: [DONE]"), end: Answered, status: 200, body: cRole + cText + cStop + cDone},
		{name: "a stream without event names", d: dialect.Anthropic, ask: askStream, call: events(unnamed(aStart), unnamed(aText), unnamed(aStop), unnamed(aDone)), end: Answered, status: 200, mended: "event_names_added", body: aStart + aText + aStop + aDone},
		{name: "a stream that breaks off", d: dialect.Anthropic, ask: askStream, call: events(aStart, aText).then(piece{err: io.ErrUnexpectedEOF}), end: Broken, status: 200, code: resilience.CodeEarlyEOF, body: aStart + aText + "event: error\ndata: broke\n\n"},
		{name: "a stream that ends in an event", d: dialect.Chat, ask: askStream, call: events(cRole, cText, "data: {\"cho").then(piece{err: errReset}), end: Broken, status: 200, body: cRole + cText + "\n\nevent: error\ndata: broke\n\n"},
		{name: "a stream that breaks off, to a client that prefers a cut", d: dialect.Chat, ask: askStream, call: events(cRole, cText).then(piece{err: errReset}), edit: func(k *rig) { k.target.Broken = func() []byte { return nil } }, end: Broken, status: 200, body: cRole + cText},
		{name: "a stream that breaks before its text", d: dialect.Chat, ask: askStream, call: events(cRole).then(piece{err: errReset}), end: Failed, status: 502, body: ""},
		{name: "a stream that ends before its text", d: dialect.Anthropic, ask: askStream, call: events(aStart), end: Failed, status: 502, code: resilience.CodeEarlyEOF},
		{name: "an error event first", d: dialect.Anthropic, ask: askStream, call: events(aStart, aFail), end: Failed, status: 529},
		{name: "an error event in the middle", d: dialect.Anthropic, ask: askStream, call: events(aStart, aText, aFail), end: Broken, status: 200, body: aStart + aText + strings.Replace(aFail, "sk-secret", "[redacted]", 1)},
		{name: "an error event in the middle, to a client that prefers a cut", d: dialect.Anthropic, ask: askStream, call: events(aStart, aText, aFail), edit: func(k *rig) { k.req.Profile.CutBrokenStream = true }, end: Broken, status: 200, body: aStart + aText},
		{name: "an error event in two pieces", d: dialect.Anthropic, ask: askStream, call: events(aStart, aText, aFail[:60], aFail[60:]), end: Broken, status: 200},
		{name: "an empty stream, others follow", d: dialect.Anthropic, ask: askStream, call: events(aStart, aStop, aDone), edit: func(k *rig) { k.target.More = true }, end: Failed, status: 502, reason: outcome.ReasonEmptyAnswer},
		{name: "an empty stream, none follows", d: dialect.Anthropic, ask: askStream, call: events(aStart, aStop, aDone), end: Answered, status: 200, body: "="},
		{name: "a stream that is labelled as JSON", d: dialect.Chat, ask: askStream, call: labelled("application/json", cRole, cText, cStop, cDone), end: Answered, status: 200, body: "="},
		{name: "a long event of text", d: dialect.Chat, ask: askStream, call: events(cRole, cText, "data: {\"choices\":[{\"delta\":{\"content\":\""+long, long+"\"}}]}\n\n", cStop, cDone), end: Answered, status: 200, body: "="},
		{name: "a long preamble", d: dialect.Chat, ask: askStream, call: events(cRole, strings.Repeat(aComment, 2000), cText, cStop, cDone), end: Answered, status: 200, body: "="},

		{name: "a document", d: dialect.Anthropic, ask: askMessages, call: document(aDoc), end: Answered, status: 200, body: "="},
		{name: "a document behind blanks", d: dialect.Anthropic, ask: askMessages, call: document("  \n", aDoc), end: Answered, status: 200, body: aDoc},
		{name: "a long document", d: dialect.Anthropic, ask: askMessages, call: document(`{"content":"`+long, long, long+`","usage":{"output_tokens":7}}`), end: Answered, status: 200, body: "="},
		{name: "a long document that breaks off", d: dialect.Anthropic, ask: askMessages, call: document(`{"content":"` + long).then(piece{err: io.ErrUnexpectedEOF}), end: Broken, status: 200, code: resilience.CodeEarlyEOF, body: `{"content":"` + long},
		{name: "a document that breaks off", d: dialect.Anthropic, ask: askMessages, call: document(aDoc[:20]).then(piece{err: errReset}), end: Failed, status: 502},
		{name: "nothing at all", d: dialect.Anthropic, ask: askMessages, call: document(), end: Failed, status: 502, code: resilience.CodeEarlyEOF},
		{name: "a page", d: dialect.Anthropic, ask: askMessages, call: labelled("text/html", "<html>hello</html>"), end: Failed, status: 200, reason: outcome.ReasonNotAPI},
		{name: "an error in a good answer", d: dialect.Anthropic, ask: askMessages, call: document(`{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`), end: Failed, status: 529},
		{name: "an empty document, others follow", d: dialect.Anthropic, ask: askMessages, call: document(aNone), edit: func(k *rig) { k.target.Checks.Empty = true }, end: Failed, status: 502, reason: outcome.ReasonEmptyAnswer},
		{name: "a document that the combo refuses", d: dialect.Anthropic, ask: askMessages, call: document(aDoc), edit: func(k *rig) {
			k.target.Checks.Validation, k.target.Valid = true, func([]byte) bool { return false }
		}, end: Failed, status: 502, reason: outcome.ReasonEmptyAnswer},
		{name: "a document to a client that reads a stream", d: dialect.Anthropic, ask: askMessages, call: document(aDoc), edit: func(k *rig) { k.client.begun = true }, end: Failed, status: 502, reason: outcome.ReasonEmptyAnswer},

		{name: "a stream from a document", d: dialect.Chat, ask: askStream, call: document(cDoc[:40], cDoc[40:]), end: Answered, status: 200, mended: "stream_from_json"},
		{name: "a stream from a document that breaks off", d: dialect.Chat, ask: askStream, call: document(cDoc[:40]).then(piece{err: errReset}), end: Failed, status: 502},
		{name: "a stream from JSON of another shape", d: dialect.Chat, ask: askStream, call: document(`{"a":1}`), end: Failed, status: 200, reason: outcome.ReasonNotAPI},
		{name: "a stream from a document that is too long", d: dialect.Chat, ask: askStream, call: document(`{"a":"` + strings.Repeat("x", maxWhole)), end: Failed, status: 502},
		{name: "a failed response as a stream", d: dialect.Responses, ask: askResponses, call: document(`{"object":"response","status":"failed","error":{"code":"server_error","message":"no"},"output":[]}`), end: Failed, status: 500},
		{name: "a document from a stream", d: dialect.Anthropic, ask: askMessages, call: events(aStart, aBlock, aText, aStop, aDone), end: Answered, status: 200, mended: "json_from_stream"},
		{name: "a document from a stream that fails", d: dialect.Anthropic, ask: askMessages, call: events(aStart, aFail), end: Failed, status: 529},
		{name: "a document from a stream that breaks off", d: dialect.Anthropic, ask: askMessages, call: events(aStart, aText).then(piece{err: errReset}), end: Failed, status: 502},
		{name: "a document from an empty stream", d: dialect.Anthropic, ask: askMessages, call: events(strings.Replace(aStart, `{"usage"`, `{"type":"message","role":"assistant","content":[],"usage"`, 1), aStop, aDone), edit: func(k *rig) { k.target.Checks.Empty = true }, end: Failed, status: 502, reason: outcome.ReasonEmptyAnswer},
		{name: "a document that is labelled as a stream", d: dialect.Anthropic, ask: askMessages, call: events(aDoc), end: Answered, status: 200, body: "="},

		{name: "a rate limit", d: dialect.Anthropic, ask: askMessages, call: refusal(429, `{"error":{"type":"rate_limit_error","message":"slow down"}}`), end: Failed, status: 429, reason: outcome.ReasonRateLimit},
		{name: "a redirect", d: dialect.Anthropic, ask: askMessages, call: refusal(302, ""), end: Failed, status: 302, reason: outcome.ReasonNotAPI},
		{name: "a probe that is refused", d: dialect.Anthropic, ask: askMessages, call: refusal(500, ""), edit: func(k *rig) { k.req.Probe = true }, end: Failed, status: 500},
		{name: "a server that does not run", d: dialect.Chat, ask: askMessages, call: call{err: syscall.ECONNREFUSED}, end: Failed, status: 502, reason: outcome.ReasonNetwork},
		{name: "headers that do not come", d: dialect.Chat, ask: askMessages, call: call{after: time.Hour}, end: Failed, status: 504},
		{name: "the queue's limit", d: dialect.Chat, ask: askMessages, call: call{after: time.Hour}, edit: func(k *rig) { k.target.Within = time.Second }, end: Failed, status: 504, code: string(admission.ExecutionTimeout)},
		{name: "silence before the first event", d: dialect.Chat, ask: askStream, call: events().then(piece{after: time.Hour}), end: Failed, status: 504, code: watchdog.NotReady.Code()},
		{name: "silence in the middle", d: dialect.Chat, ask: askStream, call: events(cRole, cText).then(piece{after: time.Hour}), end: Broken, status: 200, reason: outcome.ReasonStreamStall, code: watchdog.Stalled.Code()},
		{name: "a lease that does not cover it", d: dialect.Chat, ask: askMessages, edit: func(k *rig) { k.fence = &control.LeaseError{Code: "x"} }, end: Refused, call: document(cDoc), sent: -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newRig(t, tt.d, tt.ask, tt.call)
				k.passthrough("sk-secret")
				if tt.edit != nil {
					tt.edit(k)
				}
				res := k.run(t.Context())
				if res.End != tt.end || res.Status != tt.status || res.Code != tt.code || res.Mended != tt.mended {
					t.Errorf("end %d, status %d, code %q, mended %q; want %d, %d, %q, %q (%+v)", res.End, res.Status, res.Code, res.Mended, tt.end, tt.status, tt.code, tt.mended, res.Outcome)
				}
				if tt.reason != "" && res.Outcome.Reason != tt.reason {
					t.Errorf("reason %q, want %q", res.Outcome.Reason, tt.reason)
				}
				if calls := max(tt.sent+1, 0); tt.sent < 0 && len(k.sent) != calls {
					t.Errorf("%d calls", len(k.sent))
				}
				k.matches(t, tt.call, tt.end, tt.body)
			})
		})
	}
}

// matches compares what the client got.
func (k *rig) matches(t *testing.T, c call, end End, want string) {
	t.Helper()
	if want == "=" {
		want = ""
		for _, p := range c.body {
			want += p.text
		}
	}
	got := k.client.body.String()
	if want != "" && got != want {
		t.Errorf("the client got\n%.600s\nwant\n%.600s", got, want)
	}
	if (end == Failed || end == Refused) && (got != "" || k.client.heads > 0) {
		t.Errorf("a failure showed the client %d heads, %.200q", k.client.heads, got)
	}
	if end == Answered || end == Broken {
		if k.client.heads != 1 || k.client.header.Get("X-Selected") != "a" {
			t.Errorf("%d heads, %v", k.client.heads, k.client.header)
		}
	}
	if strings.Contains(got, "sk-secret") {
		t.Error("the client saw the credential")
	}
}

func unnamed(event string) string {
	_, data, _ := strings.Cut(event, "\n")
	return data
}

// A client that leaves ends the attempt without a failure, at whatever point.
func TestAClientThatLeaves(t *testing.T) {
	for _, tt := range []struct {
		name string
		ask  string
		call call
		room int
	}{
		{"before the headers", askStream, call{after: time.Minute, err: errReset}, 0},
		{"before the first event", askStream, events().then(piece{after: 20 * time.Second, text: cText}), 0},
		{"in the middle of a stream", askStream, events(cRole, cText).then(piece{after: 20 * time.Second, text: cText}), 0},
		{"at the end of a stream", askStream, events(cRole, cText).then(piece{after: 20 * time.Second, err: errReset}), 0},
		{"in a document", askMessages, document(cDoc[:30]).then(piece{after: 20 * time.Second, text: cDoc[30:]}), 0},
		{"in a long document", askMessages, document(`{"a":"` + strings.Repeat("x", 2*maxHeld)).then(piece{after: 20 * time.Second, err: errReset}), 0},
		{"in an error", askMessages, call{status: 500, body: []piece{{after: 20 * time.Second, text: "x"}}}, 0},
		{"while a document is made a stream", askStream, document(cDoc[:30]).then(piece{after: 20 * time.Second, text: cDoc[30:]}), 0},
		{"while a stream is made a document", askMessages, events(cRole, cText).then(piece{after: 20 * time.Second, text: cStop}), 0},
		{"a failed write of a stream", askStream, events(cRole, cText, cText, cText), len(cRole + cText)},
		{"a failed write of a document", askMessages, document(cDoc), 1},
		{"a failed write of a long document", askMessages, document(`{"a":"` + strings.Repeat("x", 4*maxHeld)), maxHeld},
		{"a failed write of an error event", askStream, events(cRole, cText).then(piece{err: errReset}), len(cRole + cText)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, leave := context.WithTimeout(t.Context(), 10*time.Second)
				defer leave()
				k := newRig(t, dialect.Chat, tt.ask, tt.call)
				k.client.room = tt.room
				if res := k.run(ctx); res.End != Left {
					t.Errorf("end %d: %+v", res.End, res.Outcome)
				}
			})
		})
	}
}

// The end of a combo's limit on a target is no departure of the client.
func TestATargetsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newRig(t, dialect.Chat, askMessages, call{after: time.Hour})
		within, lift, stop := combo.Ceiling(t.Context(), time.Second)
		defer stop()
		k.target.Begins = lift
		k.client.gone = func() bool { return false }
		res := k.Caller.Do(within, k.req, k.target, k.client, k)
		if res.End != Failed || res.Code != combo.CodeTargetTimeout || !res.Outcome.Fallback {
			t.Errorf("end %d, code %q", res.End, res.Code)
		}
	})
}

// What the upstream sees of the request, and what it says of it.
func TestWhatIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newRig(t, dialect.Anthropic, askMessages, document(aDoc))
		k.target.System = "a summary"
		k.req.Query, k.req.Via = "beta=true", 1
		res := k.run(t.Context())
		c := k.sent[0]
		if !strings.Contains(string(c.Body), `"model":"m"`) || !strings.Contains(string(c.Body), "a summary") || c.Query != "beta=true" || c.Via != 1 || c.Method != http.MethodPost {
			t.Errorf("%+v with %s", c, c.Body)
		}
		if res.Usage.Input != 3 || res.Usage.Output != 7 || res.Usage.Stop != "end_turn" || k.heads != 1 {
			t.Errorf("%+v, %d heads", res.Usage, k.heads)
		}
		for _, cred := range []catalog.CredentialKind{catalog.TokenCredential, catalog.OAuthCredential} {
			k.route.Record.Credential = string(cred)
			if AuthOf(k.route, catalog.Endpoint{}) != catalog.Bearer {
				t.Errorf("%s is no bearer token", cred)
			}
		}
	})
}

// A fault of our own is a failure before the commit point, and a cut after it.
func TestFaulted(t *testing.T) {
	for committed, want := range map[bool]End{false: Failed, true: Broken} {
		if res := Faulted(committed); res.End != want || res.Outcome.Class != outcome.Neutral || !res.Outcome.Fallback {
			t.Errorf("%v: %+v", committed, res)
		}
	}
}

// Too many tools: the limit is learned from the refusal, and the same target is
// asked with fewer.
func TestFewerTools(t *testing.T) {
	tools := make([]string, 200)
	for i := range tools {
		tools[i] = `{"type":"function","function":{"name":"t"}}`
	}
	ask := `{"model":"x","messages":[],"tools":[` + strings.Join(tools, ",") + `]}`
	synctest.Test(t, func(t *testing.T) {
		k := newRig(t, dialect.Chat, ask, refusal(400, `{"error":{"message":"too many tools: at most 64 are allowed"}}`), document(cDoc))
		res := k.run(t.Context())
		if res.End != Answered || len(k.sent) != 2 {
			t.Fatalf("end %d after %d calls: %s", res.End, len(k.sent), k.steps)
		}
		first, second := strings.Count(string(k.sent[0].Body), `"name"`), strings.Count(string(k.sent[1].Body), `"name"`)
		if first != 128 || second != 64 || strings.Join(k.steps, " ") != "failed:too_many_tools:400" {
			t.Errorf("%d tools, then %d: %v", first, second, k.steps)
		}
	})
}

// The names of failures below HTTP.
func TestKindOf(t *testing.T) {
	if o := errors.Unwrap(errReset); o != nil {
		t.Error("the fake error wraps another")
	}
	for err, want := range map[error]bool{errors.New("http2: stream error: stream ID 1"): true, errors.New("GOAWAY"): true, errors.New("x"): false, nil: false} {
		if isStreamReset(err) != want {
			t.Errorf("%v: %v", err, !want)
		}
	}
}
