package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"breakwater/proxy/catalog"
	"breakwater/resilience/classify"
	"breakwater/resilience/settings"
)

// Keys under which the guide stores what failures are judged by.
const (
	keyResilience    = "resilienceSettings"
	keyLockout       = "modelLockout"
	keyErrorRules    = "providerErrorRules"
	keyErrorDefaults = "providerErrorDefaults"
	keyAffinity      = "sessionAffinityTtlMs"
)

// policy is what failures are judged by, in the form in which it is stored and
// in the form in which it is used.
type policy struct {
	stored, lockout []byte // JSON, nil when nothing is stored
	rules           map[string][]settings.ErrorRule
	defaults        map[string]settings.ErrorDefault
	affinityMs      int64
}

// Resilience is the tree of resilience settings with where each value comes
// from (ruling 52).
type Resilience struct {
	settings.Settings
	Origins map[string]settings.Origin `json:"origins"`
}

// Guide holds the guide's further settings, which PATCH /api/settings changes.
type Guide struct {
	ModelLockout          settings.ModelLockout            `json:"modelLockout"`
	ProviderErrorRules    map[string][]settings.ErrorRule  `json:"providerErrorRules"`
	ProviderErrorDefaults map[string]settings.ErrorDefault `json:"providerErrorDefaults"`
	SessionAffinityTTLMs  int64                            `json:"sessionAffinityTtlMs"`
	// GuideOrigins says where each value of the model lockout comes from, by
	// its path (ruling 52).
	GuideOrigins map[string]settings.Origin `json:"origins"`
}

// GuidePatch changes them; nil fields stay as they are.
type GuidePatch struct {
	ModelLockout          json.RawMessage `json:"modelLockout,omitempty"`
	ProviderErrorRules    json.RawMessage `json:"providerErrorRules,omitempty"`
	ProviderErrorDefaults json.RawMessage `json:"providerErrorDefaults,omitempty"`
	SessionAffinityTTLMs  *int64          `json:"sessionAffinityTtlMs,omitempty"`
}

// env looks a variable up in the environment the service was given.
func (s *Service) env(name string) string {
	if s.cfg.Env == nil {
		return ""
	}
	return s.cfg.Env(name)
}

// loadPolicy reads what is stored and puts it in force.
func (s *Service) loadPolicy(ctx context.Context) error {
	p := &policy{}
	for key, take := range map[string]func([]byte){
		keyResilience:    func(raw []byte) { p.stored = raw },
		keyLockout:       func(raw []byte) { p.lockout = raw },
		keyErrorRules:    func(raw []byte) { p.rules = settings.LoadErrorRules(raw) },
		keyErrorDefaults: func(raw []byte) { p.defaults = settings.LoadErrorDefaults(raw) },
		keyAffinity: func(raw []byte) {
			var v any
			if json.Unmarshal(raw, &v) == nil {
				p.affinityMs, _ = settings.ParseAffinityTTL(v) // what does not parse is off
			}
		},
	} {
		raw, ok, err := s.cfg.Store.Setting(ctx, key)
		if err != nil {
			return fmt.Errorf("load %s: %w", key, err)
		}
		if ok {
			take(raw)
		}
	}
	s.usePolicy(p)
	return nil
}

// usePolicy makes a policy take effect, without a restart.
func (s *Service) usePolicy(p *policy) {
	set, corrected := settings.Resolve(p.stored, p.lockout, s.env)
	for _, c := range corrected {
		s.cfg.Log.Warn("a stored setting is out of bounds", "field", c.Field, "stored", c.From, "used", c.To)
	}
	set.ErrorRules, set.ErrorDefaults = p.rules, p.defaults
	s.policy.Store(p)
	s.inForce.Store(&set)
	s.engine.SetSettings(set)
	s.configureQueues()
	mark(s.loginsDirty)
	s.markState()
}

// InForce returns the resilience settings in force without a copy, for every
// request; they must not be changed.
func (s *Service) InForce() *settings.Settings { return s.inForce.Load() }

// Resilience returns the resilience settings in force.
func (s *Service) Resilience(context.Context) (Resilience, error) {
	p := s.policy.Load()
	return Resilience{Settings: s.engine.Settings(), Origins: settings.Origins(p.stored, s.env)}, nil
}

// EditResilience applies a strict partial patch (PATCH /api/resilience): null
// removes a stored value. Nothing is changed when any part of it is refused.
func (s *Service) EditResilience(ctx context.Context, patch json.RawMessage) (Resilience, error) {
	s.edit.Lock()
	defer s.edit.Unlock()
	next := *s.policy.Load()
	stored, err := patchResilience(next.stored, patch)
	if err != nil {
		return Resilience{}, err
	}
	if err := s.cfg.Store.SaveSetting(ctx, keyResilience, stored); err != nil {
		return Resilience{}, fmt.Errorf("store the settings: %w", err)
	}
	next.stored = stored
	s.usePolicy(&next)
	s.Announce(EventSettings, Change{To: "resilience"})
	return s.Resilience(ctx)
}

func patchResilience(stored, patch []byte) ([]byte, error) {
	next, err := settings.Patch(stored, patch)
	if err != nil {
		return nil, refused(err)
	}
	return next, nil
}

// refused turns a refused patch into the facade's error.
func refused(err error) error {
	var p *settings.PatchError
	if !errors.As(err, &p) {
		return err
	}
	bad := &InvalidError{}
	for _, f := range p.Fields {
		if f.Field == "" {
			f.Field = "body"
		}
		bad.Fields = append(bad.Fields, FieldError(f))
	}
	return bad
}

// refusedAs is refused for a section that is a field of a larger body.
func refusedAs(section string, err error) error {
	err = refused(err)
	if bad, ok := errors.AsType[*InvalidError](err); ok {
		for i := range bad.Fields {
			if bad.Fields[i].Field == "body" {
				bad.Fields[i].Field = section
			}
		}
	}
	return err
}

// Guide returns the guide's further settings.
func (s *Service) Guide(context.Context) (Guide, error) { return s.guide(), nil }

func (s *Service) guide() Guide {
	p := s.policy.Load()
	g := Guide{
		ModelLockout: s.engine.Settings().ModelLockout, ProviderErrorRules: p.rules,
		ProviderErrorDefaults: p.defaults, SessionAffinityTTLMs: p.affinityMs,
		GuideOrigins: settings.LockoutOrigins(p.lockout),
	}
	if g.ProviderErrorRules == nil {
		g.ProviderErrorRules = map[string][]settings.ErrorRule{}
	}
	if g.ProviderErrorDefaults == nil {
		g.ProviderErrorDefaults = map[string]settings.ErrorDefault{}
	}
	return g
}

// patchGuide returns the policy with the patch in it, and what is to be stored.
func (s *Service) patchGuide(patch GuidePatch) (next policy, writes map[string]any, err error) {
	next, writes = *s.policy.Load(), map[string]any{}
	if patch.ModelLockout != nil {
		if next.lockout, err = settings.PatchLockout(next.lockout, patch.ModelLockout); err != nil {
			return next, nil, refusedAs("modelLockout", err)
		}
		writes[keyLockout] = json.RawMessage(next.lockout)
	}
	if patch.ProviderErrorRules != nil {
		if next.rules, err = settings.ParseErrorRules(patch.ProviderErrorRules); err != nil {
			return next, nil, refusedAs("providerErrorRules", err)
		}
		writes[keyErrorRules] = next.rules
	}
	if patch.ProviderErrorDefaults != nil {
		if next.defaults, err = settings.ParseErrorDefaults(patch.ProviderErrorDefaults); err != nil {
			return next, nil, refusedAs("providerErrorDefaults", err)
		}
		writes[keyErrorDefaults] = next.defaults
	}
	if patch.SessionAffinityTTLMs != nil {
		if next.affinityMs, err = settings.ParseAffinityTTL(float64(*patch.SessionAffinityTTLMs)); err != nil {
			return next, nil, refused(err)
		}
		writes[keyAffinity] = next.affinityMs
	}
	return next, writes, nil
}

// Judge returns what the classifier must know of a connection; status, headers
// and body of the answer are the caller's to add.
func (s *Service) Judge(r *Route, model string) classify.Input {
	in := s.engine.Input(r.Conn, model)
	in.Auth = authOf(r.Credential())
	if known := s.quota.Get(r.Record.ID); known != nil {
		if until, ok := known.UsedUp(in.Now, model); ok {
			in.QuotaReset = until.Sub(in.Now)
		}
	}
	return in
}

// authOf returns how a kind of credential is judged when it is refused.
func authOf(c catalog.CredentialKind) classify.Auth {
	switch c {
	case catalog.PassthroughCredential:
		return classify.AuthPassthrough
	case catalog.TokenCredential, catalog.OAuthCredential:
		return classify.AuthOAuth
	case catalog.NoCredential:
		return classify.AuthNone
	}
	return classify.AuthByProfile
}

// sharedEgress reports whether the provider's quota belongs to the outgoing
// address (guide §7).
func (s *Service) sharedEgress(provider string) bool {
	for _, p := range s.egress {
		if p == cmp.Or(provider, "-") {
			return true
		}
	}
	return false
}
