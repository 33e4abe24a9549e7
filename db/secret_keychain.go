package db

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/zalando/go-keyring"

	"breakwater/proxy/folder"
)

// keychainService is the name under which the keychain lists our secrets.
const keychainService = "breakwater"

// callLimit is how long one call may take: the user may be typing the password
// of the keychain.
const callLimit = time.Minute

// keychain keeps secrets in the system's own store. Two data directories of
// one user never share an account name.
type keychain struct {
	dir    string
	prefix string
}

// openKeychain returns the keychain if the probe of it ends well in time.
func openKeychain(ctx context.Context, dir string, probe func(*keychain) error) (*keychain, error) {
	if !keychainPossible() {
		return nil, fmt.Errorf("%w: there is no session bus", ErrKeychain)
	}
	full, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if real, err := filepath.EvalSymlinks(full); err == nil {
		full = real
	}
	sum := sha256.Sum256([]byte(full))
	k := &keychain{dir: dir, prefix: hex.EncodeToString(sum[:4]) + "/"}
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	if err := within(ctx, func() error { return probe(k) }); err != nil {
		return nil, err
	}
	return k, nil
}

// probeName is the account that the probes use.
const probeName = "probe"

// canStore writes, reads and removes a value: a keychain that answers but does
// not store would lose the first key. The name is this probe's alone: another
// process that probes must not take the value away.
func canStore(k *keychain) error {
	const value = "works"
	name := k.prefix + probeName + "-" + rand.Text()
	if err := keyring.Set(keychainService, name, value); err != nil {
		return err
	}
	got, err := keyring.Get(keychainService, name)
	switch {
	case errors.Is(err, keyring.ErrNotFound) || err == nil && got != value:
		return errors.New("it does not return what was stored")
	case err != nil:
		return err
	}
	return keyring.Delete(keychainService, name)
}

// answers asks for a value that is not there: enough for a keychain that has
// been in use, and quick.
func answers(k *keychain) error {
	_, err := keyring.Get(keychainService, k.prefix+probeName)
	if errors.Is(err, keyring.ErrNotFound) {
		return nil
	}
	return err
}

// within runs a call that knows no context and stops waiting for it when ctx
// ends; the call itself goes on until the keychain answers.
func within(ctx context.Context, call func() error) error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		if err != nil && !errors.Is(err, keyring.ErrNotFound) {
			return fmt.Errorf("%w: %w", ErrKeychain, err)
		}
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrKeychain, ctx.Err())
	}
}

func (k *keychain) do(call func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	return within(ctx, call)
}

// Secret returns the value stored under name.
func (k *keychain) Secret(name string) (value string, ok bool, err error) {
	got := make(chan string, 1)
	err = k.do(func() error {
		v, err := keyring.Get(keychainService, k.prefix+name)
		got <- v
		return err
	})
	switch {
	case errors.Is(err, keyring.ErrNotFound):
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("read secret %s: %w", name, err)
	}
	return <-got, true, nil
}

// SetSecret stores a value.
func (k *keychain) SetSecret(name, value string) error {
	err := k.do(func() error { return keyring.Set(keychainService, k.prefix+name, value) })
	if err != nil {
		return fmt.Errorf("store secret %s: %w", name, err)
	}
	return nil
}

// AddSecret stores a value unless there is one, and returns the one that is
// stored then. The folder's lock is held until the keychain has answered, also
// when this call no longer waits for it: a late answer must not replace what
// another process has stored.
func (k *keychain) AddSecret(name, value string) (stored string, err error) {
	kept := make(chan string, 1)
	err = k.do(func() error {
		return folder.Change(context.Background(), k.dir, func() error {
			v, err := keyring.Get(keychainService, k.prefix+name)
			switch {
			case errors.Is(err, keyring.ErrNotFound) || err == nil && v == "":
				v, err = value, keyring.Set(keychainService, k.prefix+name, value)
			}
			kept <- v
			return err
		})
	})
	if err != nil {
		return "", fmt.Errorf("store secret %s: %w", name, err)
	}
	return <-kept, nil
}

// DeleteSecret forgets a value; an unknown name is no error.
func (k *keychain) DeleteSecret(name string) error {
	err := k.do(func() error { return keyring.Delete(keychainService, k.prefix+name) })
	if err != nil && !errors.Is(err, keyring.ErrNotFound) {
		return fmt.Errorf("delete secret %s: %w", name, err)
	}
	return nil
}

// Backend returns KeychainSecrets.
func (k *keychain) Backend() string { return KeychainSecrets }
