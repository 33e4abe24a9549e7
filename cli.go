package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
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
			Dir: folder, Database: db.Examine, Secrets: secretsOf, Writable: db.Writable, Remedy: remedy, Address: proxy.Address,
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
	if running, err := inUse(dir); err != nil {
		return nil, nil, err
	} else if !running {
		return nil, nil, errNotRunning
	}
	url, token, err := runningInstance(ctx, options{dataDir: dir})
	if err != nil {
		return nil, nil, err
	}
	c := client.New(url, token, client.Options{})
	return c, c.Close, nil
}

func secretsOf(ctx context.Context, dir string) (at cli.SecretsPlace, err error) {
	if at.Where, at.Why, err = db.SecretsPlace(dir); err != nil || at.Where == "" {
		return at, err
	}
	at.Chosen = os.Getenv(db.SecretsEnv) != ""
	secrets, err := db.OpenSecrets(ctx, dir, db.SecretsOptions{})
	if err == nil {
		_, _, err = secrets.Secret(control.TokenSecret)
	}
	return at, err
}

// remedy is what helps against an error of the data folder.
func remedy(err error) string {
	switch {
	case errors.Is(err, db.ErrDamaged):
		return "Quit Breakwater, then put a copy back: breakwater restore FILE (copies made by updates are the *.bak files beside it), or move the file away and start with an empty one."
	case errors.Is(err, db.ErrNewer):
		return "Start the newer version again."
	case errors.Is(err, db.ErrSecretsDamaged):
		return "Put secrets.enc and secrets.key back from a copy, or quit Breakwater, move both away and enter the keys again."
	case errors.Is(err, db.ErrKeychain):
		return "Unlock the keychain and run this in your desktop session, or set BREAKWATER_SECRETS=file and enter the keys again."
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "Make the data folder and its files writable for you, or name another folder with --data-dir."
	case errors.Is(err, control.ErrDiskFull):
		return "Make room on the disk; requests go on meanwhile, but nothing can be changed or recorded."
	}
	return "Look at the data folder and its permissions, or name another with --data-dir."
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
