package db

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"breakwater/proxy/control"
	"breakwater/resilience"
	"breakwater/resilience/admission"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		writeUntilKilled(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// t0 is the clock of the tests (ruling 36: a Wednesday).
var t0 = time.Date(2030, 1, 2, 3, 4, 5, 678_000_000, time.UTC)

func testOptions(dir string) Options {
	return Options{Dir: dir, Now: func() time.Time { return t0 }, Log: slog.New(slog.DiscardHandler)}
}

// open opens a store that is closed with the test.
func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), testOptions(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// reopen closes s and opens the same directory again.
func reopen(t testing.TB, s *Store) *Store {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return open(t, filepath.Dir(s.Path()))
}

func record(id string) control.ConnectionRecord {
	return control.ConnectionRecord{
		Limits: control.Limits{
			MaxConcurrent: 3, RateLimitOverrides: admission.Overrides{RPM: new(int64(9)), ModelConcurrency: map[string]int{"m": 2}},
			QuotaWindowThresholds: map[string]int64{"weekly": 0}, RotationOverrides: control.RotationOverrides{RotateOn429: new(false), Error500Threshold: 4},
			Tags: []string{"eu"}, Group: "Team",
			Extras: control.Extras{ExcludedModels: []string{"claude-opus-*"}, UserAgent: "Own/1", ValidationModel: "claude-haiku", PerModelQuota: new(false)},
		},
		ID: id, Provider: "anthropic", Name: "Work " + id, Credential: "apikey", BaseURL: "http://127.0.0.1:9/v1",
		Dialects: []string{"anthropic"}, DefaultModel: "claude-opus-5", Models: []string{"claude-*"}, Priority: 3,
		Active: true, DisableCooling: true, LowPriorityMode: true, AutoLimitReset: true, RateLimitProtection: true,
		CreatedAt: t0.Add(-time.Hour), UpdatedAt: t0, LastUsedAt: t0.Add(-time.Minute),
		State: resilience.ConnectionState{ID: id, TestStatus: "active"},
	}
}

// pragma sets something on both connections that write. The writer must be at
// rest.
func pragma(t testing.TB, s *Store, q string) {
	t.Helper()
	if err := s.writer.log.ready(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.write.Exec("PRAGMA "+q).Error, s.writer.log.stmt.exec("PRAGMA "+q)); err != nil {
		t.Fatal(err)
	}
}

func save(t testing.TB, s *Store, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := s.SaveConnection(t.Context(), record(id)); err != nil {
			t.Fatal(err)
		}
	}
}

func connections(t testing.TB, s *Store) []control.ConnectionRecord {
	t.Helper()
	list, err := s.Connections(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func activity(t testing.TB, s *Store, q control.ActivityQuery) []control.Activity {
	t.Helper()
	list, err := s.Activity(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func flush(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// count runs a query that answers with one number on the write connection.
func count(t testing.TB, s *Store, query string) int {
	t.Helper()
	var n int
	if err := s.write.Raw(query).Scan(&n).Error; err != nil {
		t.Fatal(err)
	}
	return n
}

func contentOf(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// waitFor waits for what another goroutine is about to do.
func waitFor(t testing.TB, done func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for tick := time.Tick(5 * time.Millisecond); !done(); {
		select {
		case <-tick:
		case <-deadline:
			t.Fatal("it never happened")
		}
	}
}
