package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"breakwater/app/autostart"
	"breakwater/app/setup"
	"breakwater/build"
	"breakwater/db"
	"breakwater/proxy/control"
)

// undos are taken in this order.
var undos = []undo{
	{"undo the set-up of agents", undoAgents, true},
	{"remove the start at sign-in", func(context.Context, string, consent) ([]string, error) {
		e := autostart.New("")
		if !e.Enabled() {
			return nil, nil
		}
		return []string{"No longer started at sign-in."}, e.Set(false)
	}, false},
	{"remove what the window toolkit keeps", func(context.Context, string, consent) ([]string, error) { return removeToolkitFiles() }, false},
}

// agentSetup is the editor of the agents' settings that belongs to a data
// folder.
func agentSetup(dataDir, home string) setup.Setup {
	return setup.Setup{Dir: dataDir, Home: home, Getenv: os.Getenv, Secrets: agentSecrets{dataDir}}
}

// agentSecrets opens the secrets of a data folder when an agent's key is kept
// or restored, not before: most files hold none.
type agentSecrets struct{ dir string }

func (a agentSecrets) open() (control.Secrets, error) {
	return db.OpenSecrets(context.Background(), a.dir, db.SecretsOptions{})
}

func (a agentSecrets) Secret(name string) (string, bool, error) {
	s, err := a.open()
	if err != nil {
		return "", false, err
	}
	return s.Secret(name)
}

func (a agentSecrets) SetSecret(name, value string) error {
	s, err := a.open()
	if err != nil {
		return err
	}
	return s.SetSecret(name, value)
}

func (a agentSecrets) DeleteSecret(name string) error {
	s, err := a.open()
	if err != nil {
		return err
	}
	return s.DeleteSecret(name)
}

// undoAgents takes what this Breakwater and its demo have written out of the
// settings of coding agents. One may have been set up over the other, so it is
// tried until nothing more can be undone; only then is the user asked.
func undoAgents(_ context.Context, dataDir string, ask consent) (done []string, failed error) {
	dirs := []string{dataDir, filepath.Join(dataDir, db.DemoDir)}
	pass := func(ask consent) (progress bool, failed error) {
		for _, dir := range dirs {
			lines, err := agentSetup(dir, "").UndoAll(ask)
			done = append(done, lines...)
			progress = progress || len(lines) > 0
			failed = errors.Join(failed, err)
		}
		return progress, failed
	}
	for {
		progress, err := pass(nil)
		if err == nil {
			return done, nil
		}
		if !progress {
			_, err = pass(ask)
			return done, err
		}
	}
}

// removeToolkitFiles deletes the folders that Fyne makes for every program that
// shows a window.
func removeToolkitFiles() (done []string, failed error) {
	app, err := build.ReadApp(metadata)
	if err != nil {
		return nil, err
	}
	for _, root := range toolkitRoots() {
		dir := filepath.Join(root, "fyne", app.ID)
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		done = append(done, "Removed: "+dir)
		_ = os.Remove(filepath.Dir(dir)) // other programs of the toolkit may keep theirs there
	}
	return done, failed
}

// toolkitRoots are the folders that hold Fyne's.
func toolkitRoots() []string {
	var roots []string
	if dir, err := os.UserConfigDir(); err == nil {
		if runtime.GOOS == "darwin" {
			dir = filepath.Join(filepath.Dir(dir), "Preferences")
		}
		roots = append(roots, dir)
	}
	if dir, err := os.UserCacheDir(); err == nil {
		roots = append(roots, dir)
	}
	return roots
}
