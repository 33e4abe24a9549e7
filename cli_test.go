package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"breakwater/db"
	"breakwater/proxy/cli"
	"breakwater/proxy/control"
)

// What is wrong with the data folder leads to advice about that, and not about
// a keychain that is not in use.
func TestRemedyFitsWhatIsWrong(t *testing.T) {
	seen := map[string]error{}
	for _, err := range []error{
		db.ErrDamaged, db.ErrNewer, db.ErrSecretsDamaged, db.ErrKeychain, fs.ErrPermission, control.ErrDiskFull, fs.ErrNotExist,
	} {
		text := remedy(fmt.Errorf("open it: %w", err))
		if other, ok := seen[text]; ok || text == "" {
			t.Errorf("%v and %v lead to %q", err, other, text)
		}
		seen[text] = err
		if strings.Contains(text, "eychain") != (err == db.ErrKeychain) { //nolint:errorlint // the sentinel itself
			t.Errorf("%v leads to %q", err, text)
		}
	}
}

// A folder that cannot be one is told as that, and not as one where nothing runs.
func TestConnectingSaysWhatIsWrongWithTheFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := connect(t.Context(), cli.Where{DataDir: file}); err == nil || errors.Is(err, errNotRunning) {
		t.Errorf("a file: %v", err)
	}
	if _, _, err := connect(t.Context(), cli.Where{DataDir: t.TempDir()}); !errors.Is(err, errNotRunning) {
		t.Errorf("an empty folder: %v", err)
	}
}

// A damaged file of secrets is told as the place in use.
func TestTheDoctorNamesThePlaceOfDamagedSecrets(t *testing.T) {
	t.Setenv(db.SecretsEnv, db.FileSecrets)
	dir := t.TempDir()
	for _, name := range []string{"secrets.enc", "secrets.key"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("junk"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at, err := secretsOf(t.Context(), dir)
	if at.Where != db.FileSecrets || !at.Chosen || err == nil || strings.Contains(remedy(err), "eychain") {
		t.Errorf("%+v, %v", at, err)
	}
}
