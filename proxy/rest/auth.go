package rest

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"breakwater/proxy/control"
)

const (
	// failBurst is how many wrong credentials in a row get a 403 of their own
	// before the answer becomes a 429.
	failBurst = 10
	// refillSeconds is after how many seconds one more gets a 403 again.
	refillSeconds = 6
)

// authority checks the management credential (ruling 32).
type authority struct {
	token func() string
	key   func(presented ...string) error
	log   *slog.Logger
	now   func() time.Time

	mu   sync.Mutex
	left float64 // failures that still get a 403
	at   time.Time
}

func newAuthority(token func() string, key func(...string) error, log *slog.Logger, now func() time.Time) *authority {
	if token == nil {
		token = func() string { return "" }
	}
	if key == nil {
		key = func(...string) error { return control.ErrKeyUnknown }
	}
	return &authority{token: token, key: key, log: log, now: now, left: failBurst, at: now()}
}

// check returns nil for a request that carries the management token, or an API
// key with the scope manage, as a Bearer or in X-Breakwater-Key.
func (a *authority) check(r *http.Request) error {
	presented := credentials(r)
	if len(presented) == 0 {
		return errNoCredential
	}
	if a.valid(presented) {
		return nil
	}
	switch err := a.key(presented...); {
	case err == nil:
		return nil
	case errors.Is(err, control.ErrKeyScope):
		return errKeyScope
	case !errors.Is(err, control.ErrKeyUnknown):
		return errKeyRefused
	}
	if !a.countFailure() {
		return errTooMany
	}
	a.log.WarnContext(r.Context(), "management token refused",
		"method", r.Method, "path", r.URL.Path, "from", r.RemoteAddr)
	return errBadToken
}

// credentials returns what the request presents, never taken from the URL.
func credentials(r *http.Request) []string {
	var out []string
	if key := strings.TrimSpace(r.Header.Get("X-Breakwater-Key")); key != "" {
		out = append(out, key)
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); strings.EqualFold(scheme, "Bearer") && token != "" {
		out = append(out, token)
	}
	return out
}

// valid compares digests, so that neither the length nor the first differing
// byte shows in the time it takes.
func (a *authority) valid(presented []string) bool {
	token := a.token()
	want := sha256.Sum256([]byte(token))
	found := 0
	for _, p := range presented {
		got := sha256.Sum256([]byte(p))
		found |= subtle.ConstantTimeCompare(got[:], want[:])
	}
	return token != "" && found == 1
}

// countFailure reports whether the failure is within the allowance. One count
// serves all callers: they all come from this machine, and a valid credential
// is never refused, so nobody can lock the user out.
func (a *authority) countFailure() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if d := now.Sub(a.at); d > 0 {
		a.left = min(failBurst, a.left+d.Seconds()/refillSeconds)
	}
	a.at = now
	if a.left < 1 {
		return false
	}
	a.left--
	return true
}
