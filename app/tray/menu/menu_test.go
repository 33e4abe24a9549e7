package menu

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"breakwater/app/i18n"
	"breakwater/proxy/control"
)

var update = flag.Bool("update", false, "write the golden menus anew")

var (
	zone = time.FixedZone("CET", 3600)
	// now is Tuesday 1 December 2026, 15:00 in zone.
	now = time.Date(2026, 12, 1, 14, 0, 0, 0, time.UTC)
)

func at(d time.Duration) *time.Time { return new(now.Add(d)) }

func conn(id, provider, name string, s control.State, until *time.Time) control.Connection {
	return control.Connection{
		ID: id, Provider: strings.ToLower(provider), ProviderName: provider, Name: name,
		State: s, Until: until, Active: s != control.StateOff,
	}
}

func snapshot(cs ...control.Connection) control.Snapshot {
	return control.Snapshot{Endpoint: "http://127.0.0.1:7411", Connections: cs, Health: control.HealthWell}
}

// text prints a menu as a person reads it, with what each entry does.
func text(items []Item) string {
	var b strings.Builder
	var walk func([]Item, string)
	walk = func(is []Item, indent string) {
		for _, i := range is {
			b.WriteString(indent)
			switch {
			case i.Separator:
				b.WriteString("---\n")
				continue
			case i.Checkable && i.Checked:
				b.WriteString("[x] ")
			case i.Checkable:
				b.WriteString("[ ] ")
			case i.Disabled:
				b.WriteString("    ")
			default:
				b.WriteString("  > ")
			}
			b.WriteString(i.Label)
			if i.Action.Kind != None {
				b.WriteString("    -> " + action(i.Action))
			}
			b.WriteByte('\n')
			walk(i.Children, indent+"        ")
		}
	}
	walk(items, "")
	return b.String()
}

func action(a Action) string {
	name := map[Kind]string{
		SetActive: "active", SetLowPriority: "low priority", SetAutoReset: "auto reset", SetPaused: "paused",
		SetCombo: "combo", ClearCooldown: "clear", TestNow: "test", PauseFor: "pause for",
		CopyEndpoint: "copy", OpenWindow: "open", QuitProgram: "quit",
	}[a.Kind]
	switch a.Kind {
	case SetActive, SetLowPriority, SetAutoReset:
		return fmt.Sprintf("%s %s %t", a.Connection, name, a.On)
	case SetCombo:
		return fmt.Sprintf("%s %s %t", a.Combo, name, a.On)
	case ClearCooldown, TestNow:
		return a.Connection + " " + name
	case PauseFor:
		return name + " " + a.For.String()
	case SetPaused:
		return fmt.Sprintf("%s %t", name, a.On)
	default:
		return strings.TrimSpace(name + " " + a.Page + a.Text)
	}
}

// saying gives a connection the words of its last refusal.
func saying(c control.Connection, words string) control.Connection {
	if c.Words = words; c.State == control.StateNeedsAttention {
		c.NeedsAttention = &control.Attention{Words: words}
	}
	return c
}

func everyState() control.Snapshot {
	claude := conn("claude", "Claude", "home", control.StateServing, nil)
	claude.Claude, claude.LowPriorityMode = true, true
	claude.Lane = &control.ClaudeLane{State: "active", Until: at(80 * time.Minute)}
	claude.LimitReset = &control.ClaudeReset{Outcome: "cooldown", Next: at(26 * time.Hour)}
	s := snapshot(
		conn("work", "Anthropic", "work", control.StateCooling, at(3*time.Minute+20*time.Second)),
		claude,
		conn("deg", "OpenAI", "OpenAI", control.StateDegraded, nil),
		conn("lock", "Groq", "fast", control.StateModelLocked, at(90*time.Minute)),
		conn("open", "Mistral", "eu", control.StateOpen, at(40*time.Second)),
		conn("probe", "xAI", "xAI", control.StateProbing, nil),
		conn("ban", "Kimi", "old", control.StateBanned, nil),
		conn("exp", "Gemini", "key of last year that nobody has renewed since then", control.StateExpired, nil),
		conn("broke", "DeepSeek", "R&D_1", control.StateCreditsExhausted, nil),
		saying(conn("asked-last", "Z.ai", "team", control.StateNeedsAttention, nil), "You have no access to this model."),
		saying(conn("page", "OpenRouter", "OpenRouter", control.StateWrongAddress, nil), ""),
		conn("off", "Ollama", "Ollama", control.StateOff, nil),
	)
	s.Health = control.HealthTrouble
	s.Breakers = []control.Breaker{
		{Provider: "mistral", ProviderName: "Mistral", State: "OPEN", Until: at(40 * time.Second)},
		{Provider: "anthropic", ProviderName: "Anthropic", State: "OPEN", Until: at(2 * time.Hour)},
		{Provider: "kimi", ProviderName: "Kimi", State: "HALF_OPEN"},
		{Provider: "openai", ProviderName: "OpenAI", State: "DEGRADED"},
		{Provider: "groq", ProviderName: "Groq", State: "CLOSED"},
	}
	s.Combos = []control.ComboBrief{{ID: "k1", Name: "coding", Active: true}, {ID: "k2", Name: "cheap"}}
	s.Notices = []control.Notice{{Code: "keychain", Text: "no keychain"}}
	return s
}

func many() control.Snapshot {
	var cs []control.Connection
	for n := range 32 {
		cs = append(cs, conn(fmt.Sprintf("o%02d", n), "OpenAI", fmt.Sprintf("key %02d", n), control.StateServing, nil))
	}
	cs[4].State, cs[4].Until = control.StateCooling, at(5*time.Minute)
	cs[20].State, cs[20].Active = control.StateOff, false
	claude := conn("cl", "Claude", "home", control.StateServing, nil)
	claude.Claude = true
	return snapshot(append(cs, claude, conn("x", "xAI", "xAI", control.StateOff, nil))...)
}

func TestMenusReadAsTheyShould(t *testing.T) {
	paused := snapshot(conn("a", "Anthropic", "work", control.StateServing, nil))
	paused.Paused = true
	soon := paused
	soon.PausedUntil = at(20 * time.Minute)
	custom := conn("mine", "Custom", "mine", control.StateOpen, at(time.Minute))
	custom.BaseURL = "https://llm.example:8443/v1"
	hosts := snapshot(custom)
	hosts.Breakers = []control.Breaker{
		{Provider: "custom:llm.example:8443", ProviderName: "mine", State: "OPEN", Until: at(time.Minute)},
		{Provider: "custom:other.example", ProviderName: "other", State: "OPEN", Until: at(time.Minute)},
	}
	for name, s := range map[string]control.Snapshot{
		"empty": snapshot(), "every-state": everyState(), "many": many(), "paused": paused, "paused-until": soon, "custom-hosts": hosts,
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, name+".txt", text(Build(s, now, zone)))
		})
	}
	golden(t, "starting.txt", text(Starting()))
}

func TestMenuSpeaksTheChosenLanguage(t *testing.T) {
	t.Cleanup(func() { _ = i18n.Use("en") })
	if err := i18n.Use("es"); err != nil {
		t.Fatal(err)
	}
	golden(t, "every-state.es.txt", text(Build(everyState(), now, zone)))
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestMenuNeedsNoRebuildForChangesOfState(t *testing.T) {
	before := everyState()
	after := everyState()
	after.Breakers = nil
	before.Breakers = nil
	for i := range after.Connections {
		after.Connections[i].State, after.Connections[i].Active = control.StateServing, true
	}
	after.Connections[0].Name = "renamed"
	a, b := Build(before, now, zone), Build(after, now.Add(time.Hour), zone)
	if Shape(a) != Shape(b) {
		t.Error("the shape changed, so an open menu would close")
	}
	if Fingerprint(a) == Fingerprint(b) {
		t.Error("the look did not change")
	}
}

func TestLabelsFitAndStayOnOneLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.String().Draw(t, "name")
		provider := rapid.String().Draw(t, "provider")
		s := snapshot(conn("a", provider, name, control.StateOpen, at(2*time.Hour)))
		var walk func([]Item)
		walk = func(is []Item) {
			for _, i := range is {
				if n := len([]rune(i.Label)); n > 80 || strings.ContainsAny(i.Label, "\n\r\t\x00") {
					t.Fatalf("label of %d characters: %q", n, i.Label)
				}
				walk(i.Children)
			}
		}
		items := Build(s, now, zone)
		walk(items)
		if !strings.HasSuffix(items[2].Label, "open, probe at 17:00") {
			t.Fatalf("the state was cut: %q", items[2].Label)
		}
	})
}

func TestKeysAreUnique(t *testing.T) {
	for name, s := range map[string]control.Snapshot{"few": everyState(), "many": many()} {
		seen := map[string]bool{}
		var walk func([]Item)
		walk = func(is []Item) {
			for _, i := range is {
				if seen[i.Key] || i.Key == "" {
					t.Errorf("%s: key %q is empty or taken", name, i.Key)
				}
				seen[i.Key] = true
				walk(i.Children)
			}
		}
		walk(Build(s, now, zone))
	}
}

// TestNextIsWhenTheMenuChanges checks that a menu stays as it is up to the
// moment that Next names.
func TestNextIsWhenTheMenuChanges(t *testing.T) {
	if _, ok := Next(snapshot(conn("a", "A", "a", control.StateServing, nil)), now); ok {
		t.Error("a menu without deadlines asks to be drawn again")
	}
	if _, ok := Next(snapshot(conn("a", "A", "a", control.StateCooling, at(0))), now); ok {
		t.Error("a menu whose deadlines are over asks to be drawn again")
	}
	rapid.Check(t, func(t *rapid.T) {
		var cs []control.Connection
		for i := range rapid.IntRange(1, 4).Draw(t, "connections") {
			left := time.Duration(rapid.Int64Range(1, int64(2*time.Hour)).Draw(t, "left"))
			state := rapid.SampledFrom([]control.State{control.StateCooling, control.StateOpen}).Draw(t, "state")
			cs = append(cs, conn(fmt.Sprint(i), "P", fmt.Sprint(i), state, at(left)))
		}
		s := snapshot(cs...)
		next, ok := Next(s, now)
		if !ok || !next.After(now) {
			t.Fatalf("next %v %v", next, ok)
		}
		look := func(at time.Time) string { return Fingerprint(Build(s, at, zone)) }
		if look(now) != look(next.Add(-time.Nanosecond)) {
			t.Fatal("the menu changed earlier")
		}
		if look(now) == look(next.Add(time.Nanosecond)) {
			t.Fatal("the menu did not change")
		}
	})
}

func TestClaudeLinesTellTheLaneAndTheReset(t *testing.T) {
	b := builder{now: now, loc: zone}
	for state, want := range map[string]string{"active": "in use until 16:20", "budget_spent": "used up until 16:20", "cooling_off": "rests until 16:20", "idle": ""} {
		c := control.Connection{Lane: &control.ClaudeLane{State: state, Until: at(80 * time.Minute)}}
		if got := b.lane(c); got != want {
			t.Errorf("%s: %q", state, got)
		}
	}
	past := control.Connection{Lane: &control.ClaudeLane{State: "active", Until: at(-time.Second)}, LimitReset: &control.ClaudeReset{Next: at(-time.Second)}}
	if b.lane(past) != "" || b.reset(past) != "" {
		t.Error("what is over is still told")
	}
	coming := snapshot(control.Connection{State: control.StateServing, LimitReset: &control.ClaudeReset{Next: at(10 * time.Minute)}})
	if _, ok := Next(coming, now); !ok {
		t.Error("the line is not redrawn when the reset may be asked for")
	}
}

func TestTooltip(t *testing.T) {
	s := snapshot(conn("a", "A", "a", control.StateServing, nil))
	if got := Tooltip(s, now, zone); got != "Breakwater · 1 of 1 connections serving" {
		t.Errorf("%q", got)
	}
	s.Demo = true
	if got := Tooltip(s, now, zone); got != "Breakwater demo · 1 of 1 connections serving" {
		t.Errorf("%q", got)
	}
}

// The menu says in words that changes cannot be saved, whatever the reason.
func TestStorageFaultsAreNamed(t *testing.T) {
	for _, kind := range []string{"disk_full", "read_only", "database_busy", "database_gone"} {
		s := snapshot()
		s.Storage = &control.StorageFault{Kind: kind}
		if !slices.ContainsFunc(Build(s, now, time.UTC), func(i Item) bool { return i.Label == "Changes cannot be saved…" && !i.Disabled }) {
			t.Errorf("%s is not named", kind)
		}
	}
	if slices.ContainsFunc(Build(snapshot(), now, time.UTC), func(i Item) bool { return i.Key == "storage" }) {
		t.Error("it is named without a fault")
	}
}
