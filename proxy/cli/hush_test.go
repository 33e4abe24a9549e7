package cli

import (
	"encoding/json"
	"errors"
	"flag"
	"slices"
	"strings"
	"testing"
)

// secretsByMistake are what people paste, by the shapes that vendors give them.
var secretsByMistake = []string{
	"sk-abc1", "sk-ant-api03-Zx81", "AIzaSyA12345678", "gsk_12ab34", "eyJhbGciOi.eyJzdWIi.c2ln", "0123456789abcdef0123456789abcdef.Xyz",
	"http://me:word@proxy.example:8080", "Bearer abc",
}

// Wherever a secret is pasted, an error does not show it: errors end on screens
// and in bug reports.
func TestErrorsShowNoSecretThatWasPasted(t *testing.T) {
	needs := map[string][]string{
		"NAME": {"Work"}, "PROVIDER": {"anthropic"}, "NAME…": {"Work"}, "NAME…|--all": {"Work"}, "[PATH]": {"theme"}, "[MODEL]": {"m"},
		"PATH=VALUE…": {"theme=dark"}, "NAME FILE": {"x", "-"}, "FILE": {"-"}, "SHELL": {"bash"},
	}
	for _, secret := range secretsByMistake {
		try := func(args ...string) {
			t.Helper()
			for _, args := range [][]string{args, append(slices.Clip(args), "--json")} {
				b := newBench(t)
				b.in = "{}"
				code, _, errs := b.run(args...)
				if code != 0 && strings.Contains(errs, secret) {
					t.Errorf("%q shows the secret: %s", args, errs)
				}
				if args[len(args)-1] == "--json" && errs != "" && code != 0 && !json.Valid([]byte(errs)) {
					t.Errorf("%q prints no JSON: %s", args, errs)
				}
			}
		}
		try(secret)
		try("connections", secret)
		try("settings", "set", "theme="+secret)
		try("connections", "add", secret, "--key-env", secret)
		try("connections", "add", "anthropic", "--"+secret)
		for _, c := range commands() {
			if c.group == "events" || c.group == "doctor" { // they look around, and go on
				continue
			}
			words := strings.Fields(c.group + " " + c.verb)
			try(append(words, secret)...)
			try(append(append(slices.Clip(words), needs[c.args]...), secret)...)
			fs := flag.NewFlagSet("x", flag.ContinueOnError)
			c.setup(fs)
			fs.VisitAll(func(f *flag.Flag) {
				for _, args := range [][]string{{"--" + f.Name, secret}, {"--" + f.Name + "=" + secret}, {"--" + f.Name + secret}} {
					try(append(append(slices.Clip(words), needs[c.args]...), args...)...)
				}
			})
		}
		for _, name := range []string{"key", "api-key", "token"} {
			try("connections", "add", "anthropic", "--"+name, secret)
			try("connections", "add", "anthropic", "--"+name+"="+secret)
		}
	}
}

// The advice about the shell's history comes when something was hidden, and only
// then; names, ids, models and paths are shown.
func TestWhatLooksLikeASecret(t *testing.T) {
	for _, s := range secretsByMistake {
		if !looksSecret(s) {
			t.Errorf("%s would be shown", s)
		}
		if text := Hush("there is no connection "+s, []string{"show", s}); strings.Contains(text, s) || !strings.Contains(text, "history") {
			t.Errorf("hushed to %q", text)
		}
	}
	for _, s := range []string{
		"Work", "OBF25H4SJNHNST4HRW4RWYB5CK", "claude-sonnet-4-5-20250929", "meta-llama/llama-3.1-405b-instruct", "requestQueue.maxWaitMs",
		"/home/me/breakwater-2030-01-02.db", `C:\Users\me\AppData0123456789\copy.db`, "http://127.0.0.1:7411/v1", "socks5://proxy:1080", "連線一", "skate", "keyring",
	} {
		if looksSecret(s) {
			t.Errorf("%s would be hidden", s)
		}
		if text := Hush("there is no connection "+s, []string{s}); text != "there is no connection "+s {
			t.Errorf("hushed to %q", text)
		}
	}
}

func TestFlagErrorsInPlainWords(t *testing.T) {
	for text, want := range map[string]string{
		"flag provided but not defined: -nope":                       "there is no flag --nope",
		"flag provided but not defined: -key":                        "a key is never an argument",
		"flag provided but not defined: -sk-ant-x1":                  "no such flag",
		"flag needs an argument: -name":                              "--name needs a value",
		`invalid value "x" for flag -priority: expected a number`:    "--priority: expected a number",
		`invalid boolean value "x y" for -key-stdin: parse error`:    "--key-stdin: this is no value for it",
		"invalid value \"a\nb\" for flag -count: value out of range": "--count: this is no value for it",
	} {
		if got := FlagError(errors.New(text)); !strings.Contains(got.Error(), want) {
			t.Errorf("%s becomes %v", text, got)
		}
	}
	if got := FlagError(errors.New("something new: x")); got.Error() != "a flag cannot be read" {
		t.Errorf("what is not known is shown: %v", got)
	}
	if err := FlagError(flag.ErrHelp); !errors.Is(err, flag.ErrHelp) {
		t.Error("help is no error")
	}
}
