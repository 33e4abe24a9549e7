package view

import (
	"slices"
	"strings"

	"breakwater/proxy/control"
)

// FirstStep is one of the three steps of the first run.
type FirstStep struct {
	Title, Line string
	Done        bool
}

// Mark returns the shape and colour that tell whether the step is done.
func (s FirstStep) Mark() (Shape, Role) {
	if s.Done {
		return ShapeCheck, RoleSuccess
	}
	return ShapeRing, RoleMuted
}

// FirstSteps returns the three steps of the first run as they stand. The second
// is done when any client asked something, whoever it is, but not by the test
// request of this window; the last only when a request was answered through the
// proxy. Testable tells that a test request can be sent.
func FirstSteps(s control.Snapshot, rows []control.Activity, testable bool) [3]FirstStep {
	out := [3]FirstStep{
		{Title: T("Add a connection"), Line: T("A key, a subscription, a server of your own, or the demo.")},
		{Title: T("Point your agent here"), Line: T("By the line below, or let Breakwater write it.")},
		{Title: T("Get a first answer"), Line: T("Ask your agent something, or send a test request.")},
	}
	if !testable {
		out[2].Line = T("Ask your agent something.")
	}
	if n := len(s.Connections); n > 0 {
		out[0].Done, out[0].Line = true, N(n, "%d connection", "%d connections", n)
	}
	if i := slices.IndexFunc(rows, func(a control.Activity) bool { return a.Client != testClient }); i >= 0 {
		out[1].Done, out[1].Line = true, Tf("A request of %s came.", Client(rows[i].Client))
	}
	if i := firstAnswered(rows); i >= 0 {
		out[2].Done, out[2].Line = true, Tf("%s answered. Your requests go through Breakwater.", rows[i].ConnectionName)
	}
	return out
}

// testClient is who asks in a test request of this program.
const testClient = "breakwater"

// Answered reports whether a request was ever answered.
func Answered(rows []control.Activity) bool { return firstAnswered(rows) >= 0 }

func firstAnswered(rows []control.Activity) int {
	for i := range rows {
		a := &rows[i]
		if a.Result == "answered" && a.Status/100 == 2 && a.ConnectionID != "" && !strings.HasSuffix(a.Path, "/count_tokens") {
			return i
		}
	}
	return -1
}

// TestRequest returns dialect and model of a test request that the first
// connection in use can answer. It is false when there is none, or none whose
// model is known and whose credentials do not come from the agent.
func TestRequest(s control.Snapshot, providers []control.Provider) (dialect, model string, ok bool) {
	for _, c := range s.Connections {
		if !c.Active || c.Credential == "passthrough" || len(c.Dialects) == 0 {
			continue
		}
		if model = knownModel(c, providers); model != "" {
			return c.Dialects[0], model, true
		}
	}
	if s.Demo && len(s.Connections) > 0 {
		return "anthropic", "demo", true
	}
	return "", "", false
}

// knownModel is a model that the connection surely offers, empty if none is.
func knownModel(c control.Connection, providers []control.Provider) string {
	if c.DefaultModel != "" {
		return c.DefaultModel
	}
	for _, m := range c.Models {
		if !strings.Contains(m, "*") {
			return m
		}
	}
	i := slices.IndexFunc(providers, func(p control.Provider) bool { return p.ID == c.Provider })
	if len(c.Models) == 0 && i >= 0 && len(providers[i].KnownModels) > 0 {
		return providers[i].KnownModels[0].Name
	}
	return ""
}
