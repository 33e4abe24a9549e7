package view

import (
	"strings"
	"time"

	"breakwater/app/setup"
	"breakwater/proxy/control"
)

// ClientBadge tells how a client stands: set up or not, and when its last
// request came. One that is not set up says so, whatever it asked for before.
func ClientBadge(p setup.Plan, rows []control.Activity, now time.Time) Badge {
	switch {
	case p.State == setup.StateChanged:
		return Badge{Shape: ShapeHalf, Role: RoleWarning, Word: T("set up, changed since")}
	case p.State == setup.StateNone && p.Problem != "":
		return Badge{Shape: ShapeCross, Role: RoleMuted, Word: T("cannot be set up from here")}
	case p.State == setup.StateNone:
		return Badge{Shape: ShapeRing, Role: RoleMuted, Word: T("not set up")}
	}
	for _, a := range rows {
		if a.Client == p.ID {
			return Badge{Shape: ShapeDisc, Role: RoleSuccess, Word: T("connected"), Rest: Ago(a.At, now), Tip: Exact(a.At)}
		}
	}
	return Badge{Shape: ShapeDotted, Role: RolePrimary, Word: T("set up, waiting for its first request")}
}

// ClientNote says what setting up does, or why it cannot be done.
func ClientNote(p setup.Plan) string {
	note := clientFile(p)
	if len(p.Bypass) > 0 {
		note += " " + Tf("Codex profiles that bypass Breakwater: %s.", strings.Join(p.Bypass, ", "))
	}
	return note
}

func clientFile(p setup.Plan) string {
	switch {
	case p.Problem != "":
		return ShortPath(p.Path) + ": " + fullStop(p.Problem)
	case p.State != setup.StateNone:
		return Tf("In %s. Undo removes these values and restores the ones they replaced.", ShortPath(p.Path))
	case p.Exists:
		return Tf("Goes into %s. Everything else in the file stays as it is; a copy is kept in Breakwater's data folder.", ShortPath(p.Path))
	}
	return Tf("Makes %s, which is not there yet.", ShortPath(p.Path))
}

// ClientQuestion returns the title, the text and the consenting button of a
// question about a file.
func ClientQuestion(q *setup.AskError) (title, text, agree string) {
	file := ShortPath(q.Path)
	if q.Question == setup.AskReadOnly {
		return Tf("%s is read-only", file), T("Change it anyway? It stays read-only afterwards."), T("Change it")
	}
	return Tf("%s cannot be undone", file), fullStop(q.Reason) + " " + T("A copy from before it was set up is kept. Restoring it discards every later change to the file."), T("Restore the copy")
}

// fullStop ends a reason with a full stop.
func fullStop(reason string) string { return strings.TrimSuffix(reason, ".") + "." }

// ClientAfter says what to do after a client was set up.
func ClientAfter(p setup.Plan) string {
	if p.ID == setup.Codex {
		return T("Start Codex again. If a proxy is set in its environment, set NO_PROXY=127.0.0.1,localhost there, too.")
	}
	if p.ID == setup.ClaudeCode || p.ID == setup.OpenCode {
		return Tf("Start %s again to have it take effect.", p.Name)
	}
	return T("It takes effect at the next start, with a model named openai/…")
}

var home = ""

// UseHome tells where the user's folder is, which ShortPath writes as ~.
func UseHome(dir string) { home = dir }

// ShortPath returns a path with ~ for the user's folder.
func ShortPath(path string) string {
	if rest, ok := strings.CutPrefix(path, home); ok && home != "" {
		return "~" + rest
	}
	return path
}
