package cases

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"breakwater/proxy/cli"
	"breakwater/proxy/client"
	"breakwater/proxy/control"
	"breakwater/tests/scenario"
)

// others holds, for every setting of /api/settings, a value that is not its
// default. Paths that only change together are in one key.
func others(t *testing.T) map[string]string {
	_, pem := privateProvider(t)
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, pem, 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"notifications": `false`, "theme": `"dark"`, "language": `"es"`, "requireApiKey": `true`, "clientProfiles": `false`,
		"allowedOrigins": `["http://localhost:5173"]`, "activityLimit": `5000`, "claudeBaseUrl": `"http://127.0.0.1:9"`,
		"egressProbeUrl": `"http://127.0.0.1:9/ip"`, "caFile": `"` + roots + `"`, "autoDisableBannedAccounts": `true`,
		"textScale": `125`, "reducedMotion": `true`, "tables": `{"combos":[{"key":"name","width":90}]}`, "tables.combos": `[{"key":"name"}]`,
		"notify": `{"lane":false,"quietFrom":"22:00","quietUntil":"07:30"}`, "notify.breakers": `false`, "notify.terminal": `false`,
		"notify.nothingLeft": `false`, "notify.lane": `false`, "notify.limitReset": `false`, "notify.quota": `false`,
		"notify.quietFrom notify.quietUntil": `"22:00" "07:30"`,
		"modelLockout":                       `{"enabled":true,"maxBackoffSteps":3}`,
		"modelLockout.enabled":               `true`, "modelLockout.errorCodes": `[418]`, "modelLockout.baseCooldownMs": `70000`,
		"modelLockout.maxCooldownMs": `700000`, "modelLockout.maxBackoffSteps": `3`, "modelLockout.useExponentialBackoff": `false`,
		"providerErrorRules":    `{"demo":[{"status":503,"match":"maintenance","scope":"connection","cooldownMs":3600000}]}`,
		"providerErrorDefaults": `{"demo":{"cooldownMs":60000}}`, "sessionAffinityTtlMs": `60000`,
		"comboDefaults": `{"maxRetries":2}`, "providerOverrides": `{"openai":{"queueDepth":0}}`, "comboStickyRoundRobinLimit": `4`,
		"stickyRoundRobinLimit": `4`, "stickyWeightedLimit": `4`, "disableSessionStickiness": `true`, "compatFilterFailOpen": `true`,
		"modelFacts": `{"openai/gpt-5":{"input":1.5}}`,
	}
}

// body is a patch of one section that sets the paths of a key of others, to
// its values or to null.
func body(paths, values string) string {
	names, given := strings.Fields(paths), []string{values}
	if len(names) > 1 {
		given = strings.Fields(values)
	}
	section, within, _ := strings.Cut(names[0], ".")
	if within == "" {
		return `{"` + section + `":` + given[0] + `}`
	}
	var members []string
	for i, name := range names {
		members = append(members, `"`+strings.TrimPrefix(name, section+".")+`":`+given[i])
	}
	return `{"` + section + `":{` + strings.Join(members, ",") + `}}`
}

// nulls are the values that take a key of others back.
func nulls(paths string) string {
	return strings.Repeat("null ", len(strings.Fields(paths))-1) + "null"
}

// shown returns the settings as GET /api/settings has them, the revision apart.
func shown(t *testing.T, k *scenario.Kit) map[string]any {
	t.Helper()
	a := k.Do(http.MethodGet, "/api/settings", "", "Authorization", "Bearer "+k.Token)
	var out map[string]any
	if err := json.Unmarshal([]byte(a.Body), &out); err != nil || a.Status != 200 {
		t.Fatalf("%d %s %v", a.Status, a.Body, err)
	}
	delete(out, "revision")
	return out
}

// null sets the default for every setting, over the API and the command line,
// alone and with others.
func TestNullSetsTheDefault(t *testing.T) {
	k := scenario.Start(t)
	before, values := shown(t, k), others(t)
	patch := func(t *testing.T, body string) {
		t.Helper()
		if a := k.Do(http.MethodPatch, "/api/settings", body, "Authorization", "Bearer "+k.Token); a.Status != 200 {
			t.Fatalf("%s: %d %s", body, a.Status, a.Body)
		}
	}
	ways := map[string]func(t *testing.T, paths string){
		"alone": func(t *testing.T, paths string) { patch(t, body(paths, nulls(paths))) },
		"with another": func(t *testing.T, paths string) {
			patch(t, strings.TrimSuffix(body(paths, nulls(paths)), "}")+map[bool]string{true: `,"language":null}`, false: `,"theme":"system"}`}[paths == "theme"])
		},
		"by command": func(t *testing.T, paths string) {
			args := []string{"settings", "set"}
			for path := range strings.FieldsSeq(paths) {
				args = append(args, path+"=null")
			}
			command(t, k, args...)
		},
	}
	for paths, value := range values {
		for way, null := range ways {
			t.Run(paths+" "+way, func(t *testing.T) {
				if patch(t, body(paths, value)); reflect.DeepEqual(shown(t, k), before) {
					t.Fatal("the value is the default")
				}
				if null(t, paths); !reflect.DeepEqual(shown(t, k), before) {
					t.Errorf("after null %v, want %v", shown(t, k), before)
				}
			})
		}
	}
	t.Run("all at once, and after a restart", func(t *testing.T) {
		var names []string
		for name := range before {
			if name == "origins" {
				continue
			}
			if names = append(names, `"`+name+`":null`); values[name] == "" {
				t.Errorf("the table lacks %s", name)
				continue
			}
			patch(t, body(name, values[name]))
		}
		if patch(t, `{`+strings.Join(names, ",")+`}`); !reflect.DeepEqual(shown(t, k), before) {
			t.Errorf("after null %v, want %v", shown(t, k), before)
		}
		if k.Restart(); !reflect.DeepEqual(shown(t, k), before) {
			t.Errorf("after a restart %v, want %v", shown(t, k), before)
		}
	})
}

// command runs a command against the running product.
func command(t *testing.T, k *scenario.Kit, args ...string) {
	t.Helper()
	var out bytes.Buffer
	code := cli.Run(t.Context(), cli.Env{
		In: strings.NewReader(""), Out: &out, Err: &out, Getenv: func(string) string { return "" },
		Connect: func(context.Context, cli.Where) (control.Facade, func(), error) {
			return client.New(k.URL, k.Token, client.Options{}), func() {}, nil
		},
	}, args)
	if code != 0 || !strings.Contains(out.String(), "Changed.") {
		t.Errorf("%v: %d %s", args, code, out.String())
	}
}
