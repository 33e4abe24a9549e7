// Command breakwater is a loopback proxy with a tray icon that keeps a coding
// agent working when a connection to a model fails.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"breakwater/build"
	"breakwater/db"
	"breakwater/proxy"
	"breakwater/proxy/cli"
	"breakwater/proxy/client"
	"breakwater/proxy/control"
	"breakwater/proxy/drill"
	"breakwater/proxy/simulator"
	"breakwater/resilience/clock"
)

// Exit codes besides 0 and 1.
const (
	exitUsage    = 2 // wrong command line, or no display to show a tray on
	exitNoWindow = 3 // the window could not open
)

// desktop is the part of the program that needs a screen; it is nil in builds
// without one (gui.go).
var desktop interface {
	// Tray shows the tray until ctx ends; it runs on the main goroutine.
	Tray(ctx context.Context, f control.Facade, url, token, dataDir string, show bool, log *slog.Logger) error
	// LetRaise lets the window of another process come to front.
	LetRaise()
	// Fail tells on the desktop that the program cannot start.
	Fail(err error) error
	// Window shows the window of the Breakwater at url until it is closed.
	Window(ctx context.Context, f control.Facade, url, page, dataDir string) error
}

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	args = asksHelp(cli.Hoist(args, cli.ProgramCommands()...))
	if len(args) > 0 && cli.Has(args[0]) {
		ctx, stop := signal.NotifyContext(context.Background(), endSignals()...)
		defer stop()
		return command(ctx, args)
	}
	o, err := parse(args, os.Getenv, os.Stdout)
	if err == nil && o.dataDir == "" && o.command != "version" {
		o.dataDir, err = db.DefaultDir()
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		cli.SayError(os.Stderr, err, "", args, cli.WantsJSON(args))
		return exitUsage
	}
	if o.demo {
		o.dataDir = filepath.Join(o.dataDir, db.DemoDir)
	}
	ctx, stop := signal.NotifyContext(context.Background(), endSignals()...)
	defer stop()
	switch o.command {
	case "version":
		return version(ctx, o)
	case "quit":
		return quit(ctx, o)
	case "cleanup":
		return cleanup(ctx, o, os.Stdin, os.Stdout)
	case "token":
		return printToken(ctx, o)
	case "window":
		return window(ctx, o)
	}
	return serve(ctx, o, stop)
}

// announcePause is how long a failed announcement waits for its next trial.
const announcePause = 5 * time.Second

// announce writes what lets the command line find this Breakwater, until that
// succeeds or the program ends.
func announce(ctx context.Context, log *slog.Logger, write func() error) {
	for first := true; ; first = false {
		err := write()
		if err == nil {
			return
		}
		if first {
			log.Error("the command line and a second start will not find this Breakwater yet", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(announcePause):
		}
	}
}

// printToken prints the management token for scripts.
func printToken(ctx context.Context, o options) int {
	secrets, err := db.OpenSecrets(ctx, o.dataDir, db.SecretsOptions{})
	if err == nil {
		var token string
		if token, err = control.Token(secrets); err == nil {
			return say(o, map[string]string{"token": token}, token)
		}
	}
	return complain(o, err)
}

// serve runs the proxy, with the tray unless headless is asked for.
func serve(ctx context.Context, o options, stop context.CancelFunc) int {
	if !o.headless && (desktop == nil || !hasDisplay(runtime.GOOS, os.Getenv)) {
		if desktop == nil {
			fmt.Fprintln(os.Stderr, "breakwater: this build has no desktop part; run it with --headless")
		} else {
			fmt.Fprintln(os.Stderr, "breakwater: no display (DISPLAY and WAYLAND_DISPLAY are not set); run it with --headless")
		}
		return exitUsage
	}
	if err := os.MkdirAll(o.dataDir, 0o700); err != nil {
		fmt.Fprintln(os.Stderr, "breakwater: the data folder cannot be made:", err)
		return 1
	}
	instance, err := proxy.Claim(o.dataDir)
	if running, ok := errors.AsType[*proxy.RunningError](err); ok {
		return second(ctx, o, running)
	}
	log, end := logger(o.dataDir, o.verbose)
	defer end()
	if err == nil {
		defer func() { _ = instance.Release() }() // the system frees the lock in any case
		err = product(ctx, o, log, instance, stop)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "breakwater:", err)
		if !o.headless {
			if err := desktop.Fail(err); err != nil {
				log.Debug("the desktop was not told", "error", err)
			}
		}
		return 1
	}
	return 0
}

// second is a second start: it brings the window of the first to front.
func second(ctx context.Context, o options, running *proxy.RunningError) int {
	fmt.Fprintln(os.Stderr, "breakwater:", running)
	if o.headless {
		return 1
	}
	url, token, err := runningInstance(ctx, o)
	if err == nil {
		desktop.LetRaise()
		err = client.New(url, token, client.Options{}).ShowWindow(ctx, "")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "breakwater:", err)
		return 1
	}
	return 0
}

// memoryLimit is where the heap stops growing so freely: a few huge bodies
// must not leave hundreds of megabytes behind.
const memoryLimit = 128 << 20

// product opens the stores, puts everything together and serves until the
// context ends.
func product(ctx context.Context, o options, log *slog.Logger, instance *proxy.Instance, stop context.CancelFunc) error {
	// The user's own GOGC and GOMEMLIMIT win.
	paces, gives := proxy.OwnPace(os.Getenv("GOGC"))
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	store, err := db.Open(ctx, db.Options{Dir: o.dataDir, Log: log})
	if err != nil {
		return err
	}
	defer func() {
		if err := store.Close(); err != nil {
			log.Error("the database did not close cleanly", "error", err)
		}
	}()
	secrets, err := db.OpenSecrets(ctx, o.dataDir, db.SecretsOptions{Log: log})
	if err != nil {
		return err
	}
	token, stored, err := control.TokenFor(secrets)
	if err != nil {
		return err
	}
	listeners, err := proxy.Listen(ctx, o.port)
	if err != nil {
		return err
	}
	url := "http://" + listeners[0].Addr().String()
	parts := proxy.Parts{
		Store: store, Secrets: secrets, Token: token, Endpoint: url, Version: build.Version,
		Log: log, Env: os.Getenv, Drill: drill.Run, Quit: stop,
		PaceGC: paces, GiveBack: gives,
	}
	var panel *simulator.Panel
	if o.demo {
		sim := simulator.New(simulator.Options{Default: simulator.Asked(), Keep: 100, KeepBody: -1})
		if err := sim.Start(ctx, ""); err != nil {
			return err
		}
		defer func() { _ = sim.Close() }() // a fake provider has nothing to lose
		fast := clock.NewFast(clock.System{})
		panel = simulator.NewPanel(sim, fast)
		parts.Clock, parts.Real, parts.Panel, parts.Limits = fast, fast.Real, panel, proxy.DemoLimits()
	}
	p, err := proxy.Assemble(ctx, parts)
	if err != nil {
		return err
	}
	defer p.Close()
	if panel != nil {
		if err := panel.Seed(ctx, p.Service); err != nil {
			return err
		}
	}
	// On a full disk, or in a folder that takes no writes, requests go on all the
	// same; what the command line needs is written when it can be (case P52).
	go announce(ctx, log, func() error { return errors.Join(stored(), instance.Publish(url)) })
	fmt.Fprintln(os.Stderr, "Breakwater serves at "+url)
	return serveOn(ctx, o, log, p, url, token, stop, listeners...)
}
