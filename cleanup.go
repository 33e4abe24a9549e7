package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"breakwater/db"
	"breakwater/proxy"
	"breakwater/proxy/client"
)

// stopLimit is how long a Breakwater that was told to end may take: requests
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
	instance, err := proxy.Claim(dir)
	if _, ok := errors.AsType[*proxy.RunningError](err); ok {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, instance.Release()
}

// undo is one thing that Breakwater may have set up outside its data folder
// and takes back when it is removed. It returns what it did, one line each,
// none when there was nothing.
type undo struct {
	what string // for the message when it fails
	do   func(ctx context.Context, dataDir string) ([]string, error)
}

// cleanup ends the running instance, takes back what Breakwater has set up
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
	for _, u := range undos {
		done, err := u.do(ctx, o.dataDir)
		report(u.what, done, err)
	}
	if _, err := os.Stat(o.dataDir); errors.Is(err, os.ErrNotExist) {
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

// wantsDeleted asks what becomes of the data, where there is somebody to ask;
// otherwise they stay.
func wantsDeleted(choice, dir string, in io.Reader, out io.Writer) bool {
	if choice != "ask" {
		return choice == "delete"
	}
	if f, ok := in.(*os.File); ok {
		if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
			return false
		}
	}
	fmt.Fprintf(out, "Delete connections, keys, settings and activity in %s too? [y/N] ", dir)
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil {
		fmt.Fprintln(out)
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}
