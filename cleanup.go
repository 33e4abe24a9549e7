package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"breakwater/app/setup"
	"breakwater/db"
	"breakwater/proxy"
	"breakwater/proxy/client"
)

// stopLimit is how long a Breakwater that was asked to end may take: requests
// that are being answered may end first.
const stopLimit = 30 * time.Second

// quit ends the Breakwater that uses the data folder.
func quit(ctx context.Context, o options) int {
	stopped, err := stopRunning(ctx, o)
	switch {
	case err != nil:
		return complain(o, err)
	case !stopped:
		return say(o, map[string]bool{"stopped": false}, "No Breakwater was running with this data folder.")
	default:
		return say(o, map[string]bool{"stopped": true}, "Breakwater has ended.")
	}
}

// stopRunning asks the running instance to end and waits until its data folder
// is free. It reports whether there was one.
func stopRunning(ctx context.Context, o options) (bool, error) {
	if running, err := inUse(o.dataDir); err != nil || !running {
		return false, err
	}
	url, token, err := runningInstance(ctx, o)
	if err != nil {
		return true, err
	}
	c := client.New(url, token, client.Options{})
	defer c.Close()
	if err := c.Quit(ctx); err != nil {
		return true, fmt.Errorf("the Breakwater at %s does not end: %w", url, err)
	}
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		if running, err := inUse(o.dataDir); err != nil || !running {
			return true, err
		}
		select {
		case <-ctx.Done():
			return true, fmt.Errorf("the Breakwater at %s was told to end and has not yet: %w", url, ctx.Err())
		case <-again.C:
		}
	}
}

// inUse reports whether a Breakwater uses the folder.
func inUse(dir string) (bool, error) {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return proxy.Running(dir)
}

// undo is one thing that Breakwater may have set up outside its data folder
// and undoes when it is removed. It returns what it did, one line each, none
// when there was nothing.
type undo struct {
	what  string // for the message when it fails
	do    func(ctx context.Context, dataDir string, ask consent) ([]string, error)
	needs bool // the data must stay when it fails: they are what it undoes by
}

// consent asks the user about a file that cannot be changed without.
type consent func(*setup.AskError) bool

// cleanup ends the running instance, undoes what Breakwater has set up
// outside its data folder, and deletes the data if that is wanted. It is what
// uninstalling runs; it goes on when a step fails.
func cleanup(ctx context.Context, o options, in io.Reader, out io.Writer) int {
	failed := false
	report := func(what string, done []string, err error) {
		for _, line := range done {
			fmt.Fprintln(out, line)
		}
		if err != nil {
			failed = true
			fmt.Fprintf(os.Stderr, "breakwater: %s: %v\n", what, err)
		}
	}
	for _, dir := range []string{o.dataDir, filepath.Join(o.dataDir, db.DemoDir)} {
		one := o
		one.dataDir = dir
		stopped, err := stopRunning(ctx, one)
		var done []string
		if stopped && err == nil {
			done = []string{"Breakwater has ended."}
		}
		report("end the running one", done, err)
	}
	needed := false
	for _, u := range undos {
		done, err := u.do(ctx, o.dataDir, asking(in, out))
		report(u.what, done, err)
		needed = needed || u.needs && err != nil
	}
	if _, err := os.Stat(o.dataDir); errors.Is(err, os.ErrNotExist) {
		return exitCode(failed)
	}
	if needed {
		fmt.Fprintf(out, "Kept: %s. It records what stood in the settings that could not be undone.\n", o.dataDir)
		return exitCode(failed)
	}
	if !wantsDeleted(o.data, o.dataDir, in, out) {
		fmt.Fprintf(out, "Kept: %s (connections, settings, activity). \"breakwater cleanup --data delete\" deletes it.\n", o.dataDir)
		return exitCode(failed)
	}
	err := db.Forget(ctx, o.dataDir)
	var done []string
	if err == nil {
		done = []string{"Deleted: " + o.dataDir}
	}
	report("delete the data", done, err)
	return exitCode(failed)
}

func exitCode(failed bool) int {
	if failed {
		return 1
	}
	return 0
}

// asking asks at the terminal; without one the answer is always no, and the
// reason comes with the error.
func asking(in io.Reader, out io.Writer) consent {
	return func(q *setup.AskError) bool {
		if !terminal(in) {
			return false
		}
		if q.Question == setup.AskCopy {
			fmt.Fprintf(out, "%v\nRestore the copy? Every later change to the file is lost. [y/N] ", q)
		} else {
			fmt.Fprintf(out, "%v. Change it anyway? [y/N] ", q)
		}
		return yes(in, out)
	}
}

// terminal reports whether a user can answer: a file that is no terminal
// cannot, any other reader can.
func terminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return true
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// wantsDeleted asks whether the data are deleted; without a terminal they stay.
func wantsDeleted(choice, dir string, in io.Reader, out io.Writer) bool {
	if choice != "ask" {
		return choice == "delete"
	}
	if !terminal(in) {
		return false
	}
	fmt.Fprintf(out, "Delete connections, keys, settings and activity in %s too? [y/N] ", dir)
	return yes(in, out)
}

// yes reads an answer; anything but yes is no. It takes no more than a line:
// another question may follow.
func yes(in io.Reader, out io.Writer) bool {
	var line []byte
	var one [1]byte
	_, err := io.ReadFull(in, one[:])
	for ; err == nil && one[0] != '\n'; _, err = io.ReadFull(in, one[:]) {
		line = append(line, one[0])
	}
	if err != nil {
		fmt.Fprintln(out)
	}
	answer := strings.ToLower(strings.TrimSpace(string(line)))
	return answer == "y" || answer == "yes"
}
