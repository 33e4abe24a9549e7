package cases

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"breakwater/proxy/control"
	"breakwater/tests/scenario"
)

// relay is a server that has an API below one path only.
type relay struct {
	*httptest.Server
	mu    sync.Mutex
	paths []string
	auth  []string
}

// newRelay answers each of the paths with its body, others with a page.
func newRelay(t *testing.T, answers map[string]string) *relay {
	t.Helper()
	r := &relay{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		r.paths, r.auth = append(r.paths, q.URL.Path), append(r.auth, q.Header.Get("Authorization")+q.Header.Get("X-Api-Key"))
		r.mu.Unlock()
		body, ok := answers[q.URL.Path]
		if !ok {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte("<html>Not found</html>"))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(r.Close)
	return r
}

const relayAnswer = `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`

// Case Q20: an address that was copied with too much or too little serves, and a
// test names the address that was asked.
func TestAddressesAreNormalisedWhenSaved(t *testing.T) {
	for name, path := range map[string]string{
		"Q20 a path without version": "/anthropic", "Q20 with a slash": "/anthropic/", "Q20 with its route": "/anthropic/v1/messages",
		"Q20 with the other route": "/anthropic/chat/completions", "Q20 with a query": "/anthropic/v1/messages?beta=true", "Q20 with blanks": "/anthropic/v1 ",
		"with doubled slashes": "//anthropic//", "with a fragment": "/anthropic#start", "with the list's route": "/anthropic/v1/models/",
	} {
		t.Run(name, func(t *testing.T) {
			k := scenario.Start(t)
			r := newRelay(t, map[string]string{"/anthropic/v1/messages": relayAnswer, "/anthropic/v1/models": `{"data":[{"id":"m"}]}`})
			c, err := k.Facade().AddConnection(t.Context(), control.ConnectionInput{Provider: "custom", Name: "relay", APIKey: "k-1", BaseURL: " " + r.URL + path, Dialects: []string{"anthropic"}})
			if err != nil {
				t.Fatal(err)
			}
			if c.BaseURL != r.URL+"/anthropic/v1" {
				t.Errorf("saved as %s", c.BaseURL)
			}
			if a := k.Post("/v1/messages", scenario.NoStream(scenario.Messages)); a.Status != 200 || !strings.Contains(a.Body, "hi") {
				t.Errorf("answered %d %s, asked %v", a.Status, a.Body, r.paths)
			}
			res, err := k.Facade().TestConnection(t.Context(), c.ID)
			if err != nil || !res.Valid || res.Asked != r.URL+"/anthropic/v1/models" || !slices.Equal(res.Models, []string{"m"}) {
				t.Errorf("test %+v, %v", res, err)
			}
		})
	}
	t.Run("Q20 a server without /v1", func(t *testing.T) {
		k := scenario.Start(t)
		r := newRelay(t, map[string]string{"/api/messages": relayAnswer, "/api/models": `{"data":[{"id":"m"}]}`})
		c, err := k.Facade().AddConnection(t.Context(), control.ConnectionInput{Provider: "custom", Name: "relay", APIKey: "k-1", BaseURL: r.URL + "/api", Dialects: []string{"anthropic"}})
		if err != nil {
			t.Fatal(err)
		}
		res, err := k.Facade().TestConnection(t.Context(), c.ID)
		if err != nil || !res.Valid || res.Asked != r.URL+"/api/models" {
			t.Fatalf("test %+v, %v", res, err)
		}
		k.Restart()
		if got := k.Connection("relay").BaseURL; got != r.URL+"/api" {
			t.Errorf("kept %s", got)
		}
		if a := k.Post("/v1/messages", scenario.NoStream(scenario.Messages)); a.Status != 200 {
			t.Errorf("answered %d %s", a.Status, a.Body)
		}
		same := r.URL + "/api" // given again, it is not taken for an address without version
		if got, err := k.Facade().EditConnection(t.Context(), c.ID, control.ConnectionPatch{BaseURL: &same}); err != nil || got.BaseURL != same {
			t.Errorf("%s %v", got.BaseURL, err)
		}
	})
	t.Run("Q20 a test says which address was asked", func(t *testing.T) {
		k := scenario.Start(t)
		r := newRelay(t, nil)
		for model, want := range map[string]string{"": "/wrong/v1/models", "m": "/wrong/v1/messages"} {
			c, err := k.Facade().AddConnection(t.Context(), control.ConnectionInput{Provider: "custom", Name: "r" + model, APIKey: "k-1", BaseURL: r.URL + "/wrong", Dialects: []string{"anthropic"}, DefaultModel: model})
			if err != nil {
				t.Fatal(err)
			}
			res, err := k.Facade().TestConnection(t.Context(), c.ID)
			if err != nil || res.Valid || res.StatusCode != 404 || res.Asked != r.URL+want || !strings.Contains(res.Error+res.Warning, r.URL+want) || !strings.Contains(res.Error+res.Warning, "base URL") {
				t.Errorf("test %+v, %v", res, err)
			}
		}
	})
}

// A stored key was given for one host: an edit does not send it to another.
func TestAKeyDoesNotFollowToAnotherHost(t *testing.T) {
	k := scenario.Start(t)
	old, next := newRelay(t, nil), newRelay(t, map[string]string{"/v1/models": `{"data":[{"id":"m"}]}`})
	c, err := k.Facade().AddConnection(t.Context(), control.ConnectionInput{Provider: "custom", Name: "relay", APIKey: "k-old", BaseURL: old.URL})
	if err != nil {
		t.Fatal(err)
	}
	status, body := manage(t, k, "PATCH", "/api/providers/"+c.ID, `{"baseUrl":"`+next.URL+`/v1"}`)
	if status != 400 || !strings.Contains(body, `"field":"apiKey"`) || !strings.Contains(body, "another host") {
		t.Errorf("without a key %d %s", status, body)
	}
	var invalid *control.InvalidError
	if _, err := k.Facade().EditConnection(t.Context(), c.ID, control.ConnectionPatch{BaseURL: &next.URL}); !errors.As(err, &invalid) {
		t.Errorf("facade: %v", err)
	}
	if status, body = manage(t, k, "PATCH", "/api/providers/"+c.ID, `{"baseUrl":"`+old.URL+`/x/v1"}`); status != 200 {
		t.Errorf("another path %d %s", status, body)
	}
	if status, body = manage(t, k, "PATCH", "/api/providers/"+c.ID, `{"baseUrl":"`+next.URL+`","apiKey":"k-new"}`); status != 200 {
		t.Errorf("with a key %d %s", status, body)
	}
	if res, err := k.Facade().TestConnection(t.Context(), c.ID); err != nil || !res.Valid || slices.ContainsFunc(next.auth, func(a string) bool { return strings.Contains(a, "k-old") }) {
		t.Errorf("test %+v, %v; sent %v", res, err, next.auth)
	}
}

// modelIDs returns what GET /v1/models lists, by id.
func modelIDs(t *testing.T, k *scenario.Kit, query string, headers ...string) map[string]int64 {
	t.Helper()
	var list struct {
		Data []struct {
			ID      string `json:"id"`
			Context int64  `json:"context_length"`
		} `json:"data"`
	}
	a := k.Do("GET", "/v1/models"+query, "", headers...)
	if err := json.Unmarshal([]byte(a.Body), &list); err != nil || a.Status != 200 {
		t.Fatalf("%d %s %v", a.Status, a.Body, err)
	}
	out := map[string]int64{}
	for _, m := range list.Data {
		if _, twice := out[m.ID]; twice {
			t.Errorf("%s is listed twice", m.ID)
		}
		out[m.ID] = m.Context
	}
	return out
}

// Case Q21: the list holds what connections are known to offer.
func TestModelsThatConnectionsOffer(t *testing.T) {
	k := scenario.Start(t)
	local := newRelay(t, map[string]string{"/v1/models": `{"object":"list","data":[{"id":"qwen3:8b"},{"id":"team/coder","context_length":32768}]}`})
	f := k.Facade()
	add := func(in control.ConnectionInput) control.Connection {
		t.Helper()
		c, err := f.AddConnection(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, p := range []string{"anthropic", "openai", "glm"} {
		add(control.ConnectionInput{Provider: p, Name: p, APIKey: "k-" + p, BaseURL: newRelay(t, nil).URL})
	}
	ollama := add(control.ConnectionInput{Provider: "ollama-local", Name: "ollama", BaseURL: local.URL, DefaultModel: "qwen3:8b"})
	add(control.ConnectionInput{Provider: "custom", Name: "off", APIKey: "k", BaseURL: "https://h.example", DefaultModel: "hidden", Inactive: true})
	if res, err := f.TestConnection(t.Context(), ollama.ID); err != nil || !res.Valid {
		t.Fatalf("test %+v, %v", res, err)
	}
	if _, err := f.AddCombo(t.Context(), control.ComboInput{Name: "fast", Steps: []control.ComboStep{{Model: "openai/gpt-5"}}}); err != nil {
		t.Fatal(err)
	}
	ids := modelIDs(t, k, "")
	for id, window := range map[string]int64{"claude-opus-5-5": 1_000_000, "gpt-5": 400_000, "qwen3:8b": 0, "team/coder": 32768, "fast": 0} {
		if got, ok := ids[id]; !ok || got != window {
			t.Errorf("Q21 %s: listed %v, window %d, want %d", id, ok, got, window)
		}
	}
	if _, ok := ids["hidden"]; ok {
		t.Error("a model of a connection that is switched off is listed")
	}
	t.Run("Q21 one model", func(t *testing.T) {
		for path, status := range map[string]int{"/v1/models/gpt-5": 200, "/v1/models/team/coder": 200, "/v1/models/team%2Fcoder": 200, "/models/fast": 200, "/v1/models/nobody": 404, "/v1/models/hidden": 404} {
			if a := k.Do("GET", path, ""); a.Status != status || status == 404 && !strings.Contains(a.Body, "model_not_found") && !strings.Contains(a.Body, "not_found_error") {
				t.Errorf("%s: %d %s", path, a.Status, a.Body)
			}
		}
	})
	t.Run("Q21 pages in Anthropic's way", func(t *testing.T) {
		var all []string
		for after := ""; ; {
			var p struct {
				Data    []struct{ ID string }
				HasMore bool   `json:"has_more"`
				LastID  string `json:"last_id"`
			}
			a := k.Do("GET", "/v1/models?limit=7&after_id="+after, "", "anthropic-version", "2023-06-01")
			if err := json.Unmarshal([]byte(a.Body), &p); err != nil || len(p.Data) > 7 || len(p.Data) == 0 {
				t.Fatalf("%s %v", a.Body, err)
			}
			for _, m := range p.Data {
				all = append(all, m.ID)
			}
			if after = p.LastID; !p.HasMore {
				break
			}
		}
		if len(all) != len(ids) {
			t.Errorf("%d of %d", len(all), len(ids))
		}
	})
	t.Run("Q21 a key sees its own", func(t *testing.T) {
		key := addKey(t, k, control.KeyInput{AllowedModels: []string{"claude-*"}})
		for id := range modelIDs(t, k, "", "X-Api-Key", key.Key) {
			if !strings.HasPrefix(id, "claude-") {
				t.Errorf("sees %s", id)
			}
		}
	})
	t.Run("Q21 a restart keeps the list", func(t *testing.T) {
		k.Restart()
		if _, ok := modelIDs(t, k, "")["team/coder"]; !ok {
			t.Error("the provider's own list is gone")
		}
	})
	t.Run("Q21 another address forgets the list", func(t *testing.T) {
		other := newRelay(t, nil).URL
		if _, err := k.Facade().EditConnection(t.Context(), ollama.ID, control.ConnectionPatch{BaseURL: &other}); err != nil {
			t.Fatal(err)
		}
		if _, ok := modelIDs(t, k, "")["team/coder"]; ok {
			t.Error("models of the old address are listed")
		}
	})
}
