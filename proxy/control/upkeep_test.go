package control

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/affinity"
	"breakwater/resilience/clock"
)

// memory is a Store that keeps what the upkeep writes.
type memory struct {
	Store
	mu       sync.Mutex // the upkeep writes beside the test
	records  []ConnectionRecord
	settings map[string][]byte
	pins     map[string]affinity.Pin // by hash
	combos   []ComboRecord
	goods    map[string]LastGood // by combo
	failing  bool
}

func (m *memory) Connections(context.Context) ([]ConnectionRecord, error) { return m.records, nil }
func (m *memory) Breakers(context.Context) ([]resilience.BreakerState, error) {
	return nil, nil
}
func (m *memory) APIKeys(context.Context) ([]KeyRecord, error)           { return nil, nil }
func (m *memory) MaxActivityID(context.Context) (int64, error)           { return 0, nil }
func (m *memory) SetActivityLimit(int)                                   {}
func (m *memory) SaveConnectionState(resilience.ConnectionState)         {}
func (m *memory) SaveBreaker(resilience.BreakerState)                    {}
func (m *memory) DeleteBreakers()                                        {}
func (m *memory) SaveConnection(context.Context, ConnectionRecord) error { return nil }
func (m *memory) DeleteConnection(context.Context, string) error         { return nil }

func (m *memory) SavePin(p affinity.Pin) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pins[p.Hash] = p
}

func (m *memory) DeletePin(_, hash string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.pins, hash)
}

// fail makes every write fail, or none any more.
func (m *memory) fail(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failing = on
}

// pinned is how many pins are stored.
func (m *memory) pinned() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.pins)
}

func (m *memory) Pins(context.Context) (list []affinity.Pin, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.pins {
		list = append(list, p)
	}
	return list, nil
}

func (m *memory) Setting(_ context.Context, key string) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	raw, ok := m.settings[key]
	return raw, ok, nil
}

func (m *memory) SaveSetting(_ context.Context, key string, value []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failing {
		return context.DeadlineExceeded
	}
	m.settings[key] = value
	return nil
}

type noSecrets struct{}

func (noSecrets) Secret(string) (string, bool, error)       { return "k", true, nil }
func (noSecrets) SetSecret(string, string) error            { return nil }
func (noSecrets) AddSecret(_, value string) (string, error) { return value, nil }
func (noSecrets) DeleteSecret(string) error                 { return nil }
func (noSecrets) Backend() string                           { return "none" }

// bubble is a service inside a synctest bubble, whose clock is the bubble's.
type bubble struct {
	*Service
	store *memory
	log   bytes.Buffer
}

func newBubble(t *testing.T, store *memory) *bubble {
	t.Helper()
	b := &bubble{store: store}
	s, err := New(t.Context(), Config{
		Store: store, Secrets: noSecrets{}, Log: slog.New(slog.NewTextHandler(&b.log, nil)), Clock: clock.System{},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.Service = s
	return b
}

func newMemory() *memory {
	rec := func(id string) ConnectionRecord {
		return ConnectionRecord{ID: id, Provider: "groq", Name: id, Credential: "apikey", Active: true}
	}
	return &memory{
		records: []ConnectionRecord{rec("alpha"), rec("beta")}, settings: map[string][]byte{}, pins: map[string]affinity.Pin{},
	}
}

// pause lets the bubble's time pass and the service do its work.
func pause(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestSessionUpkeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		store.settings[keyAffinity] = []byte("60000")
		b := newBubble(t, store)
		ttl := b.AffinityTTL()
		if ttl != time.Minute {
			t.Fatalf("TTL %s", ttl)
		}
		b.Affinity().Pin(b.Now(), ttl, "groq", "one", "alpha")
		b.Occupancy().Seat(b.Now(), "one", "alpha")
		b.Latency().Record(b.Now(), "alpha", "m", time.Second, false)
		pause(4 * time.Minute)
		if b.Affinity().Len() != 1 || store.pinned() != 1 {
			t.Error("purged before five minutes are over")
		}
		pause(time.Minute)
		if b.Affinity().Len() != 0 || store.pinned() != 0 {
			t.Error("an expired pin is not purged after five minutes")
		}
		if n := b.Occupancy().Sessions(b.Now(), "alpha"); n != 1 {
			t.Errorf("%d seats", n)
		}
		pause(15 * time.Minute)
		if s := b.Latency().Stats(b.Now(), "alpha", ""); s.Samples != 0 || b.Occupancy().Sessions(b.Now(), "alpha") != 0 {
			t.Errorf("%+v stays", s)
		}
		b.Close() // a goroutine that stays fails the test
	})
}

func TestSessionsOfARemovedConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		b := newBubble(t, store)
		for _, c := range []string{"alpha", "beta"} {
			b.Affinity().Pin(b.Now(), time.Hour, "groq", "session "+c, c)
			b.Latency().Record(b.Now(), c, "", time.Second, false)
		}
		if err := b.DeleteConnection(t.Context(), "alpha"); err != nil {
			t.Fatal(err)
		}
		if b.Affinity().Len() != 1 || store.pinned() != 1 || b.Latency().Stats(b.Now(), "alpha", "").Samples != 0 {
			t.Error("something of a removed connection stays")
		}
		b.Close()

		// What a crash left behind of a connection that is gone.
		store.records = store.records[:1]
		again := newBubble(t, store)
		defer again.Close()
		if again.Affinity().Len() != 0 || store.pinned() != 0 {
			t.Error("a pin that leads nowhere stays")
		}
	})
}

func TestLearnedLimitsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		b := newBubble(t, store)
		call := admission.Call{Connection: "alpha", Model: "m"}
		teach := func(limit string) {
			b.Queues().Learn(call, admission.Answer{Status: 200, Now: b.Now(), Header: map[string][]string{
				"X-Ratelimit-Limit-Requests": {limit}, "X-Ratelimit-Remaining-Requests": {"50"}, "X-Ratelimit-Reset-Requests": {"30s"},
			}})
		}
		store.fail(true)
		teach("60")
		pause(admission.SweepEvery)
		if !strings.Contains(b.log.String(), "learned limits not stored") {
			t.Error("a failed write is not told")
		}
		store.fail(false)
		teach("100")
		b.Close() // within the minute: not written again, the learned value is lost
		pause(time.Minute)
		b = newBubble(t, store)
		teach("100")
		pause(admission.SweepEvery)
		b.Close()
		if raw, _, _ := store.Setting(t.Context(), keyLearned); len(raw) == 0 {
			t.Fatal("nothing stored")
		}
		pause(23 * time.Hour)
		b = newBubble(t, store)
		if v := b.Queues().Views(); len(v) == 0 || v[0].Limit != 100 {
			t.Errorf("after a restart: %+v", v)
		}
		b.Close()
		pause(2 * time.Hour)
		b = newBubble(t, store)
		if v := b.Queues().Views(); len(v) == 0 || v[0].Limit != 0 {
			t.Errorf("after a day: %+v", v)
		}
		b.Close()
		store.settings[keyLearned] = []byte("{")
		newBubble(t, store).Close()
	})
}
