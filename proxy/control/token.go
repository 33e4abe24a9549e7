package control

import (
	"crypto/rand"
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
	if token, err = s.AddSecret(TokenSecret, "bwk_"+rand.Text()+rand.Text()); err != nil {
		return "", fmt.Errorf("store the management token: %w", err)
	}
	return token, nil
}
