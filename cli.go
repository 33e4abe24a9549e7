package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"breakwater/db"
	"breakwater/proxy"
	"breakwater/proxy/cli"
	"breakwater/proxy/client"
	"breakwater/proxy/control"
)

// command runs a command over the management API of the Breakwater that runs.
func command(ctx context.Context, args []string) int {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // the doctor then looks at the environment only
	}
	return cli.Run(ctx, cli.Env{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Connect: connect, Backup: backup, Restore: restore, Ask: cli.AskHidden, Confirm: cli.Confirm,
		Local: cli.LocalChecks{
			Dir: folder, Database: db.Examine, Secrets: secretsOf, Address: proxy.Address,
			Port: expectedPort(os.Getenv), Home: home, Now: time.Now,
		},
	}, args)
}

// folder is the data folder that a command means.
func folder(w cli.Where) (dir string, err error) {
	if dir = w.DataDir; dir == "" {
		dir = os.Getenv("BREAKWATER_DATA_DIR")
	}
	if dir == "" {
		dir, err = db.DefaultDir()
	}
	if w.Demo && err == nil {
		dir = filepath.Join(dir, db.DemoDir)
	}
	return dir, err
}

// errNotRunning tells a person what to do.
var errNotRunning = errors.New("no Breakwater runs with this data folder; start it first")

// connect speaks to the Breakwater that uses the folder.
func connect(ctx context.Context, w cli.Where) (control.Facade, func(), error) {
	dir, err := folder(w)
	if err != nil {
		return nil, nil, err
	}
	if running, err := inUse(dir); err != nil || !running {
		return nil, nil, errors.Join(err, errNotRunning)
	}
	url, token, err := runningInstance(ctx, options{dataDir: dir})
	if err != nil {
		return nil, nil, err
	}
	c := client.New(url, token, client.Options{})
	return c, c.Close, nil
}

func secretsOf(ctx context.Context, dir string) (string, error) {
	secrets, err := db.OpenSecrets(ctx, dir, db.SecretsOptions{})
	if err != nil {
		return "", err
	}
	if _, _, err := secrets.Secret(control.TokenSecret); err != nil {
		return "", err
	}
	return secrets.Backend(), nil
}

// expectedPort is where clients look for the proxy.
func expectedPort(env func(string) string) int {
	if n, err := strconv.Atoi(env("BREAKWATER_PORT")); err == nil && n > 0 {
		return n
	}
	return defaultPort
}

func backup(ctx context.Context, w cli.Where, to string) error {
	dir, err := folder(w)
	if err != nil {
		return err
	}
	return db.Backup(ctx, dir, to)
}

// restore holds the folder's lock meanwhile, so that no Breakwater starts.
func restore(ctx context.Context, w cli.Where, from string, agree func(control.RestorePlan) error) (kept string, err error) {
	dir, err := folder(w)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	instance, err := proxy.Claim(dir)
	if err != nil {
		return "", fmt.Errorf("%w; quit it first", err)
	}
	defer func() { _ = instance.Release() }() // the system frees the lock in any case
	return db.Restore(ctx, dir, from, agree)
}
