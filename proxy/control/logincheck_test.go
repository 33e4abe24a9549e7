package control

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"breakwater/resilience/claude"
	"breakwater/resilience/clock"
	"breakwater/resilience/oauth"
)

// account is what stands behind the connections of a login bubble.
type account struct {
	mu        sync.Mutex
	access    string // the stored access token; empty: none, it has to be refreshed
	tested    []string
	at        []time.Time
	refreshed int
	hold      chan struct{} // tests wait for it, if there is one
	answers   []Tested      // of the tests, in turn; afterwards it works
	token     claude.Reply  // of the token endpoint
}

func (a *account) Secret(id string) (string, bool, error) {
	if strings.Contains(id, "key") {
		return "k", true, nil
	}
	return oauth.Login{Access: a.access, Refresh: "r"}.Encode(), true, nil
}
func (*account) SetSecret(string, string) error            { return nil }
func (*account) AddSecret(_, value string) (string, error) { return value, nil }
func (*account) DeleteSecret(string) error                 { return nil }
func (*account) Backend() string                           { return "none" }

func (a *account) test(_ context.Context, r *Route) Tested {
	if a.hold != nil {
		<-a.hold
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tested, a.at = append(a.tested, r.Record.ID), append(a.at, time.Now())
	if len(a.answers) == 0 {
		return Tested{TestResult: TestResult{Valid: true, StatusCode: 200, Diagnosis: Diagnosis{Type: "ok"}}, Body: []byte(`{"data":[]}`)}
	}
	next := a.answers[0]
	a.answers = a.answers[1:]
	return next
}

func (a *account) side(context.Context, SideCall) claude.Reply {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refreshed++
	return a.token
}

// looks returns who was tested since the last call.
func (a *account) looks() (ids []string, times []time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	ids, times, a.tested, a.at = a.tested, a.at, nil, nil
	return ids, times
}

func answer(status int, body string) Tested {
	return Tested{TestResult: TestResult{StatusCode: status}, Body: []byte(body)}
}

var (
	newToken = claude.Reply{Status: 200, Body: []byte(`{"access_token":"a2","refresh_token":"r2","expires_in":86400}`)}
	noToken  = claude.Reply{Status: 400, Body: []byte(`{"error":"invalid_grant"}`)}
	busy     = claude.Reply{Status: 429}
)

// newLoginBubble is a service with these connections; those whose name holds
// "key" have a key, the others a login.
func newLoginBubble(t *testing.T, a *account, names ...string) *bubble {
	t.Helper()
	store := newMemory()
	store.records = nil
	for _, name := range names {
		credential := "oauth"
		if strings.Contains(name, "key") {
			credential = "apikey"
		}
		store.records = append(store.records, ConnectionRecord{
			ID: name, Provider: "claude", Name: name, Credential: credential, Active: true, Priority: len(store.records) + 1, TokenURL: "https://login.test/token",
		})
	}
	b := &bubble{store: store}
	s, err := New(t.Context(), Config{
		Store: store, Secrets: a, Log: slog.New(slog.NewTextHandler(&b.log, nil)), Clock: clock.System{}, Tester: a.test, SideCall: a.side,
	})
	if err != nil {
		t.Fatal(err)
	}
	b.Service = s
	return b
}

func (b *bubble) every(t *testing.T, patch string) {
	t.Helper()
	if _, err := b.EditResilience(t.Context(), json.RawMessage(patch)); err != nil {
		t.Fatal(err)
	}
}

func (b *bubble) stateOf(id string) State {
	r, _ := b.Route(id)
	return b.view(r).State
}

func TestLoginsAreLookedAtInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &account{access: "a", token: newToken}
		b := newLoginBubble(t, a, "one", "two", "three", "with a key")
		defer b.Close()
		pause(29 * time.Minute)
		if ids, _ := a.looks(); len(ids) != 0 {
			t.Errorf("%v are looked at right after the start", ids)
		}
		pause(32 * time.Minute)
		ids, times := a.looks()
		if len(ids) != 3 || strings.Contains(strings.Join(ids, " "), "key") {
			t.Errorf("%v are looked at within the default hour, want each login once", ids)
		}
		for i := 1; i < len(times); i++ {
			if d := times[i].Sub(times[i-1]); d < oauth.LookGap {
				t.Errorf("%s between two looks", d)
			}
		}
		pause(6 * time.Hour)
		if ids, _ := a.looks(); len(ids) != 18 {
			t.Errorf("%d looks in six hours, want 18", len(ids))
		}
		b.every(t, `{"credentialHealthCheck":{"intervalMinutes":1}}`)
		pause(10 * time.Minute)
		if ids, _ := a.looks(); len(ids) < 27 || len(ids) > 30 {
			t.Errorf("%d looks in ten minutes, want about 30", len(ids))
		}
	})
}

func TestAConnectionsOwnInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &account{access: "a", token: newToken}
		b := newLoginBubble(t, a, "one", "two", "three")
		defer b.Close()
		for id, own := range map[string]any{"one": 10, "two": 0} {
			if _, err := b.EditConnection(t.Context(), id, ConnectionPatch{HealthCheckInterval: JSONOf(own)}); err != nil {
				t.Fatal(err)
			}
		}
		pause(time.Hour)
		ids, _ := a.looks()
		got := strings.Join(ids, " ")
		if n := strings.Count(got, "one"); n < 5 || n > 6 || strings.Contains(got, "two") || strings.Count(got, "three") != 1 {
			t.Errorf("in an hour: %s", got)
		}
		b.every(t, `{"credentialHealthCheck":{"intervalMinutes":0}}`)
		pause(time.Hour)
		if ids, _ := a.looks(); len(ids) != 6 || strings.Contains(strings.Join(ids, " "), "three") {
			t.Errorf("with the setting off: %v", ids)
		}
		for _, wrong := range []any{-1, 1441, 1.5, "often"} {
			if _, err := b.EditConnection(t.Context(), "one", ConnectionPatch{HealthCheckInterval: JSONOf(wrong)}); err == nil {
				t.Errorf("%v is taken", wrong)
			}
		}
	})
}

func TestNobodyIsLookedAt(t *testing.T) {
	off := false
	for name, prepare := range map[string]func(*testing.T, *bubble){
		"at 0": func(t *testing.T, b *bubble) { b.every(t, `{"credentialHealthCheck":{"intervalMinutes":0}}`) },
		"switched off": func(t *testing.T, b *bubble) {
			if _, err := b.EditConnection(t.Context(), "one", ConnectionPatch{Active: &off}); err != nil {
				t.Fatal(err)
			}
		},
		"deleted": func(t *testing.T, b *bubble) {
			if err := b.DeleteConnection(t.Context(), "one"); err != nil {
				t.Fatal(err)
			}
		},
		"while the proxy is paused": func(t *testing.T, b *bubble) {
			if err := b.SetPaused(t.Context(), true); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &account{access: "a", token: newToken}
				b := newLoginBubble(t, a, "one")
				defer b.Close()
				prepare(t, b)
				pause(5 * time.Hour)
				if ids, _ := a.looks(); len(ids) != 0 || a.refreshed != 0 {
					t.Errorf("%d looks, %d refreshes", len(ids), a.refreshed)
				}
			})
		})
	}
}

func TestWhatALookFinds(t *testing.T) {
	const oauthText = `{"error":{"type":"authentication_error","message":"Invalid authentication credentials"}}`
	for _, c := range []struct {
		name      string
		access    string
		token     claude.Reply
		answers   []Tested
		state     State
		tests     int
		refreshed int
	}{
		{"all is well", "a", newToken, nil, StateServing, 1, 0},
		{"a login that is due is refreshed", "", newToken, nil, StateServing, 1, 1},
		{"O4 a refused refresh without an access token expires", "", noToken, nil, StateExpired, 0, 1},
		{"O5 a token endpoint that fails teaches nothing", "", busy, nil, StateServing, 0, 1},
		{"O7 a refused access token is renewed", "a", newToken, []Tested{answer(401, oauthText)}, StateServing, 2, 1},
		{"O4 a refused access token and a refused refresh expire", "a", noToken, []Tested{answer(401, oauthText)}, StateExpired, 1, 1},
		{"a new token that is refused too is no proof", "a", newToken, []Tested{answer(401, oauthText), answer(401, oauthText)}, StateServing, 2, 1},
		{"a refused access token while the token endpoint fails", "a", busy, []Tested{answer(401, oauthText)}, StateServing, 1, 1},
		{"case 177 a closed account is banned", "a", newToken, []Tested{answer(403, `{"error":{"message":"this account is deactivated"}}`)}, StateBanned, 1, 0},
		{"a plain 403 may be of the question alone", "a", newToken, []Tested{answer(403, `{"error":{"message":"not allowed"}}`)}, StateServing, 1, 0},
		{"no credit", "a", newToken, []Tested{answer(402, `{"error":{"message":"insufficient credits"}}`)}, StateCreditsExhausted, 1, 0},
		{"a limit cools nobody", "a", newToken, []Tested{answer(429, `{"error":{"message":"rate limit"}}`)}, StateServing, 1, 0},
		{"a fault of the provider counts nothing", "a", newToken, []Tested{answer(503, "")}, StateServing, 1, 0},
		{"nothing came", "a", newToken, []Tested{{}}, StateServing, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &account{access: c.access, token: c.token, answers: c.answers}
				b := newLoginBubble(t, a, "one")
				defer b.Close()
				pause(time.Hour)
				if ids, _ := a.looks(); len(ids) != c.tests || a.refreshed != c.refreshed {
					t.Errorf("%d tests, %d refreshes; want %d, %d", len(ids), a.refreshed, c.tests, c.refreshed)
				}
				if got := b.stateOf("one"); got != c.state {
					t.Errorf("it is %s, want %s", got, c.state)
				}
				r, _ := b.Route("one")
				if v := b.view(r); v.RateLimitedUntil != nil || v.BackoffLevel != 0 || b.breakers()[0].FailureCount != 0 {
					t.Errorf("the look left a mark: %+v", v)
				}
			})
		})
	}
}

// An expired login is looked at as often as requests may retry it, and comes
// back when it works.
func TestLooksAtAnExpiredLogin(t *testing.T) {
	t.Run("O9 three retries, then never again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a := &account{token: noToken}
			b := newLoginBubble(t, a, "one")
			defer b.Close()
			pause(48 * time.Hour)
			if a.refreshed != 4 || b.stateOf("one") != StateExpired {
				t.Errorf("%d refreshes, %s; want 1 and 3", a.refreshed, b.stateOf("one"))
			}
			if r, _ := b.Route("one"); b.hopeful(r) || len(b.loginsToCheck()) != 0 {
				t.Error("a timer runs for it")
			}
		})
	})
	t.Run("O10 it comes back", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a := &account{token: noToken}
			b := newLoginBubble(t, a, "one")
			defer b.Close()
			pause(time.Hour)
			if got := b.stateOf("one"); got != StateExpired {
				t.Fatalf("it is %s", got)
			}
			a.mu.Lock()
			a.token = newToken
			a.mu.Unlock()
			pause(time.Hour)
			if got := b.stateOf("one"); got != StateServing {
				t.Errorf("it is %s", got)
			}
		})
	})
}

// What is found of a login that was replaced meanwhile is forgotten.
func TestALookAtAReplacedLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &account{access: "a", token: newToken, hold: make(chan struct{}), answers: []Tested{answer(402, `{"error":{"message":"insufficient credits"}}`)}}
		b := newLoginBubble(t, a, "one")
		defer b.Close()
		pause(time.Hour)
		if _, err := b.EditConnection(t.Context(), "one", ConnectionPatch{APIKey: new("b"), RefreshToken: new("s")}); err != nil {
			t.Fatal(err)
		}
		close(a.hold)
		synctest.Wait()
		if got := b.stateOf("one"); got != StateServing || bytes.Contains(b.log.Bytes(), []byte("a look at a stored login")) {
			t.Errorf("it is %s", got)
		}
	})
}
