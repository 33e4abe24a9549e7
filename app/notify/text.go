package notify

import (
	"strings"
	"time"

	"breakwater/app/i18n"
	"breakwater/proxy/control"
)

// nameWidth bounds a name in a notification, in characters.
const nameWidth = 48

// compose tells the pending alerts of one group in one message. It is false
// when they cancel each other out.
func compose(group string, alerts []control.Alert, now time.Time, loc *time.Location) (Message, bool) {
	if group == nothing {
		return nothingLeft(alerts, now, loc), true
	}
	// Later news of the same thing replaces earlier news: breaker by breaker,
	// connection by connection.
	var lines []Message
	changes := 0
	last := map[string]int{}
	for _, a := range alerts {
		var m Message
		about := "breaker"
		if a.Kind == control.AlertTerminal {
			about, m = a.ConnectionID, terminal(a)
		} else {
			changes++
			m = breaker(a, now, loc)
		}
		if at, ok := last[about]; ok {
			lines[at] = m
			continue
		}
		last[about] = len(lines)
		lines = append(lines, m)
	}
	if len(lines) == 0 {
		return Message{}, false
	}
	m := lines[0]
	if len(lines) > 1 {
		m = list(i18n.T("%s: %d changes", provider(alerts[0]), len(lines)), lines)
	}
	if changes > 1 {
		m.Body += " " + i18n.T("It changed %d times in the last minute.", changes)
	}
	m.Key = "provider/" + group
	return m, true
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
	return Message{
		Title: i18n.Ellipsis(i18n.Name(a.ProviderName, a.ConnectionName), nameWidth) + ": " + i18n.Word(a.State),
		Body:  body,
	}
}

func nothingLeft(alerts []control.Alert, now time.Time, loc *time.Location) Message {
	m := Message{Key: "nothing-left", Title: i18n.T("Nothing left to serve")}
	var until *time.Time
	var dialects []string
	for _, a := range alerts {
		if a.Dialect != "" {
			dialects = append(dialects, i18n.Ellipsis(i18n.Line(a.Dialect), nameWidth))
		}
		if a.Until != nil && a.Until.After(now) && (until == nil || a.Until.Before(*until)) {
			until = a.Until
		}
	}
	m.Body = i18n.T("No connection can take a request.")
	if len(dialects) > 0 {
		m.Body = i18n.T("No connection can take a request (%s).", strings.Join(dialects, ", "))
	}
	if until != nil {
		m.Body += " " + i18n.T("The next one comes back %s.", when(now, *until, loc))
	}
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
// goes under "nothing left", and many providers share one message.
func together(ms []Message) []Message {
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
	if len(ms) < many {
		return ms
	}
	m := list(i18n.T("%d providers changed", len(ms)), ms)
	m.Key = "summary"
	return []Message{m}
}

// list tells several messages by their titles.
func list(title string, ms []Message) Message {
	m := Message{Title: title}
	var lines []string
	for _, l := range ms {
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
