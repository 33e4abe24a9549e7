package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/client/facadetest"
	"breakwater/proxy/control"
)

// bench runs commands over a fake facade.
type bench struct {
	t    *testing.T
	fake *facadetest.Fake
	env  map[string]string
	in   string
	fail error // of connecting
	ends int
	// typed is what a person types at the terminal; nil is no terminal.
	typed  []string
	prompt string
	// answer is what a person says to a question; empty is no terminal.
	answer   string
	plan     control.RestorePlan // of a restore
	restored int
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, fake: facadetest.New(), env: map[string]string{}}
	until := time.Now().Add(90 * time.Second)
	b.fake.Change(func(s *control.Snapshot) {
		s.Connections = []control.Connection{
			{ID: "a", Provider: "anthropic", Name: "Work", Priority: 1, Active: true, HasSecret: true, Credential: "apikey", State: control.StateCooling, RateLimitedUntil: &until, Until: &until, Reason: "rate_limit"},
			{ID: "b", Provider: "openai", Name: "Spare", Priority: 2, Active: true, HasSecret: true, Credential: "apikey", State: control.StateBanned, Lockouts: []control.Lockout{{Model: "m1", Reason: "not_found", Until: until}}},
		}
		s.Breakers = []control.Breaker{{Provider: "openai", State: "OPEN", Until: &until, LastFailureKind: "server"}}
	})
	return b
}

func (b *bench) run(args ...string) (code int, out, errs string) {
	b.t.Helper()
	var o, e bytes.Buffer
	code = Run(b.t.Context(), Env{
		In: strings.NewReader(b.in), Out: &o, Err: &e, Getenv: func(k string) string { return b.env[k] },
		Ask: func(_ context.Context, prompt string) (string, bool, error) {
			b.prompt = prompt
			if len(b.typed) == 0 {
				return "", false, nil
			}
			text := b.typed[0]
			b.typed = b.typed[1:]
			return text, true, nil
		},
		Backup: func(context.Context, Where, string) error { return nil },
		Restore: func(_ context.Context, _ Where, from string, agree func(control.RestorePlan) error) (string, error) {
			if from == "nothing" {
				return "", errors.New("there is no nothing")
			}
			if err := agree(b.plan); err != nil {
				return "", err
			}
			b.restored++
			return "old", nil
		},
		Confirm: func(_ context.Context, question string) (yes, asked bool, err error) {
			b.prompt = question
			return b.answer == "y", b.answer != "", nil
		},
		Connect: func(context.Context, Where) (control.Facade, func(), error) {
			return b.fake, func() { b.ends++ }, b.fail
		},
	}, args)
	return code, o.String(), e.String()
}

// want runs a command and looks for words in what it prints.
func (b *bench) want(code int, args []string, words ...string) {
	b.t.Helper()
	got, out, errs := b.run(args...)
	if got != code {
		b.t.Errorf("%v ends with %d, want %d: %s%s", args, got, code, out, errs)
	}
	for _, w := range words {
		if !strings.Contains(out+errs, w) {
			b.t.Errorf("%v prints %s%s, which lacks %q", args, out, errs, w)
		}
	}
}

func line(s string) []string { return strings.Fields(s) }

func TestConnections(t *testing.T) {
	b := newBench(t)
	b.want(0, line("connections"), "Work", "cooling", "1m30s", "banned")
	b.want(0, line("connections list --json"), `"name": "Work"`)
	b.want(0, line("connections show work"), "provider    anthropic", "rate_limit")
	b.want(0, line("connections show Spare"), "m1", "not_found")
	b.want(0, line("connections providers"), "anthropic", "PROVIDER")
	b.want(0, line("connections providers --json"), `"id": "anthropic"`)
	b.want(1, line("connections add nobody --key-env MY_KEY"), "--key-env")
	b.env["MY_KEY"] = "sk-x"
	b.want(1, line("connections add nobody --key-env MY_KEY"), "breakwater connections providers")
	b.want(0, line("connections off Work"), "switched off")
	b.want(0, line("connections on Work"), "switched on")
	b.want(0, line("connections order Spare Work"), "NAME")
	b.want(1, line("connections test Work"), "Work does not work")
	b.fake.Tested = control.TestResult{Valid: true, LatencyMs: 12}
	b.want(0, line("connections test Work"), "works (12 ms)")
	b.want(0, line("connections delete Work"), "Deleted Work")
	b.want(1, line("connections delete Work"), `there is no connection "Work"`)
	if b.ends == 0 {
		t.Error("the connection to the program is not ended")
	}
}

// A key comes from where it shows neither in the list of processes nor in the
// shell's history.
func TestKeysOfConnectionsAreNoArguments(t *testing.T) {
	b := newBench(t)
	b.in = "sk-from-stdin\n"
	b.want(0, line("connections add anthropic --name New --key-stdin"), "Added New")
	b.env["MY_KEY"] = "sk-from-env"
	b.want(0, line("connections add --name Newer --key-env MY_KEY anthropic"), "Added Newer")
	b.want(1, line("connections add openai --key-env NOTHING"), "--key-env names is empty")
	b.want(2, line("connections add openai --key-env MY_KEY --key-stdin"), "not from both")
	b.want(2, line("connections add"), "the provider is missing")
	for _, c := range commands() {
		fs := flag.NewFlagSet("x", flag.ContinueOnError)
		c.setup(fs)
		if fs.Lookup("key") != nil || fs.Lookup("api-key") != nil || fs.Lookup("token") != nil {
			t.Errorf("%s takes a secret as an argument", c.line())
		}
	}
}

func TestCooldowns(t *testing.T) {
	b := newBench(t)
	b.want(0, line("cooldowns"), "Work", "Spare/m1", "breaker", "openai", "OPEN")
	b.want(0, line("cooldowns --json"), `"breakers"`, `"connections"`)
	b.want(0, line("cooldowns clear Work"), "Cleared: 1")
	b.want(0, line("cooldowns clear --all"), "Spare is banned: mend")
	b.want(2, line("cooldowns clear"), "--all")
	b.want(2, line("cooldowns clear --all Work"), "--all")
	b.want(0, line("cooldowns unlock m1 --connection Spare"), "Unlocked: ")
	b.want(0, line("cooldowns reset"), "Breakers reset: ")
}

func TestSettings(t *testing.T) {
	b := newBench(t)
	b.want(0, line("settings"), "theme=", "requestQueue.maxWaitMs=30000")
	b.want(0, line("settings show requestQueue.maxWaitMs"), "requestQueue.maxWaitMs=30000")
	b.want(0, line("settings show requestQueue.maxWaitMs --json"), "30000")
	b.want(1, line("settings show nothing.here"), "there is no setting")
	b.want(0, line("settings set theme=dark requestQueue.maxQueueDepth=7 notifications=false"), "Changed")
	b.want(0, line("settings show theme"), `theme="dark"`)
	b.want(0, line("settings show notifications"), `notifications=false`)
	b.want(0, line("settings show requestQueue.maxQueueDepth"), "=7", "(stored)")
	b.want(0, line("settings set requestQueue.maxQueueDepth=null"), "Changed")
	b.want(0, line("settings show requestQueue.maxQueueDepth"), "=0")
	b.want(1, line("settings set nothing=1"), "nothing")
	b.want(1, line("settings set requestQueue.maxWaitMs=0"), "maxWaitMs")
	b.want(2, line("settings set theme"), "PATH=VALUE")
	b.want(2, line("settings set"), "missing")
}

func TestKeys(t *testing.T) {
	b := newBench(t)
	b.want(0, line("keys add Laptop --scope client --scope manage --connection Work --model m* --expires-in 24h"), "sk-whole-key", "only time")
	b.want(0, line("keys"), "Laptop", "client,manage")
	if _, out, _ := b.run("keys", "--json"); strings.Contains(out, "sk-whole") {
		t.Error("a key is shown again")
	}
	b.want(0, line("keys off laptop"), "switched off")
	b.want(0, line("keys on Laptop"), "switched on")
	b.want(1, line("keys add laptop"), "of this name already")
	b.fake.AddKeys(control.APIKey{ID: "old", Name: "Laptop"}) // from before names had to differ
	b.want(1, line("keys delete Laptop"), "2 keys are called")
	b.want(0, line("keys delete k1"), "Deleted")
	b.want(1, line("keys add X --scope lease:exclusive"), "allowedConnections")
}

func TestLeases(t *testing.T) {
	b := newBench(t)
	b.want(0, line("leases"), "No connection is held")
	b.want(0, line("leases --json"), "[]")
	until := time.Now().Add(100 * time.Second)
	b.fake.SetLeases(control.HeldLease{ID: "L1", ConnectionID: "a", ConnectionName: "Work", Provider: "anthropic", Owner: "0123abcd", KeyName: "ci", Generation: 3, Until: until})
	b.want(0, line("leases list"), "Work", "0123abcd", "ci", "3", "1m40s", "L1")
	b.want(1, line("leases end Spare"), `there is no lease on "Spare"`)
	b.want(2, line("leases end"), "the connection's name")
	b.want(0, line("leases end work"), "The lease on Work has ended.")
	b.want(0, line("leases list"), "No connection is held")
}

func TestCombos(t *testing.T) {
	b := newBench(t)
	file := filepath.Join(t.TempDir(), "combo.json")
	if err := os.WriteFile(file, []byte(`{"name":"fast","models":[{"kind":"model","provider":"openai","model":"m1"}],"strategy":"priority"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	b.want(0, []string{"combos", "add", file}, "Added fast")
	b.want(0, line("combos"), "fast", "priority")
	b.want(0, line("combos show fast"), `"name": "fast"`)
	b.in = `{"name":"slow"}`
	b.want(0, line("combos edit fast -"), "Changed slow")
	b.in = `{"strategy":"best","models":[{"model":"openai/m1","weight":500}]}`
	b.want(0, line("combos edit slow -"), "strategy: best cannot be used; it is priority now.", "models[0].weight: 500 cannot be used; it is 100 now.")
	b.in = "{\"name\":\"x\"}\n}"
	b.want(1, line("combos edit slow -"), "something follows the JSON")
	b.in = `{"nmae":"x"}`
	b.want(1, line("combos edit slow -"), "nmae")
	b.want(0, line("combos delete slow"), "Deleted")
	b.want(1, line("combos show slow"), "there is no combo")
}

func TestEvents(t *testing.T) {
	b := newBench(t)
	b.want(0, line("events --json --count 1"), `"type":"snapshot"`)
	b.want(2, line("events --kind nonsense"), "nonsense")
	for _, e := range []control.Event{
		{Type: control.EventActivity, Activity: &control.Activity{Path: "/v1/messages", Model: "m", Result: "answered", Status: 200}},
		{Type: control.EventAlert, Alert: &control.Alert{Kind: control.AlertBreakerOpen, ProviderName: "OpenAI"}},
		{Type: control.EventLease, Change: &control.Change{ConnectionName: "Work", To: "ACTIVE", Until: new(time.Now().Add(time.Minute))}},
		{Type: control.EventSnapshot, Snapshot: &control.Snapshot{Health: control.HealthWell}},
	} {
		if text := describe(e); strings.ContainsAny(text, "\n%") || len(text) < 12 {
			t.Errorf("%s: %q", e.Type, text)
		}
	}
}

// An alert is of somebody: a combo, a connection, a provider.
func TestAlertsNameWhomTheyAreOf(t *testing.T) {
	until := new(time.Now().Add(time.Minute))
	for want, a := range map[string]control.Alert{
		"nothing_left combo coding chat for 1m0s":        {Kind: control.AlertNothingLeft, Combo: "coding", Dialect: "chat", Until: until},
		"terminal OpenAI Work banned":                    {Kind: control.AlertTerminal, ProviderName: "OpenAI", ConnectionName: "Work", State: control.StateBanned},
		"breaker_open OpenAI for 1m0s":                   {Kind: control.AlertBreakerOpen, ProviderName: "OpenAI", Until: until},
		"quota_low Claude Mine weekly 9 % left for 1m0s": {Kind: control.AlertQuotaLow, ProviderName: "Claude", ConnectionName: "Mine", Window: "weekly", PercentLeft: new(9), Until: until},
		"lane_ended Claude Mine budget":                  {Kind: control.AlertLaneEnded, ProviderName: "Claude", ConnectionName: "Mine", Reason: "budget"},
	} {
		if got := describe(control.Event{Type: control.EventAlert, Alert: &a}); got != "alert     "+want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestBackupAndRestore(t *testing.T) {
	b := newBench(t)
	b.want(0, line("backup x.db"), "Copied to x.db")
	b.want(0, line("restore x.db"), "Restored from x.db", "kept as old")
	b.want(1, line("restore nothing"), "there is no nothing")
	b.want(2, line("backup"), "the file is missing")
	b.plan = control.RestorePlan{
		Replaces: true, Compared: true, KeysSwitchedOff: []string{"laptop", "ci"}, KeysLost: []string{"newer"},
		ConnectionsBack: []string{"Old"}, ConnectionsLost: []string{"New"}, ConnectionsChanged: []string{"Both"},
	}
	told := []string{"come back switched off (breakwater keys on NAME): laptop, ci", "lost: newer", "need their keys again: Old", "lost: New", "what they were: Both"}
	before := b.restored
	b.want(1, line("restore x.db"), append(told, "--yes", "nothing was changed")...)
	b.answer = "n"
	b.want(1, line("restore x.db"), append(told, "nothing was changed")...)
	if b.restored != before || !strings.Contains(b.prompt, "Replace") {
		t.Errorf("restored %d times without a yes, asked %q", b.restored-before, b.prompt)
	}
	b.answer = "y"
	b.want(0, line("restore x.db"), told...)
	b.answer = ""
	b.want(0, line("restore --yes x.db"), told...)
	b.want(0, line("restore x.db --yes --json"), `"restored": "x.db"`, `"keysSwitchedOff": [`, `"laptop"`, `"kept": "old"`)
	b.plan = control.RestorePlan{KeysActive: []string{"one"}}
	b.want(0, line("restore x.db"), "in force again", ": one")
}

func TestMistakes(t *testing.T) {
	b := newBench(t)
	b.want(2, line("connections bogus"), `knows no command "bogus"; see breakwater connections --help`)
	b.want(2, line("connections list extra"), "argument 1 is one too many")
	b.want(2, line("connections --nothing"), "nothing", "see breakwater connections list --help")
	b.want(2, line("keys add x --expires-in 5"), "--expires-in", "see breakwater keys add --help")
	b.want(0, line("connections --json show Work"), `"name": "Work"`)
	b.want(0, line("connections --data-dir d --json show Work"), `"name": "Work"`)
	b.want(2, line("connections --json bogus"), "one too many")
	b.want(2, []string{"connections", "show", ""}, "name is empty")
	b.want(2, line("connections list keys"), "breakwater keys")
	b.want(2, line("events --count -1"), "--count")
	b.want(0, line("connections --help"), "connections list", "connections order NAME…")
	b.want(0, line("keys add --help"), "-expires-in")
	b.fail = errors.New("no Breakwater runs")
	for _, c := range commands() {
		if c.group == "doctor" || c.group == "completion" || c.group == "backup" || c.group == "restore" {
			continue
		}
		args := append(line(c.group+" "+c.verb), map[string][]string{
			"NAME": {"x"}, "PROVIDER": {"openai"}, "NAME…": {"x"}, "NAME…|--all": {"x"}, "PATH=VALUE…": {"a=1"}, "NAME FILE": {"x", "-"}, "FILE": {"-"},
		}[c.args]...)
		b.in = "{}"
		b.want(1, args, "no Breakwater runs")
	}
	if Has("nothing") || !Has("doctor") {
		t.Error("Has is wrong")
	}
}

// Names and reasons may come from anywhere: none of them moves the cursor or
// begins a line of its own.
func TestWhatIsPrintedLeavesTheTerminalAlone(t *testing.T) {
	b := newBench(t)
	b.fake.Change(func(s *control.Snapshot) {
		s.Connections[0].Name, s.Connections[0].Reason = "Wo\nrk\tx", "\x1b[31mred\u009b\r"
	})
	for _, args := range [][]string{{"connections"}, {"connections", "show", "a"}, {"cooldowns"}, {"connections", "off", "a"}, {"connections", "show", "no\x1b[2Jbody"}} {
		_, out, errs := b.run(args...)
		if strings.ContainsAny(out+errs, "\x1b\r\u009b") || strings.Contains(out, "Wo\nrk") && args[0] != "connections" {
			t.Errorf("%q prints %q %q", args, out, errs)
		}
	}
	if _, out, _ := b.run("connections"); strings.Count(out, "\n") != 3 || !strings.Contains(out, "Wo?rk?x") {
		t.Errorf("the table is %q", out)
	}
	if _, out, _ := b.run("completion", "bash"); strings.Contains(out, "?") {
		t.Error("a script was changed")
	}
}

// full is an output that takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// What could not be printed is an error: the key of "keys add" is lost then.
func TestOutputThatCannotBeWrittenIsAnError(t *testing.T) {
	for _, args := range []string{"keys add A", "connections", "settings", "completion bash", "doctor --offline", "events --count 1 --kind snapshot"} {
		var errs bytes.Buffer
		env := Env{
			Out: full{}, Err: &errs, Getenv: func(string) string { return "" },
			Connect: func(context.Context, Where) (control.Facade, func(), error) { return facadetest.New(), func() {}, nil },
			Local:   LocalChecks{Dir: func(Where) (string, error) { return "", errors.New("none") }},
		}
		if code := Run(t.Context(), env, line(args)); code != 1 || !strings.Contains(errs.String(), "no space left") {
			t.Errorf("%s ends with %d: %s", args, code, errs.String())
		}
	}
}

// Everything that --json prints is JSON.
func TestJSONIsJSON(t *testing.T) {
	b := newBench(t)
	for _, args := range []string{
		"connections", "connections show Work", "connections off Work", "cooldowns", "cooldowns clear --all", "cooldowns reset",
		"cooldowns unlock", "settings", "settings set theme=light", "keys add A", "keys", "combos",
	} {
		_, out, errs := b.run(append(line(args), "--json")...)
		if !json.Valid([]byte(out)) {
			t.Errorf("%s --json prints %q %s", args, out, errs)
		}
	}
}
