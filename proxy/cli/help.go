package cli

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"
)

func (c command) line() string {
	return strings.Join(strings.Fields(strings.Join([]string{c.group, c.verb, c.args}, " ")), " ")
}

// Help lists the groups of commands, one line each, for the program's own help.
func Help(w io.Writer) {
	for _, l := range [...][2]string{
		{"connections", "list, add, edit, test, switch, order and delete connections"},
		{"combos", "list, show, add, edit and delete combos"},
		{"cooldowns", "list and clear cooldowns, locked models and breakers"},
		{"settings", "show and change settings"},
		{"keys", "list, add, switch and delete API keys"},
		{"leases", "list exclusive leases, and end one"},
		{"events", "print what happens as it happens"},
		{"doctor", "check the installation and say what to do"},
		{"backup FILE", "copy the database, also while Breakwater runs"},
		{"restore FILE", "put such a copy in its place"},
		{"completion SHELL", "print the completion for bash, zsh or fish"},
	} {
		fmt.Fprintf(w, "  breakwater %-19s%s\n", l[0], l[1])
	}
}

// help lists the commands of a group.
func help(w io.Writer, group string) {
	fmt.Fprintln(w, "Usage:")
	tab := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, c := range commands() {
		if c.group == group {
			fmt.Fprintf(tab, "  breakwater %s\t%s\n", c.line(), c.about)
		}
	}
	_ = tab.Flush() // the terminal may be gone
	fmt.Fprintln(w, "\nExamples:")
	for _, c := range commands() {
		if c.group == group {
			fmt.Fprintln(w, "  "+examples[c.name()][0])
		}
	}
	fmt.Fprintln(w, "\nEach takes --json, --data-dir FOLDER and --demo, also before the command; --help shows its own flags.")
}

// name is how the command is called.
func (c command) name() string { return strings.TrimSpace(c.group + " " + c.verb) }

// helpOn explains one command.
func helpOn(w io.Writer, c command, fs *flag.FlagSet) {
	fmt.Fprintf(w, "%s\n\nUsage:\n  breakwater %s [flags]\n\nFlags:\n", sentence(c.about), c.line())
	PrintFlags(w, fs)
	fmt.Fprintln(w, "\nExamples:")
	for _, e := range examples[c.name()] {
		fmt.Fprintln(w, "  "+e)
	}
}

// oneDash begins a flag as package flag prints it.
var oneDash = regexp.MustCompile(`(?m)^  -([a-z])`)

// PrintFlags explains the flags, spelled with two dashes as everywhere else.
func PrintFlags(w io.Writer, fs *flag.FlagSet) {
	var text bytes.Buffer
	fs.SetOutput(&text)
	fs.PrintDefaults()
	_, _ = w.Write(oneDash.ReplaceAll(text.Bytes(), []byte("  --$1"))) // the terminal may be gone
}

// examples are shown below a command's flags, the first of each also in the
// help of its group.
var examples = map[string][]string{
	"connections list": {`breakwater connections`},
	"connections show": {`breakwater connections show Work`},
	"connections add": {
		`printf '%s\n' "$ANTHROPIC_API_KEY" | breakwater connections add anthropic --name Work --key-stdin`,
		`breakwater connections add openai --key-env OPENAI_API_KEY`,
		`breakwater connections add claude --credential passthrough --low-priority-mode`,
		`breakwater connections add ollama-local`,
	},
	"connections edit": {
		`breakwater connections edit Work --priority 1 --max-concurrent 4`,
		`breakwater connections edit Claude --low-priority-mode --auto-limit-reset=false`,
		`printf '%s\n' "$NEW_KEY" | breakwater connections edit Work --key-stdin`,
	},
	"connections providers": {`breakwater connections providers`},
	"connections test":      {`breakwater connections test Work`},
	"connections on":        {`breakwater connections on Work`},
	"connections off":       {`breakwater connections off Work`},
	"connections order":     {`breakwater connections order Work Spare`},
	"connections delete":    {`breakwater connections delete Work`},
	"combos list":           {`breakwater combos`},
	"combos show":           {`breakwater combos show coding > coding.json`},
	"combos add":            {`echo '{"name":"coding","models":["anthropic/claude-sonnet-4-5","openai/gpt-5"]}' | breakwater combos add -`},
	"combos edit":           {`echo '{"strategy":"round-robin"}' | breakwater combos edit coding -`},
	"combos delete":         {`breakwater combos delete coding`},
	"cooldowns list":        {`breakwater cooldowns`},
	"cooldowns clear":       {`breakwater cooldowns clear Work`, `breakwater cooldowns clear --all`},
	"cooldowns unlock":      {`breakwater cooldowns unlock claude-opus-5-5 --connection Work`, `breakwater cooldowns unlock`},
	"cooldowns reset":       {`breakwater cooldowns reset`},
	"settings show":         {`breakwater settings show requestQueue`},
	"settings set": {
		`breakwater settings set theme=dark`,
		`breakwater settings set requestQueue.maxWaitMs=60000 modelLockout.enabled=true`,
	},
	"keys list":   {`breakwater keys`},
	"keys add":    {`breakwater keys add laptop`, `breakwater keys add ci --scope lease:exclusive --connection Work`},
	"keys on":     {`breakwater keys on laptop`},
	"keys off":    {`breakwater keys off laptop`},
	"keys delete": {`breakwater keys delete laptop`},
	"leases list": {`breakwater leases`},
	"leases end":  {`breakwater leases end Work`},
	"events":      {`breakwater events --kind breaker --kind alert`},
	"doctor":      {`breakwater doctor`, `breakwater doctor --offline --json`},
	"backup":      {`breakwater backup breakwater-monday.db`},
	"restore":     {`breakwater restore breakwater-monday.db`},
	"completion":  {`source <(breakwater completion bash)`, `breakwater completion fish > ~/.config/fish/completions/breakwater.fish`},
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// table writes rows with a head, in columns.
func table(w io.Writer, head string, rows [][]string) {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, strings.ReplaceAll(head, " ", "\t"))
	for _, r := range rows {
		for i := range r {
			if r[i] = printable(r[i]); r[i] == "" {
				r[i] = "-"
			}
		}
		fmt.Fprintln(tab, strings.Join(r, "\t"))
	}
	_ = tab.Flush() // the terminal may be gone
}
