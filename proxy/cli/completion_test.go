package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// complete asks a real bash for the completions of a line.
func complete(t *testing.T, script, line string) []string {
	t.Helper()
	words := strings.Split(line, " ")
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = "'" + w + "'"
	}
	const ask = `. "$1"; COMP_WORDS=(%W); COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 )); _breakwater; printf '%s\n' "${COMPREPLY[@]}"`
	out, err := exec.CommandContext(t.Context(), "bash", "-c", strings.Replace(ask, "%W", strings.Join(quoted, " "), 1), "bash", script).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

func TestBashCompletes(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	_, out, _ := newBench(t).run("completion", "bash")
	script := filepath.Join(t.TempDir(), "breakwater.bash")
	if err := os.WriteFile(script, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string][]string{
		"breakwater co":                                  {"combos", "completion", "connections", "cooldowns"},
		"breakwater connections o":                       {"off", "on", "order"},
		"breakwater keys add --ex":                       {"--expires-in"},
		"breakwater completion ":                         {"bash", "fish", "zsh"},
		"breakwater doctor --off":                        {"--offline"},
		"breakwater connections off W":                   nil,
		"breakwater --json connections sh":               {"show"},
		"breakwater --data-dir /d --demo keys --json of": {"off"},
		"breakwater help cooldowns un":                   {"unlock"},
		"breakwater help conn":                           {"connections"},
		"breakwater --he":                                {"--headless", "--help"},
		"breakwater cleanup --data":                      {"--data", "--data-dir"},
	} {
		got := complete(t, script, line)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q completes to %v, want %v", line, got, want)
		}
	}
}

func TestCompletionsNameEveryCommand(t *testing.T) {
	b := newBench(t)
	for _, shell := range []string{"bash", "zsh", "fish"} {
		_, out, _ := b.run("completion", shell)
		for _, g := range groups() {
			if !strings.Contains(out, g) {
				t.Errorf("%s lacks %s", shell, g)
			}
			for _, v := range verbs(g) {
				if !strings.Contains(out, v) {
					t.Errorf("%s lacks %s %s", shell, g, v)
				}
			}
		}
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		file := filepath.Join(t.TempDir(), "completion")
		if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
			t.Fatal(err)
		}
		if msg, err := exec.CommandContext(t.Context(), path, "-n", file).CombinedOutput(); err != nil {
			t.Errorf("%s does not read its completion: %s", shell, msg)
		}
	}
	b.want(2, line("completion tcsh"), "tcsh")
	b.want(2, line("completion"), "the shell")
}
