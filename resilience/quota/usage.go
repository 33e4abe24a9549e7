package quota

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// usageWindow is one of the older fields of a usage answer.
type usageWindow struct {
	Utilization *float64 `json:"utilization"` // percent used
	ResetsAt    string   `json:"resets_at"`
}

// usageLimit is an entry of the newer list.
type usageLimit struct {
	Kind     string   `json:"kind"`
	Percent  *float64 `json:"percent"`
	Severity string   `json:"severity"`
	ResetsAt string   `json:"resets_at"`
	Active   bool     `json:"is_active"`
	Scope    *struct {
		Model *struct {
			ID          string `json:"id"`
			DisplayName string `json:"display_name"`
		} `json:"model"`
	} `json:"scope"`
}

// FromUsage reads the answer of Anthropic's usage endpoint. Utilization is a
// percentage there. Where the newer list "limits" is present it replaces the
// older fields.
func FromUsage(body []byte, now time.Time) (Snapshot, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return Snapshot{}, fmt.Errorf("read the usage: %w", err)
	}
	s := Snapshot{At: now}
	var limits []usageLimit
	if json.Unmarshal(fields["limits"], &limits) == nil && len(limits) > 0 {
		for _, l := range limits {
			if w, ok := l.window(now); ok {
				s.Windows = append(s.Windows, w)
			}
		}
		return s.judged(), nil
	}
	for name, raw := range fields {
		kind, scope, ok := usageName(name)
		var u *usageWindow
		if !ok || json.Unmarshal(raw, &u) != nil || u == nil || u.Utilization == nil {
			continue
		}
		used := *u.Utilization / 100
		s.Windows = append(s.Windows, Window{
			Kind: kind, Scope: scope, Used: used, ResetAt: instant(u.ResetsAt), Rejected: used >= 1, At: now,
		})
	}
	return s.judged(), nil
}

// judged tells whether the whole account is refused.
func (s Snapshot) judged() Snapshot {
	for _, w := range s.Windows {
		s.LimitReached = s.LimitReached || w.Scope == "" && w.Rejected
	}
	return s
}

// usageName reads "five_hour", "seven_day" and "seven_day_opus".
func usageName(name string) (kind Kind, scope string, ok bool) {
	switch {
	case name == "five_hour":
		return Session, "", true
	case name == "seven_day":
		return Weekly, "", true
	default:
		scope, ok = strings.CutPrefix(name, "seven_day_")
		return Weekly, scope, ok
	}
}

// window returns the entry as a window. One that is not active says nothing
// about requests now.
func (l *usageLimit) window(now time.Time) (Window, bool) {
	w := Window{At: now, ResetAt: instant(l.ResetsAt)}
	switch l.Kind {
	case "session":
		w.Kind = Session
	case "weekly_all":
		w.Kind = Weekly
	case "weekly_scoped":
		w.Kind = Weekly
		if l.Scope == nil || l.Scope.Model == nil {
			return Window{}, false // for no model that could be told
		}
		if w.Scope = cmp.Or(l.Scope.Model.DisplayName, l.Scope.Model.ID); w.Scope == "" {
			return Window{}, false
		}
	default:
		return Window{}, false
	}
	if !l.Active || l.Percent == nil {
		return Window{}, false
	}
	w.Used = *l.Percent / 100
	w.Rejected = w.Used >= 1 && (l.Severity == "" || l.Severity == "critical")
	return w, true
}
