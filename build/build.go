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
	// Version is the release number, without a leading v.
	Version = "0.1.0"
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
