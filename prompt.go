package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
)

// askHidden asks at the terminal for a text that it does not show; ok is false
// where the standard input is no terminal.
func askHidden(ctx context.Context, prompt string) (text string, ok bool, err error) {
	show, err := hideInput(os.Stdin)
	if err != nil {
		return "", false, nil //nolint:nilerr // it is no terminal
	}
	defer func() {
		show()
		fmt.Fprintln(os.Stderr) // the line that was typed did not end on the screen
	}()
	fmt.Fprint(os.Stderr, prompt)
	type line struct {
		text string
		err  error
	}
	typed := make(chan line, 1)
	go func() { // it ends with the program when nobody types
		text, err := bufio.NewReader(os.Stdin).ReadString('\n')
		typed <- line{text, err}
	}()
	select {
	case l := <-typed:
		return l.text, true, l.err
	case <-ctx.Done():
		return "", true, ctx.Err()
	}
}
