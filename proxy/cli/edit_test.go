package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"breakwater/proxy/control"
)

// Without a key the command explains how to give one, or asks a person.
func TestAddingAConnectionExplainsItself(t *testing.T) {
	b := newBench(t)
	b.want(1, line("connections add anthropic"), "needs the key", "--key-stdin", "--key-env KEY", "printf")
	b.want(1, line("connections add anthropic --credential oauth"), "needs the refresh token", "--refresh-token-stdin", "--refresh-token-env REFRESH_TOKEN")
	b.want(0, line("connections add --help"), "Examples:", "--key-stdin", "-low-priority-mode")
	b.want(1, line("connections add anthropic --key-stdin"), "the standard input holds no line for the key")
	b.typed = []string{"sk-typed\n"}
	b.want(0, line("connections add anthropic --name Typed"), "Added Typed")
	if !strings.HasPrefix(b.prompt, "The key of Anthropic") {
		t.Errorf("the prompt is %q", b.prompt)
	}
	b.typed = []string{"sk-typed\n"}
	b.want(0, line("connections add anthropic --name Again --key-stdin"), "Added Again")
	b.typed = []string{"\n"}
	b.want(1, line("connections add anthropic"), "nothing was typed")
}

// Every field of the facade's patch can be set by a flag.
func TestEditingAConnection(t *testing.T) {
	b := newBench(t)
	args := line(`connections edit Work --json --name Renamed --credential token --base-url https://x.example --dialect anthropic --dialect chat
		--default-model m1 --model a* --model b* --priority 7 --disable-cooling --low-priority-mode --auto-limit-reset=false --max-concurrent 4
		--rate-limit-overrides {"rpm":60} --quota-window-thresholds {"weekly":5} --tag x --group g --active=off
		--excluded-model big* --user-agent Own/1 --validation-model small --per-model-quota true --health-check-interval 30`)
	_, out, errs := b.run(args...)
	var k control.Connection
	if err := json.Unmarshal([]byte(out), &k); err != nil {
		t.Fatalf("%v: %s%s", err, out, errs)
	}
	if k.Name != "Renamed" || k.Credential != "token" || k.BaseURL != "https://x.example" || !slices.Equal(k.Dialects, []string{"anthropic", "chat"}) ||
		k.DefaultModel != "m1" || !slices.Equal(k.Models, []string{"a*", "b*"}) || k.Priority != 7 || !k.DisableCooling || !k.LowPriorityMode ||
		k.AutoLimitReset || k.MaxConcurrent != 4 || k.QuotaWindowThresholds["weekly"] != 5 || !slices.Equal(k.Tags, []string{"x"}) || k.Group != "g" || k.Active ||
		!slices.Equal(k.ExcludedModels, []string{"big*"}) || k.UserAgent != "Own/1" || k.ValidationModel != "small" || k.PerModelQuota == nil || !*k.PerModelQuota ||
		k.HealthCheckInterval == nil || *k.HealthCheckInterval != 30 {
		t.Errorf("edited %+v", k)
	}
	b.want(0, line("connections edit Renamed --model= --low-priority-mode=no --max-concurrent 0 --rate-limit-overrides null"), "Changed Renamed")
	b.want(0, line("connections edit Renamed --proxy-url socks5://proxy.example:1080"), "Changed Renamed")
	b.want(2, line("connections edit Renamed --proxy-url http://me:word@proxy.example"), "--proxy-url-stdin")
	b.in = "http://me:word@proxy.example\n"
	b.want(0, line("connections edit Renamed --proxy-url-stdin"), "Changed Renamed")
	b.in = "sk-first\nrt-second\n"
	b.want(0, line("connections edit Renamed --credential oauth --key-stdin --refresh-token-stdin"), "Changed")
	b.want(0, line("connections edit Renamed --per-model-quota null --health-check-interval null"), "Changed Renamed")
	b.want(2, line("connections edit Renamed --health-check-interval often"), "a whole number or null")
	b.want(2, line("connections edit Renamed --per-model-quota maybe"), "true, false or null")
	b.want(2, line("connections edit Renamed"), "name what to change")
	b.want(2, line("connections edit Renamed --priority first"), "priority", "whole number")
	b.want(2, line("connections edit Renamed --low-priority-mode=maybe"), "true or false")
	b.want(2, line("connections edit Renamed --rate-limit-overrides 60"), "JSON object")
	b.want(1, line("connections edit Nobody --priority 1"), `there is no connection "Nobody"`)

	in, patch := fieldNames[control.ConnectionInput](t), fieldNames[control.ConnectionPatch](t)
	for cmd, want := range map[string][]string{"add": in, "edit": patch} {
		_, help, _ := b.run("connections", cmd, "--help")
		for _, f := range want {
			word, ok := map[string]string{
				"apiKey": "key-stdin", "refreshToken": "refresh-token-stdin", "isActive": "active", "dialects": "dialect", "models": "model", "tags": "tag",
				"excludedModels": "excluded-model", "customUserAgent": "user-agent", "validationModelId": "validation-model", "passthroughModels": "per-model-quota",
			}[f]
			if !ok {
				word = kebab(f)
			}
			if f != "provider" && !strings.Contains(help, "-"+word) {
				t.Errorf("connections %s has no flag for %s", cmd, f)
			}
		}
	}
}

// fieldNames are the JSON names of a struct.
func fieldNames[T any](t *testing.T) []string {
	t.Helper()
	out := jsonNames[T]()
	if len(out) < 15 {
		t.Fatalf("only %v", out)
	}
	return out
}

func TestMistakesAreToldInPlainWords(t *testing.T) {
	b := newBench(t)
	for _, tc := range []struct {
		args []string
		want []string
	}{
		{line("settings set theme=5"), []string{"theme: expected a text, got the number 5"}},
		{line("settings set notifications=yes"), []string{`notifications: expected true or false, got the text "yes"`}},
		{line("settings set activityLimit=1.5"), []string{"activityLimit: expected a whole number, got the number 1.5"}},
		{line("settings set allowedOrigins=x"), []string{"allowedOrigins: expected a list"}},
		{line("settings set nothing=1"), []string{`there is no setting "nothing"`}},
		{line("settings set requestQueue.maxWaitMs=soon"), []string{"requestQueue.maxWaitMs: must be a whole number from 1", `got the text "soon"`}},
		{line("settings set requestQueue.maxWaitMs=0"), []string{"requestQueue.maxWaitMs"}},
		{line("settings set requestQueue=5"), []string{"requestQueue: must be an object, got the number 5"}},
		{line("settings set modelLockout.enabled=5"), []string{"modelLockout.enabled: must be true or false, got the number 5"}},
		{line("settings set requestQueue.x=5"), []string{"requestQueue.x: is not a known setting"}},
	} {
		_, out, errs := b.run(tc.args...)
		for _, w := range tc.want {
			if !strings.Contains(errs, w) {
				t.Errorf("%v prints %s%s, which lacks %q", tc.args, out, errs, w)
			}
		}
		for _, w := range []string{"unmarshal", "json:", "struct", "Go ", "int64", "control."} {
			if strings.Contains(errs, w) {
				t.Errorf("%v speaks of %q: %s", tc.args, w, errs)
			}
		}
	}
	b.in = "{\n\"name\": }"
	b.want(1, line("combos edit nobody -"), "no combo")
	b.want(1, line("combos add -"), "not JSON", "line 2")
	b.in = `{"name":5}`
	b.want(1, line("combos add -"), "name: expected a text, got the number 5")
	b.in = ""
	b.want(1, line("combos add -"), "ends too early")
}

// With --json an error is JSON too.
func TestErrorsAsJSON(t *testing.T) {
	b := newBench(t)
	for _, args := range [][]string{line("connections show Nobody --json"), line("settings set requestQueue.maxWaitMs=0 --json"), line("leases end --json")} {
		code, out, errs := b.run(args...)
		var f failure
		if err := json.Unmarshal([]byte(errs), &f); err != nil || code == 0 || out != "" || f.Error.Message == "" {
			t.Errorf("%v: %d %s %s %v", args, code, out, errs, err)
		}
		if args[0] == "settings" && (len(f.Error.Details) != 1 || f.Error.Details[0].Field != "requestQueue.maxWaitMs") {
			t.Errorf("details %+v", f.Error.Details)
		}
	}
}

func TestFlagsBeforeTheCommand(t *testing.T) {
	for _, tc := range [][2]string{
		{"--json leases", "leases --json"},
		{"--data-dir /d --json connections list", "connections list --data-dir /d --json"},
		{"-data-dir=/d --demo cooldowns clear --all", "cooldowns clear -data-dir=/d --demo --all"},
		{"--json settings set theme=dark", "settings set --json theme=dark"},
		{"--data-dir /d token", "token --data-dir /d"},
		{"--data-dir /d window activity", "window --data-dir /d activity"},
		{"--data-dir /d", "--data-dir /d"},
		{"--data-dir", "--data-dir"},
		{"--data-dir /d --headless", "--data-dir /d --headless"},
		{"--port 1 leases", "--port 1 leases"},
		{"--demo", "--demo"},
		{"--json nonsense", "--json nonsense"},
		{"leases --json", "leases --json"},
		{"", ""},
	} {
		if got := strings.Join(Hoist(line(tc[0]), ProgramCommands()...), " "); got != tc[1] {
			t.Errorf("%s becomes %s, want %s", tc[0], got, tc[1])
		}
	}
}
