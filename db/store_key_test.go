package db

import (
	"crypto/sha256"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"breakwater/proxy/control"
)

func TestAPIKeysSurvive(t *testing.T) {
	s := open(t, t.TempDir())
	whole := control.KeyRecord{
		ID: "k1", Name: "Laptop", Hash: sha256.Sum256([]byte("sk-canary-1")), Tail: "ry-1", Scopes: []string{"client", "manage"},
		AllowedConnections: []string{"a", "b"}, AllowedModels: []string{"claude-*"}, ExpiresAt: t0.Add(time.Hour), Active: true, CreatedAt: t0,
	}
	bare := control.KeyRecord{ID: "k0", Name: "Script", Hash: sha256.Sum256([]byte("sk-canary-2")), Scopes: []string{"manage"}, CreatedAt: t0.Add(time.Second)}
	for _, k := range []control.KeyRecord{whole, bare} {
		if err := s.SaveAPIKey(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
	s = reopen(t, s)
	got, err := s.APIKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]control.KeyRecord{whole, bare}, got); diff != "" {
		t.Error(diff)
	}
	whole.Active, whole.AllowedConnections = false, nil
	if err := s.SaveAPIKey(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteAPIKey(t.Context(), "k0"); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, s)
	if got, err = s.APIKeys(t.Context()); err != nil || cmp.Diff([]control.KeyRecord{whole}, got) != "" {
		t.Errorf("keys %+v, %v", got, err)
	}
	raw, err := os.ReadFile(s.Path())
	if err != nil || strings.Contains(string(raw), "sk-canary") {
		t.Errorf("the file holds the key itself, or cannot be read: %v", err)
	}
}

// A list that cannot be read must not turn into one that allows everything.
func TestADamagedKeyIsAnError(t *testing.T) {
	s := open(t, t.TempDir())
	k := control.KeyRecord{ID: "k", Name: "K", Hash: sha256.Sum256([]byte("x")), AllowedConnections: []string{"a"}, CreatedAt: t0}
	for _, damage := range []string{"allowed_connections = '[\"a'", "key_hash = 'ab'", "key_hash = 'xyz'"} {
		if err := s.SaveAPIKey(t.Context(), k); err != nil {
			t.Fatal(err)
		}
		if err := s.write.Exec("UPDATE api_keys SET " + damage).Error; err != nil {
			t.Fatal(err)
		}
		if got, err := s.APIKeys(t.Context()); err == nil {
			t.Errorf("%s: %+v, want an error", damage, got)
		}
	}
}
