package cases

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"breakwater/proxy/control"
	"breakwater/proxy/rest"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// prefixes are how vendors begin their keys; what follows is the secret.
var prefixes = []string{
	"sk-ant-api03-", "sk-ant-oat01-", "sk-proj-", "sk-or-v1-", "sk-", "AIza", "gsk_", "xai-", "sk-svcacct-", "ghp_",
	"pplx-", "r8_", "hf_", "nvapi-", "fw_", "csk-", "key-", "tp-", "sk-kimi-", "",
}

// P50: twenty keys, each repeated by its provider in every kind of failure:
// no six characters of one are in the database, its log, our log, the events
// (which carry the notifications), the answers, the figures or an export.
func TestTwentyKeysLeakNowhere(t *testing.T) {
	k := scenario.Start(t)
	c := &canaries{secrets: map[string]string{}}
	names := make([]string, len(prefixes))
	for i, prefix := range prefixes {
		part := rand.Text()
		names[i] = fmt.Sprintf("c%02d", i)
		c.secrets["the key of "+names[i]] = "sk-sim-" + part
		k.Sim.Account(names[i]).SetKeys(prefix + part)
		k.Add(names[i], "demo", func(in *control.ConnectionInput) { in.APIKey = prefix + part })
	}
	events := recorder(t, k)
	for i, name := range names {
		key := prefixes[i] + c.secrets["the key of "+name][len("sk-sim-"):]
		echo := simulator.Error{Message: "the key " + key + " may not do this"}
		for _, step := range []simulator.Step{
			simulator.Status(400).WithError(echo), simulator.Status(403).WithError(echo), simulator.Status(429).WithError(echo),
			simulator.Status(500).WithError(echo), simulator.OK().ErrorAfter(simulator.BeforeHeaders, echo),
			simulator.OK("some words", " and more").ErrorAfter(2, echo), simulator.Raw("text/html", "<p>"+key), simulator.Status(401).WithError(echo),
		} {
			if err := k.Facade().ClearCooldown(t.Context(), k.Connection(name).ID); err != nil {
				t.Fatal(err)
			}
			k.Sim.Account(name).Script(step)
			for _, body := range []string{scenario.Messages, scenario.NoStream(scenario.Messages)} {
				a := k.Post("/v1/messages", strings.Replace(body, `"model":"`, `"model":"`+name+`/`, 1))
				c.look(t, "the answer to "+step.String(), a.Body)
			}
		}
		if _, err := k.Facade().TestConnection(t.Context(), k.Connection(name).ID); err != nil {
			t.Fatal(err)
		}
	}
	for _, rt := range rest.Routes() {
		if rt.Method == http.MethodGet && rt.Path != "/api/events" {
			a := k.Do(rt.Method, strings.ReplaceAll(rt.Path, "{id}", k.Connection("c00").ID), "", "Authorization", "Bearer "+k.Token)
			c.look(t, "GET "+rt.Path, a.Body)
		}
	}
	sealed := k.Do(http.MethodPost, "/api/export", `{"passphrase":"a long passphrase"}`, "Authorization", "Bearer "+k.Token)
	c.look(t, "a sealed export", sealed.Body)
	if err := k.Store.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	files(t, k, c)
	told := events()
	if !strings.Contains(told, "event: alert") || !strings.Contains(told, "event: cooldown") {
		t.Error("no alert or no change was told, so that they were not looked at")
	}
	c.look(t, "the event stream", told)
	k.Restart()
	files(t, k, c)
	c.look(t, "the log", k.Log.String())
}
