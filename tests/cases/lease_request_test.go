package cases

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/resilience/lease"
	"breakwater/tests/scenario"
)

func TestRequestsUnderALease(t *testing.T) {
	k := scenario.Start(t)
	alpha, beta := k.Pair()
	key, other := leaseKey(t, k, "alpha", "beta"), leaseKey(t, k, "alpha", "beta")
	s := newSession(t, k, key.Key, "a")
	gen := s.hold()

	for range 3 {
		if a := s.post(gen); a.Status != 200 || a.From() != "alpha" {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	for name, tc := range map[string]struct {
		answer scenario.Answer
		status int
		code   string
	}{
		"no headers":              {k.Post("/v1/messages", scenario.Messages, "X-Api-Key", key.Key), 400, "LEASE_CONTEXT_REQUIRED"},
		"no generation":           {k.Post("/v1/messages", scenario.Messages, "X-Api-Key", key.Key, lease.OwnerHeader, s.owner), 400, "LEASE_CONTEXT_REQUIRED"},
		"case 137 generation 01":  {s.post("01"), 400, "LEASE_CONTEXT_INVALID"},
		"case 137 generation 1.5": {s.post("1.5"), 400, "LEASE_CONTEXT_INVALID"},
		"no lease":                {newSession(t, k, key.Key, "z").post(1), 409, "LEASE_REQUIRED"},
		"a stale generation":      {s.post(gen + 1), 409, "LEASE_FENCE_STALE"},
		"case 143 another key":    {session{t, k, other.Key, s.owner}.post(gen), 409, "LEASE_AUTHORIZATION_MISMATCH"},
		"another connection":      {s.post(gen, "X-OmniRoute-Connection", k.Connection("beta").ID), 409, "LEASE_CONNECTION_MISMATCH"},
		"lease headers alone":     {k.Post("/v1/messages", scenario.Messages, lease.OwnerHeader, s.owner, lease.GenerationHeader, "1"), 401, "LEASE_AUTHENTICATION_REQUIRED"},
	} {
		wantCode(t, name, tc.answer, tc.status, tc.code)
	}
	if n := len(alpha.Requests()) + len(beta.Requests()); n != 3 {
		t.Errorf("%d requests were sent, 3 were allowed", n)
	}
}

func TestAFailingConnectionHandsTheLeaseOn(t *testing.T) {
	k := scenario.Start(t)
	alpha, beta := k.Pair()
	key := leaseKey(t, k, "alpha", "beta")
	s, rival := newSession(t, k, key.Key, "a"), newSession(t, k, key.Key, "b")
	gen := s.hold()
	alpha.Script(simulator.Status(429).WithRetryAfter(90 * time.Second))
	if a := s.post(gen); a.Status != 200 || a.From() != "beta" {
		t.Fatalf("case 133: %d %s", a.Status, a.Body)
	}
	if st := s.lease(`{"action":"status","generation":1}`); !strings.Contains(st.Body, `"displayName":"beta"`) {
		t.Errorf("case 133: the same generation is now %s", st.Body)
	}
	// alpha is free again, but rests: no capacity, and no eligibility either.
	wantCode(t, "only the held one is eligible", rival.acquire(), 429, "lease-capacity-unavailable")
	k.Clock.Advance(91 * time.Second)
	s.lease(`{"action":"renew","generation":1}`)
	if a := s.post(gen); a.From() != "beta" {
		t.Errorf("the lease left a connection that serves: %d %s", a.Status, a.Body)
	}
	rivalGen := rival.hold()
	beta.Script(simulator.Status(429).WithRetryAfter(30 * time.Second))
	before := len(alpha.Requests())
	if a := s.post(gen); a.Status != 429 || len(alpha.Requests()) != before {
		t.Errorf("case 134: %d %s", a.Status, a.Body)
	}
	capacity := s.post(gen)
	wantCode(t, "case 134 what is left is another owner's", capacity, 429, "lease-capacity-unavailable")
	if !strings.Contains(capacity.Body, "waiting-for-capacity") || capacity.Header.Get("Retry-After") == "" {
		t.Errorf("capacity %s %v", capacity.Body, capacity.Header)
	}
	if a := rival.post(rivalGen); a.From() != "alpha" {
		t.Errorf("the rival's request: %d %s", a.Status, a.Body)
	}
}

// The fence is asked after every wait: a lease that ended meanwhile stops the
// request, although it was in force when the request came in.
func TestTheFenceIsAskedAfterTheWait(t *testing.T) {
	k := scenario.Start(t)
	alpha, _ := k.Pair()
	if _, err := k.Facade().EditResilience(t.Context(), []byte(`{"requestQueue":{"concurrentRequests":1}}`)); err != nil {
		t.Fatal(err)
	}
	key := leaseKey(t, k, "alpha")
	s := newSession(t, k, key.Key, "a")
	gen := s.hold()
	release := make(chan struct{})
	alpha.Script(simulator.OK("alpha").HoldAfter(1, release))
	first, second := make(chan scenario.Answer, 1), make(chan scenario.Answer, 1)
	go func() { first <- s.post(gen) }()
	if _, err := alpha.Await(t.Context(), func(r []simulator.Request) bool { return len(r) == 1 }); err != nil {
		t.Fatal(err)
	}
	go func() { second <- s.post(gen) }()
	k.Until("the second request waits", func() bool {
		for _, v := range k.Product.Service.Queues().Views() {
			if v.Queued > 0 {
				return true
			}
		}
		return false
	})
	leaseOf(t, s.lease(`{"action":"release","generation":1}`))
	close(release)
	<-first
	wantCode(t, "a stale generation after the wait", <-second, 409, "LEASE_REQUIRED")
	if n := len(alpha.Requests()); n != 1 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestOtherTrafficKeepsOffLeases(t *testing.T) {
	t.Run("case 146 the only connection is kept for leases", func(t *testing.T) {
		k := scenario.Start(t)
		alpha, _ := k.Pair()
		key := leaseKey(t, k, "alpha")
		if a := k.Post("/v1/messages", scenario.Messages); a.From() != "beta" {
			t.Errorf("an unmanaged request went to %q", a.From())
		}
		if _, err := k.Facade().EditConnection(t.Context(), k.Connection("beta").ID, control.ConnectionPatch{Active: new(false)}); err != nil {
			t.Fatal(err)
		}
		a := k.Post("/v1/messages", scenario.Messages)
		if a.Status == 200 || len(alpha.Requests()) > 0 {
			t.Errorf("the only connection is kept for leases: %d %s", a.Status, a.Body)
		}
		if err := k.Facade().DeleteKey(t.Context(), key.ID); err != nil {
			t.Fatal(err)
		}
		if a := k.Post("/v1/messages", scenario.Messages); a.From() != "alpha" {
			t.Errorf("without the key: %d %s", a.Status, a.Body)
		}
	})
}

func TestLeaseHeadersGoNoFurther(t *testing.T) {
	t.Run("case 147 lease headers stay here", func(t *testing.T) {
		k := scenario.Start(t)
		alpha, _ := k.Pair()
		s := newSession(t, k, leaseKey(t, k, "alpha").Key, "Q")
		if a := s.post(s.hold()); a.Status != 200 {
			t.Fatal(a.Body)
		}
		row := k.Last()
		for name := range alpha.Requests()[0].Header {
			if strings.Contains(strings.ToLower(name), "lease") {
				t.Errorf("%s went upstream", name)
			}
		}
		for what, text := range map[string]string{"log": k.Log.String(), "activity": k.Do(http.MethodGet, "/api/activity", "", "Authorization", "Bearer "+k.Token).Body} {
			if strings.Contains(text, "QQQQQQ") {
				t.Errorf("the owner is in the %s", what)
			}
		}
		if row.Result != "answered" {
			t.Errorf("row %+v", row)
		}
	})
}

func TestChangesEndLeases(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, k *scenario.Kit, key control.APIKey) error{
		"the key is deleted": func(t *testing.T, k *scenario.Kit, key control.APIKey) error {
			return k.Facade().DeleteKey(t.Context(), key.ID)
		},
		"the key is switched off": func(t *testing.T, k *scenario.Kit, key control.APIKey) error {
			_, err := k.Facade().EditKey(t.Context(), key.ID, control.KeyPatch{Active: new(false)})
			return err
		},
		"the key loses the connection": func(t *testing.T, k *scenario.Kit, key control.APIKey) error {
			_, err := k.Facade().EditKey(t.Context(), key.ID, control.KeyPatch{AllowedConnections: &[]string{k.Connection("beta").ID}})
			return err
		},
		"the connection is deleted": func(t *testing.T, k *scenario.Kit, _ control.APIKey) error {
			return k.Facade().DeleteConnection(t.Context(), k.Connection("alpha").ID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := scenario.Start(t)
			k.Pair()
			key := leaseKey(t, k, "alpha", "beta")
			s := newSession(t, k, key.Key, "a")
			s.hold()
			id := k.Connection("alpha").ID
			if err := change(t, k, key); err != nil {
				t.Fatal(err)
			}
			held, err := k.Store.ActiveLeases(t.Context(), k.Clock.Now())
			if err != nil || len(held) != 0 {
				t.Errorf("%s is still held: %+v %v", id, held, err)
			}
		})
	}
}

// A lease that no waiting can serve ends by itself.
func TestALeaseWithoutConnectionsEnds(t *testing.T) {
	k := scenario.Start(t)
	k.Pair()
	s := newSession(t, k, leaseKey(t, k, "alpha").Key, "a")
	gen := s.hold()
	if _, err := k.Facade().EditConnection(t.Context(), k.Connection("alpha").ID, control.ConnectionPatch{Active: new(false)}); err != nil {
		t.Fatal(err)
	}
	if a := s.post(gen); a.Status == 200 || strings.Contains(a.Body, "LEASE") {
		t.Errorf("an ordinary routing error: %d %s", a.Status, a.Body)
	}
	wantCode(t, "afterwards", s.post(gen), 409, "LEASE_REQUIRED")
}

func TestLeaseKeysNeedConnections(t *testing.T) {
	k := scenario.Start(t)
	a := k.Do(http.MethodPost, "/api/keys", `{"name":"x","scopes":["lease:exclusive"],"allowedConnections":[]}`, "Authorization", "Bearer "+k.Token)
	wantCode(t, "case 148", a, 400, "LEASE_KEY_POLICY_INVALID")
}

// case 145: what asks several targets cannot keep to one connection.
func TestCombosThatAskSeveralAreRefusedUnderALease(t *testing.T) {
	k := scenario.Start(t)
	alpha, _ := k.Pair()
	s := newSession(t, k, leaseKey(t, k, "alpha").Key, "a")
	gen := s.hold()
	for name, in := range map[string]control.ComboInput{
		"fused":   {Strategy: "fusion", Steps: []control.ComboStep{{Model: "demo/m1"}, {Model: "demo/m2"}}},
		"piped":   {Strategy: "pipeline", Steps: []control.ComboStep{{Model: "demo/m1"}, {Model: "demo/m2"}}},
		"relayed": {Strategy: "context-relay", Steps: []control.ComboStep{{Model: "demo/m1"}}},
		"hedged":  {Strategy: "priority", Steps: []control.ComboStep{{Model: "demo/m1"}}, Config: map[string]any{"hedging": true}},
	} {
		in.Name = name
		if _, err := k.Facade().AddCombo(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := k.Facade().AddCombo(t.Context(), control.ComboInput{Name: "nested", Strategy: "priority", Steps: []control.ComboStep{{Kind: "combo-ref", Combo: "fused"}}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fused", "piped", "relayed", "hedged", "nested"} {
		a := k.Post("/v1/messages", strings.Replace(scenario.Messages, `"model":"m1"`, `"model":"`+name+`"`, 1),
			"X-Api-Key", s.key, lease.OwnerHeader, s.owner, lease.GenerationHeader, "1")
		wantCode(t, "case 145 "+name, a, 409, "LEASE_UNSUPPORTED_ROUTE")
	}
	if n := len(alpha.Requests()); n != 0 {
		t.Errorf("case 145: %d requests went upstream", n)
	}
	if a := s.post(gen); a.Status != 200 {
		t.Errorf("a single model: %d %s", a.Status, a.Body)
	}
}

// Ruling 46 answers a WebSocket with a 426 that sends the client to POST; under
// a lease it carries the sheet's code.
func TestAWebSocketIsNotUnderALease(t *testing.T) {
	k := scenario.Start(t)
	k.Pair()
	upgrade := []string{"Upgrade", "websocket", "Connection", "Upgrade"}
	for _, header := range []string{lease.OwnerHeader, lease.GenerationHeader} {
		a := k.Do(http.MethodGet, "/v1/responses", "", append([]string{header, "1"}, upgrade...)...)
		wantCode(t, header, a, http.StatusUpgradeRequired, control.LeaseUnsupportedTransport)
	}
	wantCode(t, "without a lease", k.Do(http.MethodGet, "/v1/responses", "", upgrade...), http.StatusUpgradeRequired, "use_post")
}
