package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"breakwater/db"
	"breakwater/proxy"
	"breakwater/proxy/client"
	"breakwater/proxy/control"
)

// serveOn answers on the listeners, and shows the tray on the main goroutine
// unless headless is asked for, until the context ends.
func serveOn(ctx context.Context, o options, log *slog.Logger, p *proxy.Product, url, token string, stop context.CancelFunc, ls ...net.Listener) error {
	served := make(chan error, 1)
	go func() {
		err := p.Server.Serve(ctx, ls...)
		stop() // a proxy that cannot serve has no use for a tray
		served <- err
	}()
	var trayErr error
	if !o.headless {
		p.Service.SetDesktop(true)
		// There is nothing to serve with yet: the welcome says what to do.
		show := o.demo || len(p.Service.Routes()) == 0
		trayErr = desktop.Tray(ctx, p.Service, url, token, o.dataDir, show, log)
		stop()
	}
	return errors.Join(trayErr, <-served)
}

// window runs the window role: it shows the Breakwater that the tray named in
// the environment, or the one given with --connect.
func window(ctx context.Context, o options) int {
	if desktop == nil {
		fmt.Fprintln(os.Stderr, "breakwater: this build has no desktop part")
		return exitNoWindow
	}
	url, token := os.Getenv("BREAKWATER_URL"), os.Getenv("BREAKWATER_TOKEN")
	if o.connect != "" {
		url = o.connect
	}
	if url == "" {
		var err error
		if url, token, err = runningInstance(ctx, o); err != nil {
			fmt.Fprintln(os.Stderr, "breakwater:", err)
			return 1
		}
	}
	c := client.New(url, token, client.Options{})
	defer c.Close()
	if err := desktop.Window(ctx, c, url, o.page, o.dataDir); err != nil {
		fmt.Fprintln(os.Stderr, "breakwater:", err)
		return exitNoWindow
	}
	return 0
}

// startLimit is how long a Breakwater that has just been started may take to
// publish its address.
const startLimit = 15 * time.Second

// publishedAddress returns where the Breakwater that uses the folder answers;
// one that is starting has not said so yet.
func publishedAddress(ctx context.Context, dir string) (url string, err error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		if url, err = proxy.Address(dir); err == nil {
			return url, nil
		}
		if running, failed := inUse(dir); failed != nil || !running {
			return "", err
		}
		select {
		case <-ctx.Done():
			return "", err
		case <-again.C:
		}
	}
}

// runningInstance returns the address and the token of the Breakwater that
// uses the data folder.
func runningInstance(ctx context.Context, o options) (url, token string, err error) {
	if url, err = publishedAddress(ctx, o.dataDir); err != nil {
		return "", "", err
	}
	secrets, err := db.OpenSecrets(ctx, o.dataDir, db.SecretsOptions{})
	if err != nil {
		return "", "", err
	}
	token, err = control.Token(secrets)
	return url, token, err
}
