package main

import (
	"flag"
	"fmt"
	"io"

	"breakwater/proxy/cli"
)

const usage = `Breakwater keeps a coding agent working when a connection to a model fails.

Usage:
  breakwater [flags]            run the proxy with its tray icon
  breakwater --headless         run the proxy without a desktop
  breakwater --demo             run with two simulated connections and a fault panel
  breakwater window [PAGE]      open the window of a Breakwater that runs already
  breakwater token              print the management token for scripts
  breakwater quit               end the Breakwater that runs
  breakwater cleanup            end it and take back what it has set up for you
  breakwater version            print the version, and with --licences all licences
  breakwater help COMMAND       explain a command, with an example

With the Breakwater that runs (each takes --json and explains itself with --help):
`

// explained are the commands of the program itself.
var explained = map[string]struct{ line, about, example string }{
	"window": {
		"window [PAGE]", "Open the window of a Breakwater that runs already, at a page if one is named.",
		"breakwater window activity",
	},
	"token": {
		"token", "Print the management token, for scripts that use the management API.",
		`curl -s http://127.0.0.1:7411/api/providers -H "Authorization: Bearer $(breakwater token)"`,
	},
	"quit":    {"quit", "End the Breakwater that runs with this data folder, after the requests that it is answering.", "breakwater quit"},
	"cleanup": {"cleanup", "End Breakwater, take back what it has set up for you, and ask what becomes of the data.", "breakwater cleanup --data keep"},
	"version": {"version", "Print the version, or the licences of everything the program is made of.", "breakwater version --json"},
}

// explain prints the help of a command, or that of the program.
func explain(out io.Writer, command string, fs *flag.FlagSet) {
	about, ok := explained[command]
	if !ok {
		fmt.Fprint(out, usage)
		cli.Help(out)
		fmt.Fprint(out, "\nFlags:\n")
		cli.PrintFlags(out, fs)
		return
	}
	fmt.Fprintf(out, "%s\n\nUsage:\n  breakwater %s [flags]\n\nFlags:\n", about.about, about.line)
	cli.PrintFlags(out, fs)
	fmt.Fprintf(out, "\nExample:\n  %s\n", about.example)
}

// asksHelp turns "help COMMAND …" into "COMMAND … --help".
func asksHelp(args []string) []string {
	if len(args) < 2 || args[0] != "help" {
		return args
	}
	return append(append([]string{}, args[1:]...), "--help")
}
