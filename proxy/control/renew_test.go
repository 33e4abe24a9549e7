package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"breakwater/resilience/claude"
	"breakwater/resilience/clock"
	"breakwater/resilience/combo"
	"breakwater/resilience/quota"
)

// tokenOf begins the token of every connection; its id follows.
const tokenOf = "sk-ant-oat01-secret-of-"

// tokens gives each connection a token that tells whose it is.
type tokens struct{ noSecrets }

func (tokens) Secret(name string) (string, bool, error) {
	return tokenOf + strings.TrimPrefix(name, SecretName("")), true, nil
}

// endpoint is the usage endpoint of the tests.
type endpoint struct {
	mu    sync.Mutex
	asked []string           // the connections whose token came, in order
	used  map[string]float64 // percent of both windows
	hold  chan struct{}      // answers wait until it is closed; nil: they do not
	cut   chan error         // told of why a held call was ended
	fail  bool
}

func (e *endpoint) call(ctx context.Context, c SideCall) claude.Reply {
	id := strings.TrimPrefix(c.Bearer, tokenOf)
	e.mu.Lock()
	e.asked = append(e.asked, id)
	hold, fail, used := e.hold, e.fail, e.used[id]
	e.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			e.cut <- ctx.Err()
			return claude.Reply{Failed: true}
		}
	}
	if fail {
		panic("broken")
	}
	ends := func(d time.Duration) string { return t0.Add(d).Format(time.RFC3339) }
	return claude.Reply{Status: 200, Body: fmt.Appendf(nil,
		`{"five_hour":{"utilization":%v,"resets_at":%q},"seven_day":{"utilization":%[1]v,"resets_at":%[3]q}}`,
		used, ends(quota.SessionSpan), ends(quota.WeekSpan))}
}

// askable is a service over Claude connections whose windows can be asked for.
// The caller closes it.
func askable(t *testing.T, e *endpoint, records ...ConnectionRecord) (*Service, *clock.Fake, *bytes.Buffer) {
	t.Helper()
	store := newMemory()
	store.records = nil
	for i, r := range records {
		r.ID, r.Priority, r.Active = r.Name, i+1, !strings.HasSuffix(r.Name, "-off")
		store.records = append(store.records, r)
	}
	now, log := clock.NewFake(t0), &bytes.Buffer{}
	s, err := New(t.Context(), Config{
		Store: store, Secrets: tokens{}, Log: slog.New(slog.NewTextHandler(log, nil)), Clock: now, SideCall: e.call,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, now, log
}

func token(name string) ConnectionRecord {
	return ConnectionRecord{Provider: "claude", Name: name, Credential: "token"}
}

// renewing adds a reset-aware combo of every connection; its readings are good
// for a millisecond and count for a minute more.
func renewing(t *testing.T, s *Service, own map[string]any, steps ...ComboStep) string {
	t.Helper()
	in := ComboInput{Name: "team", Strategy: "reset-aware", Config: own, Steps: steps}
	if _, err := s.AddCombo(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	return in.Name
}

var renewed = map[string]any{"resetAwareQuotaCacheTtlMs": 1.0, "resetAwareQuotaCacheMaxStaleMs": 60_000.0}

// order plans a request and names the connections in their order.
func order(t *testing.T, s *Service, q combo.Request) string {
	t.Helper()
	var out []string
	for _, x := range plan(t, s, "team", q) {
		out = append(out, x.Connection)
	}
	return strings.Join(out, " ")
}

// read puts a reading in that says how much is used of both windows.
func read(s *Service, connection string, used float64) {
	now := s.Now()
	w := func(k quota.Kind, span time.Duration) quota.Window {
		return quota.Window{Kind: k, Used: used, ResetAt: t0.Add(span), At: now}
	}
	s.Quota().Put(connection, quota.Snapshot{At: now, Windows: []quota.Window{w(quota.Session, quota.SessionSpan), w(quota.Weekly, quota.WeekSpan)}})
}

// wantAsked waits for the calls under way and compares those that were made.
func wantAsked(t *testing.T, s *Service, e *endpoint, want ...string) {
	t.Helper()
	s.claude.calls.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	if got := slices.Sorted(slices.Values(e.asked)); !slices.Equal(got, want) {
		t.Errorf("asked for %v, want %v", got, want)
	}
}

func TestPlansRenewQuota(t *testing.T) {
	sonnet, opus := step("claude/claude-sonnet-4-5"), step("claude/claude-opus-4-5")
	t.Run("case 63 a connection on two steps is asked for once", func(t *testing.T) {
		e := &endpoint{}
		s, _, _ := askable(t, e, token("a"), token("b"))
		defer s.Close()
		renewing(t, s, renewed, sonnet, opus)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				found, _ := s.Combo("team")
				p, refusal := s.Planner().Plan(found, &combo.Request{Now: s.Now()})
				if refusal != nil || len(p.Order) != 4 {
					t.Errorf("refused: %+v", refusal)
					return
				}
				p.Abandon(s.Now())
			})
		}
		all.Wait()
		wantAsked(t, s, e, "a", "b")
	})
	t.Run("case 64 a stale reading gives the order while it is renewed", func(t *testing.T) {
		e := &endpoint{hold: make(chan struct{}), used: map[string]float64{"a": 95, "b": 5}}
		s, now, log := askable(t, e, token("a"), token("b"))
		defer s.Close()
		renewing(t, s, renewed, sonnet)
		read(s, "a", .1)
		read(s, "b", .9)
		if got := order(t, s, combo.Request{}); got != "a b" {
			t.Fatalf("with young readings %s", got)
		}
		now.Advance(10 * time.Second)
		for range 3 { // none of them waits for the calls, which are held
			if got := order(t, s, combo.Request{}); got != "a b" {
				t.Fatalf("with stale readings %s", got)
			}
		}
		close(e.hold)
		wantAsked(t, s, e, "a", "b")
		if got := order(t, s, combo.Request{}); got != "b a" {
			t.Errorf("with new readings %s", got)
		}
		now.Advance(2 * time.Minute)
		for _, x := range plan(t, s, "team", combo.Request{}) {
			if x.Live.Quota != nil {
				t.Errorf("%s counts by a reading that is two minutes old", x.Connection)
			}
		}
		wantAsked(t, s, e, "a", "b") // at most every three minutes
		now.Advance(time.Minute)
		order(t, s, combo.Request{})
		wantAsked(t, s, e, "a", "a", "b", "b")
		if strings.Contains(log.String(), tokenOf) {
			t.Errorf("the log says %s", log)
		}
	})
	t.Run("case 65 only the connections of the caller's key are asked for", func(t *testing.T) {
		e := &endpoint{}
		s, _, _ := askable(t, e, token("a"), token("b"))
		defer s.Close()
		renewing(t, s, renewed, sonnet)
		if got := order(t, s, combo.Request{Allowed: []string{"b"}}); got != "b" {
			t.Errorf("planned %s", got)
		}
		wantAsked(t, s, e, "b")
	})
	t.Run("nobody is asked who cannot be", func(t *testing.T) {
		e := &endpoint{}
		s, _, _ := askable(t, e, token("a-off"), conn("openai", "work"), ConnectionRecord{Provider: "claude", Name: "own", Credential: "passthrough"})
		defer s.Close()
		off := sonnet
		off.Connection = "a-off"
		renewing(t, s, renewed, sonnet, off, step("openai/gpt-5"), step("nobody/at-all"))
		if got := order(t, s, combo.Request{}); !strings.Contains(got, "own") || !strings.Contains(got, "work") || !strings.Contains(got, "a-off") {
			t.Errorf("planned %s", got)
		}
		wantAsked(t, s, e)
	})
	t.Run("TTL 0 takes readings as they are and asks nobody", func(t *testing.T) {
		e := &endpoint{}
		s, now, _ := askable(t, e, token("a"), token("b"))
		defer s.Close()
		renewing(t, s, map[string]any{"resetAwareQuotaCacheMaxStaleMs": 1.0}, sonnet)
		read(s, "a", .9)
		now.Advance(4 * time.Hour)
		read(s, "b", .1)
		for _, x := range plan(t, s, "team", combo.Request{}) {
			if x.Live.Quota == nil {
				t.Errorf("the reading of %s does not count", x.Connection)
			}
		}
		wantAsked(t, s, e)
	})
	t.Run("a preview asks nobody", func(t *testing.T) {
		e := &endpoint{}
		s, _, _ := askable(t, e, token("a"))
		defer s.Close()
		if _, err := s.PreviewCombo(t.Context(), PreviewRequest{Draft: &ComboInput{
			Strategy: "reset-aware", Config: renewed, Steps: []ComboStep{sonnet},
		}}); err != nil {
			t.Fatal(err)
		}
		wantAsked(t, s, e)
	})
	t.Run("a call that breaks leaves the old reading, and the log no secret", func(t *testing.T) {
		e := &endpoint{fail: true}
		s, now, log := askable(t, e, token("a"))
		defer s.Close()
		renewing(t, s, renewed, sonnet)
		read(s, "a", .1)
		now.Advance(10 * time.Second)
		order(t, s, combo.Request{})
		wantAsked(t, s, e, "a")
		if got := plan(t, s, "team", combo.Request{})[0].Live.Quota; got == nil || got.Weekly.Used != .1 {
			t.Errorf("quota %+v", got)
		}
		if said := log.String(); !strings.Contains(said, "a side call broke") || strings.Contains(said, tokenOf) {
			t.Errorf("the log says %s", said)
		}
	})
	t.Run("no call outlives the service", func(t *testing.T) {
		e := &endpoint{hold: make(chan struct{}), cut: make(chan error, 1)}
		s, _, _ := askable(t, e, token("a"), token("b"))
		renewing(t, s, renewed, sonnet)
		order(t, s, combo.Request{Allowed: []string{"a"}})
		s.Close() // returns, though the call is held
		select {
		case err := <-e.cut:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the call ended with %v", err)
			}
		default:
			t.Error("the call still runs")
		}
		order(t, s, combo.Request{})
		wantAsked(t, s, e, "a")
	})
}
