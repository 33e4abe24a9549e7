package db

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/folder"
)

// The names of the two places for secrets, as Backend returns them and as
// BREAKWATER_SECRETS takes them.
const (
	KeychainSecrets = "keychain"
	FileSecrets     = "file"
)

// SecretsEnv is the environment variable that forces one of the two places,
// for containers and tests.
const SecretsEnv = "BREAKWATER_SECRETS"

// Errors of OpenSecrets and of the secrets themselves, for errors.Is.
var (
	// ErrSecretsDamaged means that the secrets file or its key cannot be read;
	// neither was changed.
	ErrSecretsDamaged = errors.New("the stored secrets are damaged")
	// ErrKeychain means that the system's keychain, which holds the secrets of
	// this data directory, does not answer.
	ErrKeychain = errors.New("the system's keychain does not answer")
)

// probeLimit is how long a keychain may take to show that it works: an unlock
// dialog that nobody answers must not hold the start up.
const probeLimit = 3 * time.Second

// choiceFile remembers in which place the secrets of a data directory are.
const choiceFile = "secrets.backend"

// SecretsOptions say where secrets are kept.
type SecretsOptions struct {
	// Backend is KeychainSecrets, FileSecrets, or empty: then SecretsEnv, the
	// remembered choice and a probe of the keychain decide, in this order.
	Backend string
	Log     *slog.Logger // nil is slog.Default
}

// OpenSecrets opens the secrets of a data directory: in the keychain of the
// system, or in an encrypted file where there is none. The choice is
// remembered, so that a keychain that is missing one day is an error
// (ErrKeychain) and not an empty store.
func OpenSecrets(ctx context.Context, dir string, o SecretsOptions) (control.Secrets, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	forced := o.Backend
	if forced == "" {
		forced = os.Getenv(SecretsEnv)
	}
	switch forced {
	case FileSecrets:
		return secretsInFile(dir)
	case KeychainSecrets:
		k, err := openKeychain(ctx, dir, canStore)
		if err != nil {
			return nil, err
		}
		return k, nil
	case "":
	default:
		return nil, fmt.Errorf("%s=%s: want %s or %s", SecretsEnv, forced, KeychainSecrets, FileSecrets)
	}
	remembered, err := rememberedChoice(dir)
	if err != nil {
		return nil, err
	}
	if remembered != "" {
		return secretsIn(ctx, dir, remembered)
	}
	return chooseSecrets(ctx, dir, o.Log)
}

// secretsIn opens the secrets in the place that was chosen before.
func secretsIn(ctx context.Context, dir, place string) (control.Secrets, error) {
	if place == FileSecrets {
		return secretsInFile(dir)
	}
	k, err := openKeychain(ctx, dir, answers)
	if err != nil {
		return nil, fmt.Errorf("the secrets of %s are in the keychain (%s=%s would begin a file without them): %w", dir, SecretsEnv, FileSecrets, err)
	}
	return k, nil
}

// chooseSecrets decides at the first start and remembers it. Two processes
// must not choose differently: each would make secrets that the other does not
// see.
func chooseSecrets(ctx context.Context, dir string, log *slog.Logger) (control.Secrets, error) {
	unlock, err := folder.Lock(ctx, dir)
	switch {
	case err == nil:
		defer unlock()
	case !faulty(spaceless(err)): // in a folder that takes no writes there is no file to make twice
		return nil, err
	}
	remembered, err := rememberedChoice(dir)
	if err != nil {
		return nil, err
	}
	if remembered != "" { // another process has chosen meanwhile
		return secretsIn(ctx, dir, remembered)
	}
	var s control.Secrets
	k, err := openKeychain(ctx, dir, canStore)
	switch {
	case err == nil:
		s = k
	case ctx.Err() != nil:
		return nil, ctx.Err()
	default:
		log.Info("secrets kept in an encrypted file", "reason", err)
		if s, err = secretsInFile(dir); err != nil {
			return nil, err
		}
	}
	err = spaceless(folder.Write(filepath.Join(dir, choiceFile), []byte(s.Backend()+"\n")))
	if faulty(err) {
		log.Warn("where secrets are is decided again at the next start", "error", err)
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("remember where secrets are: %w", err)
	}
	return s, nil
}

// rememberedChoice returns the place chosen at an earlier start. A secrets file
// counts as a choice: what it holds must not go out of sight.
func rememberedChoice(dir string) (string, error) {
	text, err := folder.Read(filepath.Join(dir, choiceFile))
	if err == nil {
		switch choice := strings.TrimSpace(string(text)); choice {
		case KeychainSecrets, FileSecrets:
			return choice, nil
		}
		return "", fmt.Errorf("%w: %s holds neither %q nor %q", ErrSecretsDamaged, filepath.Join(dir, choiceFile), KeychainSecrets, FileSecrets)
	}
	if errors.Is(err, folder.ErrNotPlain) || errors.Is(err, folder.ErrTooLarge) {
		return "", fmt.Errorf("%w: %w", ErrSecretsDamaged, err)
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("where secrets are: %w", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, secretsFile)); err == nil {
		return FileSecrets, nil
	}
	return "", nil
}

// SecretsPlace tells where the secrets of a data directory are kept, and why,
// without opening or choosing anything. The place is empty before the first
// start.
func SecretsPlace(dir string) (place, why string, err error) {
	remembered, err := rememberedChoice(dir)
	if err != nil {
		return "", "", err
	}
	switch forced := os.Getenv(SecretsEnv); {
	case forced != "" && remembered != "" && forced != remembered:
		return forced, fmt.Sprintf("because %s says so here; without it they are in the %s of this folder, and those are others", SecretsEnv, remembered), nil
	case forced != "":
		return forced, fmt.Sprintf("because %s says so", SecretsEnv), nil
	case remembered == KeychainSecrets:
		return remembered, "which answered at the first start", nil
	case remembered == FileSecrets:
		if _, err := os.Stat(filepath.Join(dir, choiceFile)); err != nil {
			return remembered, "because " + secretsFile + " lies in the folder", nil //nolint:nilerr // it was not remembered
		}
		return remembered, "because no keychain answered at the first start", nil
	}
	return "", "", nil
}

// keychainPossible tells whether asking for a keychain makes sense at all:
// without a session bus the library would try to start one.
func keychainPossible() bool {
	return busAvailable(runtime.GOOS, os.Getenv("DBUS_SESSION_BUS_ADDRESS"))
}

func busAvailable(system, address string) bool {
	switch system {
	case "darwin", "windows":
		return true
	}
	return address != "" && address != "autolaunch:"
}
