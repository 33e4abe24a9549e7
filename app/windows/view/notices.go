package view

import (
	"strings"

	"breakwater/proxy/control"
)

// NoticeKind is one kind of desktop notification that can be switched.
type NoticeKind struct {
	Label, Note string
	brief       string // in the sentence that sums up
	Get         func(control.NotificationSettings) bool
	Set         func(*control.NotificationPatch, bool)
}

// NoticeKinds returns the kinds in the order in which they are shown.
func NoticeKinds() []NoticeKind {
	type settings = control.NotificationSettings
	type patch = control.NotificationPatch
	return []NoticeKind{
		{
			T("Breakers"), T("A provider failed too often and is left alone, or it serves again."), T("breakers"),
			func(s settings) bool { return s.Breakers }, func(p *patch, on bool) { p.Breakers = &on },
		},
		{
			T("Connections that need you"), T("A connection is banned, expired or out of credit."), T("connections that need you"),
			func(s settings) bool { return s.Terminal }, func(p *patch, on bool) { p.Terminal = &on },
		},
		{
			T("Nothing left to serve"), T("All connections, or all targets of a combo, are resting; with the time when the first is back."), T("nothing left to serve"),
			func(s settings) bool { return s.NothingLeft }, func(p *patch, on bool) { p.NothingLeft = &on },
		},
		{
			T("Low-priority lane"), T("A Claude subscription entered it at its limit, or left it."), T("the low-priority lane"),
			func(s settings) bool { return s.Lane }, func(p *patch, on bool) { p.Lane = &on },
		},
		{
			T("Limit reset"), T("A Claude subscription used its limit reset, or has none."), T("limit resets"),
			func(s settings) bool { return s.LimitReset }, func(p *patch, on bool) { p.LimitReset = &on },
		},
		{
			T("Quota"), T("A quota window fell below the warning of the quota preflight."), T("low quotas"),
			func(s settings) bool { return s.Quota }, func(p *patch, on bool) { p.Quota = &on },
		},
	}
}

// NoticeSentence says in words what the user will hear of, and when.
func NoticeSentence(s control.Settings) string {
	if !s.Notifications {
		return T("Breakwater shows no notifications.")
	}
	var kinds []string
	all := NoticeKinds()
	for _, k := range all {
		if k.Get(s.Notify) {
			kinds = append(kinds, k.brief)
		}
	}
	var out string
	switch len(kinds) {
	case 0:
		return T("Breakwater shows no notifications, for every kind is off.")
	case len(all):
		out = T("You hear of everything, at most once per provider and minute.")
	default:
		out = Tf("You hear of %s, at most once per provider and minute.", strings.Join(kinds, ", "))
	}
	if n := s.Notify; n.QuietFrom != "" {
		out += " " + Tf("From %s to %s nothing is shown; what still holds is told at the end.", n.QuietFrom, n.QuietUntil)
	}
	return out
}
