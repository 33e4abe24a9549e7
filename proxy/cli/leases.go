package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"breakwater/proxy/control"
)

func leaseCommands() []command {
	const g = "leases"
	return []command{
		{g, "list", "", "list who holds which connection exclusively", plain(listLeases)},
		{g, "end", "NAME", "take the lease on a connection from its owner", plain(endLease)},
	}
}

func (c *call) leases(ctx context.Context) ([]control.HeldLease, error) {
	f, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	return f.Leases(ctx)
}

func listLeases(ctx context.Context, c *call) error {
	if err := c.none(); err != nil {
		return err
	}
	all, err := c.leases(ctx)
	if err != nil {
		return err
	}
	return c.print(all, func(w io.Writer) {
		if len(all) == 0 {
			fmt.Fprintln(w, "No connection is held exclusively.")
			return
		}
		var rows [][]string
		for _, l := range all {
			rows = append(rows, []string{
				l.ConnectionName, l.Provider, l.Owner, l.KeyName, strconv.FormatInt(l.Generation, 10),
				l.Since.Local().Format("2006-01-02 15:04:05"), left(&l.Until), l.ID,
			})
		}
		table(w, "CONNECTION PROVIDER OWNER KEY GENERATION SINCE LEFT ID", rows)
	})
}

func endLease(ctx context.Context, c *call) error {
	args, err := c.arg("the connection's name, or the lease's id")
	if err != nil {
		return err
	}
	all, err := c.leases(ctx)
	if err != nil {
		return err
	}
	for _, l := range all {
		if l.ID != args[0] && l.ConnectionID != args[0] && !strings.EqualFold(l.ConnectionName, args[0]) {
			continue
		}
		if err := c.facade.EndLease(ctx, l.ID); err != nil {
			return err
		}
		return c.print(map[string]string{"ended": l.ID}, func(w io.Writer) { fmt.Fprintf(w, "The lease on %s has ended.\n", l.ConnectionName) })
	}
	return fmt.Errorf("there is no lease on %q", args[0])
}
