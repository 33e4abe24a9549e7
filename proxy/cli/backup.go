package cli

import (
	"context"
	"fmt"
	"io"
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

func restore(ctx context.Context, c *call) error {
	args, err := c.arg("the file")
	if err != nil {
		return err
	}
	kept, err := c.Restore(ctx, c.where, args[0])
	if err != nil {
		return err
	}
	return c.print(map[string]string{"restored": args[0], "kept": kept}, func(w io.Writer) {
		fmt.Fprintf(w, "Restored from %s.\n", args[0])
		if kept != "" {
			fmt.Fprintf(w, "What was there is kept as %s.\n", kept)
		}
	})
}
