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

// composer puts alerts into words, at one moment.
type composer struct {
	now time.Time
	loc *time.Location
	at  Present
}

// compose tells what waits of one group in one message.
func (c composer) compose(group string, b *bundle) Message {
	if group == nothing {
		return c.nothingLeft(b.alerts)
	}
	var lines []Message
	for _, a := range b.alerts {
		lines = append(lines, c.one(a))
	}
	m := lines[0]
	if len(lines) > 1 {
		m = list(i18n.T("%s: %d changes", provider(b.alerts[0]), len(lines)), lines)
	}
	m.Key = "provider/" + group
	return m
}

// one tells one alert, and what follows from it.
func (c composer) one(a control.Alert) Message {
	var m Message
	switch a.Kind {
	case control.AlertTerminal:
		m = terminal(a)
	case control.AlertLaneEntered, control.AlertLaneEnded:
		m = lane(a, c.now, c.loc)
	case control.AlertResetClaimed, control.AlertResetUnavailable:
		m = limitReset(a, c.now, c.loc)
	case control.AlertQuotaLow:
		m = quotaLow(a, c.now, c.loc)
	case control.AlertBreakerOpen, control.AlertBreakerClosed, control.AlertNothingLeft:
		m = breaker(a, c.now, c.loc)
		m.Page, m.Action = pageOverview, i18n.T("Show the overview")
	}
	if m.Page == "" {
		m.Page, m.Action = pageOne+a.ConnectionID, i18n.T("Show the connection")
	}
	if follows := c.at.consequence(c.now, a); follows != "" {
		m.Body += " " + follows
	}
	return m
}

func breaker(a control.Alert, now time.Time, loc *time.Location) Message {
	name := provider(a)
	if a.Kind == control.AlertBreakerClosed {
		return Message{
			Title: i18n.T("%s serves again", name),
			Body:  i18n.T("Its breaker is closed. Requests go to it again."),
		}
	}
	body := i18n.T("Too many requests to it failed.")
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
	case control.StateNeedsAttention:
		body = i18n.T("The provider has refused it for more than ten minutes. It is asked last until it answers or you test it.")
	case control.StateWrongAddress:
		body = i18n.T("What answers at its address is not the provider's API. Requests skip it until you correct the address.")
	default:
		body = i18n.T("Requests skip it until it is tested again.")
	}
	return Message{Title: connection(a) + ": " + i18n.Word(a.State), Body: body}
}

// nothingLeft tells for which combos and APIs no connection is available, and
// which connection is the first to come back.
func (c composer) nothingLeft(alerts []control.Alert) Message {
	m := Message{Key: "nothing-left", Title: i18n.T("No connection available"), Page: pageCooldowns, Action: i18n.T("Show cooldowns")}
	var first *control.Alert
	var apis, combos []string
	for i, a := range alerts {
		if name := i18n.Ellipsis(i18n.Line(a.Combo), nameWidth); name != "" {
			combos = append(combos, name)
		} else {
			apis = append(apis, apiName(a.Dialect))
		}
		if a.Until != nil && a.Until.After(c.now) && (first == nil || a.Until.Before(*first.Until)) {
			first = &alerts[i]
		}
	}
	var lines []string
	if len(combos) > 0 {
		lines = append(lines, i18n.T("No target is available: %s.", strings.Join(combos, ", ")))
	}
	switch {
	case len(apis) > 0 && c.at.all():
		lines = append(lines, i18n.T("No connection can take requests."))
	case len(apis) > 0:
		lines = append(lines, i18n.T("No connection for %s can take requests.", strings.Join(apis, ", ")))
	}
	switch {
	case first != nil && first.ConnectionName != "":
		lines = append(lines, i18n.T("%s is available again %s.", connection(*first), when(c.now, *first.Until, c.loc)))
	case first != nil:
		lines = append(lines, i18n.T("The next one is available %s.", when(c.now, *first.Until, c.loc)))
	}
	m.Body = strings.Join(lines, " ")
	return m
}

// apiNames are the names of the APIs that clients speak, by the dialect's.
var apiNames = map[string]string{
	"anthropic": "Anthropic Messages", "chat": "OpenAI Chat Completions", "responses": "OpenAI Responses",
}

// apiName is the name of an API that clients speak; one that has none is shown as
// its dialect.
func apiName(dialect string) string {
	if name, ok := apiNames[dialect]; ok {
		return name
	}
	return i18n.Ellipsis(i18n.Line(dialect), nameWidth)
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
