package control

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"hash/crc32"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"breakwater/resilience/clock"
)

// keyStore is a Store of which only the keys are asked for.
type keyStore struct {
	Store
	keys map[string]KeyRecord
	fail error
}

func (s *keyStore) APIKeys(context.Context) ([]KeyRecord, error) {
	return slices.Collect(maps.Values(s.keys)), s.fail
}

func (s *keyStore) SaveAPIKey(_ context.Context, k KeyRecord) error {
	if s.fail == nil {
		s.keys[k.ID] = k
	}
	return s.fail
}

func (s *keyStore) DeleteAPIKey(_ context.Context, id string) error {
	if s.fail == nil {
		delete(s.keys, id)
	}
	return s.fail
}

// keyring returns a service that has two connections and no keys.
func keyring(t *testing.T) (*Service, *keyStore, *clock.Fake) {
	t.Helper()
	store, now := &keyStore{keys: map[string]KeyRecord{}}, clock.NewFake(time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC))
	s := &Service{cfg: Config{Store: store, Clock: now}}
	s.routes.Store(&[]*Route{})
	byID := map[string]*Route{"a": {}, "b": {}}
	s.byID.Store(&byID)
	if err := s.loadKeys(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s, store, now
}

func TestNewKeysAreWellFormed(t *testing.T) {
	form := regexp.MustCompile(`^(sk-[a-z2-7]{26}-[a-z2-7]{6})-([0-9a-f]{8})$`)
	seen := map[string]bool{}
	for range 100 {
		k := newKey()
		m := form.FindStringSubmatch(k)
		if m == nil || seen[k] {
			t.Fatalf("key %q is malformed or came twice", k)
		}
		if sum, err := strconv.ParseUint(m[2], 16, 32); err != nil || uint32(sum) != crc32.ChecksumIEEE([]byte(m[1])) {
			t.Fatalf("key %q has a wrong checksum", k)
		}
		seen[k] = true
	}
}

func TestOnlyADigestIsStored(t *testing.T) {
	s, store, _ := keyring(t)
	k, err := s.AddKey(t.Context(), KeyInput{Name: "Laptop"})
	if err != nil {
		t.Fatal(err)
	}
	rec := store.keys[k.ID]
	if rec.Hash != sha256.Sum256([]byte(k.Key)) {
		t.Error("the digest is not the key's")
	}
	rec.Hash = [32]byte{}
	raw, err := json.Marshal(rec)
	if err != nil {
		t.Fatal(err)
	}
	for i := len("sk-"); i+6 <= len(k.Key); i++ {
		if bytes.Contains(raw, []byte(k.Key[i:i+6])) {
			t.Fatalf("the record %s holds a part of the key", raw)
		}
	}
}

func TestAuthorize(t *testing.T) {
	for _, tc := range []struct {
		name  string
		in    KeyInput
		patch KeyPatch
		after time.Duration
		scope string
		want  error
	}{
		{name: "a client key of a client", scope: ScopeClient},
		{name: "case 151 a client key without manage", scope: ScopeManage, want: ErrKeyScope},
		{name: "case 151 a key with manage", in: KeyInput{Scopes: []string{ScopeManage}}, scope: ScopeManage},
		{name: "manage does not make a client", in: KeyInput{Scopes: []string{ScopeManage}}, scope: ScopeClient, want: ErrKeyScope},
		{name: "both", in: KeyInput{Scopes: []string{ScopeManage, ScopeClient}}, scope: ScopeClient},
		{name: "switched off", patch: KeyPatch{Active: new(false)}, scope: ScopeClient, want: ErrKeyDisabled},
		{name: "just before its end", in: KeyInput{ExpiresAt: at(time.Hour)}, after: time.Hour - time.Nanosecond, scope: ScopeClient},
		{name: "at its end", in: KeyInput{ExpiresAt: at(time.Hour)}, after: time.Hour, scope: ScopeClient, want: ErrKeyExpired},
		{name: "its end taken away", in: KeyInput{ExpiresAt: at(time.Hour)}, patch: KeyPatch{ExpiresAt: OptionalTime{Given: true}}, after: time.Hour, scope: ScopeClient},
		{name: "its end moved", in: KeyInput{ExpiresAt: at(time.Hour)}, patch: KeyPatch{ExpiresAt: OptionalTime{true, at(2 * time.Hour)}}, after: time.Hour, scope: ScopeClient},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, _, now := keyring(t)
			tc.in.Name = "Key"
			k, err := s.AddKey(t.Context(), tc.in)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.EditKey(t.Context(), k.ID, tc.patch); err != nil {
				t.Fatal(err)
			}
			if err := s.loadKeys(t.Context()); err != nil { // as after a restart
				t.Fatal(err)
			}
			now.Advance(tc.after)
			g, err := s.Authorize(tc.scope, "", "sk-foreign", k.Key)
			if !errors.Is(err, tc.want) || (err == nil) != (g.KeyID == k.ID) {
				t.Errorf("Authorize = %+v, %v, want %v", g, err, tc.want)
			}
			if !s.IsKey(k.Key) || s.IsKey(k.Key+"x") || s.IsKey("") {
				t.Error("IsKey does not know the key, or knows another")
			}
			if _, err := s.Authorize(tc.scope, k.Key[:len(k.Key)-1]); !errors.Is(err, ErrKeyUnknown) {
				t.Errorf("the beginning of the key: %v", err)
			}
			if err := s.DeleteKey(t.Context(), k.ID); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Authorize(tc.scope, k.Key); !errors.Is(err, ErrKeyUnknown) {
				t.Errorf("a deleted key: %v", err)
			}
		})
	}
}

func at(d time.Duration) *time.Time {
	t := time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC).Add(d)
	return &t
}

func TestKeysAreChecked(t *testing.T) {
	long := strings.Repeat("x", 201)
	for _, tc := range []struct {
		name  string
		in    KeyInput
		field string
	}{
		{"no name", KeyInput{Name: " "}, "name"},
		{"a long name", KeyInput{Name: long}, "name"},
		{"a scope that there is not", KeyInput{Name: "K", Scopes: []string{"admin"}}, "scopes"},
		{"a connection that there is not", KeyInput{Name: "K", AllowedConnections: []string{"a", "x"}}, "allowedConnections"},
		{"an empty pattern", KeyInput{Name: "K", AllowedModels: []string{""}}, "allowedModels"},
		{"an end that has passed", KeyInput{Name: "K", ExpiresAt: at(0)}, "expiresAt"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, store, _ := keyring(t)
			_, err := s.AddKey(t.Context(), tc.in)
			inv, ok := errors.AsType[*InvalidError](err)
			if !ok || len(inv.Fields) != 1 || inv.Fields[0].Field != tc.field || len(store.keys) != 0 {
				t.Errorf("AddKey = %v with %d keys stored, want a refusal of %s", err, len(store.keys), tc.field)
			}
		})
	}
}

// A key says what becomes of its requests.
func TestStateOfAKey(t *testing.T) {
	s, _, now := keyring(t)
	until := now.Now().Add(time.Hour)
	k, err := s.AddKey(t.Context(), KeyInput{Name: "Key", ExpiresAt: &until})
	if err != nil || k.State != KeyOn {
		t.Fatalf("a new key is %q, %v", k.State, err)
	}
	now.Advance(time.Hour)
	if all, err := s.Keys(t.Context()); err != nil || all[0].State != KeyExpired || !all[0].Active {
		t.Errorf("at its end %+v, %v", all, err)
	}
	if k, err = s.EditKey(t.Context(), k.ID, KeyPatch{Active: new(false)}); err != nil || k.State != KeyOff {
		t.Errorf("switched off it is %q, %v", k.State, err)
	}
	if _, err := s.AddKey(t.Context(), KeyInput{Name: "None", Scopes: []string{}}); err == nil {
		t.Error("a key without any scope was made")
	}
}

// A key that is older than the rules for names can still be revoked, and is held
// to them when it gets another name.
func TestAKeyOfAnOldNameIsEdited(t *testing.T) {
	s, store, _ := keyring(t)
	for i, name := range []string{"turned\u202e", "Twin", "twin"} {
		id := strconv.Itoa(i)
		store.keys[id] = KeyRecord{ID: id, Name: name, Scopes: []string{ScopeClient}, Active: true}
	}
	if err := s.loadKeys(t.Context()); err != nil {
		t.Fatal(err)
	}
	for id := range store.keys {
		if k, err := s.EditKey(t.Context(), id, KeyPatch{Active: new(false)}); err != nil || k.State != KeyOff {
			t.Errorf("%q: %q, %v", store.keys[id].Name, k.State, err)
		}
	}
	var bad *InvalidError
	if _, err := s.EditKey(t.Context(), "0", KeyPatch{Name: new("also\u202e")}); !errors.As(err, &bad) || bad.Fields[0].Field != "name" {
		t.Errorf("another such name: %v", err)
	}
}

// A key whose connections were deleted keeps their ids: an empty list would
// allow every connection.
func TestADeletedConnectionWidensNoKey(t *testing.T) {
	s, _, _ := keyring(t)
	k, err := s.AddKey(t.Context(), KeyInput{Name: "K", AllowedConnections: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	gone := map[string]*Route{"b": {}}
	s.byID.Store(&gone)
	if _, err := s.EditKey(t.Context(), k.ID, KeyPatch{Name: new("Other")}); err != nil {
		t.Errorf("the key can no longer be renamed: %v", err)
	}
	g, err := s.Authorize(ScopeClient, k.Key)
	if err != nil || g.AllowsConnection("b") || !g.AllowsConnection("a") {
		t.Errorf("Authorize = %+v, %v", g, err)
	}
}

func TestAFailedWriteChangesNoKey(t *testing.T) {
	s, store, _ := keyring(t)
	k, err := s.AddKey(t.Context(), KeyInput{Name: "K"})
	if err != nil {
		t.Fatal(err)
	}
	store.fail = errors.New("the disk is full")
	_, add := s.AddKey(t.Context(), KeyInput{Name: "Other"})
	_, edit := s.EditKey(t.Context(), k.ID, KeyPatch{Active: new(false)})
	for name, err := range map[string]error{"add": add, "edit": edit, "delete": s.DeleteKey(t.Context(), k.ID)} {
		if !errors.Is(err, store.fail) {
			t.Errorf("%s: %v, want the store's error", name, err)
		}
	}
	if keys, _ := s.Keys(t.Context()); len(keys) != 1 || !keys[0].Active {
		t.Errorf("keys %+v, want the one as it was", keys)
	}
}

func TestGrantModels(t *testing.T) {
	g := Grant{Models: []string{"claude-*", "gpt-5"}}
	for model, want := range map[string]bool{
		"claude-x": true, "claude-x[1m]": true, "work/claude-x": true, "gpt-5": true, "gpt-5-mini": false, "": false, "work/gpt-4": false,
	} {
		if got := g.AllowsModel(model); got != want {
			t.Errorf("AllowsModel(%q) = %v, want %v", model, got, want)
		}
	}
	if !(Grant{}).AllowsModel("anything") {
		t.Error("an empty list allows all")
	}
}
