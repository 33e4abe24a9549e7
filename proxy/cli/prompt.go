package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

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
	text, err = typed(ctx, func() (string, error) {
		text, err := term.ReadPassword(fd)
		return string(text), err
	})
	return text, true, err
}

// typed waits for what a person types, or until the person gives up. Nothing
// ends the reading but a line or the end of the program.
func typed(ctx context.Context, read func() (string, error)) (string, error) {
	type line struct {
		text string
		err  error
	}
	got := make(chan line, 1)
	go func() {
		text, err := read()
		got <- line{text, err}
	}()
	select {
	case l := <-got:
		return l.text, l.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Confirm asks a question at the terminal. asked is false where the standard
// input is no terminal.
func Confirm(ctx context.Context, question string) (yes, asked bool, err error) {
	return confirm(ctx, os.Stdin, os.Stderr, question)
}

func confirm(ctx context.Context, in *os.File, out io.Writer, question string) (yes, asked bool, err error) {
	if !term.IsTerminal(int(in.Fd())) {
		return false, false, nil
	}
	yes, err = saysYes(ctx, in, out, question)
	return yes, true, err
}

// saysYes takes the end of the input for a no, as it takes every answer but yes.
func saysYes(ctx context.Context, in io.Reader, out io.Writer, question string) (bool, error) {
	fmt.Fprint(out, question)
	answer, err := typed(ctx, func() (string, error) { return bufio.NewReader(in).ReadString('\n') })
	if errors.Is(err, io.EOF) {
		fmt.Fprintln(out)
		return false, nil
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", err
}
