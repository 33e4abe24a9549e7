package claude

import (
	"strings"
	"time"
)

// Source says where a window's figures came from.
type Source string

// The sources: every answer's headers, and the usage endpoint.
const (
	FromHeaders  Source = "headers"
	FromEndpoint Source = "usage"
)

// The names of the windows of a whole account; those of single models have the
// upstream's own.
const (
	SessionWindow = "five_hour"
	WeeklyWindow  = "seven_day"
	// someModels is the header's window of some models; it does not say which.
	someModels = "7d_oi"
)

// severityCritical is the only severity of a window that blocks.
const severityCritical = "critical"

// Window is one quota window of an account.
type Window struct {
	Name     string
	Model    string    // of a weekly window of single models: their label
	Used     float64   // 0 to 1
	Resets   time.Time // zero: unknown
	Active   bool      // it refuses at present
	Severity string    // normal or critical; empty: not said
	Source   Source
	At       time.Time // when it was read; zero: nothing is known
}

// Known reports that something is known of the window.
func (w Window) Known() bool { return !w.At.IsZero() }

// Blocks reports that requests to the window would be refused: it is used up
// and said to be binding. Past its reset it is full again. One that names no
// reset blocks only until it is worth reading again.
func (w Window) Blocks(now time.Time) bool {
	end := w.Resets
	if end.IsZero() {
		end = w.At.Add(pollInterval)
	}
	return w.Known() && w.Active && (w.Severity == "" || w.Severity == severityCritical) && w.Used >= 1 && now.Before(end)
}

// ExtraUsage is what the account may use beyond its plan.
type ExtraUsage struct {
	Enabled        bool
	Queued         bool // requests wait for it
	MonthlyLimit   float64
	UsedCredits    float64
	Used           float64 // 0 to 1
	Currency       string
	DisabledReason string
}

// Usage is what is known of an account's windows.
type Usage struct {
	Session Window
	Weekly  Window
	Models  []Window // weekly windows of single models
	Extra   ExtraUsage
}

// Preflight returns a window that would refuse a request for the model, the
// one that resets last. With either switch on, a used-up session window is
// none: without the refusal neither lane nor reset could begin (Claude sheet
// §1.8).
func (u *Usage) Preflight(now time.Time, model string, sw Switches) (w Window, blocked bool) {
	consider := func(c Window) {
		if c.Blocks(now) && (!blocked || c.Resets.After(w.Resets)) {
			w, blocked = c, true
		}
	}
	if !sw.Either() {
		consider(u.Session)
	}
	consider(u.Weekly)
	for _, c := range u.Models {
		if fits(c.Model, model) {
			consider(c)
		}
	}
	return w, blocked
}

// noReset is how long queued extra usage holds an account whose session
// reset is unknown.
const noReset = 5 * time.Minute

// ExtraUsageHold returns until when the account is out because requests would
// queue for extra usage that the user wants blocked; zero when it is not.
func (u *Usage) ExtraUsageHold(now time.Time, block bool) time.Time {
	switch {
	case !block || !u.Extra.Queued:
		return time.Time{}
	case u.Session.Resets.After(now):
		return u.Session.Resets
	default:
		return now.Add(noReset)
	}
}

// fromHeaders reads the windows that every answer of a subscription carries.
func fromHeaders(now time.Time, h *unified) Usage {
	read := func(name string, state, used, reset name) Window {
		share, ok := h.share(used)
		if h[state] == "" && !ok {
			return Window{}
		}
		w := Window{Name: name, Used: share, Resets: h.moment(reset), Source: FromHeaders, At: now}
		w.Active = h[state] == rejected || h[state] == "" && w.Used >= 1
		if h[state] == rejected {
			w.Used = 1 // whatever the figure is rounded to
		}
		return w
	}
	u := Usage{
		Session: read(SessionWindow, fiveStatus, fiveUsed, fiveReset),
		Weekly:  read(WeeklyWindow, weekStatus, weekUsed, weekReset),
	}
	if w := read(someModels, someStatus, someUsed, someReset); w.Known() {
		u.Models = []Window{w}
	}
	return u
}

// fits reports whether a window of single models is the model's. The label
// names a family and perhaps a version: the family must be the model's, and
// versions that both state must agree.
func fits(label, model string) bool {
	family, version := parts(label)
	ours, stated := parts(model)
	if len(family) == 0 {
		return false
	}
	for word := range family {
		if !ours[word] {
			return false
		}
	}
	return version == "" || stated == "" || version == stated
}

// parts splits a model's name into its words and its version: "Opus 4.5" and
// "claude-opus-4-5-20250929" agree.
func parts(name string) (words map[string]bool, version string) {
	words = map[string]bool{}
	for _, p := range strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}) {
		switch digits := strings.Trim(p, "0123456789"); {
		case digits == "" && len(p) <= 2:
			version += "." + p
		case digits == "", digits != p, p == "claude", p == "latest": // a date, "1m", no name
		default:
			words[p] = true
		}
	}
	return words, version
}
