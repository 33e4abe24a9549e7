package simulation

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"breakwater/db"
	"breakwater/proxy/control"
)

// store is the real one, but for the log of requests: that goes to the run.
type store struct {
	*db.Store
	finished func(control.Activity)
}

// newStore makes a database that holds these connections.
func newStore(t testing.TB, records []control.ConnectionRecord) *store {
	t.Helper()
	s, err := db.Open(context.Background(), db.Options{Dir: t.TempDir(), Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := s.SaveConnection(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	return &store{Store: s, finished: func(control.Activity) {}}
}

// AppendActivity hands a finished request to the run.
func (s *store) AppendActivity(a control.Activity) { s.finished(a) }

// close ends the store; the log of a failed end is the test's.
func (s *store) close(t testing.TB) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// noSecrets has one key for everybody.
type noSecrets struct{}

func (noSecrets) Secret(string) (string, bool, error)       { return "sk-simulated-account", true, nil }
func (noSecrets) SetSecret(string, string) error            { return nil }
func (noSecrets) AddSecret(_, value string) (string, error) { return value, nil }
func (noSecrets) DeleteSecret(string) error                 { return nil }
func (noSecrets) Backend() string                           { return "none" }
