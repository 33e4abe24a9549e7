package setup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// keep writes a private copy into the data folder under a name that no file
// has, and returns the name.
func (s Setup) keep(id, kind string, text []byte) (string, error) {
	name := "clients." + id + "." + random() + "." + kind
	out, err := os.OpenFile(filepath.Join(s.Dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("keep a copy: %w", err)
	}
	_, err = out.Write(text)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return "", fmt.Errorf("keep a copy: %w", err)
	}
	return name, nil
}

var errNoCopy = errors.New("the copy of the former file is missing or damaged")

// kept returns the former file from its copy, if that is whole.
func (s Setup) kept(n note) ([]byte, error) {
	if n.Copy == "" || n.Before == "" || filepath.IsAbs(n.Copy) {
		return nil, errNoCopy // copies of version 1 have no digest to tell them by
	}
	b, err := readAtMost(filepath.Join(s.Dir, n.Copy), maxFile)
	if err != nil {
		return nil, errNoCopy
	}
	text := string(b)
	for _, ch := range n.Edits {
		if ch.Secret == "" {
			continue
		}
		raw, err := s.old(ch)
		if err != nil {
			return nil, err
		}
		text = strings.ReplaceAll(text, ch.Secret, raw)
	}
	if sum([]byte(text)) != n.Before {
		return nil, errNoCopy
	}
	return []byte(text), nil
}

// old returns what stood where a change was made.
func (s Setup) old(ch change) (string, error) { return s.reveal(ch.Old, ch.Secret) }

func (s Setup) reveal(plain, secret string) (string, error) {
	if secret == "" {
		return plain, nil
	}
	if s.Secrets == nil {
		return "", errors.New("the key that stood there is in the secret store, which cannot be opened")
	}
	raw, ok, err := s.Secrets.Secret(secret)
	if err != nil {
		return "", fmt.Errorf("the key that stood there cannot be read: %w", err)
	}
	if !ok {
		return "", errors.New("the key that stood there is no longer in the secret store")
	}
	return raw, nil
}

// forget deletes the copies and secrets of a note, and of those it stands on,
// that another note, nil for none, does not need. What is left over by a crash
// harms nobody.
func (s Setup) forget(n note, needed *note) {
	used := map[string]bool{"": true}
	if needed != nil {
		for _, one := range needed.states() {
			used[one.Copy] = true
			for _, ch := range one.Edits {
				used[ch.Secret] = true
			}
		}
	}
	for _, one := range n.states() {
		if !used[one.Copy] && filepath.Base(one.Copy) == one.Copy {
			_ = os.Remove(filepath.Join(s.Dir, one.Copy))
		}
		for _, ch := range one.Edits {
			if !used[ch.Secret] && s.Secrets != nil {
				_ = s.Secrets.DeleteSecret(ch.Secret)
			}
		}
	}
}
