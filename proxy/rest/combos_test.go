package rest

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"breakwater/proxy/client/facadetest"
	"breakwater/proxy/control"
)

// combosBench is the API with the combos "Fast" (combo1) and "Team" (combo2),
// which refers to it.
func combosBench(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	for _, in := range []control.ComboInput{
		{Name: "Fast", Steps: []control.ComboStep{{Model: "openai/gpt-5-mini"}}},
		{Name: "Team", Strategy: "weighted", Steps: []control.ComboStep{{Model: "Fast"}}},
	} {
		if _, err := b.fake.AddCombo(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func TestComboRoutes(t *testing.T) {
	refused := func(code string) []string {
		return []string{`"error":{"code":"` + code + `"`, `"category":"`, `"requestId":"`, `"message":"`}
	}
	for _, s := range []scenario{
		{name: "list", method: "GET", path: "/api/combos?limit=1&offset=1", status: 200, want: []string{`"name":"Team"`, `"total":2`}, not: []string{`"name":"Fast"`}},
		{name: "a limit of nonsense", method: "GET", path: "/api/combos?limit=x", status: 400, want: []string{"limit"}},
		{name: "one", method: "GET", path: "/api/combos/combo1", status: 200, want: []string{`"name":"Fast"`, `"models":[{"id":"fast-model-1-openai-gpt-5-mini","kind":"model"`}},
		{name: "no such one", method: "GET", path: "/api/combos/nobody", status: 404, want: refused("COMBO_007"), calls: []string{"Combos"}},
		{
			name: "add with bare models, provider in place of providerId and a weight in words", method: "POST", path: "/api/combos",
			body:   `{"name":"New","models":["Fast",{"provider":"groq","model":"llama-3.3-70b","weight":"7"},{"model":"openai/gpt-5","weight":"much"}],"strategy":"usage","config":{"maxRetries":2,"timeoutMs":5}}`,
			status: 201, want: []string{`"comboName":"Fast"`, `"model":"groq/llama-3.3-70b"`, `"weight":7`, `"strategy":"least-used"`, `"version":2`, `"warnings":[{"field":"models[2].weight","given":"much","used":"0"}]`}, calls: []string{"AddCombo"},
		},
		{name: "add what an answer looked like", method: "POST", path: "/api/combos", body: `{"id":"x","version":1,"createdAt":"2030-01-01T00:00:00Z","warnings":[],"name":"Again","models":[]}`, status: 201, calls: []string{"AddCombo"}},
		{name: "COMBO_001 no JSON", method: "POST", path: "/api/combos", body: `{"name":`, status: 400, want: refused("COMBO_001")},
		{name: "COMBO_001 nothing", method: "PUT", path: "/api/combos/combo1", status: 400, want: refused("COMBO_001")},
		{name: "COMBO_002 unknown field", method: "POST", path: "/api/combos", body: `{"name":"X","modles":[]}`, status: 400, want: append(refused("COMBO_002"), `"field":"modles"`)},
		{name: "COMBO_002 unknown field of a step", method: "POST", path: "/api/combos", body: `{"name":"X","models":[{"model":"a/b","wieght":1}]}`, status: 400, want: append(refused("COMBO_002"), `"field":"models.0.wieght"`)},
		{name: "COMBO_002 a step that is none", method: "POST", path: "/api/combos", body: `{"name":"X","models":[7]}`, status: 400, want: append(refused("COMBO_002"), "Expected the name of a model, or a step")},
		{name: "COMBO_002 a list of nothing", method: "POST", path: "/api/combos", body: `{"name":"X","models":[null]}`, status: 400, want: refused("COMBO_002")},
		{name: "COMBO_002 no field", method: "PATCH", path: "/api/combos/combo1", body: `{"id":"combo1"}`, status: 400, want: refused("COMBO_002")},
		{name: "COMBO_002 out of bounds", method: "PUT", path: "/api/combos/combo1", body: `{"config":{"queueDepth":101}}`, status: 400, want: append(refused("COMBO_002"), `"field":"config.queueDepth"`), calls: []string{"EditCombo"}},
		{name: "COMBO_004", method: "POST", path: "/api/combos", body: `{"name":"fast","models":[]}`, status: 400, want: refused("COMBO_004"), calls: []string{"AddCombo"}},
		{name: "COMBO_005", method: "PUT", path: "/api/combos/combo1", body: `{"models":["Team"]}`, status: 400, want: refused("COMBO_005"), calls: []string{"EditCombo"}},
		{name: "COMBO_006", method: "PATCH", path: "/api/combos/combo1", body: `{"strategy":"quota-share"}`, status: 409, want: append(refused("COMBO_006"), `"category":"conflict"`), calls: []string{"EditCombo"}},
		{name: "PUT changes what it holds", method: "PUT", path: "/api/combos/combo2", body: `{"isActive":false,"context_length":4000}`, status: 200, want: []string{`"name":"Team"`, `"isActive":false`, `"context_length":4000`, `"strategy":"weighted"`}, calls: []string{"EditCombo"}},
		{name: "PATCH as well", method: "PATCH", path: "/api/combos/combo2", body: `{"description":"for all"}`, status: 200, want: []string{`"description":"for all"`}, calls: []string{"EditCombo"}},
		{name: "PATCH of nobody", method: "PATCH", path: "/api/combos/nobody", body: `{"description":"x"}`, status: 404, want: refused("COMBO_007"), calls: []string{"EditCombo"}},
		{name: "preview of a stored one", method: "POST", path: "/api/combos/preview", body: `{"id":"combo1"}`, status: 200, want: []string{`"strategy":"priority"`, `"targets":[{"model":"openai/gpt-5-mini","usable":true`}, calls: []string{"PreviewCombo"}},
		{name: "preview of a draft", method: "POST", path: "/api/combos/preview", body: `{"draft":{"models":["a/b"],"strategy":"random"}}`, status: 200, want: []string{`"strategy":"random"`, `"model":"a/b"`}, calls: []string{"PreviewCombo"}},
		{name: "preview of nobody", method: "POST", path: "/api/combos/preview", body: `{"id":"nobody"}`, status: 404, want: refused("COMBO_007"), calls: []string{"PreviewCombo"}},
		{name: "preview of no JSON", method: "POST", path: "/api/combos/preview", body: `{"id"`, status: 400, want: refused("COMBO_001")},
		{name: "drill", method: "POST", path: "/api/drill", body: `{"combo":"combo1","faults":[],"requests":2}`, status: 200, want: []string{`"answered":2`, `"moves":[]`}, calls: []string{"Drill"}},
		{name: "drill of too many", method: "POST", path: "/api/drill", body: `{"combo":"combo1","faults":[],"requests":51}`, status: 400, want: []string{`"field":"requests"`}, calls: []string{"Drill"}},
		{name: "drill of nobody", method: "POST", path: "/api/drill", body: `{"combo":"nobody","faults":[]}`, status: 404, want: refused("COMBO_007"), calls: []string{"Drill"}},
		{name: "reorder", method: "POST", path: "/api/combos/reorder", body: `{"ids":["combo2","combo1"]}`, status: 200, want: []string{`{"ok":true}`}, calls: []string{"ReorderCombos"}},
		{name: "reorder nothing", method: "POST", path: "/api/combos/reorder", body: `{"ids":[]}`, status: 400},
		{name: "delete", method: "DELETE", path: "/api/combos/combo1", status: 200, want: []string{`{"success":true}`}, calls: []string{"DeleteCombo"}},
		{name: "delete nobody", method: "DELETE", path: "/api/combos/nobody", status: 404, want: refused("COMBO_007"), calls: []string{"DeleteCombo"}},
	} {
		t.Run(s.name, func(t *testing.T) { combosBench(t).run(t, s) })
	}
	t.Run("INTERNAL_001", func(t *testing.T) {
		b := combosBench(t)
		b.fake.Fail = func(string) error { return errors.New("disk canary") }
		b.run(t, scenario{method: "POST", path: "/api/combos", body: `{"name":"X","models":[]}`, status: 500, want: []string{"INTERNAL_001", `"category":"internal"`}, not: []string{"canary"}, calls: []string{"AddCombo"}})
	})
}

// FuzzComboBody holds that no body is answered with a failure of ours, and that
// what is taken comes back as a whole combo.
func FuzzComboBody(f *testing.F) {
	for _, body := range []string{
		`{"name":"n","models":["a/b",{"model":"c/*","weight":"7"},{"comboName":"n2"}],"config":{"auto":{"weights":{"quota":1}}}}`,
		`{"name":"n","models":[{"kind":"provider-wildcard","provider":"x"}],"strategy":"pipeline"}`, `{"name":"","models":null}`,
		`{"name":"n","config":{"compositeTiers":{"defaultTier":"a","tiers":{"a":{"stepId":"s"}}}}}`, `[]`, `{`, "null", `{"name":"n","tool_filter_regex":"("}`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		a := newAPI(Options{Facade: facadetest.New(), Token: func() string { return testToken }})
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/combos", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+testToken)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		switch w.Code {
		case http.StatusCreated:
			var c control.Combo
			if err := json.Unmarshal(w.Body.Bytes(), &c); err != nil || c.ID == "" || c.Name == "" || c.Version != 2 || c.Strategy == "" {
				t.Errorf("%s made %s: %v", body, w.Body, err)
			}
		case http.StatusBadRequest, http.StatusConflict:
			if !strings.Contains(w.Body.String(), `"code":"COMBO_00`) {
				t.Errorf("%s is refused with %s", body, w.Body)
			}
		default:
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	})
}
