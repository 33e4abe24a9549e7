package control

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"breakwater/resilience/clock"
)

// held is everything outside the process that may not answer: each call of the
// kind that is held waits until it is let go.
type held struct {
	*memory
	noSecrets
	kind    string
	entered chan struct{} // one value for each call that waits
	letGo   chan struct{}
	refuse  bool // what waited fails afterwards

	kept map[string]string // the secrets, written by one call at a time
}

func (w *held) wait(kind string) error {
	if w.kind != kind {
		return nil
	}
	w.entered <- struct{}{}
	<-w.letGo
	if w.refuse {
		return errors.New("refused")
	}
	return nil
}

func (w *held) SetSecret(name, value string) error {
	err := w.wait("keychain")
	if err == nil {
		w.kept[name] = value
	}
	return err
}

func (w *held) DeleteSecret(name string) error {
	err := w.wait("keychain")
	delete(w.kept, name)
	return err
}

func (w *held) SaveConnection(context.Context, ConnectionRecord) error { return w.wait("disk") }
func (w *held) SaveSettings(context.Context, map[string][]byte) error  { return w.wait("disk") }

func (w *held) roots(string) (func(), error) { return func() {}, w.wait("file") }

func newSlow(t *testing.T, kind string) (*Service, *held) {
	t.Helper()
	w := &held{memory: newMemory(), entered: make(chan struct{}, 10), letGo: make(chan struct{}), kept: map[string]string{}}
	for i := range w.records {
		w.records[i].Priority = i + 1
	}
	s, err := New(t.Context(), Config{Store: w, Secrets: w, Roots: w.roots, Log: slog.New(slog.DiscardHandler), Clock: clock.System{}})
	if err != nil {
		t.Fatal(err)
	}
	w.kind = kind
	return s, w
}

var slowCalls = []struct {
	name, kind string
	call       func(ctx context.Context, s *Service) error
}{
	{"a key that is added", "keychain", func(ctx context.Context, s *Service) error {
		_, err := s.AddConnection(ctx, ConnectionInput{Provider: "groq", Name: "gamma", APIKey: "sk-test-gamma"})
		return err
	}},
	{"a key that is replaced", "keychain", func(ctx context.Context, s *Service) error {
		_, err := s.EditConnection(ctx, "alpha", ConnectionPatch{APIKey: new("sk-test-alpha")})
		return err
	}},
	{"the login of an outbound proxy", "keychain", func(ctx context.Context, s *Service) error {
		_, err := s.EditConnection(ctx, "alpha", ConnectionPatch{ProxyURL: new("http://u:p@127.0.0.1:3128")})
		return err
	}},
	{"a key that is forgotten", "keychain", func(ctx context.Context, s *Service) error { return s.DeleteConnection(ctx, "alpha") }},
	{"a file of certificates", "file", func(ctx context.Context, s *Service) error {
		_, err := s.EditSettings(ctx, SettingsPatch{CAFile: new("/drive/roots.pem")})
		return err
	}},
	{"a connection on a held disk", "disk", func(ctx context.Context, s *Service) error {
		_, err := s.EditConnection(ctx, "alpha", ConnectionPatch{Name: new("delta")})
		return err
	}},
	{"settings on a held disk", "disk", func(ctx context.Context, s *Service) error {
		_, err := s.EditSettings(ctx, SettingsPatch{Theme: new("dark")})
		return err
	}},
}

// reads are calls that only look.
func reads(ctx context.Context, s *Service) error {
	_, all := s.AllSettings(ctx)
	_, set := s.Settings(ctx)
	_, resilience := s.Resilience(ctx)
	_, keys := s.Keys(ctx)
	_, export := s.Export(ctx, "")
	_, sealed := s.Export(ctx, "a long passphrase")
	_, dry := s.Import(ctx, ImportRequest{Backup: Backup{
		Format: backupFormat, Settings: SettingsPatch{Theme: new("light")}, Connections: []ConnectionInput{{Provider: "groq", Name: "new", APIKey: "sk-test-new"}},
	}})
	return errors.Join(all, set, resilience, keys, export, sealed, dry)
}

// writes are changes that need neither the keychain nor a user's file.
func writes(ctx context.Context, s *Service) error {
	_, edit := s.EditConnection(ctx, "beta", ConnectionPatch{Name: new("omega")})
	_, theme := s.EditSettings(ctx, SettingsPatch{Theme: new("dark")})
	return errors.Join(edit, theme, s.ReorderConnections(ctx, []string{"beta"}), s.SetRateLimitProtection(ctx, "beta", true))
}

// No management call waits for a keychain prompt or a user's file of another
// one, and none that only looks waits for the disk.
func TestManagementAnswersWhileOneCallWaits(t *testing.T) {
	for _, c := range slowCalls {
		t.Run(c.name, func(t *testing.T) {
			s, w := newSlow(t, c.kind)
			waiting := make(chan error, 1)
			go func() { waiting <- c.call(t.Context(), s) }()
			select {
			case <-w.entered:
			case err := <-waiting:
				t.Fatalf("it did not wait: %v", err)
			}
			others := make(chan error, 1)
			go func() {
				err := reads(t.Context(), s)
				if c.kind != "disk" { // changes are stored one after the other
					err = errors.Join(err, writes(t.Context(), s))
				}
				others <- err
			}()
			select {
			case err := <-others:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(20 * time.Second):
				t.Error("the others wait as well")
			}
			close(w.letGo)
			if err := <-waiting; err != nil {
				t.Errorf("the one that waited: %v", err)
			}
		})
	}
}

func TestSecretsOfAConnectionChangeInTurn(t *testing.T) {
	s, w := newSlow(t, "keychain")
	first, second := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := s.EditConnection(t.Context(), "alpha", ConnectionPatch{APIKey: new("sk-test-one")})
		first <- err
	}()
	<-w.entered
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		_, err := s.EditConnection(ctx, "alpha", ConnectionPatch{APIKey: new("sk-test-two")})
		second <- err
	}()
	leave()
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left while it waited: %v", err)
	}
	close(w.letGo)
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	r, _ := s.Route("alpha")
	if got := w.kept[SecretName("alpha")]; got != "sk-test-one" || r.key != got {
		t.Errorf("stored %q, in use %q", got, r.key)
	}
	if len(s.secrets.taken) != 0 {
		t.Error("turns are kept")
	}
}

func TestSecretOfARefusedChangeIsTakenBack(t *testing.T) {
	s, w := newSlow(t, "disk")
	w.refuse = true
	close(w.letGo)
	if _, err := s.EditConnection(t.Context(), "alpha", ConnectionPatch{APIKey: new("sk-test-new")}); err == nil {
		t.Error("the edit was stored")
	}
	if got := w.kept[SecretName("alpha")]; got != "k" {
		t.Errorf("the edited one has %q", got)
	}
	if _, err := s.AddConnection(t.Context(), ConnectionInput{Provider: "groq", Name: "gamma", APIKey: "sk-test-gamma"}); err == nil {
		t.Error("the connection was stored")
	}
	if len(w.kept) != 1 {
		t.Errorf("%d secrets are left", len(w.kept))
	}
}
