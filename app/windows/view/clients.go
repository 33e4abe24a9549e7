package view

import (
	"strings"
	"time"

	"breakwater/app/setup"
	"breakwater/proxy/control"
)

// ClientBadge tells how a client stands: set up or not, and when it was last
// heard of.
func ClientBadge(p setup.Plan, rows []control.Activity, now time.Time) Badge {
	if p.State == setup.StateChanged {
		return Badge{Shape: ShapeHalf, Role: RoleWarning, Word: T("changed since by somebody else")}
	}
	for _, a := range rows {
		if a.Client == p.ID {
			return Badge{Shape: ShapeDisc, Role: RoleSuccess, Word: T("connected"), Rest: Ago(a.At, now), Tip: Exact(a.At)}
		}
	}
	switch {
	case p.State == setup.StateSet:
		return Badge{Shape: ShapeDotted, Role: RolePrimary, Word: T("set up, waiting for its first request")}
	case p.Problem != "":
		return Badge{Shape: ShapeCross, Role: RoleMuted, Word: T("cannot be set up from here")}
	}
	return Badge{Shape: ShapeRing, Role: RoleMuted, Word: T("not set up")}
}

// ClientNote says what writing does, or why it cannot be done.
func ClientNote(p setup.Plan) string {
	switch {
	case p.Problem != "":
		return ShortPath(p.Path) + ": " + strings.TrimSuffix(p.Problem, ".") + "."
	case p.State != setup.StateNone:
		return Tf("In %s. Taking it back restores what stood there before.", ShortPath(p.Path))
	case p.Exists:
		return Tf("Goes into %s. A copy is kept beside it; everything else in the file stays as it is.", ShortPath(p.Path))
	}
	return Tf("Makes %s, which is not there yet.", ShortPath(p.Path))
}

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
