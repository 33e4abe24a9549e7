package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"breakwater/proxy/control"
)

// KeepVariable names the folder in which scenarios leave what a user could
// find: data folder, log, events, answers, figures and exports. Empty leaves
// nothing.
const KeepVariable = "BREAKWATER_TEST_KEEP"

// folder is where the scenario's data goes.
func folder(t testing.TB) string {
	t.Helper()
	keep := os.Getenv(KeepVariable)
	if keep == "" {
		return t.TempDir()
	}
	name := regexp.MustCompile(`[^A-Za-z0-9]+`).ReplaceAllString(t.Name(), "-")
	dir, err := os.MkdirTemp(keep, name[:min(len(name), 80)]+"-") //nolint:usetesting // it is to be kept
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "data")
}

// remains collects what goes out of a scenario; nil collects nothing.
type remains struct {
	mu  sync.Mutex
	dir string
}

func newRemains(dir string) *remains {
	if os.Getenv(KeepVariable) == "" {
		return nil
	}
	return &remains{dir: filepath.Dir(dir)} // the data folder is the program's alone
}

// add appends to a file beside the scenario's data.
func (r *remains) add(name, text string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	f, err := os.OpenFile(filepath.Join(r.dir, "told-"+name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return // a full disk fails elsewhere
	}
	_, _ = f.WriteString(text + "\n") // the same
	_ = f.Close()
}

// event keeps an event of the stream, alerts among them, of which
// notifications are made.
func (r *remains) event(e control.Event) {
	if r == nil {
		return
	}
	raw, err := json.Marshal(e)
	if err == nil {
		r.add("events", string(raw))
	}
}

// answer keeps what a client was told.
func (r *remains) answer(method, path string, a Answer) {
	if r != nil && a.Err == nil {
		r.add("answers", fmt.Sprintf("%s %s: %d %v\n%s", method, path, a.Status, a.Header, a.Body))
	}
}

// leave keeps the log, the figures, exports and every list, as they are at the
// end.
func (r *remains) leave(k *Kit) {
	if r == nil {
		return
	}
	r.add("log", k.Log.String())
	ask := func(method, path, body string) {
		req, err := http.NewRequestWithContext(context.Background(), method, k.URL+path, strings.NewReader(body))
		if err != nil {
			return
		}
		req.Header.Set("Authorization", "Bearer "+k.Token)
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req) //nolint:bodyclose // read closes it
		if err != nil {
			return // some scenarios have ended the program
		}
		r.answer(method, path, read(res))
	}
	for _, path := range []string{
		"/api/state", "/api/activity?limit=500", "/api/usage", "/api/export", "/api/settings", "/api/resilience", "/api/keys",
		"/api/combos", "/api/rate-limits", "/api/resilience/cooldowns", "/api/monitoring/health", "/metrics",
	} {
		ask(http.MethodGet, path, "")
	}
	ask(http.MethodPost, "/api/export", `{"passphrase":"a long passphrase"}`)
}
