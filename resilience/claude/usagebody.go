package claude

import (
	"sort"
	"strings"
	"time"
)

// The kinds of the newer list of limits.
const (
	kindSession = "session"
	kindWeekly  = "weekly_all"
	kindScoped  = "weekly_scoped"
)

// modelPrefix begins the older fields of windows of single models.
const modelPrefix = WeeklyWindow + "_"

// ParseUsage reads the answer of the usage endpoint (Claude sheet §3.7). Its
// list of limits replaces the older fields. Without a single window, ok is
// false.
func ParseUsage(now time.Time, body []byte) (u Usage, ok bool) {
	o := parse(body)
	if u = fromLimits(now, o); !u.any() {
		u = fromFields(now, o)
	}
	if extra, ok := o.object("extra_usage"); ok {
		u.Extra = readExtra(extra)
	}
	return u, u.any()
}

func (u *Usage) any() bool { return u.Session.Known() || u.Weekly.Known() || len(u.Models) > 0 }

func fromLimits(now time.Time, o object) (u Usage) {
	list, _ := o["limits"].([]any)
	for _, entry := range list {
		limit, _ := entry.(map[string]any)
		w, ok := readWindow(now, limit, "percent")
		if !ok {
			continue
		}
		if active, said := limit["is_active"].(bool); said {
			w.Active = active
		}
		w.Severity = object(limit).text("severity")
		switch object(limit).text("kind") {
		case kindSession:
			w.Name = SessionWindow
			u.Session = w
		case kindWeekly:
			w.Name = WeeklyWindow
			u.Weekly = w
		case kindScoped:
			w.Model = scopeModel(limit)
			w.Name = modelPrefix + strings.ReplaceAll(strings.ToLower(w.Model), " ", "_")
			u.Models = append(u.Models, w)
		}
	}
	return u
}

// scopeModel returns the label of the models that a limit is about.
func scopeModel(limit object) string {
	scope, _ := limit.object("scope")
	model, _ := scope.object("model")
	if name := model.text("display_name"); name != "" {
		return name
	}
	return model.text("id")
}

func fromFields(now time.Time, o object) (u Usage) {
	for field := range o {
		block, _ := o.object(field)
		w, ok := readWindow(now, block, "utilization")
		if !ok {
			continue
		}
		w.Name = field
		switch model, scoped := strings.CutPrefix(field, modelPrefix); {
		case field == SessionWindow:
			u.Session = w
		case field == WeeklyWindow:
			u.Weekly = w
		case scoped:
			w.Model = model
			u.Models = append(u.Models, w)
		}
	}
	sort.Slice(u.Models, func(i, j int) bool { return u.Models[i].Name < u.Models[j].Name })
	return u
}

// readWindow reads a window whose used part is a percentage.
func readWindow(now time.Time, o object, field string) (Window, bool) {
	percent, ok := o.number(field)
	if !ok || percent < 0 {
		return Window{}, false
	}
	w := Window{Used: min(percent/100, 1), Resets: o.moment("resets_at"), Source: FromEndpoint, At: now}
	w.Active = w.Used >= 1
	return w, true
}

func readExtra(o object) ExtraUsage {
	e := ExtraUsage{
		Enabled: o["is_enabled"] == true, Queued: o["queued"] == true,
		Currency: o.text("currency"), DisabledReason: o.text("disabled_reason"),
	}
	e.MonthlyLimit, _ = o.number("monthly_limit")
	e.UsedCredits, _ = o.number("used_credits")
	if percent, ok := o.number("utilization"); ok {
		e.Used = max(0, min(percent/100, 1))
	}
	return e
}
