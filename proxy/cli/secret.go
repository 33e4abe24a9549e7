package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"breakwater/proxy/control"
)

// source is where a secret comes from: never from an argument, which others
// could read in the list of processes.
type source struct {
	flag  string // what its flags begin with
	what  string // for people
	env   *string
	stdin *bool
}

func secretFlags(fs *flag.FlagSet, prefix, what string) source {
	return source{
		flag:  prefix,
		what:  what,
		env:   fs.String(prefix+"-env", "", "read "+what+" from this environment `variable`"),
		stdin: fs.Bool(prefix+"-stdin", false, "read "+what+" from the standard input, one line; a terminal does not show it"),
	}
}

// given reports whether the command line names the source.
func (s source) given() bool { return *s.env != "" || *s.stdin }

// read returns the secret, empty when the command line names no source.
func (s source) read(ctx context.Context, c *call) (string, error) {
	switch {
	case *s.env != "" && *s.stdin:
		return "", usage("%s comes from a variable or from the standard input, not from both", s.what)
	case *s.env != "":
		if v := c.Getenv(*s.env); v != "" {
			return v, nil
		}
		// A key that was given in place of the variable's name must not be shown.
		return "", fmt.Errorf("the variable that --%s-env names is empty or not set; it takes the variable's name, not %s itself%s", s.flag, s.what, historyAdvice)
	case *s.stdin:
		if text, ok, err := c.ask(ctx, s.what); ok || err != nil {
			return text, err
		}
		return c.line(s.what)
	}
	return "", nil
}

// ask asks a person at a terminal; ok is false where there is none.
func (c *call) ask(ctx context.Context, what string) (text string, ok bool, err error) {
	if c.Ask == nil {
		return "", false, nil
	}
	text, ok, err = c.Ask(ctx, strings.ToUpper(what[:1])+what[1:]+" (not shown): ")
	if text = strings.TrimSpace(text); ok && err == nil && text == "" {
		err = fmt.Errorf("nothing was typed for %s", what)
	}
	return text, ok, err
}

// line reads one line of the standard input.
func (c *call) line(what string) (string, error) {
	if c.in == nil {
		c.in = bufio.NewReader(c.In)
	}
	line, err := c.in.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read %s: %w", what, err)
	}
	if line = strings.TrimSpace(line); line == "" {
		return "", fmt.Errorf("the standard input holds no line for %s", what)
	}
	return line, nil
}

// login fills in what a new connection needs to log in, and asks for it, or
// explains how to give it, where the command line does not say.
func (c *call) login(ctx context.Context, in *control.ConnectionInput, key, refresh source) (err error) {
	if in.APIKey, err = key.read(ctx, c); err != nil {
		return err
	}
	if in.RefreshToken, err = refresh.read(ctx, c); err != nil {
		return err
	}
	f, err := c.open(ctx)
	if err != nil {
		return err
	}
	known, err := f.Providers(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(known, func(p control.Provider) bool { return p.ID == in.Provider })
	if at < 0 || len(known[at].Credentials) == 0 {
		return nil // the facade knows better, other names too
	}
	kind := in.Credential
	if kind == "" {
		kind = known[at].Credentials[0]
	}
	switch {
	case (kind == "apikey" || kind == "token") && in.APIKey == "":
		in.APIKey, err = c.askOrExplain(ctx, known[at], key, cmp.Or(known[at].KeyEnv, "KEY"))
	case kind == "oauth" && in.RefreshToken == "" && in.APIKey == "":
		in.RefreshToken, err = c.askOrExplain(ctx, known[at], refresh, "REFRESH_TOKEN")
	}
	return err
}

// askOrExplain asks for the secret; variable is what the explanation calls the
// environment variable that holds it.
func (c *call) askOrExplain(ctx context.Context, p control.Provider, s source, variable string) (string, error) {
	if text, ok, err := c.ask(ctx, s.what+" of "+p.Name); ok || err != nil {
		return text, err
	}
	return "", fmt.Errorf(`%s needs %s, and it is not given as an argument, where other programs could see it.
Give it on the standard input:
  printf '%%s\n' "$%s" | breakwater connections add %s --%s-stdin
or name the variable that holds it:
  breakwater connections add %s --%s-env %s`, p.Name, s.what, variable, p.ID, s.flag, p.ID, s.flag, variable)
}
