// Package cli is the command line of a Breakwater that runs: the same facade
// that the windows use, in words and in JSON.
package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"breakwater/proxy/control"
)

// Exit codes.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// Where says which Breakwater is meant.
type Where struct {
	DataDir string // empty: the usual one
	Demo    bool
}

// Env is what the commands work with.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	// Connect returns the facade of the Breakwater that runs, and what ends the
	// use of it.
	Connect func(ctx context.Context, w Where) (f control.Facade, end func(), err error)
	// Backup writes a copy of a folder's database to a new file; Restore puts
	// one in its place, once agree has seen what that changes and returned no
	// error, and tells where what was there is kept.
	Backup  func(ctx context.Context, w Where, to string) error
	Restore func(ctx context.Context, w Where, from string, agree func(control.RestorePlan) error) (kept string, err error)
	// Ask asks at the terminal for a text that it does not show; ok is false
	// where there is no terminal. Nil knows none.
	Ask func(ctx context.Context, prompt string) (text string, ok bool, err error)
	// Confirm asks at the terminal for a yes; asked is false where there is no
	// terminal. Nil knows none.
	Confirm func(ctx context.Context, question string) (yes, asked bool, err error)
	// Local are the checks that need no running Breakwater.
	Local LocalChecks
}

// command is one line of the table from which help, completion and dispatch are
// made.
type command struct {
	group, verb string // the verb may be empty
	args        string // for people
	about       string
	// setup declares the command's flags and returns what it does.
	setup func(fs *flag.FlagSet) action
}

type action func(ctx context.Context, c *call) error

// call is one use of a command.
type call struct {
	Env
	where Where
	name  string // of the command
	args  []string
	json  bool
	in    *bufio.Reader // of what is read line by line

	facade control.Facade
	end    func()
}

// commands returns the table.
func commands() []command {
	return slices.Concat(connectionCommands(), comboCommands(), cooldownCommands(), settingsCommands(), keyCommands(), leaseCommands(), otherCommands())
}

// Has reports whether a word is a command of this package.
func Has(word string) bool {
	return slices.ContainsFunc(commands(), func(c command) bool { return c.group == word })
}

// errUsage marks mistakes on the command line.
type errUsage struct{ text string }

func (e errUsage) Error() string { return e.text }

func usage(format string, args ...any) error { return errUsage{fmt.Sprintf(format, args...)} }

// Run does what args say and returns the exit code.
func Run(ctx context.Context, env Env, args []string) int {
	c := &call{Env: env}
	err := c.run(ctx, args)
	c.json = c.json || WantsJSON(args) // it may stand behind the mistake
	var wrong errUsage
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &wrong):
		about := c.name
		if about == "" && Has(args[0]) {
			about = args[0]
		}
		SayError(env.Err, err, "; see "+strings.TrimSpace("breakwater "+about)+" --help", args, c.json)
		return exitUsage
	case errors.Is(err, errFound): // said already
		return exitError
	}
	SayError(env.Err, err, "", args, c.json)
	return exitError
}

// WantsJSON reports whether the arguments ask for JSON, for errors that come
// before the flags are read.
func WantsJSON(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		return slices.Contains([]string{"--json", "-json", "--json=true", "-json=true"}, a)
	})
}

func (c *call) run(ctx context.Context, args []string) error {
	cmd, rest, err := pick(verbFirst(args))
	c.name = cmd.name()
	if err != nil {
		if errors.Is(err, flag.ErrHelp) {
			help(c.Out, args[0])
		}
		return err
	}
	fs := flag.NewFlagSet(cmd.group, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	fs.BoolVar(&c.json, "json", false, "print JSON, errors too")
	fs.StringVar(&c.where.DataDir, "data-dir", "", "the data `folder` of the Breakwater that is meant (BREAKWATER_DATA_DIR)")
	fs.BoolVar(&c.where.Demo, "demo", false, "speak to the demo")
	do := cmd.setup(fs)
	if c.args, err = parse(fs, rest); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			helpOn(c.Out, cmd, fs)
			return err
		}
		return FlagError(err)
	}
	defer func() {
		if c.end != nil {
			c.end()
		}
	}()
	return do(ctx, c)
}

// parse reads flags and arguments in any order.
func parse(fs *flag.FlagSet, args []string) (rest []string, err error) {
	for len(args) > 0 {
		if err := fs.Parse(args); err != nil {
			return nil, err
		}
		args = fs.Args()
		if len(args) > 0 {
			rest, args = append(rest, args[0]), args[1:]
		}
	}
	return rest, nil
}

// pick finds the command that args begin with; a group alone is its first one.
func pick(args []string) (command, []string, error) {
	var first *command
	for _, c := range commands() {
		if c.group != args[0] {
			continue
		}
		if first == nil {
			first = &c
		}
		if len(args) > 1 && c.verb == args[1] && c.verb != "" {
			return c, args[2:], nil
		}
	}
	switch {
	case first == nil:
		return command{}, nil, usage("there is no command %s", Named(args[0]))
	case first.verb == "" || len(args) == 1:
		return *first, args[1:], nil
	case args[1] == "help" || args[1] == "-h" || args[1] == "--help" || args[1] == "-help":
		return command{}, nil, flag.ErrHelp
	case strings.HasPrefix(args[1], "-"):
		return *first, args[1:], nil
	}
	return command{}, nil, usage("%s knows no command %s", args[0], Named(args[1]))
}

// open connects to the Breakwater that runs.
func (c *call) open(ctx context.Context) (control.Facade, error) {
	if c.facade == nil {
		f, end, err := c.Connect(ctx, c.where)
		if err != nil {
			return nil, err
		}
		c.facade, c.end = f, end
	}
	return c.facade, nil
}

// print writes a value as JSON, or by text where no JSON is asked for.
func (c *call) print(v any, text func(w io.Writer)) error {
	if !c.json {
		w := &noting{w: c.Out}
		text(w)
		return w.err
	}
	enc := json.NewEncoder(c.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// noting writes what is harmless for a terminal, and keeps the first error: a
// key that was made and could not be printed is lost, and that is a failure.
type noting struct {
	w   io.Writer
	err error
}

func (n *noting) Write(p []byte) (int, error) {
	if n.err != nil {
		return 0, n.err
	}
	if _, n.err = io.WriteString(n.w, harmless(string(p))); n.err != nil {
		return 0, n.err
	}
	return len(p), nil
}

// arg returns the arguments, which must be as many as named.
func (c *call) arg(names ...string) ([]string, error) {
	switch {
	case len(c.args) < len(names):
		return nil, usage("%s is missing", names[len(c.args)])
	case len(c.args) > len(names):
		return nil, TooMany(len(names)+1, c.args[len(names)])
	}
	if i := slices.Index(c.args, ""); i >= 0 {
		return nil, usage("%s is empty", names[i])
	}
	return c.args, nil
}

// none refuses arguments.
func (c *call) none() error {
	_, err := c.arg()
	return err
}
