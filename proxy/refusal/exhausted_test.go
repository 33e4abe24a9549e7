package refusal

import (
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/clock"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
	"breakwater/resilience/watchdog"
)

func TestNoConnection(t *testing.T) {
	anthropic := Connection{"Work", []dialect.Dialect{dialect.Anthropic}}
	chat := Connection{"Home", []dialect.Dialect{dialect.Chat, dialect.Responses}}
	for _, tt := range []struct {
		name    string
		skipped []Skipped
		all     []Connection
		code    string
		says    string
	}{
		{"a key that allows none", []Skipped{{"Work", string(exclusion.Leased)}, {"Home", string(exclusion.KeyNotAllowed)}}, nil, "connection_not_allowed", "may not use any connection"},
		{"all kept for leases", []Skipped{{"Work", string(exclusion.Leased)}}, nil, "connection_reserved", "hold a lease"},
		{"passthrough without a login", []Skipped{{"Work", string(exclusion.NoCredential)}}, nil, "no_connection", "Work is a passthrough connection"},
		{"a lost key", []Skipped{{"Work", string(exclusion.KeyMissing)}}, nil, string(exclusion.KeyMissing), "The key of Work is missing"},
		{"none at all", nil, nil, "no_connection", "no connections yet"},
		{"none of the dialect", nil, []Connection{chat}, "no_connection", "There are: Home (OpenAI Chat Completions, OpenAI Responses)."},
		{"none with the model", nil, []Connection{chat, anthropic}, "no_connection", `has the model "m"`},
		{"none with the model, others skipped", []Skipped{{"Work", string(exclusion.ModelNotOffered)}}, []Connection{anthropic}, "no_connection", `has the model "m"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := request().NoConnection(tt.skipped, tt.all)
			same(t, "code", n.Code, tt.code)
			contains(t, n.Message, tt.says)
		})
	}
}

// conn is a connection of the core.
func conn(t *testing.T, id, provider string) *resilience.Conn {
	t.Helper()
	e := resilience.New(resilience.Config{Clock: clock.NewFake(core), Settings: settings.Defaults()})
	return e.Upsert(resilience.Connection{ID: id, Provider: provider, Active: true})
}

func excluded(c *resilience.Conn, why exclusion.Reason) resilience.Exclusion {
	return resilience.Exclusion{Candidate: resilience.Candidate{Conn: c, Model: "m"}, Exclusion: exclusion.Exclusion{Reason: why}}
}

func TestUnserved(t *testing.T) {
	open := excluded(conn(t, "id1", "glm"), exclusion.BreakerOpen)
	off := excluded(conn(t, "id2", "glm"), exclusion.Off)
	cooling := excluded(conn(t, "id3", "glm"), exclusion.Cooling)
	busy := &admission.Error{Code: admission.QueueTimeout, Message: "The queue of Work is full.", RetryAfter: secs(3)}
	elsewhere := &admission.Error{Code: admission.QueueFull, Message: "full", Elsewhere: true}
	slow := failure(504, outcome.ReasonLocalTimeout, neutral, silent)
	for _, tt := range []struct {
		name   string
		client dialect.Profile
		u      Unserved
		status int
		code   string
		notify bool
		says   string
	}{
		{"another owner's lease", unknown, Unserved{Lease: &control.LeaseError{Code: control.LeaseCapacity, Message: "held"}}, 429, control.LeaseCapacity, false, "held"},
		{"our own queue", unknown, Unserved{Local: busy}, 503, "RATE_LIMIT_QUEUE_TIMEOUT", false, "The queue of Work is full. This is a local limit"},
		{"our own queue, for a client that gives up on 503", claudeCode, Unserved{Local: busy}, 429, "RATE_LIMIT_QUEUE_TIMEOUT", false, "local limit"},
		{"a queue, but a rest that ends", unknown, Unserved{Local: elsewhere, Wait: secs(5), Waits: true, Excluded: []resilience.Exclusion{cooling}}, 429, "all_connections_cooling_down", true, "is resting; the first is back in 5 s"},
		{"a login that is not refreshed", unknown, Unserved{Failures: []resilience.Failure{failure(504, outcome.ReasonLocalTimeout, neutral, code(resilience.CodeLoginNotRefreshed))}, RefreshWait: secs(120)}, 502, "login_not_refreshed", true, "The next try is in 2 min"},
		{"our own deadline", unknown, Unserved{Failures: []resilience.Failure{slow}}, 504, "local_timeout", true, "Work did not answer in time"},
		{"a gateway's 499", unknown, Unserved{Failures: []resilience.Failure{failure(499, outcome.ReasonUpstreamLeft, neutral)}}, 502, "upstream_closed_request", true, "Work failed (upstream closed request, status 499)"},
		{"a fault", unknown, Unserved{Failures: []resilience.Failure{failure(500, outcome.ReasonServerError)}, Wait: secs(5), Waits: true}, 502, "server_error", true, "Work failed (server error, status 500)"},
		{"several faults", unknown, Unserved{Failures: []resilience.Failure{
			failure(502, outcome.ReasonNetwork, silent, func(f *resilience.Failure) { f.Outcome.Network = true }),
			failure(502, outcome.ReasonEmptyAnswer), failure(502, outcome.ReasonTruncated, silent),
		}}, 502, "stream_truncated", true, "Work could not be reached; Work gave no usable answer (check its base URL); Work failed (stream truncated)"},
		{"limits", unknown, Unserved{Failures: []resilience.Failure{limited(secs(5))}, Wait: secs(5), Waits: true}, 429, "all_connections_cooling_down", true, "is limited; the first is back in 5 s (03:04:10 UTC)"},
		{"limits without an end", unknown, Unserved{Failures: []resilience.Failure{limited(0)}}, 502, "no_connection_available", true, "Work failed (rate limit exceeded"},
		{"an open breaker", unknown, Unserved{Excluded: []resilience.Exclusion{open, off}, Wait: secs(30), Waits: true}, 503, "provider_circuit_open", true, "30 s"},
		{"an open breaker, for a client that gives up on 503", claudeCode, Unserved{Excluded: []resilience.Exclusion{open}, Wait: secs(30), Waits: true}, 429, "provider_circuit_open", true, "30 s"},
		{"an open breaker and a cooldown", unknown, Unserved{Excluded: []resilience.Exclusion{open, cooling}, Wait: secs(30), Waits: true}, 429, "all_connections_cooling_down", true, "30 s"},
		{"nothing that ends", unknown, Unserved{Skipped: []Skipped{{"Work", "credits_exhausted"}}}, 502, "no_connection_available", true, "Work is credits exhausted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := request(by(tt.client)).Unserved(&tt.u)
			same(t, "status", n.Status, tt.status)
			same(t, "code", n.Code, tt.code)
			same(t, "notification", n.Exhausted, tt.notify)
			contains(t, n.Message, tt.says)
		})
	}
	t.Run("an open breaker is named", func(t *testing.T) {
		q := request()
		a := q.Answer(q.Unserved(&Unserved{Excluded: []resilience.Exclusion{open}, Wait: secs(30), Waits: true}))
		same(t, "header", a.Header.Get("X-Omniroute-Provider-Breaker"), "open")
		same(t, "provider", has(a.Body, "error.provider"), "glm")
		same(t, "retry_after", has(a.Body, "error.retry_after"), "30")
	})
}

func TestErrorTypeOfABrokenStream(t *testing.T) {
	for c, want := range map[string]string{watchdog.NotReady.Code(): "stream_timeout", resilience.CodeEarlyEOF: "stream_early_eof", "": "api_error"} {
		n := request().Unserved(&Unserved{Failures: []resilience.Failure{failure(502, outcome.ReasonTruncated, code(c))}})
		same(t, c, n.Type, want)
	}
}

func TestNextTry(t *testing.T) {
	cooling := resilience.Exclusion{Exclusion: exclusion.Exclusion{Reason: exclusion.Cooling, Until: core.Add(secs(9))}}
	stated := limited(secs(20))
	stated.Outcome.ClientRetryAfter = secs(4)
	for _, tt := range []struct {
		name     string
		excluded []resilience.Exclusion
		failures []resilience.Failure
		want     time.Duration
		ok       bool
	}{
		{"nothing ends", nil, []resilience.Failure{failure(500, outcome.ReasonServerError)}, 0, false},
		{"an exclusion", []resilience.Exclusion{cooling}, nil, secs(9), true},
		{"the first of both", []resilience.Exclusion{cooling}, []resilience.Failure{limited(secs(5))}, secs(5), true},
		{"a restated status's own wait (guide §7)", []resilience.Exclusion{cooling}, []resilience.Failure{stated}, secs(4), true},
		{"at least a second", nil, []resilience.Failure{limited(-secs(5))}, time.Second, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := request().NextTry(tt.excluded, tt.failures, toReal)
			same(t, "ok", ok, tt.ok)
			same(t, "wait", got, tt.want)
		})
	}
}

func TestTimesForPeople(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "1 s", secs(119): "119 s", secs(120): "2 min", secs(121): "3 min", secs(7200): "2.0 h"} {
		same(t, d.String(), span(d), want)
	}
	same(t, "soon", moment(now, now.Add(time.Hour)), "04:04:05 UTC")
	same(t, "far away", moment(now, now.Add(13*time.Hour)), "Wed 2 Jan, 16:04 UTC")
}
