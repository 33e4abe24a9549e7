package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"

	"breakwater/proxy/cli"
)

// defaultPort is where clients expect the proxy.
const defaultPort = 7411

// options are the command line and the environment, the former first.
type options struct {
	command  string // "", token, window, quit, cleanup or version
	page     string // of the window
	connect  string // window: URL of a Breakwater that runs already
	dataDir  string
	port     int
	headless bool
	demo     bool
	verbose  bool
	json     bool   // token, quit, version: print JSON
	licences bool   // version: of everything the program is made of
	data     string // cleanup: keep, delete or ask
}

// parse reads the command line. It returns flag.ErrHelp after printing help.
func parse(args []string, env func(string) string, out io.Writer) (options, error) {
	o := options{port: defaultPort, dataDir: env("BREAKWATER_DATA_DIR")}
	if len(args) > 0 && (args[0] == "--version" || args[0] == "-version") {
		args[0] = "version"
	}
	if len(args) > 0 && args[0] == "help" {
		args[0] = "--help"
	}
	if len(args) > 0 && args[0] == "" {
		return o, errors.New("the command is empty; see breakwater --help")
	}
	if len(args) > 0 && args[0][0] != '-' {
		o.command, args = args[0], args[1:]
	}
	fs := flag.NewFlagSet("breakwater", flag.ContinueOnError)
	// A mistake is told in one line; the flags are shown to those who ask.
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	fs.StringVar(&o.dataDir, "data-dir", o.dataDir, "keep the data in this `folder` (BREAKWATER_DATA_DIR)")
	switch o.command {
	case "":
		if p := env("BREAKWATER_PORT"); p != "" {
			n, err := strconv.Atoi(p)
			if err != nil {
				return o, fmt.Errorf("BREAKWATER_PORT: %q is no port number", p)
			}
			o.port = n
		}
		fs.IntVar(&o.port, "port", o.port, "listen on this `port` of 127.0.0.1 and [::1] (BREAKWATER_PORT)")
		fs.BoolVar(&o.headless, "headless", false, "run without a desktop")
		fs.BoolVar(&o.demo, "demo", false, "start with two simulated connections, in a data folder of their own")
		fs.BoolVar(&o.verbose, "verbose", false, "log more")
	case "window":
		fs.StringVar(&o.connect, "connect", "", "show the Breakwater at this loopback `URL`; its token is read from BREAKWATER_TOKEN")
	case "token":
		fs.BoolVar(&o.demo, "demo", false, "print the demo's token")
	case "quit":
		fs.BoolVar(&o.demo, "demo", false, "end the demo")
	case "cleanup":
		fs.StringVar(&o.data, "data", "ask", "keep, delete or ask: what becomes of connections, keys, settings and activity")
	case "version":
		fs.BoolVar(&o.licences, "licences", false, "print the licences of everything the program is made of")
	default:
		return o, fmt.Errorf("there is no command %s; see breakwater --help", cli.Named(o.command))
	}
	if o.command == "token" || o.command == "quit" || o.command == "version" {
		fs.BoolVar(&o.json, "json", false, "print JSON")
	}
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		explain(out, o.command, fs)
		return o, err
	} else if err != nil {
		return o, fmt.Errorf("%w; see breakwater --help", cli.FlagError(err))
	}
	rest := fs.Args()
	if o.command == "window" && len(rest) > 0 {
		o.page, rest = rest[0], rest[1:]
	}
	if len(rest) > 0 {
		return o, fmt.Errorf("%w; see breakwater --help", cli.TooMany(1, rest[0]))
	}
	if o.command == "cleanup" && o.data != "keep" && o.data != "delete" && o.data != "ask" {
		return o, errors.New("--data is keep, delete or ask")
	}
	if o.port < 0 || o.port > 65535 {
		return o, errors.New("the port is a number from 1 to 65535, or 0 for any free one")
	}
	return o, nil
}

// hasDisplay reports whether the environment names a display. Only Linux and
// the BSDs can be without one.
func hasDisplay(goos string, env func(string) string) bool {
	switch goos {
	case "windows", "darwin":
		return true
	}
	return env("DISPLAY") != "" || env("WAYLAND_DISPLAY") != ""
}
