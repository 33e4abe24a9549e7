package cases

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/tests/scenario"
)

// openEvents opens the event stream with a credential and reads its first line.
// The rest ends with the stream, or with an error after a while.
func openEvents(t *testing.T, k *scenario.Kit, credential string) *bufio.Reader {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, k.URL+"/api/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+credential)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	out := bufio.NewReader(res.Body)
	if line, err := out.ReadString('\n'); err != nil || res.StatusCode != http.StatusOK || line == "" {
		t.Fatalf("the stream: %d, %q, %v", res.StatusCode, line, err)
	}
	return out
}

// An open event stream ends with the right of the key that opened it; those of
// the token and of other keys go on.
func TestAnEventStreamEndsWithItsKey(t *testing.T) {
	manage := []string{control.ScopeManage}
	for name, end := range map[string]func(k *scenario.Kit, id string) error{
		"deleted": func(k *scenario.Kit, id string) error { return k.Facade().DeleteKey(k.Context(), id) },
		"switched off": func(k *scenario.Kit, id string) error {
			_, err := k.Facade().EditKey(k.Context(), id, control.KeyPatch{Active: new(false)})
			return err
		},
		"narrowed": func(k *scenario.Kit, id string) error {
			_, err := k.Facade().EditKey(k.Context(), id, control.KeyPatch{Scopes: &[]string{control.ScopeClient}})
			return err
		},
		"expired": func(k *scenario.Kit, id string) error {
			soon := time.Now().Add(200 * time.Millisecond)
			_, err := k.Facade().EditKey(k.Context(), id, control.KeyPatch{ExpiresAt: control.OptionalTime{Given: true, Time: &soon}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := scenario.Start(t)
			key, other := addKey(t, k, control.KeyInput{Name: "One", Scopes: manage}), addKey(t, k, control.KeyInput{Name: "Other", Scopes: manage})
			ends, stays, token := openEvents(t, k, key.Key), openEvents(t, k, other.Key), openEvents(t, k, k.Token)
			if err := end(k, key.ID); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, ends); err != nil {
				t.Fatalf("the stream of the key goes on: %v", err)
			}
			k.Add("gamma", "demo")
			for who, r := range map[string]*bufio.Reader{"another key": stays, "the token": token} {
				if !tellsOf(r, `"name":"gamma"`) {
					t.Errorf("the stream of %s does not go on", who)
				}
			}
			if a := k.Do(http.MethodGet, "/api/events", "", "Authorization", "Bearer "+key.Key); a.Status != 403 {
				t.Errorf("a new stream: %d", a.Status)
			}
		})
	}
}

// tellsOf reads until a line contains the words; false at the end.
func tellsOf(r *bufio.Reader, words string) bool {
	for {
		line, err := r.ReadString('\n')
		if strings.Contains(line, words) {
			return true
		}
		if err != nil {
			return false
		}
	}
}
