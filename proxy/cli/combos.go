package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"breakwater/proxy/control"
)

func comboCommands() []command {
	const g = "combos"
	return []command{
		{g, "list", "", "list the combos", plain(listCombos)},
		{g, "show", "NAME", "show one combo, in the form that edit takes", plain(showCombo)},
		{g, "add", "FILE", "add the combo that a JSON file describes; - reads the standard input", plain(addCombo)},
		{g, "edit", "NAME FILE", "change the fields that a JSON file holds", plain(editCombo)},
		{g, "delete", "NAME", "forget a combo", plain(deleteCombo)},
	}
}

func listCombos(ctx context.Context, c *call) error {
	if err := c.none(); err != nil {
		return err
	}
	f, err := c.open(ctx)
	if err != nil {
		return err
	}
	list, err := f.Combos(ctx)
	if err != nil {
		return err
	}
	return c.print(list, func(w io.Writer) {
		var rows [][]string
		for _, k := range list {
			rows = append(rows, []string{k.Name, string(k.Strategy), strconv.Itoa(len(k.Steps)), onOff(k.Active == nil || *k.Active), k.ID})
		}
		table(w, "NAME STRATEGY STEPS SWITCH ID", rows)
	})
}

func (c *call) combo(ctx context.Context, word string) (control.Combo, error) {
	f, err := c.open(ctx)
	if err != nil {
		return control.Combo{}, err
	}
	list, err := f.Combos(ctx)
	if err != nil {
		return control.Combo{}, err
	}
	for _, k := range list {
		if k.ID == word || strings.EqualFold(k.Name, word) {
			return k, nil
		}
	}
	return control.Combo{}, fmt.Errorf("there is no combo %q", word)
}

func showCombo(ctx context.Context, c *call) error {
	args, err := c.arg("the combo's name")
	if err != nil {
		return err
	}
	k, err := c.combo(ctx, args[0])
	if err != nil {
		return err
	}
	c.json = true // it has no other form
	return c.print(k, nil)
}

// readJSON reads a file, or the standard input for "-", into dst. Fields that
// dst does not have are refused: a typing error must not pass for a change.
func (c *call) readJSON(name string, dst any) error {
	read := func() ([]byte, error) { return os.ReadFile(name) }
	if name == "-" {
		read = func() ([]byte, error) { return io.ReadAll(c.In) }
	}
	raw, err := read()
	if err != nil {
		return err
	}
	if err := strictly(raw, dst, "field"); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func addCombo(ctx context.Context, c *call) error {
	args, err := c.arg("the file")
	if err != nil {
		return err
	}
	var in control.ComboInput
	if err := c.readJSON(args[0], &in); err != nil {
		return err
	}
	f, err := c.open(ctx)
	if err != nil {
		return err
	}
	k, err := f.AddCombo(ctx, in)
	if err != nil {
		return err
	}
	return c.print(k, func(w io.Writer) { c.saidCombo(w, "Added", k) })
}

func (c *call) saidCombo(w io.Writer, did string, k control.Combo) {
	fmt.Fprintf(w, "%s %s (%s).\n", did, k.Name, k.ID)
	if k.Warning != nil {
		fmt.Fprintln(w, k.Warning.Message)
	}
	for _, x := range k.Warnings {
		if x.Message != "" {
			fmt.Fprintf(w, "%s (%s): %s.\n", x.Field, x.Given, x.Message)
			continue
		}
		fmt.Fprintf(w, "%s: %s cannot be used; it is %s now.\n", x.Field, x.Given, x.Used)
	}
}

func editCombo(ctx context.Context, c *call) error {
	args, err := c.arg("the combo's name", "the file")
	if err != nil {
		return err
	}
	k, err := c.combo(ctx, args[0])
	if err != nil {
		return err
	}
	var patch control.ComboPatch
	if err := c.readJSON(args[1], &patch); err != nil {
		return err
	}
	if k, err = c.facade.EditCombo(ctx, k.ID, patch); err != nil {
		return err
	}
	return c.print(k, func(w io.Writer) { c.saidCombo(w, "Changed", k) })
}

func deleteCombo(ctx context.Context, c *call) error {
	args, err := c.arg("the combo's name")
	if err != nil {
		return err
	}
	k, err := c.combo(ctx, args[0])
	if err != nil {
		return err
	}
	if err := c.facade.DeleteCombo(ctx, k.ID); err != nil {
		return err
	}
	return c.print(map[string]string{"deleted": k.ID}, func(w io.Writer) { fmt.Fprintf(w, "Deleted %s.\n", k.Name) })
}
