package quota

import (
	"context"
	"strings"
	"time"

	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// Account is what the preflight must know of a connection.
type Account struct {
	Provider string
	// Thresholds are quotaWindowThresholds: the remaining percentage at which
	// the connection is passed over, by window.
	Thresholds map[string]int64
	// IgnoreSession keeps a used up session window out of it: with the
	// low-priority lane or the limit reset on, the refusal itself is needed.
	IgnoreSession bool
}

// Verdict is the answer of the preflight. The zero value lets the request go.
type Verdict struct {
	Block, Warn bool
	Reason      outcome.Reason // ReasonQuota when it blocks
	Window      string         // the one that decided
	Remaining   float64        // percent
	ResetAt     time.Time      // zero: unknown
}

// epsilon keeps a figure that was computed from blocking a hair too late.
const epsilon = 1e-9

// Overall names the only figure of a provider without windows.
const Overall = "overall"

// Preflight says whether an account has enough quota left for a request for a
// model (sheet §7). With the cutoff off, and with nothing known, it has. Of
// several windows that block, the one that resets last is named.
func Preflight(now time.Time, s *settings.QuotaPreflight, a Account, model string, known *Snapshot) Verdict {
	var v Verdict
	if !s.Enabled || known == nil {
		return v
	}
	for i := range known.Windows {
		w := &known.Windows[i]
		if !w.Applies(model) || a.IgnoreSession && w.Kind == Session {
			continue
		}
		if left, ok := w.Remaining(now); ok {
			v.take(s, a, w.Name(), left, w.ResetAt)
		}
	}
	fresh := now.Sub(known.At) <= StaleAfter
	if len(known.Windows) == 0 && known.Overall != nil && fresh {
		v.take(s, a, Overall, 100*(1-*known.Overall), time.Time{})
	}
	if known.LimitReached && !v.Block && fresh && !rejectedByWindow(known) {
		v = Verdict{Block: true, Reason: outcome.ReasonQuota, Window: Overall}
	}
	return v
}

// rejectedByWindow reports that a window explains why the limit was reached:
// then the window, and its reset, decides.
func rejectedByWindow(s *Snapshot) bool {
	for _, w := range s.Windows {
		if w.Rejected {
			return true
		}
	}
	return false
}

// take puts one window's figure into the verdict.
func (v *Verdict) take(s *settings.QuotaPreflight, a Account, name string, left float64, reset time.Time) {
	switch {
	case left <= float64(threshold(s, a, name))+epsilon:
		if !v.Block || reset.After(v.ResetAt) {
			*v = Verdict{Block: true, Reason: outcome.ReasonQuota, Window: name, Remaining: left, ResetAt: reset}
		}
	case !v.Block && left <= float64(s.WarnThresholdPercent)+epsilon && (!v.Warn || left < v.Remaining):
		*v = Verdict{Warn: true, Window: name, Remaining: left, ResetAt: reset}
	}
}

// threshold is the remaining percentage at which a window blocks: the
// connection's, else the provider's, else the default (settings sheet §1.1).
func threshold(s *settings.QuotaPreflight, a Account, window string) int64 {
	for _, m := range []map[string]int64{a.Thresholds, s.ProviderWindowDefaults[a.Provider]} {
		if n, ok := lookUp(m, window); ok {
			return n
		}
	}
	return s.DefaultThresholdPercent
}

// otherNames are the providers' own words for a window.
var otherNames = map[string][]string{
	string(Session): {"5h", "five_hour"},
	string(Weekly):  {"7d", "seven_day", "weekly_all"},
	string(Monthly): {"30d"},
}

// lookUp finds the figure of a window: its own, under any of its names, or for
// a window of some models that of the whole kind.
func lookUp(m map[string]int64, window string) (int64, bool) {
	if n, ok := m[window]; ok {
		return n, true
	}
	kind, _, _ := strings.Cut(window, ":")
	for _, name := range append([]string{kind}, otherNames[kind]...) {
		if n, ok := m[name]; ok {
			return n, true
		}
	}
	return 0, false
}

// Fetcher asks for an account's quota; nil when there is nothing to ask.
type Fetcher func(ctx context.Context) (*Snapshot, error)

// Check is Preflight with a question to the provider first, which is not asked
// when the cutoff is off. Without an answer the request goes.
func Check(ctx context.Context, now time.Time, s *settings.QuotaPreflight, a Account, model string, fetch Fetcher) Verdict {
	if !s.Enabled || fetch == nil {
		return Verdict{}
	}
	known, err := fetch(ctx)
	if err != nil {
		return Verdict{}
	}
	return Preflight(now, s, a, model, known)
}
