package cases

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"breakwater/proxy/control"
	"breakwater/tests/scenario"
)

// manage sends a management request and returns status and body.
func manage(t *testing.T, k *scenario.Kit, method, path, body string) (int, string) {
	t.Helper()
	a := k.Do(method, path, body, "Authorization", "Bearer "+k.Token, "Content-Type", "application/json")
	return a.Status, a.Body
}

// listed returns the ids of GET /v1/models.
func listed(t *testing.T, k *scenario.Kit, headers ...string) []string {
	t.Helper()
	var list struct {
		Object string `json:"object"`
		Data   []struct {
			ID            string `json:"id"`
			Object        string `json:"object"`
			OwnedBy       string `json:"owned_by"`
			Type          string `json:"type"`
			DisplayName   string `json:"display_name"`
			CreatedAt     string `json:"created_at"`
			ContextLength int64  `json:"context_length"`
		} `json:"data"`
		FirstID string `json:"first_id"`
	}
	a := k.Do("GET", "/v1/models", "", headers...)
	if err := json.Unmarshal([]byte(a.Body), &list); err != nil || a.Status != 200 || list.Object != "list" {
		t.Fatalf("%d %s %v", a.Status, a.Body, err)
	}
	var ids []string
	for _, m := range list.Data {
		if m.Object != "model" || m.Type != "model" || m.DisplayName != m.ID || m.CreatedAt == "" || m.OwnedBy == "" {
			t.Errorf("entry %+v lacks what one of the dialects reads", m)
		}
		if (m.ContextLength == 64000) != (m.ID == "fast") {
			t.Errorf("%s advertises a window of %d", m.ID, m.ContextLength)
		}
		ids = append(ids, m.ID)
	}
	return ids
}

// The whole life of a combo over the management API (settings sheet §2.14).
func TestCombosOverTheAPI(t *testing.T) {
	k := scenario.Start(t)
	k.Pair()
	status, body := manage(t, k, "POST", "/api/combos", `{"name":"fast","models":["anthropic/claude-haiku-4-5",{"provider":"openai","model":"gpt-5-mini","weight":"7"}],"strategy":"weighted","config":{"maxRetries":2,"healthCheckEnabled":true,"unheardOf":1},"context_length":64000}`)
	if status != http.StatusCreated || !strings.Contains(body, `"maxRetries":2`) || strings.Contains(body, `"unheardOf"`) || strings.Contains(body, "healthCheck") {
		t.Fatalf("add: %d %s", status, body)
	}
	var fast control.Combo
	if err := json.Unmarshal([]byte(body), &fast); err != nil {
		t.Fatal(err)
	}
	if status, body = manage(t, k, "POST", "/api/combos", `{"name":"team","models":["fast","anthropic/*"]}`); status != http.StatusCreated || !strings.Contains(body, `"comboName":"fast"`) {
		t.Fatalf("add another: %d %s", status, body)
	}
	if ids := listed(t, k); !slices.Contains(ids, "fast") || !slices.Contains(ids, "team") {
		t.Errorf("listed %v", ids)
	}
	for _, c := range []struct{ name, method, path, body, code string }{
		{"COMBO_001", "POST", "/api/combos", `{`, "COMBO_001"},
		{"COMBO_002", "PUT", "/api/combos/" + fast.ID, `{"config":{"queueTimeoutMs":999}}`, "COMBO_002"},
		{"COMBO_004", "POST", "/api/combos", `{"name":"FAST","models":[]}`, "COMBO_004"},
		{"COMBO_005 a circle", "PUT", "/api/combos/" + fast.ID, `{"models":["team"]}`, "COMBO_005"},
		{"COMBO_007", "DELETE", "/api/combos/nobody", "", "COMBO_007"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if status, body := manage(t, k, c.method, c.path, c.body); status/100 != 4 || !strings.Contains(body, `"code":"`+c.code+`"`) || !strings.Contains(body, `"requestId":"`) {
				t.Errorf("%d %s", status, body)
			}
		})
	}
	if status, body = manage(t, k, "PUT", "/api/combos/"+fast.ID, `{"name":"quick","context_length":0}`); status != 200 || !strings.Contains(body, `"name":"quick"`) {
		t.Fatalf("rename: %d %s", status, body)
	}
	k.Restart()
	status, body = manage(t, k, "GET", "/api/combos", "")
	if status != 200 || !strings.Contains(body, `"comboName":"quick"`) || !strings.Contains(body, `"total":2`) || !strings.Contains(body, `"weight":7`) {
		t.Errorf("after a restart: %d %s", status, body)
	}
	if status, body = manage(t, k, "PATCH", "/api/combos/"+fast.ID, `{"isActive":false}`); status != 200 {
		t.Fatalf("switch off: %d %s", status, body)
	}
	if ids := listed(t, k); slices.Contains(ids, "quick") || !slices.Contains(ids, "team") {
		t.Errorf("with one switched off %v", ids)
	}
	key := addKey(t, k, control.KeyInput{AllowedModels: []string{"claude-*"}})
	if ids := listed(t, k, "X-Api-Key", key.Key); slices.Contains(ids, "team") {
		t.Errorf("a key that may not ask for it sees it: %v", ids)
	}
	if status, body = manage(t, k, "DELETE", "/api/combos/"+fast.ID, ""); status != 200 || strings.TrimSpace(body) != `{"success":true}` {
		t.Errorf("delete: %d %s", status, body)
	}
	snap, err := k.Facade().Snapshot(t.Context())
	if err != nil || len(snap.Combos) != 1 || snap.Combos[0].Name != "team" {
		t.Errorf("snapshot %+v, %v", snap.Combos, err)
	}
}

// A backup brings the combos to another installation, pinned steps included.
func TestCombosInABackup(t *testing.T) {
	k := scenario.Start(t)
	k.Pair()
	alpha := k.Connection("alpha")
	if _, err := k.Facade().AddCombo(t.Context(), control.ComboInput{Name: "pinned", Steps: []control.ComboStep{{Model: "anthropic/claude-haiku-4-5", Connection: alpha.ID}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Facade().EditAllSettings(t.Context(), control.AllSettingsPatch{ComboSettingsPatch: control.ComboSettingsPatch{
		ComboDefaults: &map[string]any{"maxRetries": 4.0}, StickyRoundRobinLimit: new(3),
	}}); err != nil {
		t.Fatal(err)
	}
	status, saved := manage(t, k, "GET", "/api/export", "")
	if status != 200 || !strings.Contains(saved, `"connectionId":"alpha"`) {
		t.Fatalf("export: %d %s", status, saved)
	}
	other := scenario.Start(t)
	other.Pair() // connections of the same names, with other ids
	status, body := manage(t, other, "POST", "/api/import", `{"backup":`+saved+`,"dryRun":false}`)
	if status != 200 || !strings.Contains(body, `"combos":[{"name":"pinned","action":"add"}]`) {
		t.Fatalf("import: %d %s", status, body)
	}
	all, err := other.Facade().Combos(t.Context())
	if err != nil || len(all) != 1 || all[0].Steps[0].Connection != other.Connection("alpha").ID {
		t.Errorf("combos %+v, %v", all, err)
	}
	set, err := other.Facade().AllSettings(t.Context())
	if err != nil || set.ComboDefaults["maxRetries"] != 4.0 || set.StickyRoundRobinLimit != 3 {
		t.Errorf("settings %+v, %v", set.ComboSettings, err)
	}
	if status, body = manage(t, other, "POST", "/api/import", `{"backup":`+saved+`}`); !strings.Contains(body, `"action":"skip"`) {
		t.Errorf("again: %d %s", status, body)
	}
}
