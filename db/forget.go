package db

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"breakwater/proxy/control"
)

// ours are the beginnings of the names of all files that a data directory
// holds, and its folders.
var ours = []string{FileName, "secrets.", "instance.", "clients.", "tray-hint-shown", "demo.log"}

// Forget deletes everything that belongs to a data directory: its secrets in
// the keychain, its files, the demo's directory inside, and the directory when
// nothing else lies in it. Files of others stay and are no error. No Breakwater
// may be using it. It goes on after an error and returns all of them.
func Forget(ctx context.Context, dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	failed := forgetKeychain(ctx, dir)
	entries, err := os.ReadDir(dir)
	failed = errors.Join(failed, err)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir() && e.Name() == DemoDir:
			failed = errors.Join(failed, Forget(ctx, path))
		case !e.IsDir() && isOurs(e.Name()):
			failed = errors.Join(failed, os.Remove(path))
		}
	}
	if left, err := os.ReadDir(dir); err == nil && len(left) == 0 {
		failed = errors.Join(failed, os.Remove(dir))
	}
	return failed
}

func isOurs(name string) bool {
	if strings.HasPrefix(name, LogName) {
		return true
	}
	for _, start := range ours {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	return false
}

// forgetKeychain removes the secrets of a data directory from the keychain,
// when that is where they are. The names come from the database.
func forgetKeychain(ctx context.Context, dir string) error {
	where, err := rememberedChoice(dir)
	if err != nil || where != KeychainSecrets {
		return nil // secrets in a file go with the file
	}
	k, err := openKeychain(ctx, dir, answers)
	if err != nil {
		return fmt.Errorf("the secrets in the keychain stay there, under %q: %w", keychainService, err)
	}
	names := []string{control.TokenSecret}
	store, err := Open(ctx, Options{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err == nil {
		var records []control.ConnectionRecord
		records, err = store.Connections(ctx)
		for _, r := range records {
			names = append(names, control.SecretName(r.ID), control.ProxySecretName(r.ID))
		}
		err = errors.Join(err, store.Close())
	}
	if err != nil {
		err = fmt.Errorf("which secrets the keychain holds, under %q: %w", keychainService, err)
	}
	for _, name := range names {
		err = errors.Join(err, k.DeleteSecret(name)) //nolint:contextcheck // the keychain knows none
	}
	return err
}
