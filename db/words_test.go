package db

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"breakwater/resilience"
)

// released makes a database of an earlier schema, that of so many steps, with
// one connection that cools.
func released(t *testing.T, dir string, steps int) {
	t.Helper()
	o := testOptions(dir)
	path := filepath.Join(dir, FileName)
	if err := touchPrivate(path); err != nil {
		t.Fatal(err)
	}
	g, err := openPool(path, writePool, o.Log, o.Now)
	if err != nil {
		t.Fatal(err)
	}
	history := []string{fmt.Sprintf("PRAGMA application_id = %d", applicationID), fmt.Sprintf("PRAGMA user_version = %d", steps)}
	for _, m := range migrations[:steps] {
		history = append(history, m.sql...)
	}
	history = append(history, `INSERT INTO provider_connections (id, provider, auth_type, name, priority, is_active, test_status,
		error_code, last_error_type, last_error_source, last_error_reason, raw_hint, backoff_level, rate_limited_until,
		expired_retry_count, max_concurrent, rate_limit_protection, default_model, provider_specific_data)
		VALUES ('a', 'glm', 'apikey', 'Work a', 1, 1, 'unavailable', 429, 'rate_limit', 'header', 'rate_limit_exceeded', '60', 2,
		'1893553445000', 0, 0, 0, '', '{"credential":"apikey"}')`)
	for _, sql := range history {
		if err := g.Exec(sql).Error; err != nil {
			t.Fatal(err)
		}
	}
	if err := closePool(g); err != nil {
		t.Fatal(err)
	}
}

// releasedBeforeWords is how many steps the schema had before a refusal's words
// were kept.
const releasedBeforeWords = 8

func TestWordsComeToTheReleasedSchema(t *testing.T) {
	for _, steps := range []int{releasedBeforeLists, releasedBeforeWords} {
		dir := t.TempDir()
		released(t, dir, steps)
		s := open(t, dir)
		old := connections(t, s)
		if len(old) != 1 || old[0].State.ErrorCode != 429 || old[0].State.BackoffLevel != 2 || old[0].State.LastErrorWords != "" || !old[0].State.AttentionSince.IsZero() {
			t.Fatalf("from %d steps: %+v", steps, old)
		}
	}
}

func TestWordsAndAttentionSurvive(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	save(t, s, "a")
	want := resilience.ConnectionState{
		ID: "a", TestStatus: "unavailable", RateLimitedUntil: t0.Add(time.Minute).UTC(), ErrorCode: 403, LastErrorReason: "auth_error",
		LastErrorAt: t0.UTC(), LastErrorWords: "OAuth is not allowed for this organization. “ñ” खाते",
		RefusalCount: 4, RefusedSince: t0.Add(-time.Hour).UTC(), AttentionSince: t0.Add(-time.Minute).UTC(), AttentionWords: "no access",
	}
	s.SaveConnectionState(want)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	if diff := cmp.Diff(want, connections(t, s)[0].State); diff != "" {
		t.Error(diff)
	}
	save(t, s, "a") // an edit leaves the state
	if diff := cmp.Diff(want, connections(t, s)[0].State); diff != "" {
		t.Errorf("after an edit: %s", diff)
	}
}
