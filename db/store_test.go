package db

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"breakwater/proxy/control"
	"breakwater/resilience"
	"breakwater/resilience/outcome"
)

func TestConnectionSurvivesRestart(t *testing.T) {
	s := open(t, t.TempDir())
	save(t, s, "a")
	s = reopen(t, s)
	if diff := cmp.Diff([]control.ConnectionRecord{record("a")}, connections(t, s)); diff != "" {
		t.Error(diff)
	}
}

func TestSaveConnectionKeepsState(t *testing.T) {
	s := open(t, t.TempDir())
	save(t, s, "a")
	state := resilience.ConnectionState{
		ID: "a", RateLimitedUntil: t0.Add(time.Hour), TestStatus: "unavailable", BackoffLevel: 4, ErrorCode: 429,
		LastErrorType: "rate_limit_error", LastErrorReason: outcome.ReasonRateLimit, LastErrorAt: t0,
		LastErrorSource: "header", RawHint: "retry-after: 3600", ExpiredRetries: 2, ExpiredRetryAt: t0.Add(time.Minute),
	}
	s.SaveConnectionState(state)
	flush(t, s)
	edited := record("a")
	edited.Name, edited.Active, edited.Models, edited.DisableCooling = "New", false, nil, false
	edited.Limits = control.Limits{}
	edited.State = resilience.ConnectionState{ID: "a", TestStatus: "banned", BackoffLevel: 9}
	if err := s.SaveConnection(t.Context(), edited); err != nil {
		t.Fatal(err)
	}
	edited.State = state
	s = reopen(t, s)
	if diff := cmp.Diff([]control.ConnectionRecord{edited}, connections(t, s)); diff != "" {
		t.Error(diff)
	}
}

func TestSaveConnectionFillsTimes(t *testing.T) {
	s := open(t, t.TempDir())
	r := record("a")
	r.CreatedAt, r.UpdatedAt, r.LastUsedAt = time.Time{}, time.Time{}, time.Time{}
	for range 2 {
		if err := s.SaveConnection(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	got := connections(t, s)[0]
	if !got.CreatedAt.Equal(t0) || !got.UpdatedAt.Equal(t0) || !got.LastUsedAt.IsZero() {
		t.Errorf("created %v, updated %v, used %v", got.CreatedAt, got.UpdatedAt, got.LastUsedAt)
	}
}

func TestUnknownExtrasStay(t *testing.T) {
	s := open(t, t.TempDir())
	save(t, s, "a")
	if err := s.write.Exec(`UPDATE provider_connections SET provider_specific_data = json_set(provider_specific_data, '$.somethingElse', json('{"x":1}'))`).Error; err != nil {
		t.Fatal(err)
	}
	save(t, s, "a")
	if n := count(t, s, `SELECT json_extract(provider_specific_data, '$.somethingElse.x') FROM provider_connections`); n != 1 {
		t.Errorf("somethingElse.x = %d", n)
	}
}

func TestDeletedConnectionStaysDeleted(t *testing.T) {
	s := open(t, t.TempDir())
	save(t, s, "a", "b")
	s.SaveConnectionState(resilience.ConnectionState{ID: "a", TestStatus: "banned"})
	if err := s.DeleteConnection(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	s.SaveConnectionState(resilience.ConnectionState{ID: "a", TestStatus: "banned"})
	if err := s.DeleteConnection(t.Context(), "never"); err != nil {
		t.Errorf("unknown id: %v", err)
	}
	list := connections(t, reopen(t, s))
	if len(list) != 1 || list[0].ID != "b" {
		t.Errorf("got %+v", list)
	}
}

func TestPriorities(t *testing.T) {
	s := open(t, t.TempDir())
	save(t, s, "a", "b", "c")
	if err := s.SavePriorities(t.Context(), map[string]int{"c": 1, "a": 2, "b": 4, "gone": 3}); err != nil {
		t.Fatal(err)
	}
	var order string
	for _, r := range connections(t, reopen(t, s)) {
		order += r.ID
	}
	if order != "cab" {
		t.Errorf("order %q", order)
	}
}

// TestRateLimitedUntilForms reads what other programs wrote (case 179, sheet
// §3.1).
func TestRateLimitedUntilForms(t *testing.T) {
	want := time.Date(2030, 1, 2, 4, 0, 0, 0, time.UTC)
	for name, stored := range map[string]any{
		"case 179 epoch ms text":      "1893556800000",
		"case 179 epoch ms with .0":   "1893556800000.0",
		"case 179 ISO":                "2030-01-02T04:00:00.000Z",
		"ISO with an offset":          "2030-01-02T05:00:00+01:00",
		"SQL text":                    "2030-01-02 04:00:00",
		"case 67 epoch number":        int64(1893556800000),
		"case 67 epoch number, float": 1893556800000.0,
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir())
			save(t, s, "a")
			if err := s.write.Exec("UPDATE provider_connections SET rate_limited_until = ?", stored).Error; err != nil {
				t.Fatal(err)
			}
			if got := connections(t, s)[0].State.RateLimitedUntil; !got.Equal(want) {
				t.Errorf("got %v", got)
			}
		})
	}
	for _, text := range []string{"", "soon", "-5", "NaN", "Inf", "1e300", "2030-13-40"} {
		if got := parseTime(text); !got.IsZero() {
			t.Errorf("%q read as %v", text, got)
		}
	}
}

func TestBreakersSurviveRestart(t *testing.T) {
	s := open(t, t.TempDir())
	glm := resilience.BreakerState{
		Name: "glm", State: "OPEN", FailureCount: 12, LastFailureTime: t0, LastFailureKind: outcome.KindTransient, OpenCycleCount: 2,
		KindFailureCounts: map[outcome.Kind]int{outcome.KindTransient: 11, outcome.KindRateLimit: 1}, FailureThreshold: 12, ResetTimeout: 30 * time.Second,
	}
	kimi := resilience.BreakerState{Name: "kimi", State: "CLOSED"}
	s.SaveBreaker(resilience.BreakerState{Name: "old", State: "OPEN"})
	flush(t, s)
	s.DeleteBreakers()
	s.SaveBreaker(kimi)
	s.SaveBreaker(resilience.BreakerState{Name: "glm", State: "DEGRADED"})
	s.SaveBreaker(glm)
	s = reopen(t, s)
	got, err := s.Breakers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]resilience.BreakerState{glm, kimi}, got); diff != "" {
		t.Error(diff)
	}
}

// TestBreakerNonsense covers sheet §1.9, "Restore".
func TestBreakerNonsense(t *testing.T) {
	s := open(t, t.TempDir())
	for _, q := range []string{
		`INSERT INTO domain_circuit_breakers VALUES ('a', 'MELTED', 3, NULL, NULL)`,
		`INSERT INTO domain_circuit_breakers VALUES ('b', 'OPEN', 3, '2030-01-02T03:04:05.678Z', '{"lastFail')`,
		`INSERT INTO domain_circuit_breakers VALUES ('c', 'OPEN', -3, NULL, '{"lastFailureKind":"sunspots","kindFailureCounts":{"sunspots":2,"transient":1}}')`,
	} {
		if err := s.write.Exec(q).Error; err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Breakers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []resilience.BreakerState{
		{Name: "a", State: "CLOSED", FailureCount: 3},
		{Name: "b", State: "OPEN", FailureCount: 3, LastFailureTime: t0},
		{Name: "c", State: "OPEN", KindFailureCounts: map[outcome.Kind]int{outcome.KindTransient: 1}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSettings(t *testing.T) {
	s := open(t, t.TempDir())
	if _, ok, err := s.Setting(t.Context(), "app"); ok || err != nil {
		t.Fatalf("before: ok %v, err %v", ok, err)
	}
	for _, v := range []string{`{"theme":"dark"}`, `{"theme":"light"}`} {
		if err := s.SaveSetting(t.Context(), "app", []byte(v)); err != nil {
			t.Fatal(err)
		}
	}
	s = reopen(t, s)
	v, ok, err := s.Setting(t.Context(), "app")
	if string(v) != `{"theme":"light"}` || !ok || err != nil {
		t.Errorf("got %s, %v, %v", v, ok, err)
	}
}
