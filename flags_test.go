package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"slices"
	"strings"
	"testing"

	"breakwater/proxy/cli"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name string
		args []string
		env  map[string]string
		want options
		err  string // a part of the error, empty for none
	}{
		{"nothing", nil, nil, options{port: defaultPort}, ""},
		{"flags", []string{"--headless", "--demo", "--port", "7500", "--data-dir", "/d"}, nil, options{headless: true, demo: true, port: 7500, dataDir: "/d"}, ""},
		{"environment", nil, map[string]string{"BREAKWATER_PORT": "7600", "BREAKWATER_DATA_DIR": "/e"}, options{port: 7600, dataDir: "/e"}, ""},
		{"a flag wins over the environment", []string{"--port=7500"}, map[string]string{"BREAKWATER_PORT": "7600"}, options{port: 7500}, ""},
		{"window at a page", []string{"window", "--connect", "http://127.0.0.1:1", "activity"}, nil, options{command: "window", connect: "http://127.0.0.1:1", page: "activity", port: defaultPort}, ""},
		{"version as a flag", []string{"--version"}, nil, options{command: "version", port: defaultPort}, ""},
		{"token of the demo", []string{"token", "--demo"}, nil, options{command: "token", demo: true, port: defaultPort}, ""},
		{"token as JSON", []string{"token", "--json"}, nil, options{command: "token", json: true, port: defaultPort}, ""},
		{"the window has no JSON", []string{"window", "--json"}, nil, options{}, "json"},
		{"licences", []string{"version", "--licences"}, nil, options{command: "version", licences: true, port: defaultPort}, ""},
		{"quit", []string{"quit", "--data-dir", "/d"}, nil, options{command: "quit", dataDir: "/d", port: defaultPort}, ""},
		{"cleanup asks", []string{"cleanup"}, nil, options{command: "cleanup", data: "ask", port: defaultPort}, ""},
		{"cleanup is told", []string{"cleanup", "--data", "keep"}, nil, options{command: "cleanup", data: "keep", port: defaultPort}, ""},
		{"cleanup of a kind nobody knows", []string{"cleanup", "--data", "all"}, nil, options{}, "keep, delete or ask"},
		{"unknown command", []string{"serve"}, nil, options{}, `no command "serve"`},
		{"unknown flag", []string{"--nope"}, nil, options{}, "nope"},
		{"flag of another command", []string{"token", "--headless"}, nil, options{}, "headless"},
		{"argument too many", []string{"--demo", "x"}, nil, options{}, "one too many"},
		{"a command behind flags that are not its", []string{"--headless", "connections"}, nil, options{}, "breakwater connections"},
		{"an empty command", []string{""}, nil, options{}, "is empty"},
		{"port out of range", []string{"--port", "99999"}, nil, options{}, "1 to 65535"},
		{"a port that does not matter", []string{"version"}, map[string]string{"BREAKWATER_PORT": "x"}, options{command: "version", port: defaultPort}, ""},
		{"port that is no number", nil, map[string]string{"BREAKWATER_PORT": "x"}, options{}, "BREAKWATER_PORT"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			got, err := parse(tt.args, func(k string) string { return tt.env[k] }, &out)
			switch {
			case tt.err == "" && (err != nil || got != tt.want):
				t.Errorf("got %+v, %v", got, err)
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("error %v, want one about %s", err, tt.err)
			}
			if out.Len() > 0 {
				t.Errorf("printed %s", out.String())
			}
		})
	}
	for _, ask := range []string{"help", "--help", "-h"} {
		var out bytes.Buffer
		if _, err := parse([]string{ask}, func(string) string { return "" }, &out); !errors.Is(err, flag.ErrHelp) || !strings.Contains(out.String(), "breakwater token") || !strings.Contains(out.String(), "-headless") {
			t.Errorf("%s: %v, %s", ask, err, out.String())
		}
	}
}

// Each command of the program has a help of its own, and "help COMMAND" is the
// same as "COMMAND --help".
func TestHelpOnACommand(t *testing.T) {
	for command, about := range explained {
		var out bytes.Buffer
		args := asksHelp([]string{"help", command})
		if _, err := parse(args, func(string) string { return "" }, &out); !errors.Is(err, flag.ErrHelp) {
			t.Errorf("%v: %v", args, err)
		}
		for _, f := range cli.ProgramFlags(command) {
			if f != "--help" && !strings.Contains(out.String(), "  "+f+" ") && !strings.Contains(out.String(), "  "+f+"\n") {
				t.Errorf("%s is completed and no flag of %s", f, command)
			}
		}
		if flags := strings.Count(out.String(), "\n  --"); flags != len(cli.ProgramFlags(command))-1 {
			t.Errorf("%s has %d flags, %v are completed", command, flags, cli.ProgramFlags(command))
		}
		for _, want := range []string{about.about, "breakwater " + about.line, about.example, "  --data-dir"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("help %s lacks %q: %s", command, want, out.String())
			}
		}
		if !slices.Contains(cli.ProgramCommands(), command) {
			t.Errorf("%s is not completed", command)
		}
	}
	for _, tt := range [][2][]string{
		{{"help"}, {"help"}}, {{"help", "connections", "add"}, {"connections", "add", "--help"}}, {{"token", "help"}, {"token", "help"}}, {nil, nil},
	} {
		if got := asksHelp(tt[0]); !slices.Equal(got, tt[1]) {
			t.Errorf("%v becomes %v", tt[0], got)
		}
	}
}

// What is pasted in place of a command, a flag or an argument is not shown.
func TestMistakesShowNoSecret(t *testing.T) {
	const secret = "sk-ant-api03-Zx81"
	for _, args := range [][]string{{secret}, {"token", secret}, {"--" + secret}, {"--headless=" + secret}, {"--port", secret}, {"cleanup", "--data", secret}} {
		_, err := parse(args, func(string) string { return "" }, io.Discard)
		if err == nil || strings.Contains(cli.Hush(err.Error(), args), secret) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func TestHasDisplay(t *testing.T) {
	for _, tt := range []struct {
		goos string
		env  map[string]string
		want bool
	}{
		{"linux", nil, false},
		{"linux", map[string]string{"DISPLAY": ":0"}, true},
		{"linux", map[string]string{"WAYLAND_DISPLAY": "wayland-0"}, true},
		{"windows", nil, true},
		{"darwin", nil, true},
	} {
		if got := hasDisplay(tt.goos, func(k string) string { return tt.env[k] }); got != tt.want {
			t.Errorf("%s with %v: %v", tt.goos, tt.env, got)
		}
	}
}
