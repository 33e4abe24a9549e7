package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"breakwater/proxy/control"
)

func backup(ctx context.Context, c *call) error {
	args, err := c.arg("the file")
	if err != nil {
		return err
	}
	if err := c.Backup(ctx, c.where, args[0]); err != nil {
		return err
	}
	return c.print(map[string]string{"copied": args[0]}, func(w io.Writer) {
		fmt.Fprintf(w, "Copied to %s. The keys are not in it; breakwater keeps them in the keychain or beside the database.\n", args[0])
	})
}

// restore puts a copy in place, after it has told what that changes and a
// person, or --yes, has agreed.
func restore(fs *flag.FlagSet) action {
	yes := fs.Bool("yes", false, "do not ask before what is there is replaced")
	return func(ctx context.Context, c *call) error {
		args, err := c.arg("the file")
		if err != nil {
			return err
		}
		var plan control.RestorePlan
		kept, err := c.Restore(ctx, c.where, args[0], func(p control.RestorePlan) error {
			plan = p
			if !c.json {
				tellPlan(c.Err, args[0], p)
			}
			if !p.Replaces || *yes {
				return nil
			}
			return c.agreed(ctx)
		})
		if err != nil {
			return err
		}
		return c.print(restored{args[0], kept, plan}, func(w io.Writer) {
			fmt.Fprintf(w, "Restored from %s.\n", args[0])
			if kept != "" {
				fmt.Fprintf(w, "What was there is kept as %s.\n", kept)
			}
		})
	}
}

// restored is what a restore has done, as JSON.
type restored struct {
	From string `json:"restored"`
	Kept string `json:"kept"`
	control.RestorePlan
}

// agreed asks whether to go on, which nobody but a person or --yes can say.
func (c *call) agreed(ctx context.Context) error {
	if c.Confirm != nil {
		if yes, asked, err := c.Confirm(ctx, "Replace what is there? It is kept beside it. [y/N] "); asked || err != nil {
			if err == nil && !yes {
				err = errors.New("nothing was changed")
			}
			return err
		}
	}
	return errors.New("there is a database already, and nobody to ask: --yes replaces it and keeps it beside; nothing was changed")
}

// tellPlan says what a restore changes.
func tellPlan(w io.Writer, from string, p control.RestorePlan) {
	say := func(what string, names []string) {
		if len(names) > 0 {
			fmt.Fprintf(w, "  %s: %s\n", what, strings.Join(names, ", "))
		}
	}
	fmt.Fprintf(w, "%s brings back the settings, combos and activity of its time, and changes this:\n", from)
	say("API keys in force again, also those that you deleted since, for there is nothing to compare with", p.KeysActive)
	say("API keys that you deleted, switched off or narrowed since; they come back switched off (breakwater keys on NAME)", p.KeysSwitchedOff)
	say("API keys that are lost", p.KeysLost)
	say("connections that come back, and need their keys again", p.ConnectionsBack)
	say("connections that are lost", p.ConnectionsLost)
	say("connections that become what they were", p.ConnectionsChanged)
}
