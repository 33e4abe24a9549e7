package cli

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"breakwater/proxy/control"
)

func connectionCommands() []command {
	const g = "connections"
	return []command{
		{g, "list", "", "list the connections in routing order", plain(listConnections)},
		{g, "show", "NAME", "show one connection", plain(showConnection)},
		{g, "providers", "", "list the providers that a connection can be of", plain(listProviders)},
		{g, "add", "PROVIDER", "add a connection; its key is asked for, or read from the standard input or a variable", addConnection},
		{g, "edit", "NAME", "change the fields of a connection that flags name", editConnection},
		{g, "test", "NAME", "ask the provider whether the credential works", plain(testConnection)},
		{g, "on", "NAME", "switch a connection on", plain(switchConnection(true))},
		{g, "off", "NAME", "switch a connection off", plain(switchConnection(false))},
		{g, "order", "NAME…", "put connections first, in this order", plain(orderConnections)},
		{g, "delete", "NAME", "forget a connection and its key", plain(deleteConnection)},
	}
}

// plain is the setup of a command without flags of its own.
func plain(do action) func(*flag.FlagSet) action { return func(*flag.FlagSet) action { return do } }

func listConnections(ctx context.Context, c *call) error {
	if err := c.none(); err != nil {
		return err
	}
	f, err := c.open(ctx)
	if err != nil {
		return err
	}
	snap, err := f.Snapshot(ctx)
	if err != nil {
		return err
	}
	return c.print(snap.Connections, func(w io.Writer) {
		var rows [][]string
		for _, k := range snap.Connections {
			rows = append(rows, []string{strconv.Itoa(k.Priority), k.Name, k.Provider, string(k.State), left(k.Until), strconv.FormatInt(k.Served, 10), strconv.FormatInt(k.Failed, 10), k.ID})
		}
		table(w, "# NAME PROVIDER STATE LEFT SERVED FAILED ID", rows)
	})
}

// left is the time until t for people.
func left(t *time.Time) string {
	if t == nil {
		return ""
	}
	d := time.Until(*t)
	if d <= 0 {
		return "now"
	}
	return d.Round(time.Second).String()
}

// find returns the connection that an id or a name means.
func (c *call) find(ctx context.Context, word string) (control.Connection, error) {
	f, err := c.open(ctx)
	if err != nil {
		return control.Connection{}, err
	}
	snap, err := f.Snapshot(ctx)
	if err != nil {
		return control.Connection{}, err
	}
	for _, k := range snap.Connections {
		if k.ID == word || strings.EqualFold(k.Name, word) {
			return k, nil
		}
	}
	return control.Connection{}, fmt.Errorf("there is no connection %q", word)
}

// one finds the connection that the only argument names.
func (c *call) one(ctx context.Context) (control.Connection, error) {
	args, err := c.arg("the connection's name")
	if err != nil {
		return control.Connection{}, err
	}
	return c.find(ctx, args[0])
}

func showConnection(ctx context.Context, c *call) error {
	k, err := c.one(ctx)
	if err != nil {
		return err
	}
	return c.print(k, func(w io.Writer) {
		rows := [][2]string{
			{"name", k.Name},
			{"id", k.ID},
			{"provider", k.Provider},
			{"address", k.BaseURL},
			{"speaks", strings.Join(k.Dialects, ", ")},
			{"credential", k.Credential},
			{"state", strings.TrimSpace(string(k.State) + " " + left(k.Until))},
			{"why", why(k)},
			{"leased for", left(k.LeasedUntil)},
			{"running", strconv.Itoa(k.InFlight)},
			{"waiting", strconv.Itoa(k.Queued)},
		}
		for _, l := range rows {
			if l[1] != "" {
				fmt.Fprintf(w, "%-12s%s\n", l[0], l[1])
			}
		}
		for _, l := range k.Lockouts {
			fmt.Fprintf(w, "%-12s%s for %s (%s)\n", "locked", l.Model, left(&l.Until), l.Reason)
		}
	})
}

func listProviders(ctx context.Context, c *call) error {
	if err := c.none(); err != nil {
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
	return c.print(known, func(w io.Writer) {
		var rows [][]string
		for _, p := range known {
			rows = append(rows, []string{p.ID, strings.Join(p.Credentials, ","), strings.Join(p.Dialects, ","), p.KeyEnv, p.Name})
		}
		table(w, "PROVIDER CREDENTIALS SPEAKS VARIABLE NAME", rows)
	})
}

func addConnection(fs *flag.FlagSet) action {
	fields := connectionFlags(fs)
	fields.toggle(fs, "inactive", "inactive", "add it switched off")
	key, refresh := secretFlags(fs, "key", "the key"), secretFlags(fs, "refresh-token", "the refresh token")
	proxy := proxyFlags(fs)
	return func(ctx context.Context, c *call) error {
		args, err := c.arg("the provider")
		if err != nil {
			return err
		}
		var in control.ConnectionInput
		if err := fields.into(&in); err != nil {
			return err
		}
		in.Provider = args[0]
		if err := c.login(ctx, &in, key, refresh); err != nil {
			return err
		}
		address, err := proxy.read(ctx, c)
		if err != nil {
			return err
		}
		in.ProxyURL = cmp.Or(address, in.ProxyURL)
		f, err := c.open(ctx)
		if err != nil {
			return err
		}
		k, err := f.AddConnection(ctx, in)
		if bad, ok := errors.AsType[*control.InvalidError](err); ok && len(bad.Fields) > 0 && bad.Fields[0].Field == "provider" {
			return fmt.Errorf("%w; breakwater connections providers lists them", err)
		}
		if err != nil {
			return err
		}
		return c.print(k, func(w io.Writer) { fmt.Fprintf(w, "Added %s (%s).\n", k.Name, k.ID) })
	}
}

func editConnection(fs *flag.FlagSet) action {
	fields := connectionFlags(fs)
	fields.toggle(fs, "active", "isActive", "switch it on")
	key, refresh := secretFlags(fs, "key", "the key"), secretFlags(fs, "refresh-token", "the refresh token")
	proxy := proxyFlags(fs)
	return func(ctx context.Context, c *call) error {
		k, err := c.one(ctx)
		if err != nil {
			return err
		}
		if len(fields) == 0 && !key.given() && !refresh.given() && !proxy.given() {
			return usage("name what to change, such as --priority 1 or --key-stdin")
		}
		var patch control.ConnectionPatch
		if err := fields.into(&patch); err != nil {
			return err
		}
		for _, s := range []struct {
			from source
			to   **string
		}{{key, &patch.APIKey}, {refresh, &patch.RefreshToken}, {proxy, &patch.ProxyURL}} {
			text, err := s.from.read(ctx, c)
			if err != nil {
				return err
			}
			if text != "" {
				*s.to = &text
			}
		}
		if k, err = c.facade.EditConnection(ctx, k.ID, patch); err != nil {
			return err
		}
		return c.print(k, func(w io.Writer) { fmt.Fprintf(w, "Changed %s.\n", k.Name) })
	}
}

func testConnection(ctx context.Context, c *call) error {
	k, err := c.one(ctx)
	if err != nil {
		return err
	}
	res, err := c.facade.TestConnection(ctx, k.ID)
	if err != nil {
		return err
	}
	err = c.print(res, func(w io.Writer) {
		if res.Valid {
			fmt.Fprintf(w, "%s works (%d ms)%s.\n", k.Name, res.LatencyMs, askedAt(res))
			return
		}
		fmt.Fprintf(w, "%s does not work: %s\n", k.Name, explain(res))
	})
	if err == nil && !res.Valid {
		err = errFound
	}
	return err
}

// errFound ends a command that did what it should and found something wrong.
var errFound = errors.New("something is wrong")

func switchConnection(on bool) action {
	return func(ctx context.Context, c *call) error {
		k, err := c.one(ctx)
		if err != nil {
			return err
		}
		k, err = c.facade.EditConnection(ctx, k.ID, control.ConnectionPatch{Active: &on})
		if err != nil {
			return err
		}
		return c.print(k, func(w io.Writer) { fmt.Fprintf(w, "%s is switched %s.\n", k.Name, onOff(on)) })
	}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func orderConnections(ctx context.Context, c *call) error {
	if len(c.args) == 0 {
		return usage("the connections' names are missing")
	}
	var ids []string
	for _, a := range c.args {
		k, err := c.find(ctx, a)
		if err != nil {
			return err
		}
		ids = append(ids, k.ID)
	}
	if err := c.facade.ReorderConnections(ctx, ids); err != nil {
		return err
	}
	c.args = nil
	return listConnections(ctx, c)
}

func deleteConnection(ctx context.Context, c *call) error {
	k, err := c.one(ctx)
	if err != nil {
		return err
	}
	if err := c.facade.DeleteConnection(ctx, k.ID); err != nil {
		return err
	}
	return c.print(map[string]string{"deleted": k.ID}, func(w io.Writer) { fmt.Fprintf(w, "Deleted %s.\n", k.Name) })
}
