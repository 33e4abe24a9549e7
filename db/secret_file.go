package db

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"breakwater/proxy/control"
	"breakwater/proxy/folder"
)

const (
	secretsFile = "secrets.enc"
	keyFile     = "secrets.key"
	keyBytes    = 32
)

// secretsMagic begins the file and is authenticated with its content.
var secretsMagic = []byte("breakwater-secrets-1\n")

// fileSecrets keeps secrets in one AES-256-GCM file; the key lies beside it,
// readable by its owner only. That keeps secrets out of backups, logs and
// searches, not from a program that runs as the same user. Changes are made
// under the folder's lock; reading needs none, because a file is replaced in
// one step and its key, once made, stays.
type fileSecrets struct{ dir string }

// secretsInFile makes sure that the file, if there is one, can be read.
func secretsInFile(dir string) (control.Secrets, error) {
	f := &fileSecrets{dir: dir}
	if _, err := f.load(); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *fileSecrets) damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrSecretsDamaged, filepath.Join(f.dir, secretsFile), fmt.Sprintf(format, args...))
}

// load reads and decrypts the file; an absent one holds nothing. It is read
// each time: the command line may have changed it, and decrypted keys should
// not lie about in memory longer than needed.
func (f *fileSecrets) load() (map[string]string, error) {
	sealed, err := folder.Read(filepath.Join(f.dir, secretsFile))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return map[string]string{}, nil
	case errors.Is(err, folder.ErrNotPlain), errors.Is(err, folder.ErrTooLarge):
		return nil, f.damaged("%v", errors.Unwrap(err))
	case err != nil:
		return nil, fmt.Errorf("read secrets: %w", err)
	}
	box, err := f.cipher(false)
	if err != nil {
		return nil, err
	}
	body, found := bytes.CutPrefix(sealed, secretsMagic)
	if !found || len(body) < box.NonceSize() {
		return nil, f.damaged("it does not begin like a secrets file")
	}
	nonce, body := body[:box.NonceSize()], body[box.NonceSize():]
	plain, err := box.Open(nil, nonce, body, secretsMagic)
	if err != nil {
		return nil, f.damaged("it does not fit its key or was changed")
	}
	all := map[string]string{}
	if err := json.Unmarshal(plain, &all); err != nil {
		return nil, f.damaged("its content is not readable")
	}
	return all, nil
}

func (f *fileSecrets) store(all map[string]string) error {
	plain, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("write secrets: %w", err)
	}
	box, err := f.cipher(true)
	if err != nil {
		return err
	}
	nonce := make([]byte, box.NonceSize())
	rand.Read(nonce) // never fails
	sealed := append(bytes.Clone(secretsMagic), nonce...)
	sealed = box.Seal(sealed, nonce, plain, secretsMagic)
	if err := folder.Write(filepath.Join(f.dir, secretsFile), sealed); err != nil {
		return fmt.Errorf("write secrets: %w", spaceless(err))
	}
	return nil
}

// cipher reads the key, or makes one where that is allowed: never beside a
// file that was encrypted with another.
func (f *fileSecrets) cipher(create bool) (cipher.AEAD, error) {
	path := filepath.Join(f.dir, keyFile)
	text, err := folder.Read(path)
	switch {
	case errors.Is(err, os.ErrNotExist) && create:
		key := make([]byte, keyBytes)
		rand.Read(key) // never fails
		text = []byte(hex.EncodeToString(key) + "\n")
		if err := folder.Write(path, text); err != nil {
			return nil, fmt.Errorf("write the key of the secrets: %w", spaceless(err))
		}
	case errors.Is(err, os.ErrNotExist):
		return nil, f.damaged("its key file %s is missing", keyFile)
	case errors.Is(err, folder.ErrNotPlain), errors.Is(err, folder.ErrTooLarge):
		return nil, f.damaged("its key file %s is not readable: %v", keyFile, errors.Unwrap(err))
	case err != nil:
		return nil, fmt.Errorf("read the key of the secrets: %w", err)
	}
	key, err := hex.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil || len(key) != keyBytes {
		return nil, f.damaged("its key file %s is not readable", keyFile)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// change loads, changes and stores what fn has changed; a damaged file is never
// written over.
func (f *fileSecrets) change(fn func(map[string]string) (changed bool)) error {
	return spaceless(folder.Change(context.Background(), f.dir, func() error {
		all, err := f.load()
		if err != nil || !fn(all) {
			return err
		}
		return f.store(all)
	}))
}

// Secret returns the value stored under name.
func (f *fileSecrets) Secret(name string) (value string, ok bool, err error) {
	all, err := f.load()
	if err != nil {
		return "", false, err
	}
	value, ok = all[name]
	return value, ok, nil
}

// SetSecret stores a value; it has reached the disk when the call returns.
func (f *fileSecrets) SetSecret(name, value string) error {
	return f.change(func(all map[string]string) bool {
		all[name] = value
		return true
	})
}

// AddSecret stores a value unless there is one, and returns the one that is
// stored then.
func (f *fileSecrets) AddSecret(name, value string) (stored string, err error) {
	err = f.change(func(all map[string]string) bool {
		if stored = all[name]; stored != "" {
			return false
		}
		stored, all[name] = value, value
		return true
	})
	if err != nil {
		return "", err
	}
	return stored, nil
}

// DeleteSecret forgets a value; an unknown name is no error.
func (f *fileSecrets) DeleteSecret(name string) error {
	return f.change(func(all map[string]string) bool {
		_, there := all[name]
		delete(all, name)
		return there
	})
}

// Backend returns FileSecrets.
func (f *fileSecrets) Backend() string { return FileSecrets }
