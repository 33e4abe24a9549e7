package quota

import (
	"math"
	"strconv"
	"strings"
	"time"

	"breakwater/resilience/hint"
)

// unifiedPrefix begins every header of Anthropic's subscription windows.
const unifiedPrefix = "anthropic-ratelimit-unified-"

// unifiedWindows are their names there. The last is for some models only, and
// does not say for which.
var unifiedWindows = []struct {
	name  string
	kind  Kind
	scope string
}{{"5h", Session, ""}, {"7d", Weekly, ""}, {"7d_oi", Weekly, "oi"}}

// FromHeaders reads the quota windows that an answer carries, refusals
// included, and whether there were any. Utilization is a fraction there, unlike
// in FromUsage.
func FromHeaders(h map[string][]string, now time.Time) (Snapshot, bool) {
	s := Snapshot{At: now}
	for _, u := range unifiedWindows {
		field := func(name string) string { return get(h, unifiedPrefix+u.name+"-"+name) }
		w := Window{Kind: u.kind, Scope: u.scope, At: now, Rejected: field("status") == "rejected", ResetAt: instant(field("reset"))}
		used, ok := number(field("utilization"))
		if !ok && !w.Rejected {
			continue
		}
		w.Used = used
		s.Windows = append(s.Windows, w)
	}
	s.LimitReached = get(h, unifiedPrefix+"status") == "rejected"
	for _, name := range []string{"primary", "secondary"} {
		if w, ok := codexWindow(h, "x-codex-"+name+"-", now); ok {
			s.Windows = append(s.Windows, w)
		}
	}
	return s, len(s.Windows) > 0 || s.LimitReached
}

// codexWindow reads one of the two windows that Codex answers carry; what it
// covers is told by its length.
func codexWindow(h map[string][]string, prefix string, now time.Time) (Window, bool) {
	used, ok := number(get(h, prefix+"used-percent"))
	if !ok {
		return Window{}, false
	}
	w := Window{Used: used / 100, At: now, Rejected: used >= 100}
	minutes, _ := number(get(h, prefix+"window-minutes"))
	switch {
	case minutes <= 0 && strings.Contains(prefix, "primary"), minutes > 0 && minutes <= 24*60:
		w.Kind = Session
	case minutes <= 8*24*60:
		w.Kind = Weekly
	default:
		w.Kind = Monthly
	}
	w.ResetAt = instant(get(h, prefix+"reset-at"))
	if after, ok := number(get(h, prefix+"reset-after-seconds")); w.ResetAt.IsZero() && ok && after >= 0 {
		w.ResetAt = now.Add(time.Duration(min(after, hint.MaxStated.Seconds()) * float64(time.Second))).Round(0).UTC()
	}
	return w, true
}

// get returns the first value of a header, whatever the case of its name.
func get(h map[string][]string, name string) string {
	for k, v := range h {
		if len(v) > 0 && strings.EqualFold(k, name) {
			return strings.TrimSpace(v[0])
		}
	}
	return ""
}

// number reads a figure that is none when it is negative or endless.
func number(text string) (float64, bool) {
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && f >= 0 && !math.IsInf(f, 0)
}

// instant reads a moment, the zero time when it is none.
func instant(text string) time.Time {
	t, ok := hint.ParseInstant(text)
	if !ok {
		return time.Time{}
	}
	return t.UTC()
}
