package cases

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"breakwater/db"
	"breakwater/proxy"
	"breakwater/proxy/control"
	"breakwater/tests/scenario"
)

// unreadable is a store whose settings cannot be read once it is broken.
type unreadable struct {
	*db.Store
	broken atomic.Bool
}

var errUnreadable = errors.New("the settings cannot be read")

func (u *unreadable) Setting(ctx context.Context, key string) ([]byte, bool, error) {
	if u.broken.Load() {
		return nil, false, errUnreadable
	}
	return u.Store.Setting(ctx, key)
}

// Settings that cannot be read open nothing: what runs asks for credentials as
// before, and what starts without them serves nobody.
func TestUnreadableSettingsOpenNothing(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	file, err := db.Open(t.Context(), db.Options{Dir: t.TempDir(), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	secrets, err := db.OpenSecrets(t.Context(), t.TempDir(), db.SecretsOptions{Backend: db.FileSecrets, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	store := &unreadable{Store: file}
	parts := proxy.Parts{Store: store, Secrets: secrets, Token: "the-management-token", Endpoint: "http://127.0.0.1", Log: log}
	p, err := proxy.Assemble(t.Context(), parts)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Service.EditSettings(t.Context(), control.SettingsPatch{RequireAPIKey: new(true)}); err != nil {
		t.Fatal(err)
	}
	store.broken.Store(true)
	for name, req := range map[string]*http.Request{
		"management":          httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/api/settings", nil),
		"a change":            httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/api/keys", strings.NewReader(`{"name":"x"}`)),
		"a client":            httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/v1/messages", strings.NewReader(scenario.Messages)),
		"a client's models":   httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/v1/models", nil),
		"a client for leases": httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/api/v1/session-leases", strings.NewReader(`{}`)),
	} {
		t.Run("case 155 "+name, func(t *testing.T) {
			req.RemoteAddr = "127.0.0.1:5000"
			req.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			p.Server.Handler().ServeHTTP(w, req)
			if w.Code != http.StatusUnauthorized {
				t.Errorf("%d %s, want 401", w.Code, w.Body)
			}
		})
	}
	t.Run("case 155 a start", func(t *testing.T) {
		if p, err := proxy.Assemble(t.Context(), parts); !errors.Is(err, errUnreadable) || p != nil {
			t.Errorf("it starts without its settings: %v", err)
		}
	})
}
