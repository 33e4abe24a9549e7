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
	n := 0
	for n < len(args) && strings.HasPrefix(args[n], "-") {
		name, _, joined := strings.Cut(strings.TrimLeft(args[n], "-"), "=")
		follows, known := globals[name]
		if !known {
			return args
		}
		n++
		if follows && !joined {
			n++
		}
	}
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

// ProgramCommands are those that the program itself knows.
func ProgramCommands() []string { return slices.Clone(programCommands) }
