package notify

import (
	"strings"
	"time"

	"breakwater/app/i18n"
	"breakwater/proxy/control"
)

// nameWidth bounds a name in a notification, in characters.
const nameWidth = 48

// The window's pages that messages lead to.
const (
	pageOverview  = "overview"
	pageCooldowns = "cooldowns"
	pageOne       = "connections/" // with the connection's id
)

// compose tells what waits of one group in one message.
func compose(group string, b *bundle, now time.Time, loc *time.Location) Message {
	if group == nothing {
		return nothingLeft(b.alerts, now, loc)
	}
	var lines []Message
	for _, a := range b.alerts {
		lines = append(lines, one(a, now, loc))
	}
	m := lines[0]
	if len(lines) > 1 {
		m = list(i18n.T("%s: %d changes", provider(b.alerts[0]), len(lines)), lines)
	}
	if b.changes > 1 && !b.held {
		m.Body += " " + i18n.T("It changed %d times in the last minute.", b.changes)
	}
	m.Key = "provider/" + group
	return m
}

// one tells one alert.
func one(a control.Alert, now time.Time, loc *time.Location) Message {
	var m Message
	switch a.Kind {
	case control.AlertTerminal:
		m = terminal(a)
	case control.AlertLaneEntered, control.AlertLaneEnded:
		m = lane(a, now, loc)
	case control.AlertResetClaimed, control.AlertResetUnavailable:
		m = limitReset(a, now, loc)
	case control.AlertQuotaLow:
		m = quotaLow(a, now, loc)
	case control.AlertBreakerOpen, control.AlertBreakerClosed, control.AlertNothingLeft:
		m = breaker(a, now, loc)
		m.Page, m.Action = pageOverview, i18n.T("Show the overview")
		return m
	}
	m.Page, m.Action = pageOne+a.ConnectionID, i18n.T("Show the connection")
	return m
}

func breaker(a control.Alert, now time.Time, loc *time.Location) Message {
	name := provider(a)
	if a.Kind == control.AlertBreakerClosed {
		return Message{
			Title: i18n.T("%s serves again", name),
			Body:  i18n.T("The probe succeeded and the breaker is closed."),
		}
	}
	body := i18n.T("It failed too often and is left alone for a while.")
	if a.Until != nil && a.Until.After(now) {
		body += " " + i18n.T("Next probe %s.", when(now, *a.Until, loc))
	}
	return Message{Title: i18n.T("%s: breaker open", name), Body: body}
}

func terminal(a control.Alert) Message {
	var body string
	switch a.State {
	case control.StateBanned:
		body = i18n.T("The provider has blocked this account. Requests skip it until you replace it and test it again.")
	case control.StateExpired:
		body = i18n.T("The provider no longer accepts this credential. Requests skip it until you renew it in Breakwater.")
	case control.StateCreditsExhausted:
		body = i18n.T("The account has no credit left. Requests skip it until you top it up and test it again.")
	default:
		body = i18n.T("Requests skip it until it is tested again.")
	}
	return Message{Title: connection(a) + ": " + i18n.Word(a.State), Body: body}
}

func nothingLeft(alerts []control.Alert, now time.Time, loc *time.Location) Message {
	m := Message{Key: "nothing-left", Title: i18n.T("Nothing left to serve"), Page: pageCooldowns, Action: i18n.T("Show cooldowns")}
	var until *time.Time
	var dialects, combos []string
	for _, a := range alerts {
		if name := i18n.Ellipsis(i18n.Line(a.Combo), nameWidth); name != "" {
			combos = append(combos, name)
		} else if a.Dialect != "" {
			dialects = append(dialects, i18n.Ellipsis(i18n.Line(a.Dialect), nameWidth))
		}
		if a.Until != nil && a.Until.After(now) && (until == nil || a.Until.Before(*until)) {
			until = a.Until
		}
	}
	var lines []string
	if len(combos) > 0 {
		lines = append(lines, i18n.T("All targets are resting: %s.", strings.Join(combos, ", ")))
	}
	switch {
	case len(dialects) > 0:
		lines = append(lines, i18n.T("No connection can take a request (%s).", strings.Join(dialects, ", ")))
	case len(combos) == 0:
		lines = append(lines, i18n.T("No connection can take a request."))
	}
	if until != nil {
		lines = append(lines, i18n.T("The next one comes back %s.", when(now, *until, loc)))
	}
	m.Body = strings.Join(lines, " ")
	return m
}

// when tells a moment so that it stays true: a notification can be read hours
// later, so only what is over in a moment is told as a span.
func when(now, t time.Time, loc *time.Location) string {
	const soon = 2 * time.Minute
	if t.Sub(now) <= soon {
		return i18n.Moment(now, t, loc, i18n.Seconds)
	}
	clock := i18n.Clock(now, t, loc)
	if len(clock) > len("15:04") {
		return clock // it names the day
	}
	return i18n.T("at %s", clock)
}

// together merges messages that are due at the same moment: what else happened
// goes under "nothing left", and many providers, or all that quiet hours held
// back, share one message.
func together(ms []Message, held bool) []Message {
	if len(ms) < 2 {
		return ms
	}
	if ms[0].Key == "nothing-left" {
		lines := []string{ms[0].Body}
		for _, m := range ms[1:] {
			lines = append(lines, m.Title)
		}
		ms[0].Body = strings.Join(lines, "\n")
		return ms[:1]
	}
	title := i18n.T("%d providers changed", len(ms))
	switch {
	case held:
		title = i18n.T("In your quiet hours")
	case len(ms) < many:
		return ms
	}
	m := list(title, ms)
	m.Key = "summary"
	return []Message{m}
}

// most is how many lines a message lists.
const most = 6

// list tells several messages by their titles.
func list(title string, ms []Message) Message {
	m := Message{Title: title, Page: pageOverview, Action: i18n.T("Show the overview")}
	var lines []string
	for i, l := range ms {
		if i == most {
			lines = append(lines, i18n.T("and %d more", len(ms)-most))
			break
		}
		lines = append(lines, l.Title)
	}
	m.Body = strings.Join(lines, "\n")
	return m
}

func provider(a control.Alert) string {
	name := a.ProviderName
	if name == "" {
		name = a.Provider
	}
	return i18n.Ellipsis(i18n.Line(name), nameWidth)
}

func connection(a control.Alert) string {
	return i18n.Ellipsis(i18n.Name(a.ProviderName, a.ConnectionName), nameWidth)
}
