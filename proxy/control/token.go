package control

import (
	"crypto/rand"
	"errors"
	"fmt"
)

// Token returns the management token, which is made at the first call and
// lives with the other secrets (ruling 32).
func Token(s Secrets) (string, error) {
	token, ok, err := s.Secret(TokenSecret)
	if err != nil {
		return "", fmt.Errorf("read the management token: %w", err)
	}
	if ok && token != "" {
		return token, nil
	}
	// Another process may be making it just now: the first one counts.
	if token, err = s.AddSecret(TokenSecret, freshToken()); err != nil {
		return "", fmt.Errorf("store the management token: %w", err)
	}
	return token, nil
}

// TokenFor is Token for the program itself, which starts also where nothing can
// be written: stored then keeps the token as soon as that is possible, and is
// to be called until it returns nil.
func TokenFor(s Secrets) (token string, stored func() error, err error) {
	token, err = Token(s)
	if err == nil {
		return token, func() error { return nil }, nil
	}
	if !errors.Is(err, ErrReadOnly) && !errors.Is(err, ErrDiskFull) {
		return "", nil, err
	}
	token = freshToken()
	return token, func() error {
		if have, ok, err := s.Secret(TokenSecret); err == nil && ok && have == token {
			return nil
		}
		return storeToken(s, token)
	}, nil
}

func freshToken() string { return "bwk_" + rand.Text() + rand.Text() }

func storeToken(s Secrets, token string) error {
	if err := s.SetSecret(TokenSecret, token); err != nil {
		return fmt.Errorf("store the management token: %w", err)
	}
	return nil
}
