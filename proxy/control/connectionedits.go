package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"breakwater/resilience/lease"
)

// AddConnection stores a new connection and puts it into routing.
func (s *Service) AddConnection(ctx context.Context, in ConnectionInput) (Connection, error) {
	rec, _, err := s.newRecord(in)
	if err != nil {
		return Connection{}, err
	}
	in.Credential = rec.Credential
	key, err := in.secret()
	if err != nil {
		return Connection{}, err
	}
	proxy, err := readProxy(in.ProxyURL)
	if err != nil {
		return Connection{}, err
	}
	// The secrets go first, and without the lock: a keychain may ask the user. A
	// crash in between leaves an orphaned secret, never a connection without its
	// key.
	if key != "" {
		if err := s.cfg.Secrets.SetSecret(SecretName(rec.ID), key); err != nil {
			return Connection{}, fmt.Errorf("store the credential: %w", err)
		}
	}
	if err = s.storeProxyLogin(rec.ID, proxy); err == nil {
		var shown Connection
		if shown, err = s.keepNew(ctx, rec.ID, in, key, proxy); err == nil {
			return shown, nil
		}
	}
	if key != "" || proxy.full() != proxy.address {
		s.dropSecrets(rec.ID)
	}
	return Connection{}, err
}

// keepNew stores a connection whose secrets are stored. It is checked once more:
// another may have been added meanwhile.
func (s *Service) keepNew(ctx context.Context, id string, in ConnectionInput, key string, proxy outProxy) (Connection, error) {
	s.edit.Lock()
	defer s.edit.Unlock()
	rec, p, err := s.newRecord(in)
	if err != nil {
		return Connection{}, err
	}
	rec.ID = id
	if err := s.cfg.Store.SaveConnection(ctx, rec); err != nil {
		return Connection{}, fmt.Errorf("store the connection: %w", err)
	}
	r := newRoute(rec, p, key)
	r.proxy = proxy.full()
	r.Conn = s.engine.Upsert(r.engineConnection(s))
	s.setRoutes(append(slices.Clone(s.Routes()), r))
	return s.view(r), nil
}

// dropSecrets forgets the secrets of a connection that was not stored.
func (s *Service) dropSecrets(id string) {
	if err := errors.Join(s.cfg.Secrets.DeleteSecret(SecretName(id)), s.cfg.Secrets.DeleteSecret(ProxySecretName(id))); err != nil {
		s.cfg.Log.Warn("the credential of a connection that was not stored could not be deleted", "connection", id, "error", err)
	}
}

// connectionEdit is what an edit makes of a connection, checked.
type connectionEdit struct {
	old              *Route
	rec              ConnectionRecord
	proxy            outProxy
	key              string
	newLogin, newKey bool // these are to be stored
}

// planEdit works out an edit against the connections as they are now.
func (s *Service) planEdit(id string, patch ConnectionPatch) (connectionEdit, error) {
	old, ok := s.Route(id)
	if !ok {
		return connectionEdit{}, ErrNotFound
	}
	var bad problems
	e := connectionEdit{old: old, rec: apply(old.Record, patch)}
	if e.rec.Limits.patch(&bad, patch); len(bad.fields) > 0 {
		return e, bad.err()
	}
	if patch.RateLimitOverrides.Given && !patch.RateLimitOverrides.null() {
		e.rec.RateLimitProtection = true
	}
	var err error
	if e.proxy, e.newLogin, err = old.proxyAfter(patch.ProxyURL); err != nil {
		return e, err
	}
	e.rec.ProxyURL, e.rec.UpdatedAt = e.proxy.address, time.Now().Round(0).UTC()
	if e.key, e.newKey, err = newSecret(old, e.rec.Credential, patch); err != nil {
		return e, err
	}
	if old.hasSecret() && !e.newKey && e.key != "" && moves(old.Record, e.rec, old.Provider) {
		return e, errKeyOfAnotherHost(e.rec)
	}
	// A lost key is told by the state; it keeps nobody from the other fields.
	stillMissing := old.keyMissing() && e.rec.Credential == old.Record.Credential
	if err := checkRecord(e.rec, old.Provider, e.key != "" || stillMissing, s.Routes()); err != nil {
		return e, err
	}
	return e, errors.Join(s.checkNotUs(e.rec), s.notPasted(e.key, e.rec.words()...))
}

// EditConnection changes the fields that the patch holds. It takes effect at
// the next request; running ones keep what they began with.
func (s *Service) EditConnection(ctx context.Context, id string, patch ConnectionPatch) (Connection, error) {
	if patch.APIKey == nil && patch.RefreshToken == nil && patch.Credential == nil && patch.ProxyURL == nil {
		return s.keepEdit(ctx, id, patch)
	}
	// Secrets are stored without the lock: a keychain may ask the user.
	give, err := s.secrets.take(ctx, id)
	if err != nil {
		return Connection{}, err
	}
	defer give()
	e, err := s.planEdit(id, patch)
	if err != nil {
		return Connection{}, err
	}
	if e.newKey {
		if err := s.cfg.Secrets.SetSecret(SecretName(id), e.key); err != nil {
			return Connection{}, fmt.Errorf("store the credential: %w", err)
		}
	}
	if e.newLogin {
		err = s.storeProxyLogin(id, e.proxy)
	}
	var shown Connection
	if err == nil {
		shown, err = s.keepEdit(ctx, id, patch)
	}
	if err != nil {
		s.undoSecrets(e)
		return Connection{}, err
	}
	if e.newLogin {
		s.dropProxyLogin(id, e.proxy)
	}
	return shown, nil
}

// undoSecrets puts the secrets back that an edit has replaced which was not
// stored. The login of an outbound proxy can stay: it is for its address only.
func (s *Service) undoSecrets(e connectionEdit) {
	if !e.newKey {
		return
	}
	var err error
	name := SecretName(e.rec.ID)
	if _, there := s.Route(e.rec.ID); there && e.old.hasSecret() {
		err = s.cfg.Secrets.SetSecret(name, e.old.storedSecret())
	} else {
		err = s.cfg.Secrets.DeleteSecret(name)
	}
	if err != nil {
		s.cfg.Log.Warn("the former credential of a connection could not be put back", "connection", e.rec.ID, "error", err)
	}
}

// keepEdit stores an edit whose secrets are stored and puts it in force.
func (s *Service) keepEdit(ctx context.Context, id string, patch ConnectionPatch) (Connection, error) {
	s.edit.Lock()
	defer s.edit.Unlock()
	e, err := s.planEdit(id, patch)
	if err != nil {
		return Connection{}, err
	}
	if err := s.cfg.Store.SaveConnection(ctx, e.rec); err != nil {
		return Connection{}, fmt.Errorf("store the connection: %w", err)
	}
	old := e.old
	r := newRoute(e.rec, old.Provider, e.key)
	r.Use, r.proxy = old.Use, e.proxy.full()
	if !e.newKey && r.login != nil {
		r.login = old.login
	}
	r.Conn = s.engine.Upsert(r.engineConnection(s))
	routes := slices.Clone(s.Routes())
	routes[slices.Index(routes, old)] = r
	s.setRoutes(routes)
	if r.Record.BaseURL != old.Record.BaseURL {
		s.forgetList(ctx, r)
	}
	switch {
	case e.newKey || old.Record.Credential != r.Record.Credential:
		// A terminal state lasts until the credential changes (guide §2).
		s.liftOf(KeyChanged, r)
	case r.Record.DisableCooling && !old.Record.DisableCooling:
		s.liftOf(CoolingOff, r)
	}
	if !r.sameAddress(old) {
		s.liftOf(AddressChanged, r)
	}
	if r.login != nil && (r.tokenURL() != old.tokenURL() || e.rec.ClientID != old.Record.ClientID || e.rec.TokenFormat != old.Record.TokenFormat) {
		// What failed so far was another way of refreshing.
		s.guard.Forget(connectionGuard(id))
		r.login.unblock()
	}
	s.claudeEdited(old, r)
	return s.view(r), nil
}

// DeleteConnection forgets a connection and its secret.
func (s *Service) DeleteConnection(ctx context.Context, id string) error {
	gone, err := s.dropConnection(ctx, id)
	if !gone {
		return err
	}
	// Nothing else can bring the connection back: its secrets go without the lock.
	give, failed := s.secrets.take(ctx, id)
	if failed == nil {
		defer give()
		failed = errors.Join(s.cfg.Secrets.DeleteSecret(SecretName(id)), s.cfg.Secrets.DeleteSecret(ProxySecretName(id)))
	}
	if failed != nil {
		failed = fmt.Errorf("the connection is gone, but its credential could not be deleted: %w", failed)
	}
	return errors.Join(err, failed)
}

// dropConnection forgets a connection but for its secrets. It reports whether
// the connection is gone.
func (s *Service) dropConnection(ctx context.Context, id string) (gone bool, err error) {
	s.edit.Lock()
	defer s.edit.Unlock()
	old, ok := s.Route(id)
	if !ok {
		return false, ErrNotFound
	}
	if err := s.cfg.Store.DeleteConnection(ctx, id); err != nil {
		return false, fmt.Errorf("delete the connection: %w", err)
	}
	s.setRoutes(slices.DeleteFunc(slices.Clone(s.Routes()), func(r *Route) bool { return r == old }))
	s.liftOf(ConnectionGone, old)
	s.forget(id)
	s.endLeases(ctx, lease.ConnectionIneligible, func(l lease.Lease) bool { return l.ConnectionID == id })
	if err := s.dropFromCombos(ctx, id); err != nil {
		return true, fmt.Errorf("the connection is gone, but combos still name it: %w", err)
	}
	return true, nil
}
