package db

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zalando/go-keyring"

	"breakwater/proxy/control"
)

// withKeychain gives the test a keychain that works in memory.
func withKeychain(t *testing.T) {
	t.Helper()
	t.Setenv(SecretsEnv, "")
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
	keyring.MockInit()
	t.Cleanup(func() { keyring.MockInitWithError(errors.New("no keychain in tests")) })
}

func openSecrets(t *testing.T, dir string, o SecretsOptions) control.Secrets {
	t.Helper()
	o.Log = testOptions(dir).Log
	s, err := OpenSecrets(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func secret(t *testing.T, s control.Secrets, name string) (string, bool) {
	t.Helper()
	v, ok, err := s.Secret(name)
	if err != nil {
		t.Fatal(err)
	}
	return v, ok
}

func TestSecretsInBothPlaces(t *testing.T) {
	withKeychain(t)
	for _, backend := range []string{FileSecrets, KeychainSecrets} {
		t.Run(backend, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "new")
			s := openSecrets(t, dir, SecretsOptions{Backend: backend})
			if s.Backend() != backend {
				t.Fatalf("backend %s", s.Backend())
			}
			if _, ok := secret(t, s, "a"); ok {
				t.Error("an empty store has a secret")
			}
			name := control.SecretName("c1")
			for _, v := range []string{"sk-old", "sk-ünï\n\x00", ""} {
				if err := s.SetSecret(name, v); err != nil {
					t.Fatal(err)
				}
				s = openSecrets(t, dir, SecretsOptions{Backend: backend})
				if got, ok := secret(t, s, name); got != v || !ok {
					t.Errorf("got %q, %v, want %q", got, ok, v)
				}
			}
			for range 2 {
				if err := s.DeleteSecret(name); err != nil {
					t.Error(err)
				}
			}
			if _, ok := secret(t, s, name); ok {
				t.Error("a deleted secret is still there")
			}
		})
	}
}

func TestKeychainIsChosenAndRemembered(t *testing.T) {
	withKeychain(t)
	dir := t.TempDir()
	s := openSecrets(t, dir, SecretsOptions{})
	if s.Backend() != KeychainSecrets {
		t.Fatalf("backend %s", s.Backend())
	}
	if err := s.SetSecret("k", "v"); err != nil {
		t.Fatal(err)
	}
	if v, ok := secret(t, openSecrets(t, dir, SecretsOptions{}), "k"); v != "v" || !ok {
		t.Errorf("got %q, %v", v, ok)
	}
	if _, ok := secret(t, openSecrets(t, t.TempDir(), SecretsOptions{}), "k"); ok {
		t.Error("another data directory sees the secret")
	}
	keyring.MockInitWithError(errors.New("locked"))
	if _, err := OpenSecrets(t.Context(), dir, SecretsOptions{}); !errors.Is(err, ErrKeychain) || !strings.Contains(err.Error(), SecretsEnv) {
		t.Errorf("a keychain that is gone: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, secretsFile)); err == nil {
		t.Error("an empty secrets file took its place")
	}
}

func TestFileIsChosenWhereThereIsNoKeychain(t *testing.T) {
	withKeychain(t)
	keyring.MockInitWithError(errors.New("no service"))
	dir := t.TempDir()
	if s := openSecrets(t, dir, SecretsOptions{}); s.Backend() != FileSecrets {
		t.Fatalf("backend %s", s.Backend())
	}
	keyring.MockInit()
	if s := openSecrets(t, dir, SecretsOptions{}); s.Backend() != FileSecrets {
		t.Error("a keychain that came later hides the file")
	}
}

func TestSecretsFileCountsAsChoice(t *testing.T) {
	withKeychain(t)
	dir := t.TempDir()
	if err := openSecrets(t, dir, SecretsOptions{Backend: FileSecrets}).SetSecret("k", "v"); err != nil {
		t.Fatal(err)
	}
	if v, _ := secret(t, openSecrets(t, dir, SecretsOptions{}), "k"); v != "v" {
		t.Errorf("got %q", v)
	}
}

func TestSecretsEnv(t *testing.T) {
	withKeychain(t)
	for value, want := range map[string]string{FileSecrets: FileSecrets, KeychainSecrets: KeychainSecrets} {
		t.Setenv(SecretsEnv, value)
		if s := openSecrets(t, t.TempDir(), SecretsOptions{}); s.Backend() != want {
			t.Errorf("%s gives %s", value, s.Backend())
		}
	}
	t.Setenv(SecretsEnv, "vault")
	if _, err := OpenSecrets(t.Context(), t.TempDir(), SecretsOptions{}); err == nil || !strings.Contains(err.Error(), "vault") {
		t.Errorf("got %v", err)
	}
}

func TestNoBusMeansNoQuestion(t *testing.T) {
	for _, c := range []struct {
		system, address string
		want            bool
	}{
		{"linux", "", false},
		{"linux", "autolaunch:", false},
		{"linux", "unix:path=/run/user/1000/bus", true},
		{"freebsd", "", false},
		{"darwin", "", true},
		{"windows", "", true},
	} {
		if got := busAvailable(c.system, c.address); got != c.want {
			t.Errorf("%s %q: %v", c.system, c.address, got)
		}
	}
	if runtime.GOOS != "linux" {
		return
	}
	withKeychain(t)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	if s := openSecrets(t, t.TempDir(), SecretsOptions{}); s.Backend() != FileSecrets {
		t.Error("the keychain was asked")
	}
}

// TestHungKeychain: an unlock dialog that nobody answers holds nothing up.
func TestHungKeychain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), probeLimit)
		defer cancel()
		start := time.Now()
		err := within(ctx, func() error { <-answer; return nil })
		if !errors.Is(err, ErrKeychain) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(start); took != probeLimit {
			t.Errorf("waited %v", took)
		}
		close(answer)
	})
}

func TestSecretsFileIsPrivateAndUnreadable(t *testing.T) {
	dir := t.TempDir()
	s := openSecrets(t, dir, SecretsOptions{Backend: FileSecrets})
	if err := s.SetSecret("connection/c1", "sk-very-secret"); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := ""
	for _, e := range entries {
		names += e.Name() + " "
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", e.Name(), info.Mode().Perm())
		}
		if text := contentOf(t, filepath.Join(dir, e.Name())); strings.Contains(text, "sk-very") || strings.Contains(text, "connection") {
			t.Errorf("%s can be read", e.Name())
		}
	}
	if names != "instance.files.lock secrets.enc secrets.key " {
		t.Errorf("files: %s", names)
	}
	if out := fmt.Sprintf("%v %+v", s, s); strings.Contains(out, "sk-very") {
		t.Error("printing shows a secret")
	}
}

func TestDamagedSecretsAreNeverEmptied(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, dir string){
		"a byte changed": func(t *testing.T, dir string) {
			overwrite(t, filepath.Join(dir, secretsFile), 40, []byte{0})
		},
		"cut": func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, secretsFile), 30); err != nil {
				t.Fatal(err)
			}
		},
		"emptied": func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, secretsFile), 0); err != nil {
				t.Fatal(err)
			}
		},
		"key gone": func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, keyFile)); err != nil {
				t.Fatal(err)
			}
		},
		"key cut": func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, keyFile), 10); err != nil {
				t.Fatal(err)
			}
		},
		"another key": func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, keyFile), []byte(strings.Repeat("ab", keyBytes)), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := openSecrets(t, dir, SecretsOptions{Backend: FileSecrets})
			if err := s.SetSecret("k", "v"); err != nil {
				t.Fatal(err)
			}
			harm(t, dir)
			before := contentOf(t, filepath.Join(dir, secretsFile))
			if _, err := OpenSecrets(t.Context(), dir, SecretsOptions{Backend: FileSecrets}); !errors.Is(err, ErrSecretsDamaged) {
				t.Errorf("open: %v", err)
			}
			if _, _, err := s.Secret("k"); !errors.Is(err, ErrSecretsDamaged) {
				t.Errorf("read: %v", err)
			}
			if err := s.SetSecret("k2", "v"); !errors.Is(err, ErrSecretsDamaged) {
				t.Errorf("write: %v", err)
			}
			if err := s.DeleteSecret("k"); !errors.Is(err, ErrSecretsDamaged) {
				t.Errorf("delete: %v", err)
			}
			if contentOf(t, filepath.Join(dir, secretsFile)) != before {
				t.Error("the file was changed")
			}
		})
	}
}

func TestBrokenChoiceIsAnError(t *testing.T) {
	withKeychain(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, choiceFile), []byte("??"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenSecrets(t.Context(), dir, SecretsOptions{}); !errors.Is(err, ErrSecretsDamaged) {
		t.Errorf("got %v", err)
	}
}

func TestDefaultDir(t *testing.T) {
	abs := t.TempDir()
	for _, c := range []struct {
		name, system string
		env          map[string]string
		want         string
	}{
		{"linux", "linux", nil, filepath.Join("/home/x", ".local", "share", "breakwater")},
		{"linux with XDG", "linux", map[string]string{"XDG_DATA_HOME": abs}, filepath.Join(abs, "breakwater")},
		{"linux with a relative XDG", "linux", map[string]string{"XDG_DATA_HOME": "data"}, filepath.Join("/home/x", ".local", "share", "breakwater")},
		{"macOS", "darwin", map[string]string{"XDG_DATA_HOME": abs}, filepath.Join("/home/x", "Library", "Application Support", "Breakwater")},
		{"Windows", "windows", map[string]string{"LOCALAPPDATA": abs}, filepath.Join(abs, "Breakwater")},
		{"Windows without LOCALAPPDATA", "windows", nil, filepath.Join("/home/x", "AppData", "Local", "Breakwater")},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := defaultDir(c.system, func(k string) string { return c.env[k] }, func() (string, error) { return "/home/x", nil })
			if got != c.want || err != nil {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
	nobody := func() (string, error) { return "", errors.New("no home") }
	if _, err := defaultDir("linux", func(string) string { return "" }, nobody); err == nil {
		t.Error("no home directory and no error")
	}
}

// The doctor names the place that is in use and the reason, and chooses none by
// asking.
func TestSecretsPlaceNamesWhatIsInUse(t *testing.T) {
	withKeychain(t)
	want := func(dir, place, why string) {
		t.Helper()
		got, because, err := SecretsPlace(dir)
		if err != nil || got != place || !strings.Contains(because, why) {
			t.Errorf("%q %q %v, want %q because %q", got, because, err, place, why)
		}
	}
	dir := t.TempDir()
	want(dir, "", "")
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("asking left %v %v", left, err)
	}
	openSecrets(t, dir, SecretsOptions{})
	want(dir, KeychainSecrets, "answered at the first start")
	t.Setenv(SecretsEnv, FileSecrets)
	want(dir, FileSecrets, "without it they are in the keychain")

	forced := t.TempDir()
	if err := openSecrets(t, forced, SecretsOptions{}).SetSecret("a", "b"); err != nil {
		t.Fatal(err)
	}
	want(forced, FileSecrets, SecretsEnv+" says so")
	t.Setenv(SecretsEnv, "")
	want(forced, FileSecrets, "secrets.enc lies in the folder")

	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	if runtime.GOOS != "darwin" && runtime.GOOS != "windows" {
		without := t.TempDir()
		openSecrets(t, without, SecretsOptions{})
		want(without, FileSecrets, "no keychain answered at the first start")
	}
	if err := os.WriteFile(filepath.Join(dir, choiceFile), []byte("drawer"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := SecretsPlace(dir); !errors.Is(err, ErrSecretsDamaged) {
		t.Errorf("a damaged choice: %v", err)
	}
}
