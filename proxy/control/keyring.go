package control

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"time"
)

// newKey returns a fresh API key: 128 bits of chance, a short id and a
// checksum, which tells a mistyped key from a foreign one.
func newKey() string {
	body := "sk-" + strings.ToLower(rand.Text()) + "-" + strings.ToLower(rand.Text()[:6])
	return fmt.Sprintf("%s-%08x", body, crc32.ChecksumIEEE([]byte(body)))
}

// tailLength is how much of a key is shown afterwards.
const tailLength = 4

func (s *Service) loadKeys(ctx context.Context) error {
	records, err := s.cfg.Store.APIKeys(ctx)
	if err != nil {
		return fmt.Errorf("load the API keys: %w", err)
	}
	s.setKeys(records)
	return nil
}

// Keys returns the API keys, masked, in the order of their creation.
func (s *Service) Keys(context.Context) ([]APIKey, error) {
	out, now := []APIKey{}, s.realNow()
	for _, k := range *s.keys.Load() {
		out = append(out, k.view(now))
	}
	return out, nil
}

// AddKey makes an API key; the answer is the only one that holds it whole.
func (s *Service) AddKey(ctx context.Context, in KeyInput) (APIKey, error) {
	s.edit.Lock()
	defer s.edit.Unlock()
	keys := *s.keys.Load()
	if len(keys) >= maxKeys {
		return APIKey{}, Invalid("body", "at most %d keys", maxKeys)
	}
	secret, now := newKey(), s.realNow()
	rec := KeyRecord{
		ID: newID(), Name: strings.TrimSpace(in.Name), Hash: sha256.Sum256([]byte(secret)),
		Tail: secret[len(secret)-tailLength:], Scopes: distinct(in.Scopes),
		AllowedConnections: distinct(in.AllowedConnections), AllowedModels: distinct(in.AllowedModels),
		Active: true, CreatedAt: now,
	}
	if in.Scopes == nil {
		rec.Scopes = []string{ScopeClient}
	}
	if in.ExpiresAt != nil {
		rec.ExpiresAt = in.ExpiresAt.UTC()
	}
	if err := checkKeyRecord(rec, s.knows, true, true, now); err != nil {
		return APIKey{}, err
	}
	if err := s.checkKeyName(keys, rec.Name, rec.ID); err != nil {
		return APIKey{}, err
	}
	if err := s.cfg.Store.SaveAPIKey(ctx, rec); err != nil {
		return APIKey{}, fmt.Errorf("store the key: %w", err)
	}
	next := append(slices.Clone(keys), rec)
	s.setKeys(next)
	shown := rec.view(now)
	shown.Key = secret
	return shown, nil
}

// checkKeyName refuses a name that cannot be shown, that holds a connection's
// key, or that a key other than that of the id has.
func (s *Service) checkKeyName(keys []KeyRecord, name, id string) error {
	if unreadable(name) {
		return Invalid("name", "must not contain control characters or signs that nobody sees")
	}
	if slices.ContainsFunc(keys, func(k KeyRecord) bool { return k.ID != id && strings.EqualFold(k.Name, name) }) {
		return ErrKeyName
	}
	return s.notPasted("", "name", name)
}

// EditKey changes the fields that the patch holds; the next request of the
// key's bearer feels it.
func (s *Service) EditKey(ctx context.Context, id string, p KeyPatch) (APIKey, error) {
	s.edit.Lock()
	defer s.edit.Unlock()
	keys := slices.Clone(*s.keys.Load())
	i := slices.IndexFunc(keys, func(k KeyRecord) bool { return k.ID == id })
	if i < 0 {
		return APIKey{}, ErrNotFound
	}
	rec := keys[i]
	if p.Name != nil {
		rec.Name = strings.TrimSpace(*p.Name)
	}
	for field, list := range map[*[]string]*[]string{
		&rec.Scopes: p.Scopes, &rec.AllowedConnections: p.AllowedConnections, &rec.AllowedModels: p.AllowedModels,
	} {
		if list != nil {
			*field = distinct(*list)
		}
	}
	set(&rec.Active, p.Active)
	if p.ExpiresAt.Given {
		rec.ExpiresAt = time.Time{}
		if p.ExpiresAt.Time != nil {
			rec.ExpiresAt = p.ExpiresAt.Time.UTC()
		}
	}
	if err := checkKeyRecord(rec, s.knows, p.AllowedConnections != nil, p.ExpiresAt.Given, s.realNow()); err != nil {
		return APIKey{}, err
	}
	if rec.Name != keys[i].Name { // keys may be older than the rule
		if err := s.checkKeyName(keys, rec.Name, id); err != nil {
			return APIKey{}, err
		}
	}
	if err := s.cfg.Store.SaveAPIKey(ctx, rec); err != nil {
		return APIKey{}, fmt.Errorf("store the key: %w", err)
	}
	keys[i] = rec
	s.setKeys(keys)
	s.keyChanged(ctx, rec)
	return rec.view(s.realNow()), nil
}

// DeleteKey forgets an API key; its bearer is refused from now on.
func (s *Service) DeleteKey(ctx context.Context, id string) error {
	s.edit.Lock()
	defer s.edit.Unlock()
	keys := *s.keys.Load()
	i := slices.IndexFunc(keys, func(k KeyRecord) bool { return k.ID == id })
	if i < 0 {
		return ErrNotFound
	}
	if err := s.cfg.Store.DeleteAPIKey(ctx, id); err != nil {
		return fmt.Errorf("delete the key: %w", err)
	}
	next := slices.Delete(slices.Clone(keys), i, i+1)
	s.setKeys(next)
	s.keyChanged(ctx, KeyRecord{ID: id})
	return nil
}

// Authorize looks for an API key among what a request presents and returns
// what its bearer may use. ErrKeyUnknown tells that none of it is a key of
// ours; the other errors refuse a key that is.
func (s *Service) Authorize(scope string, presented ...string) (Grant, error) {
	refusal := error(ErrKeyUnknown)
	for _, secret := range presented {
		k, ok := s.findKey(secret)
		if !ok {
			continue
		}
		if refusal = k.refuses(scope, s.realNow()); refusal == nil {
			return Grant{
				KeyID: k.ID, Connections: k.AllowedConnections, Models: k.AllowedModels,
				Leases: slices.Contains(k.Scopes, ScopeLease),
			}, nil
		}
	}
	return Grant{}, refusal
}

// IsKey reports whether a value is an API key of ours, in force or not. Such a
// value must not reach an upstream.
func (s *Service) IsKey(value string) bool {
	_, ok := s.findKey(value)
	return ok
}

// findKey compares with every key in the same time, whichever it is.
func (s *Service) findKey(secret string) (found KeyRecord, ok bool) {
	keys, at := *s.keys.Load(), -1
	if secret == "" || len(keys) == 0 {
		return KeyRecord{}, false
	}
	hash := sha256.Sum256([]byte(secret))
	for i := range keys {
		at = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(hash[:], keys[i].Hash[:]), i, at)
	}
	if at < 0 {
		return KeyRecord{}, false
	}
	return keys[at], true
}

func (k KeyRecord) refuses(scope string, now time.Time) error {
	switch state := k.State(now); {
	case state == KeyOff:
		return ErrKeyDisabled
	case state == KeyExpired:
		return ErrKeyExpired
	case scope == ScopeClient && slices.Contains(k.Scopes, ScopeLease):
		return nil // who may hold a connection may use it
	case !slices.Contains(k.Scopes, scope):
		return ErrKeyScope
	}
	return nil
}

// realNow is the present in real time, whatever clock the core has.
func (s *Service) realNow() time.Time { return s.real(s.Now()).Round(0).UTC() }

func (s *Service) knows(id string) bool {
	_, ok := s.Route(id)
	return ok
}

// distinct returns a list of its own without repetitions.
func distinct(list []string) []string {
	var out []string
	for _, v := range list {
		if v = strings.TrimSpace(v); !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}
