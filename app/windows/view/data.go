package view

import (
	"fmt"
	"strings"
	"time"

	"breakwater/proxy/control"
)

// KeyNote says what is special about an API key.
func KeyNote(k control.APIKey, now time.Time) string {
	var out []string
	if k.ExpiresAt != nil {
		if k.ExpiresAt.After(now) {
			out = append(out, Tf("until %s", Clock(*k.ExpiresAt, now)))
		} else {
			out = append(out, T("expired"))
		}
	}
	if len(k.AllowedConnections) > 0 || len(k.AllowedModels) > 0 {
		out = append(out, T("limited"))
	}
	return strings.Join(out, ", ")
}

// ImportWords tells what an import did, or would do.
func ImportWords(r control.ImportReport) string {
	var add, skip, refuse []string
	for _, c := range r.Connections {
		switch c.Action {
		case control.ImportAdd:
			add = append(add, c.Name)
		case control.ImportSkip:
			skip = append(skip, c.Name)
		default:
			refuse = append(refuse, c.Name)
		}
	}
	var out []string
	part := func(text string, names []string) {
		if len(names) > 0 {
			out = append(out, fmt.Sprintf(text, strings.Join(names, ", ")))
		}
	}
	part(T("Added: %s."), add)
	part(T("Already here, left alone: %s."), skip)
	part(T("Not usable: %s."), refuse)
	if r.Settings || r.Resilience {
		out = append(out, T("Settings: taken over."))
	}
	if len(out) == 0 {
		return T("There is nothing in it.")
	}
	if r.DryRun {
		return T("Restoring it would do this.") + " " + strings.Join(out, " ")
	}
	return strings.Join(out, " ")
}
