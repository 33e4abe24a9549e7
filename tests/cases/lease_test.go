package cases

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/resilience/lease"
	"breakwater/tests/scenario"
)

const leasePath = "/api/v1/session-leases"

// session is one managed client: its key and its owner.
type session struct {
	t     *testing.T
	k     *scenario.Kit
	key   string
	owner string
}

func newSession(t *testing.T, k *scenario.Kit, key, letter string) session {
	t.Helper()
	return session{t, k, key, "vlo_" + strings.Repeat(letter, 43)}
}

// leaseKey makes a key for leases on connections by their names.
func leaseKey(t *testing.T, k *scenario.Kit, names ...string) control.APIKey {
	t.Helper()
	var ids []string
	for _, n := range names {
		ids = append(ids, k.Connection(n).ID)
	}
	return addKey(t, k, control.KeyInput{Scopes: []string{control.ScopeLease}, AllowedConnections: ids})
}

// lease sends a lease operation.
func (s session) lease(body string, headers ...string) scenario.Answer {
	s.t.Helper()
	return s.k.Do(http.MethodPost, leasePath, body, append([]string{"Authorization", "Bearer " + s.key, lease.OwnerHeader, s.owner}, headers...)...)
}

func (s session) acquire() scenario.Answer { return s.lease(`{"action":"acquire","model":"m1"}`) }

// hold acquires and returns the generation.
func (s session) hold() int64 {
	s.t.Helper()
	return leaseOf(s.t, s.acquire()).Generation
}

// post sends a request under the lease.
func (s session) post(generation any, headers ...string) scenario.Answer {
	s.t.Helper()
	return s.k.Post("/v1/messages", scenario.Messages, append([]string{
		"X-Api-Key", s.key, lease.OwnerHeader, s.owner, lease.GenerationHeader, fmt.Sprint(generation),
	}, headers...)...)
}

func leaseOf(t *testing.T, a scenario.Answer) (l control.SessionLease) {
	t.Helper()
	if a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if err := json.Unmarshal([]byte(a.Body), &l); err != nil {
		t.Fatal(err)
	}
	return l
}

func wantCode(t *testing.T, name string, a scenario.Answer, status int, code string) {
	t.Helper()
	if a.Status != status || !strings.Contains(a.Body, `"`+code+`"`) {
		t.Errorf("%s: %d %s, want %d %s", name, a.Status, a.Body, status, code)
	}
}

func TestLeaseLifecycle(t *testing.T) {
	k := scenario.Start(t)
	k.Pair()
	key := leaseKey(t, k, "alpha")
	a, b := newSession(t, k, key.Key, "a"), newSession(t, k, key.Key, "b")

	first := leaseOf(t, a.acquire())
	if life := first.ExpiresAt.Sub(first.AcquiredAt).Round(time.Second); first.State != "ACTIVE" || first.Generation != 1 || life != 120*time.Second {
		t.Errorf("case 125: %+v lives %v", first, life)
	}
	if again := leaseOf(t, a.acquire()); again.Generation != 1 || again.State != "ACTIVE" {
		t.Errorf("case 126: %+v", again)
	}
	k.Clock.Advance(20 * time.Second)
	t.Run("case 141 capacity", func(t *testing.T) {
		busy := b.acquire()
		wantCode(t, "a second owner", busy, 429, "lease-capacity-unavailable")
		for _, want := range []string{`"state":"waiting-for-capacity"`, `"NO_FREE_ELIGIBLE_CONNECTION"`, `"retryAfter":100`, `"eligibleCount":1`, `"freeCount":0`, `"lease_error"`} {
			if !strings.Contains(busy.Body, want) {
				t.Errorf("%s lacks %s", busy.Body, want)
			}
		}
		if busy.Header.Get("Retry-After") != "100" {
			t.Errorf("Retry-After %s", busy.Header.Get("Retry-After"))
		}
	})
	if l := leaseOf(t, a.lease(`{"action":"renew","generation":1}`)); !l.RenewedAt.After(l.AcquiredAt) {
		t.Errorf("renewed %+v", l)
	}
	wantCode(t, "case 131 wrong generation", a.lease(`{"action":"renew","generation":2}`), 409, "LEASE_FENCE_STALE")
	status := a.lease(`{"action":"status","generation":1}`)
	if !strings.Contains(status.Body, `"displayName":"alpha"`) || strings.Contains(status.Body, k.Connection("alpha").ID) {
		t.Errorf("status %s", status.Body)
	}
	for range 2 {
		if l := leaseOf(t, a.lease(`{"action":"release","generation":1,"reason":"CLIENT_CANCELLED"}`)); l.State != "RELEASED" {
			t.Errorf("case 132: %+v", l)
		}
	}
	if n := a.hold(); n != 2 {
		t.Errorf("case 129: generation %d", n)
	}
	k.Clock.Advance(lease.DefaultTTL)
	wantCode(t, "case 131 after expiry", a.lease(`{"action":"renew","generation":2}`), 409, "LEASE_FENCE_STALE")
	if n := b.hold(); n != 1 {
		t.Errorf("case 130: generation %d", n)
	}
	k.Restart()
	wantCode(t, "a restart changes nothing", a.acquire(), 429, "lease-capacity-unavailable")
}

func TestLeaseRouteChecksInOrder(t *testing.T) {
	k := scenario.Start(t)
	k.Pair()
	good, client := leaseKey(t, k, "alpha"), addKey(t, k, control.KeyInput{})
	off := leaseKey(t, k, "beta")
	if _, err := k.Facade().EditKey(t.Context(), off.ID, control.KeyPatch{Active: new(false)}); err != nil {
		t.Fatal(err)
	}
	owner := "vlo_" + strings.Repeat("a", 43)
	const acquire = `{"action":"acquire","model":"m1"}`
	for _, tc := range []struct {
		name, key, body, owner string
		more                   []string
		status                 int
		code                   string
	}{
		{"case 138 no key", "", "{", owner, nil, 401, "LEASE_AUTHENTICATION_REQUIRED"},
		{"case 138 a bad key", "sk-wrong", "{", owner, nil, 401, "LEASE_API_KEY_INVALID"},
		{"the management token is no key", k.Token, acquire, owner, nil, 401, "LEASE_API_KEY_INVALID"},
		{"case 138 no scope", client.Key, acquire, owner, nil, 403, "LEASE_SCOPE_REQUIRED"},
		{"a key that is off", off.Key, acquire, owner, nil, 403, "KEY_REFUSED"},
		{"case 139 text/plain", good.Key, acquire, owner, []string{"Content-Type", "text/plain"}, 415, "LEASE_CONTENT_TYPE_REQUIRED"},
		{"case 140 unknown action", good.Key, `{"action":"steal"}`, owner, nil, 400, "LEASE_ACTION_INVALID"},
		{"case 140 an extra field", good.Key, `{"action":"acquire","model":"m1","ttl":9}`, owner, nil, 400, "LEASE_ACTION_INVALID"},
		{"case 140 another action's field", good.Key, `{"action":"acquire","model":"m1","generation":1}`, owner, nil, 400, "LEASE_ACTION_INVALID"},
		{"case 140 no action", good.Key, `{}`, owner, nil, 400, "LEASE_ACTION_INVALID"},
		{"no JSON", good.Key, `{`, owner, nil, 400, "LEASE_ACTION_INVALID"},
		{"a reason of ours", good.Key, `{"action":"release","generation":1,"reason":"TTL_EXPIRED"}`, owner, nil, 400, "LEASE_ACTION_INVALID"},
		{"no owner", good.Key, acquire, "", nil, 400, "LEASE_CONTEXT_REQUIRED"},
		{"case 136 a short owner", good.Key, acquire, owner[:46], nil, 400, "LEASE_CONTEXT_INVALID"},
		{"case 136 a long owner", good.Key, acquire, owner + "a", nil, 400, "LEASE_CONTEXT_INVALID"},
		{"case 137 generation 0", good.Key, `{"action":"renew","generation":0}`, owner, nil, 400, "LEASE_CONTEXT_INVALID"},
		{"case 137 generation 2^53", good.Key, `{"action":"renew","generation":9007199254740992}`, owner, nil, 400, "LEASE_CONTEXT_INVALID"},
		{"a session id is no owner", good.Key, acquire, "", []string{"X-Session-Id", owner}, 400, "LEASE_CONTEXT_REQUIRED"},
		{"no model", good.Key, `{"action":"acquire","model":""}`, owner, nil, 400, "LEASE_MODEL_INVALID"},
		{"a model of 513 letters", good.Key, `{"action":"acquire","model":"` + strings.Repeat("m", 513) + `"}`, owner, nil, 400, "LEASE_MODEL_INVALID"},
		{"nothing held", good.Key, `{"action":"release","generation":1}`, owner, nil, 409, "LEASE_FENCE_STALE"},
		{"good", good.Key, acquire, owner, nil, 200, "ACTIVE"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			headers := append([]string{}, tc.more...)
			if tc.key != "" {
				headers = append(headers, "Authorization", "Bearer "+tc.key)
			}
			if tc.owner != "" {
				headers = append(headers, lease.OwnerHeader, tc.owner)
			}
			wantCode(t, tc.name, k.Do(http.MethodPost, leasePath, tc.body, headers...), tc.status, tc.code)
		})
	}
	if a := k.Do(http.MethodOptions, leasePath, ""); a.Status != http.StatusNoContent || !strings.Contains(a.Header.Get("Access-Control-Allow-Headers"), lease.OwnerHeader) {
		t.Errorf("OPTIONS: %d %v", a.Status, a.Header)
	}
}

func TestEligibilityIsNoContention(t *testing.T) {
	k := scenario.Start(t)
	alpha, _ := k.Pair()
	s := newSession(t, k, leaseKey(t, k, "alpha").Key, "a")
	alpha.Script(simulator.Status(429).WithRetryAfter(50 * time.Second))
	gen := s.hold()
	if a := s.post(gen); a.Status != 429 || strings.Contains(a.Body, "lease") {
		t.Errorf("a cooling connection is an ordinary routing error: %d %s", a.Status, a.Body)
	}
	s.lease(fmt.Sprintf(`{"action":"release","generation":%d}`, gen))
	wait := s.acquire()
	wantCode(t, "only resting connections", wait, 429, "LEASE_ELIGIBILITY_UNAVAILABLE")
	if wait.Header.Get("Retry-After") != "50" {
		t.Errorf("Retry-After %s", wait.Header.Get("Retry-After"))
	}
	if _, err := k.Facade().EditConnection(t.Context(), k.Connection("alpha").ID, control.ConnectionPatch{Active: new(false)}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "switched off", s.acquire(), 409, "LEASE_NO_ELIGIBLE_CONNECTION")
}
