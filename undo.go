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
)

// undos are taken in this order.
var undos = []undo{
	{"take back the set-up of agents", takeBackAgents},
	{"remove the start at sign-in", func(context.Context, string) ([]string, error) {
		e := autostart.New("")
		if !e.Enabled() {
			return nil, nil
		}
		return []string{"No longer started at sign-in."}, e.Set(false)
	}},
	{"remove what the window toolkit keeps", func(context.Context, string) ([]string, error) { return removeToolkitFiles() }},
}

// takeBackAgents gives coding agents the settings back that they had before they
// were pointed at this Breakwater or at its demo.
func takeBackAgents(_ context.Context, dataDir string) (done []string, failed error) {
	for _, dir := range []string{dataDir, filepath.Join(dataDir, db.DemoDir)} {
		lines, err := setup.Setup{Dir: dir, Getenv: os.Getenv}.TakeBackAll()
		done = append(done, lines...)
		failed = errors.Join(failed, err)
	}
	return done, failed
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
