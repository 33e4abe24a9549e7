package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strconv"

	"breakwater/proxy/control"
)

func cooldownCommands() []command {
	const g = "cooldowns"
	return []command{
		{g, "list", "", "list what is out of routing: connections, models and providers", plain(listCooldowns)},
		{g, "clear", "NAME…|--all", "put cooling connections back into routing: those that are named, or all", clearCooldowns},
		{g, "unlock", "[MODEL]", "make locked models available again", unlockModels},
		{g, "reset", "", "close every breaker and unlock every model", plain(resetBreakers)},
	}
}

// resting is everything that rests.
type resting struct {
	Connections []control.Connection `json:"connections"`
	Breakers    []control.Breaker    `json:"breakers"`
}

func (c *call) resting(ctx context.Context) (resting, error) {
	out := resting{Connections: []control.Connection{}, Breakers: []control.Breaker{}}
	f, err := c.open(ctx)
	if err != nil {
		return out, err
	}
	snap, err := f.Snapshot(ctx)
	for _, k := range snap.Connections {
		if outOfRouting(k) || len(k.Lockouts) > 0 || len(k.Waits) > 0 {
			out.Connections = append(out.Connections, k)
		}
	}
	for _, b := range snap.Breakers {
		if b.State != "CLOSED" {
			out.Breakers = append(out.Breakers, b)
		}
	}
	return out, err
}

// outOfRouting reports a connection that rests, or that is asked last because it
// needs attention.
func outOfRouting(k control.Connection) bool {
	return k.RateLimitedUntil != nil || k.State.Stuck() || k.NeedsAttention != nil
}

// why is why a connection is in its state: the refusal's own words (ruling 62),
// or else the reason.
func why(k control.Connection) string {
	words := k.Words
	if k.State == control.StateNeedsAttention && k.NeedsAttention != nil {
		words = k.NeedsAttention.Words
	}
	if words == "" {
		return k.Reason
	}
	return printable(words)
}

func listCooldowns(ctx context.Context, c *call) error {
	if err := c.none(); err != nil {
		return err
	}
	all, err := c.resting(ctx)
	if err != nil {
		return err
	}
	return c.print(all, func(w io.Writer) {
		var rows [][]string
		for _, k := range all.Connections {
			if outOfRouting(k) {
				rows = append(rows, []string{"connection", k.Name, string(k.State), left(k.RateLimitedUntil), why(k)})
			}
			for _, l := range k.Lockouts {
				rows = append(rows, []string{"model", k.Name + "/" + l.Model, "locked", left(&l.Until), l.Reason})
			}
		}
		for _, k := range all.Connections {
			for _, x := range k.Waits {
				name, why := k.Name, ""
				if x.Model != "" {
					name += "/" + x.Model
				}
				if x.Kind == control.WaitLearnedLimit {
					why = fmt.Sprintf("one request every %d ms", x.SpacingMs)
				}
				rows = append(rows, []string{"wait", name, string(x.Kind), left(x.Until), why})
			}
		}
		for _, b := range all.Breakers {
			rows = append(rows, []string{"breaker", b.Provider, b.State, left(b.Until), b.LastFailureKind})
		}
		if len(rows) == 0 {
			fmt.Fprintln(w, "Everything is in routing.")
			return
		}
		table(w, "WHAT NAME STATE LEFT WHY", rows)
	})
}

func clearCooldowns(fs *flag.FlagSet) action {
	all := fs.Bool("all", false, "all that are cooling")
	return func(ctx context.Context, c *call) error {
		if *all == (len(c.args) > 0) {
			return usage("name connections, or give --all")
		}
		rest, err := c.resting(ctx)
		if err != nil {
			return err
		}
		targets := rest.Connections
		if !*all {
			targets = nil
			for _, a := range c.args {
				k, err := c.find(ctx, a)
				if err != nil {
					return err
				}
				targets = append(targets, k)
			}
		}
		cleared := []string{}
		for _, k := range targets {
			if k.State.Terminal() {
				if len(k.Lockouts)+len(k.Waits) > 0 { // the state stays, the rest goes
					if err := c.facade.ClearCooldown(ctx, k.ID); err != nil {
						return fmt.Errorf("%s: %w", k.Name, err)
					}
				}
				fmt.Fprintf(c.Err, "%s is %s: mend its account or key, then run breakwater connections test %q.\n", k.Name, k.State, k.Name)
				continue
			}
			if err := c.facade.ClearCooldown(ctx, k.ID); err != nil {
				return fmt.Errorf("%s: %w", k.Name, err)
			}
			cleared = append(cleared, k.Name)
		}
		return c.print(map[string]any{"cleared": cleared}, func(w io.Writer) { fmt.Fprintf(w, "Cleared: %d.\n", len(cleared)) })
	}
}

func unlockModels(fs *flag.FlagSet) action {
	var which control.LockoutFilter
	fs.StringVar(&which.Provider, "provider", "", "only of this `provider`")
	conn := fs.String("connection", "", "only of the connection with this `name`")
	return func(ctx context.Context, c *call) error {
		if len(c.args) > 1 {
			return TooMany(2, c.args[1])
		}
		if len(c.args) == 1 {
			which.Model = c.args[0]
		}
		if *conn != "" {
			k, err := c.find(ctx, *conn)
			if err != nil {
				return err
			}
			which.ConnectionID, which.Provider = k.ID, k.Provider
		}
		f, err := c.open(ctx)
		if err != nil {
			return err
		}
		n, err := f.ClearLockouts(ctx, which)
		if err != nil {
			return err
		}
		return c.print(map[string]int{"removed": n}, func(w io.Writer) { fmt.Fprintf(w, "Unlocked: %d.\n", n) })
	}
}

func resetBreakers(ctx context.Context, c *call) error {
	if err := c.none(); err != nil {
		return err
	}
	f, err := c.open(ctx)
	if err != nil {
		return err
	}
	n, err := f.ResetBreakers(ctx)
	if err != nil {
		return err
	}
	return c.print(map[string]int{"reset": n}, func(w io.Writer) { fmt.Fprintln(w, "Breakers reset: "+strconv.Itoa(n)+".") })
}
