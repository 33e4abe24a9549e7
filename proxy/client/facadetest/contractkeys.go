package facadetest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
)

// revisions checks that a change of settings that was made in ignorance of
// another one is refused, and that nothing of a refused change remains.
func revisions(t *testing.T, f control.Facade) {
	ctx := t.Context()
	first, err := f.AllSettings(ctx)
	if err != nil {
		t.Fatal(err)
	}
	second, err := f.EditAllSettings(ctx, control.AllSettingsPatch{
		SettingsPatch:    control.SettingsPatch{Language: new("es")},
		GuidePatch:       control.GuidePatch{SessionAffinityTTLMs: new(int64(60_000))},
		ExpectedRevision: &first.Revision,
	})
	if err != nil || second.Revision != first.Revision+1 || second.Language != "es" || second.SessionAffinityTTLMs != 60_000 {
		t.Fatalf("EditAllSettings = %+v, %v", second, err)
	}
	_, err = f.EditAllSettings(ctx, control.AllSettingsPatch{
		SettingsPatch: control.SettingsPatch{Language: new("de")}, ExpectedRevision: &first.Revision,
	})
	if c, ok := errors.AsType[*control.ConflictError](err); !ok || c.CurrentRevision != second.Revision {
		t.Errorf("a change from an older state: %v, want a ConflictError with revision %d", err, second.Revision)
	}
	_, err = f.EditAllSettings(ctx, control.AllSettingsPatch{
		SettingsPatch: control.SettingsPatch{Language: new("mr")},
		GuidePatch:    control.GuidePatch{ProviderErrorRules: []byte(`{"openai":[{"scope":"galaxy"}]}`)},
	})
	if _, ok := errors.AsType[*control.InvalidError](err); !ok {
		t.Errorf("half a good change: %v, want an InvalidError", err)
	}
	if read, err := f.AllSettings(ctx); err != nil || read.Language != "es" || read.Revision != second.Revision {
		t.Errorf("refused changes left %+v, %v", read, err)
	}
	if _, err := f.EditSettings(ctx, control.SettingsPatch{Language: new("")}); err != nil {
		t.Error(err)
	}
	third, err := f.EditAllSettings(ctx, control.AllSettingsPatch{})
	if err != nil || third.Revision <= second.Revision || third.Language != "" {
		t.Errorf("after one more change %+v, %v", third, err)
	}
	if _, err := f.EditGuide(ctx, control.GuidePatch{SessionAffinityTTLMs: new(int64(0))}); err != nil {
		t.Error(err)
	}
}

// apiKeys checks that keys are shown whole once, changed, and forgotten.
func apiKeys(t *testing.T, f control.Facade) {
	ctx := t.Context()
	conn := add(t, f, "A")
	if keys, err := f.Keys(ctx); err != nil || keys == nil || len(keys) != 0 {
		t.Fatalf("Keys = %v, %v", keys, err)
	}
	until := time.Date(2100, 1, 2, 3, 4, 5, 0, time.UTC)
	made, err := f.AddKey(ctx, control.KeyInput{Name: "Laptop", AllowedConnections: []string{conn.ID}, ExpiresAt: &until})
	if err != nil || made.ID == "" || !made.Active || !slices.Equal(made.Scopes, []string{control.ScopeClient}) || made.AllowedModels == nil {
		t.Fatalf("AddKey = %+v, %v", made, err)
	}
	keys, err := f.Keys(ctx)
	if err != nil || len(keys) != 1 || keys[0].ID != made.ID || keys[0].ExpiresAt == nil || !keys[0].ExpiresAt.Equal(until) {
		t.Fatalf("Keys = %+v, %v", keys, err)
	}
	if keys[0].Key == made.Key || !strings.Contains(keys[0].Key, "…") || len(made.Key) < 16 {
		t.Errorf("the key is %q at first and %q afterwards, want it whole and masked", made.Key, keys[0].Key)
	}
	edited, err := f.EditKey(ctx, made.ID, control.KeyPatch{
		Name: new("Desk"), Active: new(false), AllowedConnections: &[]string{}, ExpiresAt: control.OptionalTime{Given: true},
	})
	if err != nil || edited.Name != "Desk" || edited.Active || edited.ExpiresAt != nil || len(edited.AllowedConnections) != 0 {
		t.Errorf("EditKey = %+v, %v", edited, err)
	}
	if same, err := f.EditKey(ctx, made.ID, control.KeyPatch{}); err != nil || same.Name != "Desk" {
		t.Errorf("a patch of nothing gives %+v, %v", same, err)
	}
	keyRefusals(t, f, made.ID)
	if err := f.DeleteKey(ctx, made.ID); err != nil {
		t.Fatal(err)
	}
	if keys, err := f.Keys(ctx); err != nil || len(keys) != 0 {
		t.Errorf("after the deletion %v, %v", keys, err)
	}
}

func isAbout(err error, field string) bool {
	inv, ok := errors.AsType[*control.InvalidError](err)
	return ok && len(inv.Fields) == 1 && inv.Fields[0].Field == field
}

func keyRefusals(t *testing.T, f control.Facade, id string) {
	ctx := t.Context()
	if _, err := f.AddKey(ctx, control.KeyInput{Name: "a\nb"}); !isAbout(err, "name") {
		t.Errorf("a name of two lines: %v", err)
	}
	for field, in := range map[string]control.KeyInput{
		"name":               {},
		"scopes":             {Name: "N", Scopes: []string{"everything"}},
		"allowedConnections": {Name: "N", AllowedConnections: []string{"nobody"}},
	} {
		_, err := f.AddKey(ctx, in)
		if !isAbout(err, field) {
			t.Errorf("AddKey(%+v) = %v, want an InvalidError about %s", in, err, field)
		}
	}
	if _, err := f.AddKey(ctx, control.KeyInput{Name: "N", Scopes: []string{control.ScopeLease}}); !errors.Is(err, control.ErrLeaseKeyPolicy) {
		t.Errorf("case 148: AddKey = %v, want ErrLeaseKeyPolicy", err)
	}
	if _, err := f.EditKey(ctx, id, control.KeyPatch{Scopes: &[]string{control.ScopeLease}}); !errors.Is(err, control.ErrLeaseKeyPolicy) {
		t.Errorf("EditKey = %v, want ErrLeaseKeyPolicy", err)
	}
	twin, err := f.AddKey(ctx, control.KeyInput{Name: "Twin"})
	if err != nil {
		t.Errorf("AddKey: %v", err)
	}
	if _, err := f.AddKey(ctx, control.KeyInput{Name: " tWIN"}); !errors.Is(err, control.ErrKeyName) {
		t.Errorf("a second key of one name: %v, want ErrKeyName", err)
	}
	if _, err := f.EditKey(ctx, id, control.KeyPatch{Name: new("TWIN")}); !errors.Is(err, control.ErrKeyName) {
		t.Errorf("a second key renamed to one name: %v, want ErrKeyName", err)
	}
	if k, err := f.EditKey(ctx, twin.ID, control.KeyPatch{Name: new("TWIN")}); err != nil || k.Name != "TWIN" {
		t.Errorf("a key keeps its name in another case: %+v, %v", k, err)
	}
	if err := f.DeleteKey(ctx, twin.ID); err != nil {
		t.Errorf("DeleteKey: %v", err)
	}
	for _, nobody := range []string{"nobody", "", "..", "a/b"} {
		_, err := f.EditKey(ctx, nobody, control.KeyPatch{Name: new("N")})
		if del := f.DeleteKey(ctx, nobody); !errors.Is(err, control.ErrNotFound) || !errors.Is(del, control.ErrNotFound) {
			t.Errorf("key %q: %v and %v, want ErrNotFound", nobody, err, del)
		}
	}
}
