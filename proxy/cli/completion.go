package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// programCommands are those that the program itself knows.
var programCommands = []string{"window", "token", "quit", "cleanup", "version", "help"}

// ProgramFlags are the flags of a command of the program itself, or those without
// a command.
func ProgramFlags(command string) []string {
	own := map[string][]string{
		"": {"--headless", "--demo", "--port", "--verbose", "--version"}, "window": {"--connect"}, "token": {"--demo", "--json"}, "quit": {"--demo", "--json"},
		"cleanup": {"--data"}, "version": {"--licences", "--json"},
	}
	return append(own[command], "--data-dir", "--help")
}

// completion prints a shell's completion, made from the table of commands.
func completion(_ context.Context, c *call) error {
	args, err := c.arg("the shell: bash, zsh or fish")
	if err != nil {
		return err
	}
	write, ok := map[string]func(io.Writer){"bash": bash, "zsh": zsh, "fish": fish}[args[0]]
	if !ok {
		return usage("there is a completion for bash, zsh and fish, not for %s", Named(args[0]))
	}
	w := &noting{w: c.Out}
	write(w)
	return w.err
}

// groups returns the first words, in the table's order.
func groups() []string {
	var out []string
	for _, c := range commands() {
		if !slices.Contains(out, c.group) {
			out = append(out, c.group)
		}
	}
	return out
}

// verbs returns the second words of a group.
func verbs(group string) []string {
	var out []string
	for _, c := range commands() {
		if c.group == group && c.verb != "" {
			out = append(out, c.verb)
		}
	}
	if group == "completion" {
		out = []string{"bash", "zsh", "fish"}
	}
	return out
}

// flags returns the flags of a group's commands, each once.
func flags(group string) []string {
	out := []string{"--json", "--data-dir", "--demo", "--help"}
	for _, c := range commands() {
		if c.group != group {
			continue
		}
		fs := flag.NewFlagSet(group, flag.ContinueOnError)
		c.setup(fs)
		fs.VisitAll(func(f *flag.Flag) {
			if name := "--" + f.Name; !slices.Contains(out, name) {
				out = append(out, name)
			}
		})
	}
	return out
}

// firstWords are all that a command line may begin with, but for flags.
func firstWords() string { return strings.Join(append(groups(), programCommands...), " ") }

// bash looks at the words before the cursor without the flags among them; "help"
// in front changes nothing.
func bash(w io.Writer) {
	fmt.Fprint(w, `# bash completion for breakwater
_breakwater() {
  local cur=${COMP_WORDS[COMP_CWORD]} words="" i line=()
  for (( i = 1; i < COMP_CWORD; i++ )); do
    case "${COMP_WORDS[i]}" in
      --data-dir) (( i++ )); if [ "${COMP_WORDS[i]}" = "=" ]; then (( i++ )); fi ;;
      -*) ;;
      *) line+=("${COMP_WORDS[i]}") ;;
    esac
  done
  if [ "${line[0]}" = help ]; then line=("${line[@]:1}"); fi
  if [ "${#line[@]}" -eq 0 ]; then
    if [[ "$cur" == -* ]]; then words="`+strings.Join(ProgramFlags(""), " ")+`"; else words="`+firstWords()+`"; fi
  else
    case "${line[0]}" in
`)
	for _, g := range groups() {
		fmt.Fprintf(w, "      %s)\n        if [[ \"$cur\" == -* ]]; then words=\"%s\"\n", g, strings.Join(flags(g), " "))
		fmt.Fprintf(w, "        elif [ \"${#line[@]}\" -eq 1 ]; then words=\"%s\"; fi ;;\n", strings.Join(verbs(g), " "))
	}
	for _, c := range programCommands {
		fmt.Fprintf(w, "      %s) if [[ \"$cur\" == -* ]]; then words=\"%s\"; fi ;;\n", c, strings.Join(ProgramFlags(c), " "))
	}
	fmt.Fprint(w, `    esac
  fi
  COMPREPLY=( $(compgen -W "$words" -- "$cur") )
}
complete -o default -F _breakwater breakwater
`)
}

func zsh(w io.Writer) {
	fmt.Fprint(w, `#compdef breakwater
_breakwater() {
  local -a choices
  if [[ $words[2] == help ]]; then shift words; (( CURRENT-- )); fi
  if (( CURRENT == 2 )); then
    choices=(`+firstWords()+`)
  else
    case "$words[2]" in
`)
	for _, g := range groups() {
		fmt.Fprintf(w, "      %s)\n        if [[ \"$PREFIX\" == -* ]]; then choices=(%s)\n", g, strings.Join(flags(g), " "))
		fmt.Fprintf(w, "        elif (( CURRENT == 3 )); then choices=(%s); fi ;;\n", strings.Join(verbs(g), " "))
	}
	fmt.Fprint(w, `    esac
  fi
  if (( $#choices )); then compadd -- $choices; else _files; fi
}
compdef _breakwater breakwater
`)
}

func fish(w io.Writer) {
	fmt.Fprintln(w, "# fish completion for breakwater")
	fmt.Fprintf(w, "complete -c breakwater -n __fish_use_subcommand -a '%s'\n", firstWords())
	fmt.Fprintf(w, "complete -c breakwater -f -n '__fish_seen_subcommand_from help' -a '%s'\n", firstWords())
	for _, g := range groups() {
		if list := verbs(g); len(list) > 0 {
			fmt.Fprintf(w, "complete -c breakwater -f -n '__fish_seen_subcommand_from %s; and not __fish_seen_subcommand_from %s' -a '%s'\n", g, strings.Join(list, " "), strings.Join(list, " "))
		}
		for _, f := range flags(g) {
			fmt.Fprintf(w, "complete -c breakwater -n '__fish_seen_subcommand_from %s' -l %s\n", g, strings.TrimPrefix(f, "--"))
		}
	}
}
