package db

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/zalando/go-keyring"

	"breakwater/proxy/control"
)

func TestForgetLeavesNothing(t *testing.T) {
	for _, backend := range []string{FileSecrets, KeychainSecrets} {
		t.Run(backend, func(t *testing.T) {
			keyring.MockInit()
			t.Cleanup(func() { keyring.MockInitWithError(errors.New("no keychain in tests")) })
			t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
			dir := filepath.Join(t.TempDir(), "data")
			for _, d := range []string{dir, filepath.Join(dir, DemoDir)} {
				fill(t, d, backend)
			}
			if err := Forget(t.Context(), dir); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the directory is still there: %v", err)
			}
			for _, name := range []string{control.TokenSecret, control.SecretName("c1")} {
				k, err := openKeychain(t.Context(), dir, answers)
				if err != nil {
					t.Fatal(err)
				}
				if _, ok, err := k.Secret(name); ok || err != nil {
					t.Errorf("the keychain still holds %s (%v)", name, err)
				}
			}
		})
	}
}

// fill makes a data directory as a running program leaves it.
func fill(t *testing.T, dir, backend string) {
	t.Helper()
	s, err := Open(t.Context(), testOptions(dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SaveConnection(t.Context(), control.ConnectionRecord{ID: "c1", Provider: "anthropic", Name: "one"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := writePrivate(filepath.Join(dir, choiceFile), []byte(backend+"\n")); err != nil {
		t.Fatal(err)
	}
	secrets, err := OpenSecrets(t.Context(), dir, SecretsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{control.TokenSecret, control.SecretName("c1")} {
		if err := secrets.SetSecret(name, "value"); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"instance.lock", FileName + ".20300102T030405Z.v1.bak"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// --data-dir may name any folder: what is not ours stays.
func TestForgetLeavesFilesOfOthers(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"letter.txt", FileName, "secrets.backend"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(FileSecrets), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "instance.photos"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Forget(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 || entries[0].Name() != "instance.photos" || entries[1].Name() != "letter.txt" {
		t.Errorf("left: %v", entries)
	}
}

func TestForgetWithoutADirectory(t *testing.T) {
	if err := Forget(t.Context(), filepath.Join(t.TempDir(), "none")); err != nil {
		t.Error(err)
	}
}
