package cases

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// What a combo holds that means nothing or leads nowhere is taken, and told.
func TestComboWarnings(t *testing.T) {
	k := scenario.Start(t)
	k.Add("alpha", "demo", func(in *control.ConnectionInput) { in.Models = []string{"m1"} })
	k.Add("beta", "demo", func(in *control.ConnectionInput) { in.ExcludedModels = []string{"m2"} })
	beta := k.Connection("beta").ID
	auth := []string{"Authorization", "Bearer " + k.Token}
	for _, tt := range []struct{ name, body, field, given, message string }{
		{"an unknown key", `"models":["alpha/m1"],"config":{"maxRetires":3}`, "config.maxRetires", "3", "no setting of combos has this name"},
		{"an empty list", `"models":[]`, "models", "[]", "has no step"},
		{"no list", `"strategy":"random"`, "models", "[]", "has no step"},
		{"no such combo", `"models":["alpha/m1",{"comboName":"spare"}]`, "models[1].comboName", "spare", "no combo of this name"},
		{"no such connection", `"models":[{"model":"alpha/m1","connectionId":"gone"}]`, "models[0].connectionId", "gone", "no such connection"},
		{"no such allowed connection", `"models":[{"model":"alpha/m1","allowedConnectionIds":["gone"]}]`, "models[0].allowedConnectionIds", "gone", "no such connection"},
		{"nobody of the provider", `"models":["openai/gpt-5"]`, "models[0].model", "openai/gpt-5", "no connection of this provider"},
		{"a model nobody offers", `"models":["alpha/m9"]`, "models[0].model", "alpha/m9", "known to offer"},
		{"a model that is left out", `"models":["beta/m2"]`, "models[0].model", "beta/m2", "left out"},
		{"a model that a named connection leaves out", `"models":[{"model":"beta/m2","connectionId":"` + beta + `"}]`, "models[0].model", "beta/m2", "left out"},
		{"all well", `"models":["alpha/m1","alpha/m*",{"model":"beta/m9","connectionId":"` + beta + `"}],"config":{"maxRetries":3,"timeoutMs":5}`, "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := k.Do(http.MethodPost, "/api/combos", `{"name":"`+tt.name+`",`+tt.body+`}`, auth...)
			var c control.Combo
			if err := json.Unmarshal([]byte(a.Body), &c); err != nil || a.Status != http.StatusCreated {
				t.Fatalf("got %d %s", a.Status, a.Body)
			}
			switch {
			case tt.field == "" && len(c.Warnings) == 0:
			case len(c.Warnings) != 1 || c.Warnings[0].Field != tt.field || c.Warnings[0].Given != tt.given || !strings.Contains(c.Warnings[0].Message, tt.message):
				t.Errorf("warnings %+v", c.Warnings)
			}
		})
	}
}

// A combo that leads to nobody is a slip of its author: its answer says so, and
// nobody is alarmed. One whose connections all rest is an alarm.
func TestDeadComboAlarmsNobody(t *testing.T) {
	k := scenario.Start(t)
	k.Add("alpha", "demo")
	for name, models := range map[string]string{"empty": `[]`, "dead": `["openai/gpt-5",{"comboName":"spare"}]`, "resting": `["alpha/m1"]`} {
		if a := k.Do(http.MethodPost, "/api/combos", `{"name":"`+name+`","models":`+models+`}`, "Authorization", "Bearer "+k.Token); a.Status != http.StatusCreated {
			t.Fatalf("got %d %s", a.Status, a.Body)
		}
	}
	k.Sim.Account("alpha").Script(simulator.Status(429).WithRetryAfter(time.Hour).Always())
	l := listen(t, k)
	for _, name := range []string{"empty", "dead", "resting"} {
		if a := k.Post("/v1/messages", strings.Replace(scenario.Messages, "m1", name, 1)); a.Status < 400 {
			t.Errorf("%s: got %d", name, a.Status)
		}
	}
	deadline := time.After(10 * time.Second)
	for {
		select {
		case e := <-l.events:
			if e.Alert == nil {
				continue
			}
			if e.Alert.Kind != control.AlertNothingLeft || e.Alert.Combo != "resting" {
				t.Errorf("alarmed by %+v", e.Alert)
			}
			return
		case <-deadline:
			t.Fatal("no alarm for the resting combo")
		}
	}
}
