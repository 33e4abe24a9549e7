package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"breakwater/db"
)

// What is wrong with the data folder leads to advice about that, and not about
// a keychain that is not in use.
func TestRemedyFitsWhatIsWrong(t *testing.T) {
	seen := map[string]error{}
	for _, err := range []error{
		db.ErrDamaged, db.ErrNewer, db.ErrSecretsDamaged, db.ErrKeychain, fs.ErrPermission, syscall.ENOSPC, fs.ErrNotExist,
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
