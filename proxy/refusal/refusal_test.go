package refusal

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
)

func TestAnswerPutsANoticeIntoTheDialect(t *testing.T) {
	n := notice(http.StatusTooManyRequests, "rate_limit_error", "limited", "Come back.")
	n.Wait = secs(90)
	for _, tt := range []struct {
		name  string
		q     *Request
		retry string
		kind  string // path of the error's code in the body
		event string // part of the event, "" for none
	}{
		{"unknown client", request(), "90", "error.code", "Come back."},
		{"Claude Code: short waits, cut streams", request(by(claudeCode)), "59", "error.code", ""},
		{"Claude Code under a lease", request(by(claudeCode), leased), "90", "error.code", ""},
		{"Codex reads the wait from the message", request(by(codex), in(dialect.Responses)), "59", "error.code", "Please try again in 59s."},
		{"OpenCode over Chat", request(by(openCode), in(dialect.Chat)), "59", "error.code", "data: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := tt.q.Answer(n)
			same(t, "status", a.Status, 429)
			same(t, "Retry-After", a.Header.Get("Retry-After"), tt.retry)
			same(t, "Content-Type", a.Header.Get("Content-Type"), "application/json")
			same(t, "code", has(a.Body, tt.kind), "limited")
			same(t, "until", a.Until, now.Add(secs(90)))
			same(t, "event", len(a.Event) > 0, tt.event != "")
			contains(t, string(a.Event), tt.event)
		})
	}
}

func TestAnswerWithoutAWait(t *testing.T) {
	a := request(selected("id9")).Answer(notice(http.StatusBadGateway, "api_error", "x", "y"))
	same(t, "Retry-After", a.Header.Get("Retry-After"), "")
	same(t, "until", a.Until.IsZero(), true)
	same(t, "selected connection", a.Header.Get(HeaderSelected), "id9")
}

func TestRetryAfterIsWholeSeconds(t *testing.T) {
	for _, tt := range []struct {
		wait time.Duration
		want int
	}{{0, 1}, {secs(0.4), 1}, {secs(1.005), 1}, {secs(1.2), 2}, {secs(59), 59}, {secs(3600), 3600}} {
		same(t, tt.wait.String(), request().retryAfter(tt.wait), tt.want)
	}
}

func TestBrokenStream(t *testing.T) {
	contains(t, string(request().BrokenStream("Work")), "event: error", "The stream from Work broke off")
	same(t, "Claude Code sees a cut (ruling 44)", request(by(claudeCode)).BrokenStream("Work") == nil, true)
}

func TestPausedEndsByHand(t *testing.T) {
	a := request().Answer(Paused())
	same(t, "until", a.Until.IsZero(), true)
	same(t, "Retry-After", a.Header.Get("Retry-After"), "15")
	same(t, "code", a.Code, "paused")
}

func TestBeforeAnyAttempt(t *testing.T) {
	for _, tt := range []struct {
		name   string
		n      Notice
		status int
		code   string
	}{
		{"no key", Key(control.ErrKeyUnknown), 401, "AUTH_002"},
		{"a key that is switched off", Key(control.ErrKeyDisabled), 403, "key_disabled"},
		{"an expired key", Key(control.ErrKeyExpired), 403, "key_expired"},
		{"a key of another scope", Key(control.ErrKeyScope), 403, "key_scope"},
		{"a model the key does not allow", Model("m"), 403, "model_not_allowed"},
		{"a key in place of a model", SecretModel(), 400, "invalid_model"},
		{"a loop", Loop(), 508, "loop_detected"},
		{"a large body", BodyTooLarge(64 << 20), 413, "body_too_large"},
		{"a slow body", BodyTimeout(time.Minute), 408, "request_body_timeout"},
		{"an unknown encoding", BodyEncoding(), 415, "unknown_encoding"},
		{"another encoding than announced", BodyMismatch(), 400, "invalid_body"},
		{"a cut body", BodyCut(), 400, "invalid_body"},
		{"no JSON", BodyInvalid(errors.New("no object")), 400, "invalid_body"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := request().Answer(tt.n)
			same(t, "status", a.Status, tt.status)
			same(t, "code", has(a.Body, "error.code"), tt.code)
			same(t, "message", tt.n.Message != "", true)
			same(t, "notification", tt.n.Exhausted, false)
		})
	}
	contains(t, BodyTooLarge(64<<20).Message, "64 MiB")
	contains(t, BodyInvalid(errors.New("no object")).Message, "no object")
}

func TestLease(t *testing.T) {
	full := Lease(&control.LeaseError{Code: control.LeaseCapacity, Message: "held", RetryAfter: secs(2.5), Eligible: 3})
	body := request().Answer(full).Body
	same(t, "status", full.Status, 429)
	same(t, "wait", full.Wait, secs(3))
	same(t, "state", has(body, "error.state"), control.StateWaiting)
	same(t, "retryAfter", has(body, "error.retryAfter"), "3")
	same(t, "eligibleCount", has(body, "error.eligibleCount"), "3")

	stale := Lease(&control.LeaseError{Code: control.LeaseFenceStale, Message: "over"})
	same(t, "status", stale.Status, 409)
	same(t, "wait", stale.Wait, time.Duration(0))
	same(t, "extra", len(stale.Extra), 0)
}

func TestOutsideAnInferenceRoute(t *testing.T) {
	for _, tt := range []struct {
		name, path, version string
		anthropic           bool
	}{
		{"Anthropic's path", "/v1/messages", "", true},
		{"its count of tokens", "/messages/count_tokens", "", true},
		{"its header", "/v1/models", "2023-06-01", true},
		{"another path", "/v1/models", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			if tt.version != "" {
				h.Set("Anthropic-Version", tt.version)
			}
			a := Outside(tt.path, h, http.StatusNotFound, "no_such_path", "Not here.")
			same(t, "dialect", has(a.Body, "type") == "error", tt.anthropic)
			same(t, "code", has(a.Body, "error.code"), "no_such_path")
			same(t, "status", a.Status, 404)
		})
	}
}
