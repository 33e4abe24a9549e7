// Package build says which Breakwater this is: version, commit and date.
package build

import (
	"runtime"
	"runtime/debug"
)

// Facts of this build. A release sets them with
// -ldflags "-X breakwater/build.Commit=… -X breakwater/build.Date=…"; what is
// left empty is filled from the facts that the go command stamps into a binary
// built in a git checkout.
var (
	// Version is the release number, without a leading v: Stamp sets it from
	// FyneApp.toml. Tests of other packages see "dev".
	Version = "dev"
	// Commit is the full id of the source commit, with "+changes" behind it
	// when the work tree was not clean, or empty when nobody knows.
	Commit string
	// Date is the commit's time in RFC 3339, or empty.
	Date string
)

func init() {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return
	}
	facts := make(map[string]string, len(info.Settings))
	for _, s := range info.Settings {
		facts[s.Key] = s.Value
	}
	Commit, Date = fill(Commit, Date, facts)
}

// fill returns commit and date, taken from the go command's facts where they
// are empty.
func fill(commit, date string, facts map[string]string) (string, string) {
	if commit == "" {
		commit = facts["vcs.revision"]
		if commit != "" && facts["vcs.modified"] == "true" {
			commit += "+changes"
		}
	}
	if date == "" {
		date = facts["vcs.time"]
	}
	return commit, date
}

// String returns the one line that `breakwater version` prints.
func String() string { return describe(Version, Commit, Date) }

// Short returns the commit in twelve digits, with the mark of changes, or "".
func Short() string { return short(Commit) }

func describe(version, commit, date string) string {
	s := "breakwater " + version
	if commit != "" {
		s += " (" + short(commit)
		if date != "" {
			s += ", " + date
		}
		s += ")"
	}
	return s + " " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
}

// short cuts a commit id to twelve digits and keeps the mark behind it.
func short(commit string) string {
	const digits, mark = 12, "+changes"
	tail := ""
	if n := len(commit) - len(mark); n > 0 && commit[n:] == mark {
		commit, tail = commit[:n], mark
	}
	if len(commit) > digits {
		commit = commit[:digits]
	}
	return commit + tail
}

// Module returns the version of a module that is linked into this program, with
// its leading v, or "" when it is not linked in.
func Module(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return ""
}
