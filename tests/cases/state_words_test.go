package cases

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"breakwater/proxy/cli"
	"breakwater/proxy/client"
	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

const (
	blockPage  = `<!DOCTYPE html><html><head><title>Just a moment...</title></head><body></body></html>`
	noAccess   = `{"type":"error","error":{"type":"permission_error","message":"OAuth authentication is not allowed for this organization."}}`
	noAccessIs = "OAuth authentication is not allowed for this organization."
	pageIs     = "a web page came instead of an answer"
)

// fixed is a server that gives everybody the same answer.
func fixed(t *testing.T, status int, kind, body string, header ...string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func addCustom(t *testing.T, k *scenario.Kit, name, address string) control.Connection {
	t.Helper()
	c, err := k.Facade().AddConnection(t.Context(), control.ConnectionInput{
		Provider: "custom", Name: name, APIKey: "sk-custom-0123456789abcdef", BaseURL: address, Dialects: []string{"anthropic"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A connection test states the reason that a request would be judged by, and the
// refusal's own words.
func TestATestStatesTheReasonOfARequest(t *testing.T) {
	const html, json = "text/html; charset=UTF-8", "application/json"
	for _, c := range []struct {
		name           string
		status         int
		kind, body     string
		header         []string
		reason, words  string
		kindOfDiagnose string
	}{
		{"401", 401, json, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, nil, "auth_error", "the key is not valid", "upstream_auth_error"},
		{"402", 402, json, `{"error":{"message":"Your credit balance is too low."}}`, nil, "quota_exhausted", "Your credit balance is too low.", "upstream_auth_error"},
		{"Q10 403 words", 403, json, noAccess, nil, "auth_error", noAccessIs, "upstream_auth_error"},
		{"Q08 403 page", 403, html, blockPage, []string{"cf-mitigated", "challenge"}, "not_api", pageIs, "not_api"},
		{"451 page", 451, html, blockPage, nil, "not_api", pageIs, "not_api"},
		{"429", 429, json, `{"error":{"message":"Slow down."}}`, []string{"Retry-After", "30"}, "rate_limit_exceeded", "Slow down.", "upstream_rate_limited"},
		{"Q09 429 words of quota", 429, json, `{"error":{"code":429,"message":"You exceeded your current quota.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"41s"}]}}`, nil, "rate_limit_exceeded", "You exceeded your current quota.", "upstream_rate_limited"},
		{"404 page", 404, html, blockPage, nil, "wrong_address", "base URL", "unsupported"},
		{"Q02 400 key words", 400, json, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}`, nil, "auth_error", "the key is not valid", "upstream_auth_error"},
		{"200 page", 200, html, blockPage, nil, "not_api", pageIs, "not_api"},
		{"200 JSON of a portal", 200, json, `{"status":"login required"}`, nil, "not_api", pageIs, "not_api"},
		{"302 of a portal", 302, html, blockPage, []string{"Location", "http://127.0.0.1:1/login"}, "not_api", pageIs, "not_api"},
		{"503", 503, json, `{"error":{"message":"Maintenance until noon."}}`, nil, "server_error", "Maintenance until noon.", "upstream_unavailable"},
		{"a ban", 403, json, `{"type":"error","error":{"type":"permission_error","message":"This organization has been disabled."}}`, nil, "auth_error", "This organization has been disabled.", "account_deactivated"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := scenario.Start(t)
			id := addCustom(t, k, "alpha", fixed(t, c.status, c.kind, c.body, c.header...)).ID
			res, err := k.Facade().TestConnection(t.Context(), id)
			if err != nil || res.Valid {
				t.Fatalf("test %+v, %v", res, err)
			}
			if res.Diagnosis.Reason != c.reason || res.Diagnosis.Type != c.kindOfDiagnose || !strings.Contains(res.Error+res.Warning, c.words) {
				t.Errorf("test %+v, want %s, %s, %q", res, c.reason, c.kindOfDiagnose, c.words)
			}
			if got := k.Connection("alpha"); got.State != control.StateServing || k.CoolsFor("alpha") != 0 {
				t.Errorf("a test rests it: %+v", got)
			}
			k.Post("/v1/messages", scenario.Messages)
			if got := k.Connection("alpha"); got.Reason != res.Diagnosis.Reason {
				t.Errorf("a request says %q (%s), the test %q", got.Reason, got.Words, res.Diagnosis.Reason)
			}
		})
	}
}

// Three plain refusals in a row over ten minutes make a connection need
// attention: it is asked last, and still asked (ruling 62).
func TestWhoRefusesForTenMinutesIsAskedLast(t *testing.T) {
	refused := simulator.Status(403).WithBody("application/json", noAccess)
	alarmed := func(t *testing.T) (*scenario.Kit, *simulator.Account, *simulator.Account) {
		k := scenario.Start(t)
		alpha, beta := k.Pair()
		alpha.Script(refused.Repeat(3))
		for n := range 3 {
			if got := k.Connection("alpha"); got.NeedsAttention != nil {
				t.Fatalf("after %d refusals: %+v", n, got)
			}
			if a := k.Post("/v1/messages", scenario.Messages); a.Status != 200 {
				t.Fatalf("got %d %s", a.Status, a.Body)
			}
			k.Clock.Advance(6 * time.Minute)
		}
		got := k.Connection("alpha")
		if got.State != control.StateNeedsAttention || got.NeedsAttention == nil || got.NeedsAttention.Words != noAccessIs || got.TestStatus == "banned" {
			t.Fatalf("alpha is %+v", got)
		}
		return k, alpha, beta
	}
	firstIs := func(t *testing.T, k *scenario.Kit, account *simulator.Account) {
		t.Helper()
		before := len(account.Requests())
		if a := k.Post("/v1/messages", scenario.Messages); a.Status != 200 || len(account.Requests()) != before+1 {
			t.Errorf("got %d, asked %d times", a.Status, len(account.Requests())-before)
		}
	}
	t.Run("asked last, over a restart", func(t *testing.T) {
		k, alpha, beta := alarmed(t)
		firstIs(t, k, beta)
		k.Restart()
		if got := k.Connection("alpha"); got.NeedsAttention == nil || got.NeedsAttention.Words != noAccessIs {
			t.Fatalf("after a restart: %+v", got)
		}
		firstIs(t, k, beta)
		if n := len(alpha.Requests()); n != 3 {
			t.Errorf("alpha was asked %d times", n)
		}
	})
	t.Run("still asked, and a success lifts it", func(t *testing.T) {
		k, alpha, beta := alarmed(t)
		beta.Script(simulator.Status(503).Repeat(1))
		firstIs(t, k, alpha)
		if got := k.Connection("alpha"); got.State != control.StateServing || got.Words != "" {
			t.Errorf("alpha is %+v", got)
		}
		firstIs(t, k, alpha)
	})
	t.Run("a refusal of the last one left is the client's", func(t *testing.T) {
		k, alpha, beta := alarmed(t)
		beta.Script(simulator.Status(503).Always())
		alpha.Script(refused.Always())
		if a := k.Post("/v1/messages", scenario.Messages); a.Status < 400 || len(alpha.Requests()) != 4 {
			t.Errorf("got %d, alpha was asked %d times", a.Status, len(alpha.Requests()))
		}
	})
	for name, lift := range map[string]func(t *testing.T, k *scenario.Kit, id string) error{
		"a test": func(t *testing.T, k *scenario.Kit, id string) error {
			_, err := k.Facade().TestConnection(t.Context(), id)
			return err
		},
		"a key": func(t *testing.T, k *scenario.Kit, id string) error {
			key := "sk-another-0123456789"
			_, err := k.Facade().EditConnection(t.Context(), id, control.ConnectionPatch{APIKey: &key})
			return err
		},
		"a clear": func(t *testing.T, k *scenario.Kit, id string) error { return k.Facade().ClearCooldown(t.Context(), id) },
	} {
		t.Run(name+" lifts it", func(t *testing.T) {
			k, alpha, _ := alarmed(t)
			if err := lift(t, k, k.Connection("alpha").ID); err != nil {
				t.Fatal(err)
			}
			firstIs(t, k, alpha)
		})
	}
	for _, strategy := range []string{"priority", "round-robin", "least-used"} {
		t.Run("in a combo of "+strategy, func(t *testing.T) {
			p := newPool(t, scenario.Start(t), strategy, nil, "alpha", "beta")
			alpha := p.Sim.Account("alpha")
			alpha.Script(refused.Always())
			for range 3 { // strategies avoid an account that has just failed
				p.Post("/v1/messages", scenario.Messages, "X-Omniroute-Connection", "alpha")
				p.Clock.Advance(6 * time.Minute)
			}
			if p.Connection("alpha").NeedsAttention == nil {
				t.Fatalf("alpha is %+v", p.Connection("alpha"))
			}
			before := len(alpha.Requests())
			for range 4 {
				p.ask()
			}
			if n := len(alpha.Requests()); n != before {
				t.Errorf("alpha was asked %d times", n-before)
			}
			p.Sim.Account("beta").Script(simulator.Status(503).Always())
			alpha.Script(simulator.OK().Always())
			if a := p.ask(); a.Status != 200 {
				t.Errorf("got %d %s", a.Status, a.Body)
			}
		})
	}
}

// Pages rest the connection from 5 s up to 5 min and blame nobody else; pages
// for a path rest it until its address changes (ruling 56).
func TestPagesRestTheConnection(t *testing.T) {
	for name, step := range map[string]simulator.Step{
		"Q08 a challenge": simulator.Status(403).WithBody("text/html; charset=UTF-8", blockPage).WithHeader("cf-mitigated", "challenge"),
		"a filter":        simulator.Status(451).WithBody("text/html", blockPage),
		"a portal":        simulator.Status(200).WithBody("text/html", blockPage),
		"a login network": simulator.Status(511).WithBody("text/html", blockPage),
	} {
		t.Run(name, func(t *testing.T) {
			k := scenario.Start(t)
			alpha, _ := k.Pair()
			alpha.Script(step.Always())
			for i, want := range []time.Duration{5, 10, 20, 40, 80, 160, 300, 300} {
				if a := k.Post("/v1/messages", scenario.Messages); a.Status != 200 {
					t.Fatalf("got %d %s", a.Status, a.Body)
				}
				got := k.Connection("alpha")
				if k.CoolsFor("alpha") != want*time.Second || got.Reason != "not_api" || got.Words != pageIs || k.Breaker("demo").FailureCount != 0 {
					t.Fatalf("page %d: rests %v, %+v", i+1, k.CoolsFor("alpha"), got)
				}
				k.Clock.Advance(k.CoolsFor("alpha") + time.Second)
			}
			alpha.Script(simulator.OK(), step.Always())
			k.Post("/v1/messages", scenario.Messages)
			k.Post("/v1/messages", scenario.Messages)
			if got := k.CoolsFor("alpha"); got != 5*time.Second {
				t.Errorf("after a success it rests %v", got)
			}
		})
	}
	t.Run("a wrong address", func(t *testing.T) {
		k := scenario.Start(t)
		r := newRelay(t, map[string]string{"/v1/messages": relayAnswer})
		id := addCustom(t, k, "alpha", r.URL+"/wrong").ID
		k.Add("beta", "anthropic")
		body := scenario.NoStream(scenario.Messages)
		ask := func(want int) {
			t.Helper()
			before := len(r.paths)
			if a := k.Post("/v1/messages", body); a.Status != 200 || len(r.paths)-before != want {
				t.Fatalf("got %d, alpha was asked %d times, want %d", a.Status, len(r.paths)-before, want)
			}
		}
		ask(1)
		if got := k.Connection("alpha"); got.State != control.StateWrongAddress || got.Until != nil || len(got.Lockouts) > 0 || got.Reason != "wrong_address" {
			t.Fatalf("alpha is %+v", got)
		}
		k.Clock.Advance(48 * time.Hour)
		ask(0)
		k.Restart()
		ask(0)
		right := r.URL
		if _, err := k.Facade().EditConnection(t.Context(), id, control.ConnectionPatch{BaseURL: &right}); err != nil {
			t.Fatal(err)
		}
		ask(1)
		if got := k.Connection("alpha"); got.State != control.StateServing {
			t.Errorf("alpha is %+v", got)
		}
	})
	t.Run("a test that passes ends a wrong address", func(t *testing.T) {
		k := scenario.Start(t)
		var mended atomic.Bool
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if !mended.Load() {
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(http.StatusNotFound)
				_, _ = w.Write([]byte(blockPage))
				return
			}
			_, _ = w.Write([]byte(`{"data":[{"id":"m"}],"object":"list"}`))
		}))
		t.Cleanup(s.Close)
		id := addCustom(t, k, "alpha", s.URL).ID
		k.Post("/v1/messages", scenario.Messages)
		if got := k.Connection("alpha").State; got != control.StateWrongAddress {
			t.Fatalf("alpha is %s", got)
		}
		mended.Store(true)
		if res, err := k.Facade().TestConnection(t.Context(), id); err != nil || !res.Valid || k.Connection("alpha").State != control.StateServing {
			t.Errorf("test %+v, %v; alpha is %s", res, err, k.Connection("alpha").State)
		}
	})
}

// The words survive a restart, are shown by the API and the command line, and
// hold no key, not even one that the provider has masked.
func TestTheWordsOfARefusalAreShown(t *testing.T) {
	k := scenario.Start(t)
	alpha, _ := k.Pair()
	key := scenario.Key(0)
	alpha.Script(simulator.Status(403).WithBody("application/json",
		`{"error":{"message":"No access.\n\tKey `+key+` (sk-ab****yz99) is not allowed \u200bhere.","type":"permission_error"}}`).Always())
	k.Post("/v1/messages", scenario.Messages)
	const want = "No access. Key [redacted] ([redacted]) is not allowed here."
	check := func() {
		t.Helper()
		if got := k.Connection("alpha"); got.Words != want || got.Reason == "quota_exhausted" {
			t.Errorf("words %q, reason %s", got.Words, got.Reason)
		}
		for _, path := range []string{"/api/providers", "/api/resilience/cooldowns"} {
			if status, body := manage(t, k, "GET", path, ""); status != 200 || !strings.Contains(body, `"words":"`+want) || strings.Contains(body, key) {
				t.Errorf("%s: %d %s", path, status, body)
			}
		}
		for _, args := range [][]string{{"cooldowns", "list"}, {"connections", "show", "alpha"}} {
			if out := said(t, k, args...); !strings.Contains(out, want) || strings.Contains(out, "quota") {
				t.Errorf("%v: %s", args, out)
			}
		}
	}
	check()
	k.Restart()
	check()
	if log := k.Log.String(); strings.Contains(log, key) || strings.Contains(log, "yz99") {
		t.Error("the log holds a key")
	}
}

// said runs a command against the running product and returns what it prints.
func said(t *testing.T, k *scenario.Kit, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	cli.Run(t.Context(), cli.Env{
		In: strings.NewReader(""), Out: &out, Err: &out, Getenv: func(string) string { return "" },
		Connect: func(context.Context, cli.Where) (control.Facade, func(), error) {
			return client.New(k.URL, k.Token, client.Options{}), func() {}, nil
		},
	}, args)
	return out.String()
}
