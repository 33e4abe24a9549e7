package cli

import (
	"slices"
	"strings"
)

// globals are the flags that every command takes; the value tells whether a
// word follows.
var globals = map[string]bool{"data-dir": true, "json": false, "demo": false}

// Hoist moves flags that stand before a command behind it, where they mean the
// same: breakwater --json leases list is breakwater leases --json list. What
// does not begin so, or leads to no command, stays as it is. own are the
// program's commands, which are not this package's.
func Hoist(args []string, own ...string) []string {
	n := leading(args)
	if n == 0 || n >= len(args) {
		return args
	}
	flags, rest := args[:n], args[n:]
	words := 1
	switch {
	case slices.Contains(own, rest[0]):
	case !Has(rest[0]):
		return args
	case len(rest) > 1 && !strings.HasPrefix(rest[1], "-"):
		words = 2 // the verb stays next to its group
	}
	return slices.Concat(rest[:words], flags, rest[words:])
}

// leading counts the words of the global flags that args begin with; it is zero
// where other flags are among them.
func leading(args []string) (n int) {
	for n < len(args) && strings.HasPrefix(args[n], "-") {
		name, _, joined := strings.Cut(strings.TrimLeft(args[n], "-"), "=")
		follows, known := globals[name]
		if !known {
			return 0
		}
		n++
		if follows && !joined {
			n++
		}
	}
	return n
}

// verbFirst moves global flags between a group and its verb behind the verb.
func verbFirst(args []string) []string {
	n := leading(args[1:])
	if n == 0 || n+1 >= len(args) || !slices.Contains(verbs(args[0]), args[n+1]) || args[0] == "completion" {
		return args
	}
	return slices.Concat(args[:1], args[n+1:n+2], args[1:n+1], args[n+2:])
}

// ProgramCommands are those that the program itself knows.
func ProgramCommands() []string { return slices.Clone(programCommands) }
