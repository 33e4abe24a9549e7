package facadetest

import (
	"context"
	"encoding/json"
	"errors"

	"breakwater/proxy/control"
	"breakwater/resilience/settings"
)

// policy is what the fake keeps of the resilience settings.
type policy struct {
	stored, lockout []byte
	rules           map[string][]settings.ErrorRule
	defaults        map[string]settings.ErrorDefault
	affinity        int64
}

func noEnv(string) string { return "" }

// ClearLockouts lifts the lockouts that the snapshot shows.
func (f *Fake) ClearLockouts(ctx context.Context, which control.LockoutFilter) (int, error) {
	err := f.enter(ctx, "ClearLockouts")
	defer f.mu.Unlock()
	if err != nil {
		return 0, err
	}
	n := 0
	for i := range f.snap.Connections {
		c := &f.snap.Connections[i]
		if which.Provider != "" && which.Provider != c.Provider || which.ConnectionID != "" && which.ConnectionID != c.ID {
			continue
		}
		kept := []control.Lockout{}
		for _, l := range c.Lockouts {
			if which.Model == "" || which.Model == l.Model {
				n++
			} else {
				kept = append(kept, l)
			}
		}
		c.Lockouts = kept
	}
	return n, nil
}

// Resilience returns the resilience settings.
func (f *Fake) Resilience(ctx context.Context) (control.Resilience, error) {
	err := f.enter(ctx, "Resilience")
	defer f.mu.Unlock()
	return f.resilience(), err
}

func (f *Fake) resilience() control.Resilience {
	s, _ := settings.Resolve(f.policy.stored, f.policy.lockout, noEnv)
	return control.Resilience{Settings: s, Origins: settings.Origins(f.policy.stored, noEnv)}
}

// EditResilience applies a patch.
func (f *Fake) EditResilience(ctx context.Context, patch json.RawMessage) (control.Resilience, error) {
	err := f.enter(ctx, "EditResilience")
	defer f.mu.Unlock()
	if err != nil {
		return control.Resilience{}, err
	}
	stored, err := settings.Patch(f.policy.stored, patch)
	if err != nil {
		return control.Resilience{}, invalid(err)
	}
	f.policy.stored = stored
	return f.resilience(), nil
}

func invalid(err error) error {
	var p *settings.PatchError
	if !errors.As(err, &p) {
		return err
	}
	bad := &control.InvalidError{}
	for _, field := range p.Fields {
		bad.Fields = append(bad.Fields, control.FieldError(field))
	}
	return bad
}

// Guide returns the guide's further settings.
func (f *Fake) Guide(ctx context.Context) (control.Guide, error) {
	err := f.enter(ctx, "Guide")
	defer f.mu.Unlock()
	return f.guide(), err
}

func (f *Fake) guide() control.Guide {
	g := control.Guide{
		ModelLockout: f.resilience().ModelLockout, ProviderErrorRules: f.policy.rules,
		ProviderErrorDefaults: f.policy.defaults, SessionAffinityTTLMs: f.policy.affinity,
		GuideOrigins: settings.LockoutOrigins(f.policy.lockout),
	}
	if g.ProviderErrorRules == nil {
		g.ProviderErrorRules = map[string][]settings.ErrorRule{}
	}
	if g.ProviderErrorDefaults == nil {
		g.ProviderErrorDefaults = map[string]settings.ErrorDefault{}
	}
	return g
}

// EditGuide changes the guide's further settings.
func (f *Fake) EditGuide(ctx context.Context, patch control.GuidePatch) (control.Guide, error) {
	err := f.enter(ctx, "EditGuide")
	defer f.mu.Unlock()
	if err != nil {
		return control.Guide{}, err
	}
	if err := f.editGuide(patch); err != nil {
		return control.Guide{}, err
	}
	f.revision++
	return f.guide(), nil
}

func (f *Fake) editGuide(patch control.GuidePatch) (err error) {
	next := f.policy
	if patch.ModelLockout != nil {
		if next.lockout, err = settings.PatchLockout(next.lockout, patch.ModelLockout); err != nil {
			return invalid(err)
		}
	}
	if patch.ProviderErrorRules != nil {
		if next.rules, err = settings.ParseErrorRules(patch.ProviderErrorRules); err != nil {
			return invalid(err)
		}
	}
	if patch.ProviderErrorDefaults != nil {
		if next.defaults, err = settings.ParseErrorDefaults(patch.ProviderErrorDefaults); err != nil {
			return invalid(err)
		}
	}
	if patch.SessionAffinityTTLMs != nil {
		if next.affinity, err = settings.ParseAffinityTTL(float64(*patch.SessionAffinityTTLMs)); err != nil {
			return invalid(err)
		}
	}
	f.policy = next
	return nil
}
