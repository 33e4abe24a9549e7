package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"breakwater/proxy/control"
)

func keyCommands() []command {
	const g = "keys"
	return []command{
		{g, "list", "", "list the API keys, masked", plain(listKeys)},
		{g, "add", "NAME", "make an API key and print it, once", addKey},
		{g, "on", "NAME", "switch a key on", plain(switchKey(true))},
		{g, "off", "NAME", "switch a key off", plain(switchKey(false))},
		{g, "delete", "NAME", "forget a key", plain(deleteKey)},
	}
}

func listKeys(ctx context.Context, c *call) error {
	if err := c.none(); err != nil {
		return err
	}
	f, err := c.open(ctx)
	if err != nil {
		return err
	}
	keys, err := f.Keys(ctx)
	if err != nil {
		return err
	}
	return c.print(keys, func(w io.Writer) {
		var rows [][]string
		for _, k := range keys {
			rows = append(rows, []string{k.Name, k.Key, strings.Join(k.Scopes, ","), string(k.State), left(k.ExpiresAt), k.ID})
		}
		table(w, "NAME KEY SCOPES SWITCH LEFT ID", rows)
	})
}

// words is a flag that may come several times.
type words []string

func (w *words) String() string     { return strings.Join(*w, ",") }
func (w *words) Set(v string) error { *w = append(*w, v); return nil }

func addKey(fs *flag.FlagSet) action {
	var scopes, conns, models words
	fs.Var(&scopes, "scope", "client, manage or lease:exclusive; may come several times")
	fs.Var(&conns, "connection", "only this connection, by its `name`; may come several times")
	fs.Var(&models, "model", "only models that fit this `pattern`; may come several times")
	life := fs.Duration("expires-in", 0, "how long it is good for, such as 720h; 0 is for ever")
	return func(ctx context.Context, c *call) error {
		args, err := c.arg("the key's name")
		if err != nil {
			return err
		}
		in := control.KeyInput{Name: args[0], Scopes: scopes, AllowedModels: models}
		for _, name := range conns {
			k, err := c.find(ctx, name)
			if err != nil {
				return err
			}
			in.AllowedConnections = append(in.AllowedConnections, k.ID)
		}
		if *life != 0 {
			in.ExpiresAt = new(time.Now().Add(*life))
		}
		f, err := c.open(ctx)
		if err != nil {
			return err
		}
		k, err := f.AddKey(ctx, in)
		if err != nil {
			return err
		}
		return c.print(k, func(w io.Writer) {
			fmt.Fprintln(w, k.Key)
			fmt.Fprintln(c.Err, "This is the only time that the key is shown.")
		})
	}
}

func (c *call) key(ctx context.Context) (control.APIKey, error) {
	args, err := c.arg("the key's name")
	if err != nil {
		return control.APIKey{}, err
	}
	f, err := c.open(ctx)
	if err != nil {
		return control.APIKey{}, err
	}
	keys, err := f.Keys(ctx)
	if err != nil {
		return control.APIKey{}, err
	}
	var found []control.APIKey
	for _, k := range keys {
		if k.ID == args[0] {
			return k, nil
		}
		if strings.EqualFold(k.Name, args[0]) {
			found = append(found, k)
		}
	}
	switch len(found) {
	case 0:
		return control.APIKey{}, fmt.Errorf("there is no key %q", args[0])
	case 1:
		return found[0], nil
	}
	return control.APIKey{}, fmt.Errorf("%d keys are called %q; name the one that is meant by its id", len(found), args[0])
}

func switchKey(on bool) action {
	return func(ctx context.Context, c *call) error {
		k, err := c.key(ctx)
		if err != nil {
			return err
		}
		if k, err = c.facade.EditKey(ctx, k.ID, control.KeyPatch{Active: &on}); err != nil {
			return err
		}
		return c.print(k, func(w io.Writer) { fmt.Fprintf(w, "%s is switched %s.\n", k.Name, onOff(on)) })
	}
}

func deleteKey(ctx context.Context, c *call) error {
	k, err := c.key(ctx)
	if err != nil {
		return err
	}
	if err := c.facade.DeleteKey(ctx, k.ID); err != nil {
		return err
	}
	return c.print(map[string]string{"deleted": k.ID}, func(w io.Writer) { fmt.Fprintf(w, "Deleted %s.\n", k.Name) })
}
