package db

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"breakwater/proxy/control"
)

func apiKey(name string, change func(*control.KeyRecord)) control.KeyRecord {
	k := control.KeyRecord{
		ID: "id-" + name, Name: name, Hash: [32]byte{31: byte(len(name))}, Tail: "tail", Active: true, CreatedAt: t0,
		Scopes: []string{control.ScopeClient}, AllowedConnections: []string{}, AllowedModels: []string{},
	}
	copy(k.Hash[:], name)
	if change != nil {
		change(&k)
	}
	return k
}

// savedKeys puts keys into a new database of the folder, or of an old one.
func savedKeys(t *testing.T, dir string, keys ...control.KeyRecord) *Store {
	t.Helper()
	s := open(t, dir)
	for _, k := range keys {
		if err := s.SaveAPIKey(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// A restore tells what it brings back and takes away, before it does so, and a
// key that was revoked since the copy was made comes back switched off.
func TestRestoreTellsWhatItChangesAndKeepsRevokedKeysOff(t *testing.T) {
	dir, copied := t.TempDir(), filepath.Join(t.TempDir(), "copy.db")
	s := savedKeys(t, dir, apiKey("deleted", nil), apiKey("kept", nil), apiKey("switched-off", nil))
	save(t, s, "a", "b", "c")
	if err := Backup(t.Context(), dir, copied); err != nil {
		t.Fatal(err)
	}
	off := apiKey("switched-off", func(k *control.KeyRecord) { k.Active = false })
	other := record("c")
	other.BaseURL = "http://127.0.0.1:9/other"
	for _, err := range []error{
		s.DeleteAPIKey(t.Context(), "id-deleted"), s.SaveAPIKey(t.Context(), off), s.SaveAPIKey(t.Context(), apiKey("newer", nil)),
		s.DeleteConnection(t.Context(), "a"), s.SaveConnection(t.Context(), other),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	save(t, s, "d")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	var plan control.RestorePlan
	refused := errors.New("no")
	if _, err := Restore(t.Context(), dir, copied, func(p control.RestorePlan) error { plan = p; return refused }); !errors.Is(err, refused) {
		t.Fatalf("went on against the user's will: %v", err)
	}
	if diff := cmp.Diff(control.RestorePlan{
		Compared: true, Replaces: true, KeysActive: []string{},
		KeysSwitchedOff: []string{"deleted", "switched-off"}, KeysLost: []string{"newer"},
		ConnectionsBack: []string{"Work a"}, ConnectionsLost: []string{"Work d"}, ConnectionsChanged: []string{"Work c"},
	}, plan); diff != "" {
		t.Error(diff)
	}
	if names, err := filepath.Glob(filepath.Join(dir, "*.restored*")); err != nil || len(names) > 0 {
		t.Errorf("left behind: %v %v", names, err)
	}
	s = open(t, dir)
	if list := connections(t, s); len(list) != 3 {
		t.Errorf("%d connections after a refused restore", len(list))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	if _, err := Restore(t.Context(), dir, copied, agreed); err != nil {
		t.Fatal(err)
	}
	active := map[string]bool{}
	keys, err := open(t, dir).APIKeys(t.Context())
	for _, k := range keys {
		active[k.Name] = k.Active
	}
	if diff := cmp.Diff(map[string]bool{"deleted": false, "kept": true, "switched-off": false}, active); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// Without a present database, or with one that cannot be read, nothing is known
// to be revoked: the keys of the copy are in force, and named.
func TestRestoreWithNothingToCompareNamesTheKeysInForce(t *testing.T) {
	from, copied := t.TempDir(), filepath.Join(t.TempDir(), "copy.db")
	savedKeys(t, from, apiKey("one", nil), apiKey("off", func(k *control.KeyRecord) { k.Active = false }))
	if err := Backup(t.Context(), from, copied); err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, FileName), []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, there := range map[string]bool{t.TempDir(): false, broken: true} {
		var plan control.RestorePlan
		kept, err := Restore(t.Context(), dir, copied, func(p control.RestorePlan) error { plan = p; return nil })
		if err != nil || plan.Compared || plan.Replaces != there || (kept != "") != there || strings.Join(plan.KeysActive, " ") != "one" {
			t.Errorf("%v %q %+v", err, kept, plan)
		}
		keys, err := open(t, dir).APIKeys(t.Context())
		if err != nil || len(keys) != 2 || !keys[0].Active {
			t.Errorf("%v %+v", err, keys)
		}
	}
}

func TestKeysThatCouldDoMoreThanTodayComeBackSwitchedOff(t *testing.T) {
	narrow := func(k *control.KeyRecord) { k.AllowedConnections, k.AllowedModels = []string{"a"}, []string{"m*"} }
	until := func(d time.Duration) func(*control.KeyRecord) {
		return func(k *control.KeyRecord) { k.ExpiresAt = t0.Add(d) }
	}
	manages := func(k *control.KeyRecord) { k.Scopes = []string{control.ScopeClient, control.ScopeManage} }
	for name, c := range map[string]struct {
		then, today func(*control.KeyRecord)
		off         bool
	}{
		"the same":               {narrow, narrow, false},
		"a scope less since":     {manages, nil, true},
		"a scope more since":     {nil, manages, false},
		"connections since":      {nil, narrow, true},
		"all connections since":  {narrow, nil, false},
		"an expiry since":        {nil, until(time.Hour), true},
		"an earlier expiry":      {until(2 * time.Hour), until(time.Hour), true},
		"a later expiry":         {until(time.Hour), until(2 * time.Hour), false},
		"expired since":          {nil, until(-time.Hour), true},
		"expired by the copy":    {until(-time.Hour), until(-2 * time.Hour), false},
		"switched off by either": {func(k *control.KeyRecord) { k.Active = false }, func(k *control.KeyRecord) { k.Active = false }, false},
	} {
		t.Run(name, func(t *testing.T) {
			var plan control.RestorePlan
			off := compareKeys(&plan, []control.KeyRecord{apiKey("k", c.then)}, []control.KeyRecord{apiKey("k", c.today)}, t0)
			if (len(off) == 1) != c.off || len(off) != len(plan.KeysSwitchedOff) {
				t.Errorf("off %v, told %v", off, plan.KeysSwitchedOff)
			}
		})
	}
}

// A database that was set aside after a crash has a log with what it has not
// yet taken in; restoring it brings that back too.
func TestRestoreTakesInTheLogOfItsCopy(t *testing.T) {
	dir, aside := t.TempDir(), t.TempDir()
	s := open(t, dir)
	save(t, s, "a")
	for _, part := range []string{"", "-wal"} { // as a killed program leaves them
		if err := copyFile(s.Path()+part, filepath.Join(aside, "kept.before"+part)); err != nil {
			t.Fatal(err)
		}
	}
	into := t.TempDir()
	if _, err := Restore(t.Context(), into, filepath.Join(aside, "kept.before"), agreed); err != nil {
		t.Fatal(err)
	}
	if list := connections(t, open(t, into)); len(list) != 1 {
		t.Errorf("%d connections are restored", len(list))
	}
}
