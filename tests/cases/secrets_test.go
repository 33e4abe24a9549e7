package cases

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"breakwater/proxy/control"
	"breakwater/proxy/rest"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// run is how many characters of a secret in a row count as a leak.
const run = 6

// canaries are secrets whose parts must not turn up anywhere.
type canaries struct {
	secrets map[string]string // by what they are
	seen    sync.Map          // leaks that were told already
}

// look reports where a part of a secret is in a text. The vendor's prefix of a
// key is no secret.
func (c *canaries) look(t *testing.T, where, text string) {
	t.Helper()
	for what, secret := range c.secrets {
		part := secret[len("sk-sim-"):]
		for i := range len(part) - run + 1 {
			if !strings.Contains(text, part[i:i+run]) {
				continue
			}
			if _, told := c.seen.LoadOrStore(where+what, true); !told {
				t.Errorf("%s tells %s", where, what)
			}
			break
		}
	}
}

// recorder reads the event stream until its context ends.
func recorder(t *testing.T, k *scenario.Kit) (stop func() string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, k.URL+"/api/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+k.Token)
	res, err := http.DefaultClient.Do(req) //nolint:bodyclose // the reader below closes it
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer res.Body.Close()
		lines := bufio.NewReader(res.Body)
		for {
			line, err := lines.ReadString('\n')
			text.WriteString(line)
			if err != nil {
				return
			}
		}
	}()
	return func() string {
		cancel()
		<-done
		return text.String()
	}
}

// A stored key, a key of a client and a passphrase are nowhere but where they
// belong: not in the log, the database, the answers, the events or an export.
func TestSecretsStayWhereTheyBelong(t *testing.T) {
	k := scenario.Start(t)
	secret := func() string { return "sk-sim-" + rand.Text() }
	c := &canaries{secrets: map[string]string{
		"the stored key": secret(), "the new key": secret(), "the refused key": secret(), "the passphrase": secret(),
	}}
	k.Sim.Account("alpha").SetKeys(c.secrets["the stored key"], c.secrets["the new key"])
	id := k.Add("alpha", "demo", func(in *control.ConnectionInput) { in.APIKey = c.secrets["the stored key"] }).ID
	key := addKey(t, k, control.KeyInput{Scopes: []string{control.ScopeClient, control.ScopeManage}}).Key
	c.secrets["the client's key"] = "sk-sim-" + strings.TrimPrefix(key, "sk-")
	events := recorder(t, k)

	ask := func(method, path, body string) {
		t.Helper()
		a := k.Do(method, path, body, "Authorization", "Bearer "+key)
		if a.Err != nil || a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden {
			t.Fatalf("%s %s: %d %v", method, path, a.Status, a.Err)
		}
		c.look(t, method+" "+path, a.Body)
	}
	failures(t, k, c, key)
	ask("POST", "/api/providers/"+id+"/test", "")
	ask("PATCH", "/api/providers/"+id, `{"apiKey":"`+c.secrets["the refused key"]+` with a space"}`)
	ask("PATCH", "/api/providers/"+id, `{"apiKey":"`+c.secrets["the new key"]+`"}`)
	ask("POST", "/api/providers", `{"provider":"demo","name":"alpha","apiKey":"`+c.secrets["the refused key"]+`"}`)
	ask("POST", "/api/export", `{"passphrase":"`+c.secrets["the passphrase"]+`"}`)
	reimport(t, k, c, key)
	stranger := k.Do(http.MethodGet, "/api/state", "", "Authorization", "Bearer "+c.secrets["the refused key"])
	c.look(t, "the answer to a stranger", stranger.Body)
	for _, rt := range rest.Routes() {
		if rt.Method == http.MethodGet && rt.Path != "/api/events" {
			ask(rt.Method, strings.ReplaceAll(rt.Path, "{id}", id), "")
		}
	}
	if err := k.Store.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	files(t, k, c)
	c.look(t, "the event stream", events())
	k.Restart()
	files(t, k, c)
	c.look(t, "the log", k.Log.String())
	if !strings.Contains(k.Log.String(), "management token refused") {
		t.Error("nothing was logged, so that nothing was looked at")
	}
}

// failures makes requests that fail in the ways that tempt to repeat a key.
func failures(t *testing.T, k *scenario.Kit, c *canaries, key string) {
	t.Helper()
	echo := simulator.Error{Message: "Incorrect API key provided: " + c.secrets["the stored key"] + ". Try another."}
	for _, status := range []int{200, 400, 404, 429, 500, 401} {
		if err := k.Facade().ClearCooldown(t.Context(), k.Connection("alpha").ID); err != nil {
			t.Fatal(err)
		}
		words := echo
		if status == 400 { // a 400 that refuses the key is judged as a 401 (ruling 55 a) and not handed on
			words = simulator.Error{Message: "metadata.user_id: " + c.secrets["the stored key"] + " is not allowed. Try another."}
		}
		if status != 200 {
			k.Sim.Account("alpha").Script(simulator.Status(status).WithError(words))
		}
		a := k.Post("/v1/messages", scenario.Messages, "X-Api-Key", key)
		if status == 400 && !strings.Contains(a.Body, "user_id: [redacted] is not allowed. Try another.") {
			t.Errorf("the client's answer is %s, want the upstream's words without the key", a.Body)
		}
		c.look(t, "the client's answer to a "+strconv.Itoa(status), a.Body)
	}
}

// reimport sends a sealed export back with a wrong and with the right
// passphrase.
func reimport(t *testing.T, k *scenario.Kit, c *canaries, key string) {
	t.Helper()
	b, err := k.Facade().Export(t.Context(), c.secrets["the passphrase"])
	if err != nil || b.Secrets == nil {
		t.Fatalf("export: %v", err)
	}
	for _, passphrase := range []string{"wrong " + c.secrets["the passphrase"], c.secrets["the passphrase"]} {
		body, err := json.Marshal(control.ImportRequest{Backup: b, Passphrase: passphrase})
		if err != nil {
			t.Fatal(err)
		}
		a := k.Do(http.MethodPost, "/api/import", string(body), "Authorization", "Bearer "+key)
		c.look(t, "the import", a.Body)
	}
}

// files looks through everything in the data directory.
func files(t *testing.T, k *scenario.Kit, c *canaries) {
	t.Helper()
	c.look(t, "the data directory", filesOf(t, filepath.Dir(k.Store.Path())))
}

// filesOf returns everything that the files in a directory hold.
func filesOf(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		n++
		all.Write(raw)
		return err
	})
	if err != nil || n < 2 {
		t.Errorf("%d files were looked at: %v", n, err)
	}
	return all.String()
}

// An exported configuration, with its keys, makes the same product elsewhere.
func TestAnExportMovesTheProduct(t *testing.T) {
	from, to := scenario.Start(t), scenario.Start(t)
	from.Pair()
	if _, err := from.Facade().EditResilience(t.Context(), []byte(`{"connectionCooldown":{"apikey":{"baseCooldownMs":20000}}}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := from.Facade().EditGuide(t.Context(), control.GuidePatch{ModelLockout: []byte(`{"enabled":true}`)}); err != nil {
		t.Fatal(err)
	}
	b, err := from.Facade().Export(t.Context(), "a long passphrase")
	if err != nil {
		t.Fatal(err)
	}
	without, err := to.Facade().Import(t.Context(), control.ImportRequest{Backup: b})
	if err != nil || !without.DryRun || without.Connections[0].Action != control.ImportRefuse {
		t.Errorf("without the passphrase %+v, %v", without, err)
	}
	rep, err := to.Facade().Import(t.Context(), control.ImportRequest{Backup: b, Passphrase: "a long passphrase", DryRun: new(false)})
	if err != nil || rep.DryRun || len(rep.Connections) != 2 || rep.Connections[1].Action != control.ImportAdd || !rep.Resilience {
		t.Fatalf("Import = %+v, %v", rep, err)
	}
	to.Restart()
	if a := to.Post("/v1/messages", scenario.Messages); a.From() != "alpha" {
		t.Errorf("the moved product answers %d %q", a.Status, a.From())
	}
	set, err := to.Facade().Resilience(t.Context())
	if err != nil || set.ConnectionCooldown.APIKey.BaseCooldownMs != 20_000 || !set.ModelLockout.Enabled {
		t.Errorf("moved settings %+v, %v", set.ConnectionCooldown, err)
	}
}
