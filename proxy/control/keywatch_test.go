package control

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"breakwater/resilience/clock"
)

// What lives by a key ends with the key's right, and not before.
func TestWhileAuthorized(t *testing.T) {
	edit := func(p func() KeyPatch) func(context.Context, *Service, string) error {
		return func(ctx context.Context, s *Service, id string) error {
			_, err := s.EditKey(ctx, id, p())
			return err
		}
	}
	scopes := func(list ...string) func(context.Context, *Service, string) error {
		return edit(func() KeyPatch { return KeyPatch{Scopes: &list} })
	}
	ends := func(d time.Duration) func(context.Context, *Service, string) error {
		return edit(func() KeyPatch {
			return KeyPatch{ExpiresAt: OptionalTime{Given: true, Time: new(time.Now().Add(d))}}
		})
	}
	const never = 3 * time.Hour
	for name, tc := range map[string]struct {
		change func(context.Context, *Service, string) error
		after  time.Duration
	}{
		"another name":      {edit(func() KeyPatch { return KeyPatch{Name: new("Other")} }), never},
		"a scope more":      {scopes(ScopeManage, ScopeClient), never},
		"an end far ahead":  {ends(4 * time.Hour), never},
		"an end ahead":      {ends(90 * time.Minute), 90 * time.Minute},
		"switched off":      {edit(func() KeyPatch { return KeyPatch{Active: new(false)} }), 0},
		"without the scope": {scopes(ScopeClient), 0},
		"deleted":           {func(ctx context.Context, s *Service, id string) error { return s.DeleteKey(ctx, id) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _, _ := keyring(t)
				s.cfg.Clock = clock.System{}
				k, err := s.AddKey(t.Context(), KeyInput{Name: "K", Scopes: []string{ScopeManage}})
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				ctx, cancel := s.WhileAuthorized(t.Context(), ScopeManage, "sk-foreign", k.Key)
				defer cancel()
				if err := tc.change(t.Context(), s, k.ID); err != nil {
					t.Fatal(err)
				}
				select {
				case <-ctx.Done():
				case <-time.After(never):
				}
				if got := time.Since(began); got != tc.after {
					t.Errorf("it ended after %v, want %v", got, tc.after)
				}
			})
		})
	}
}

// A key that was revoked between the check and the watch opens nothing.
func TestWhileAuthorizedNeedsAKey(t *testing.T) {
	s, _, _ := keyring(t)
	ctx, cancel := s.WhileAuthorized(t.Context(), ScopeManage, "sk-foreign")
	defer cancel()
	if ctx.Err() == nil {
		t.Error("a foreign key has a right that lasts")
	}
}
