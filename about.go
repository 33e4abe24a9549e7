package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"breakwater/build"
	"breakwater/db"
	"breakwater/proxy/cli"
)

// metadata is the one source of the program's name and version.
//
//go:embed FyneApp.toml
var metadata string

func init() { build.Stamp(metadata) }

// version prints which Breakwater this is, or the licences of all its parts.
func version(ctx context.Context, o options) int {
	if o.licences {
		fmt.Print(build.Licences())
		return 0
	}
	sqlite, err := db.SQLiteVersion(ctx)
	if err != nil {
		return complain(o, err)
	}
	list := parts(sqlite)
	return say(o, map[string]any{"version": build.Version, "text": build.String(), "parts": list}, build.String()+"\n"+strings.Join(list, ", "))
}

// say prints what a command found, as JSON where that is asked for.
func say(o options, v any, text string) int {
	var err error
	if o.json {
		err = json.NewEncoder(os.Stdout).Encode(v)
	} else {
		_, err = fmt.Println(text)
	}
	if err != nil {
		return complain(o, err)
	}
	return 0
}

// complain prints why a command failed, as JSON where that is asked for.
func complain(o options, err error) int {
	cli.SayError(os.Stderr, err, "", nil, o.json)
	return 1
}

// parts names the libraries that people ask for in a report.
func parts(sqlite string) []string {
	list := []string{"SQLite " + sqlite}
	if fyne := build.Module("fyne.io/fyne/v2"); fyne != "" {
		list = append([]string{"Fyne " + strings.TrimPrefix(fyne, "v")}, list...)
	} else {
		list = append(list, "without windows")
	}
	return list
}
