package classify

import (
	"testing"
	"time"

	"breakwater/resilience/outcome"
)

func TestTransport(t *testing.T) {
	at := func(kind TransportKind, options ...option) outcome.Outcome {
		return Transport(kind, input(0, "", 1, "acme", append([]option{model("m")}, options...)...))
	}
	broken := func(n int) option { return func(in *Input) { in.StreamBreaks = n } }
	stallCools := with(func(o *Options) { o.CoolOnStall = true })
	for _, c := range []struct {
		name     string
		got      outcome.Outcome
		status   int
		class    outcome.Class
		scope    outcome.Scope
		reason   outcome.Reason
		cooldown time.Duration
		fallback bool
		network  bool
		trips    bool
	}{
		{"P17 refused", at(Refused), 502, outcome.Failure, outcome.ScopeConnection, outcome.ReasonNetwork, 6 * time.Second, true, true, true},
		{"P17 unknown host", at(UnknownHost, perModel), 502, outcome.Failure, outcome.ScopeConnection, outcome.ReasonNetwork, 6 * time.Second, true, true, true},
		{"P17 TLS", at(TLS), 502, outcome.Failure, outcome.ScopeConnection, outcome.ReasonNetwork, 6 * time.Second, true, true, true},
		{"reset", at(Reset), 502, outcome.Failure, outcome.ScopeConnection, outcome.ReasonNetwork, 6 * time.Second, true, true, true},
		{"unreachable", at(Unreachable), 502, outcome.Failure, outcome.ScopeConnection, outcome.ReasonNetwork, 6 * time.Second, true, true, true},
		{"nobody answers the dial", at(ConnectTimeout), 502, outcome.Failure, outcome.ScopeConnection, outcome.ReasonNetwork, 6 * time.Second, true, true, true},
		{"case 22 the outbound proxy fails", at(ProxyFailed), 502, outcome.Failure, outcome.ScopeConnection, outcome.ReasonNetwork, 6 * time.Second, true, true, false},
		{"P10 local deadline", at(LocalDeadline), 504, outcome.Neutral, outcome.ScopeLocal, outcome.ReasonLocalTimeout, 0, false, false, false},
		{"P11 local limit", at(LocalLimit), 503, outcome.Neutral, outcome.ScopeLocal, outcome.ReasonLocalError, 0, false, false, false},
		{"local error", at(LocalError), 500, outcome.Neutral, outcome.ScopeLocal, outcome.ReasonLocalError, 0, false, false, false},
		{"P21 client gone", at(ClientGone), 499, outcome.Neutral, outcome.ScopeLocal, outcome.ReasonClientGone, 0, false, false, false},
		{"P28 end of file at once", at(EarlyEOF), 502, outcome.Failure, outcome.ScopeConnection, outcome.ReasonTruncated, 6 * time.Second, true, false, true},
		{"P28 a web page", at(NotAnAnswer), 502, outcome.Failure, outcome.ScopeConnection, outcome.ReasonEmptyAnswer, 6 * time.Second, true, false, true},
		{"P30 an empty answer", at(EmptyAnswer), 502, outcome.Failure, outcome.ScopeConnection, outcome.ReasonEmptyAnswer, 0, true, false, false},
		{"P31 truncated", at(Truncated), 502, outcome.Failure, outcome.ScopeConnection, outcome.ReasonTruncated, 6 * time.Second, true, false, true},
		{"truncated where models count, first", at(Truncated, perModel), 502, outcome.Failure, outcome.ScopeModel, outcome.ReasonTruncated, 0, true, false, true},
		{"truncated where models count, third", at(Truncated, perModel, broken(2)), 502, outcome.Failure, outcome.ScopeModel, outcome.ReasonTruncated, 3 * time.Second, true, false, true},
		{"stall", at(Stalled), 504, outcome.Failure, outcome.ScopeConnection, outcome.ReasonStreamStall, 0, true, false, false},
		{"stall that cools", at(Stalled, stallCools), 504, outcome.Failure, outcome.ScopeConnection, outcome.ReasonStreamStall, 6 * time.Second, true, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := c.got
			if o.Status != c.status || o.Class != c.class || o.Scope != c.scope || o.Reason != c.reason || o.Cooldown != c.cooldown ||
				o.Fallback != c.fallback || o.Network != c.network || o.Trips() != c.trips {
				t.Errorf("got %+v, counts %v", o, o.Trips())
			}
			if o.Class == outcome.Failure && o.ErrorType == "" {
				t.Error("a failure without a type")
			}
			if o.Cooldown == 0 && o.SetsLevel && o.Scope != outcome.ScopeModel {
				t.Errorf("no cooldown, but the ladder moves: %+v", o)
			}
		})
	}
	t.Run("leftover answers do not count", func(t *testing.T) {
		o := Transport(Refused, input(429, "out of credits", 0, "acme", header("Retry-After", "3600")))
		if o.UsedHint || o.Terminal != outcome.NotTerminal || o.Cooldown != 3*time.Second {
			t.Errorf("got %+v", o)
		}
	})
}

func TestStreamStatus(t *testing.T) {
	for _, c := range []struct {
		name, event string
		want        int // 0: no error
	}{
		{"anthropic overloaded", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, 529},
		{"anthropic rate limit", `{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`, 429},
		{"anthropic api error", `{"type":"error","error":{"type":"api_error"}}`, 500},
		{"anthropic bad request", `{"type":"error","error":{"type":"invalid_request_error"}}`, 400},
		{"anthropic authentication", `{"type":"error","error":{"type":"authentication_error"}}`, 401},
		{"anthropic billing", `{"type":"error","error":{"type":"billing_error"}}`, 402},
		{"anthropic permission", `{"type":"error","error":{"type":"permission_error"}}`, 403},
		{"anthropic timeout", `{"type":"error","error":{"type":"timeout_error"}}`, 504},
		{"P29 responses error event", `{"type":"error","error":{"code":"server_is_overloaded"}}`, 529},
		{"responses bare error", `{"type":"error","code":"rate_limit_exceeded","message":"x","param":null}`, 429},
		{"responses failed", `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"x"}}}`, 500},
		{"responses failed, quota", `{"type":"response.failed","response":{"error":{"code":"insufficient_quota"}}}`, 429},
		{"responses failed without words", `{"type":"response.failed","response":{"error":null}}`, 500},
		{"chat with a code", `{"error":{"message":"x","type":"invalid_request_error","code":"context_length_exceeded"}}`, 400},
		{"chat with a number", `{"error":{"message":"Provider returned error","code":502}}`, 502},
		{"chat with a number as text", `{"error":{"message":"x","code":"503"}}`, 503},
		{"chat with a status", `{"error":{"message":"x","status_code":429}}`, 429},
		{"chat error beside choices", `{"id":"1","choices":[{"finish_reason":"error"}],"error":{"code":429,"message":"x"}}`, 429},
		{"code nobody knows, type that is known", `{"error":{"code":"E1","type":"server_error"}}`, 500},
		{"number that is no status", `{"error":{"code":7,"message":"overloaded"}}`, 529},
		{"google", `{"error":{"code":"x","status":"RESOURCE_EXHAUSTED"}}`, 429},
		{"words only, rate", `{"error":"Too many requests"}`, 429},
		{"words only, quota", `{"error":"quota exceeded"}`, 429},
		{"words only, room", `{"error":"the model is at capacity"}`, 529},
		{"words only, key", `{"error":{"message":"Unauthorized"}}`, 401},
		{"words only, code as text", `{"error":"server_error"}`, 500},
		{"words nobody knows", `{"error":{"message":"hm"}}`, 500},
		{"in an event frame", "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n", 529},
		{"delta", `{"type":"content_block_delta","delta":{"type":"text_delta","text":"error"}}`, 0},
		{"chat chunk", `{"id":"1","choices":[{"delta":{"content":"x"}}]}`, 0},
		{"error that is null", `{"choices":[],"error":null}`, 0},
		{"error that is false", `{"choices":[],"error":false}`, 0},
		{"completed", `{"type":"response.completed","response":{"error":null}}`, 0},
		{"incomplete", `{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}`, 0},
		{"done", `[DONE]`, 0},
		{"ping", `{"type":"ping"}`, 0},
		{"nothing", ``, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := StreamStatus([]byte(c.event))
			if got != c.want || ok != (c.want != 0) {
				t.Errorf("got %d, %v, want %d", got, ok, c.want)
			}
		})
	}
}

func TestStreamEvent(t *testing.T) {
	event := func(body, provider string, options ...option) (outcome.Outcome, bool) {
		return StreamEvent(input(200, body, 0, provider, options...))
	}
	t.Run("ruling 18 classified like a status", func(t *testing.T) {
		o, ok := event(`{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`, "acme")
		if !ok || o != cfe(529, `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`, 0, "acme") {
			t.Errorf("got %v %+v", ok, o)
		}
	})
	t.Run("ruling 18 restated like a status", func(t *testing.T) {
		o, ok := event(`{"type":"error","error":{"type":"permission_error","message":"用户额度不足"}}`, "agentrouter")
		if !ok || o.Status != 429 || o.RestatedFrom != 403 {
			t.Errorf("got %v %+v", ok, o)
		}
	})
	t.Run("ruling 18 hints count", func(t *testing.T) {
		o, ok := event(`{"error":{"code":429,"message":"Please try again in 20s"}}`, "acme")
		if !ok || o.Cooldown != 20*time.Second {
			t.Errorf("got %v %+v", ok, o)
		}
	})
	t.Run("no error", func(t *testing.T) {
		if o, ok := event(`{"type":"ping"}`, "acme"); ok || o != (outcome.Outcome{}) {
			t.Errorf("got %+v", o)
		}
	})
}
