package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// AskHidden asks at the terminal for a text that it does not show. ok is false
// where the standard input is no terminal.
func AskHidden(ctx context.Context, prompt string) (text string, ok bool, err error) {
	return askHidden(ctx, os.Stdin, os.Stderr, prompt)
}

func askHidden(ctx context.Context, in *os.File, out io.Writer, prompt string) (text string, ok bool, err error) {
	fd := int(in.Fd())
	shown, err := term.GetState(fd)
	if err != nil {
		return "", false, nil //nolint:nilerr // it is no terminal
	}
	defer func() {
		_ = term.Restore(fd, shown) // also when the person gave up in the middle
		fmt.Fprintln(out)           // the line that was typed did not end on the screen
	}()
	fmt.Fprint(out, prompt)
	type line struct {
		text []byte
		err  error
	}
	typed := make(chan line, 1)
	go func() { // it ends with the program when nobody types
		text, err := term.ReadPassword(fd)
		typed <- line{text, err}
	}()
	select {
	case l := <-typed:
		return string(l.text), true, l.err
	case <-ctx.Done():
		return "", true, ctx.Err()
	}
}
