package cli

import (
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

func (c command) line() string {
	return strings.Join(strings.Fields(strings.Join([]string{c.group, c.verb, c.args}, " ")), " ")
}

// Help lists the groups of commands, one line each, for the program's own help.
func Help(w io.Writer) {
	for _, l := range [...][2]string{
		{"connections", "list, add, test, switch, order and delete connections"},
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
	fmt.Fprintln(w, "\nEach takes --json, --data-dir FOLDER and --demo; --help shows its own flags.")
}

// helpOn explains one command.
func helpOn(w io.Writer, c command, fs *flag.FlagSet) {
	fmt.Fprintf(w, "%s\n\nUsage:\n  breakwater %s [flags]\n\nFlags:\n", sentence(c.about), c.line())
	fs.SetOutput(w)
	fs.PrintDefaults()
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// table writes rows with a head, in columns.
func table(w io.Writer, head string, rows [][]string) {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, strings.ReplaceAll(head, " ", "\t"))
	for _, r := range rows {
		for i := range r {
			if r[i] == "" {
				r[i] = "-"
			}
		}
		fmt.Fprintln(tab, strings.Join(r, "\t"))
	}
	_ = tab.Flush() // the terminal may be gone
}
