package facadetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"breakwater/proxy/control"
)

// Keys returns the API keys.
func (f *Fake) Keys(ctx context.Context) ([]control.APIKey, error) {
	err := f.enter(ctx, "Keys")
	defer f.mu.Unlock()
	return append([]control.APIKey{}, f.keys...), err
}

// AddKey adds an API key that is no secret.
func (f *Fake) AddKey(ctx context.Context, in control.KeyInput) (control.APIKey, error) {
	err := f.enter(ctx, "AddKey")
	defer f.mu.Unlock()
	if err != nil {
		return control.APIKey{}, err
	}
	f.serial++
	k := control.APIKey{
		ID: fmt.Sprintf("k%d", f.serial), Name: strings.TrimSpace(in.Name), Key: "sk-…fake", Scopes: in.Scopes,
		AllowedConnections: append([]string{}, in.AllowedConnections...),
		AllowedModels:      append([]string{}, in.AllowedModels...), ExpiresAt: in.ExpiresAt, Active: true, State: control.KeyOn,
	}
	if in.Scopes == nil {
		k.Scopes = []string{control.ScopeClient}
	}
	if err := f.checkKey(k); err != nil {
		return control.APIKey{}, err
	}
	f.keys = append(f.keys, k)
	k.Key = fmt.Sprintf("sk-whole-key-%d-fake", f.serial)
	return k, nil
}

// AddKeys adds keys as they are, such as those of an older version.
func (f *Fake) AddKeys(keys ...control.APIKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keys = append(f.keys, keys...)
}

func (f *Fake) checkKey(k control.APIKey) error {
	scopes := []string{control.ScopeClient, control.ScopeManage, control.ScopeLease}
	switch {
	case k.Name == "":
		return control.Invalid("name", "1 to 200 characters")
	case strings.ContainsFunc(k.Name, unicode.IsControl):
		return control.Invalid("name", "must not contain control characters")
	case len(k.Scopes) == 0, slices.ContainsFunc(k.Scopes, func(s string) bool { return !slices.Contains(scopes, s) }):
		return control.Invalid("scopes", "client, manage or lease:exclusive")
	case slices.ContainsFunc(k.AllowedConnections, func(id string) bool { return f.find(id) < 0 }):
		return control.Invalid("allowedConnections", "there is no such connection")
	case slices.Contains(k.Scopes, control.ScopeLease) && len(k.AllowedConnections) == 0:
		return control.ErrLeaseKeyPolicy
	case slices.ContainsFunc(f.keys, func(o control.APIKey) bool { return o.ID != k.ID && strings.EqualFold(o.Name, k.Name) }):
		return control.ErrKeyName
	}
	return nil
}

// EditKey changes an API key.
func (f *Fake) EditKey(ctx context.Context, id string, p control.KeyPatch) (control.APIKey, error) {
	err := f.enter(ctx, "EditKey")
	defer f.mu.Unlock()
	if err != nil {
		return control.APIKey{}, err
	}
	i := f.findKey(id)
	if i < 0 {
		return control.APIKey{}, control.ErrNotFound
	}
	k := f.keys[i]
	set(&k.Name, p.Name)
	set(&k.Scopes, p.Scopes)
	set(&k.AllowedConnections, p.AllowedConnections)
	set(&k.AllowedModels, p.AllowedModels)
	set(&k.Active, p.Active)
	if p.ExpiresAt.Given {
		k.ExpiresAt = p.ExpiresAt.Time
	}
	if err := f.checkKey(k); err != nil {
		return control.APIKey{}, err
	}
	if k.State = control.KeyOff; k.Active {
		k.State = control.KeyOn
	}
	f.keys[i] = k
	return k, nil
}

func (f *Fake) findKey(id string) int {
	return slices.IndexFunc(f.keys, func(k control.APIKey) bool { return k.ID == id })
}

// DeleteKey forgets an API key.
func (f *Fake) DeleteKey(ctx context.Context, id string) error {
	err := f.enter(ctx, "DeleteKey")
	defer f.mu.Unlock()
	if err != nil {
		return err
	}
	i := f.findKey(id)
	if i < 0 {
		return control.ErrNotFound
	}
	f.keys = slices.Delete(f.keys, i, i+1)
	return nil
}
