package drill

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"breakwater/proxy/control"
	"breakwater/resilience"
	"breakwater/resilience/affinity"
	"breakwater/resilience/lease"
)

// store is the twin's: what it is given is read, what it writes stays here and
// is gone with it.
type store struct {
	twin control.Twin

	mu       sync.Mutex
	settings map[string][]byte
	finished []control.Activity
}

var _ control.Store = (*store)(nil)

func newStore(t control.Twin) *store { return &store{twin: t, settings: map[string][]byte{}} }

// take returns the rows of requests that have ended since the last call.
func (s *store) take() []control.Activity {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.finished
	s.finished = nil
	return out
}

func (s *store) AppendActivity(a control.Activity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finished = append(s.finished, a)
}

func (s *store) Setting(ctx context.Context, key string) ([]byte, bool, error) {
	s.mu.Lock()
	value, ok := s.settings[key]
	s.mu.Unlock()
	if ok {
		return value, true, nil
	}
	return s.twin.Setting(ctx, key)
}

func (s *store) SaveSetting(_ context.Context, key string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings[key] = value
	return nil
}

func (s *store) SaveSettings(_ context.Context, values map[string][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.settings, values)
	return nil
}

func (s *store) Connections(context.Context) ([]control.ConnectionRecord, error) {
	return slices.Clone(s.twin.Connections), nil
}

func (s *store) Combos(context.Context) ([]control.ComboRecord, error) {
	return slices.Clone(s.twin.Combos), nil
}

// errFixed refuses what nobody does to a twin.
var errFixed = errors.New("the twin of a drill is not edited")

func (s *store) ModelLists(context.Context) ([]control.ModelList, error)        { return nil, nil }
func (s *store) SaveModelList(context.Context, control.ModelList) error         { return errFixed }
func (s *store) SaveConnection(context.Context, control.ConnectionRecord) error { return errFixed }
func (s *store) DeleteConnection(context.Context, string) error                 { return errFixed }
func (s *store) SavePriorities(context.Context, map[string]int) error           { return errFixed }
func (s *store) SaveCombos(context.Context, []control.ComboRecord) error        { return errFixed }
func (s *store) DeleteCombo(context.Context, string) error                      { return errFixed }
func (s *store) SaveAPIKey(context.Context, control.KeyRecord) error            { return errFixed }
func (s *store) DeleteAPIKey(context.Context, string) error                     { return errFixed }

func (s *store) ChangeLease(context.Context, lease.Op, time.Time) (lease.Outcome, error) {
	return lease.Outcome{}, errFixed
}

func (s *store) CheckLease(context.Context, lease.Op, time.Time) (lease.Outcome, error) {
	return lease.Outcome{}, errFixed
}

// A twin begins without states, pins, keys and a past, and keeps its states in
// its engine alone.

func (s *store) Breakers(context.Context) ([]resilience.BreakerState, error) { return nil, nil }
func (s *store) SaveConnectionState(resilience.ConnectionState)              {}
func (s *store) SaveBreaker(resilience.BreakerState)                         {}
func (s *store) DeleteBreakers()                                             {}
func (s *store) Pins(context.Context) ([]affinity.Pin, error)                { return nil, nil }
func (s *store) SavePin(affinity.Pin)                                        {}
func (s *store) DeletePin(string, string)                                    {}
func (s *store) APIKeys(context.Context) ([]control.KeyRecord, error)        { return nil, nil }
func (s *store) LastGoods(context.Context) ([]control.LastGood, error)       { return nil, nil }
func (s *store) SaveLastGood(control.LastGood)                               {}
func (s *store) SetActivityLimit(int)                                        {}
func (s *store) MaxActivityID(context.Context) (int64, error)                { return 0, nil }
func (s *store) Lost() int64                                                 { return 0 }
func (s *store) Notices() []control.Notice                                   { return nil }
func (s *store) OnNotice(func())                                             {}

func (s *store) ActiveLeases(context.Context, time.Time) ([]lease.Lease, error) { return nil, nil }

func (s *store) Activity(context.Context, control.ActivityQuery) ([]control.Activity, error) {
	return nil, nil
}

func (s *store) Usage(context.Context, control.UsageQuery) ([]control.UsageRow, error) {
	return nil, nil
}

func (s *store) LastEgress(context.Context, time.Time) ([]control.EgressSeen, error) {
	return nil, nil
}

// secrets gives every twin the same made-up credential: the real ones are not
// asked for.
type secrets struct{}

func (secrets) Secret(string) (string, bool, error)   { return credential, true, nil }
func (secrets) SetSecret(string, string) error        { return errFixed }
func (secrets) AddSecret(_, _ string) (string, error) { return "", errFixed }
func (secrets) DeleteSecret(string) error             { return errFixed }
func (secrets) Backend() string                       { return "none" }

// credential is no key of anybody.
const credential = "sk-drill-twin"
