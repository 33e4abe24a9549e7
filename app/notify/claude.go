package notify

import (
	"strings"
	"time"

	"breakwater/app/i18n"
	"breakwater/proxy/control"
)

// lane tells that the low-priority lane of a subscription began or ended.
func lane(a control.Alert, now time.Time, loc *time.Location) Message {
	if a.Kind == control.AlertLaneEnded {
		return Message{Title: i18n.T("%s: low-priority lane ended", connection(a)), Body: laneEnd(a.Reason)}
	}
	body := i18n.T("Its limit is reached. Requests go on at low priority and may wait for a slot.")
	if a.Until != nil && a.Until.After(now) {
		body += " " + i18n.T("The limit resets %s.", when(now, *a.Until, loc))
	}
	return Message{Title: i18n.T("%s: low-priority lane", connection(a)), Body: body}
}

// laneEnd says why a lane ended.
func laneEnd(reason string) string {
	switch reason {
	case "reset":
		return i18n.T("The limit was reset. Requests go on as usual.")
	case "weekly":
		return i18n.T("The weekly limit is reached, too.")
	case "budget":
		return i18n.T("What the lane grants is used up.")
	case "off", "ineligible":
		return i18n.T("The provider does not offer it to this account now.")
	case "max_wait":
		return i18n.T("No slot came free in time.")
	case "extra_usage":
		return i18n.T("The account went over to extra usage.")
	}
	return i18n.T("Requests meet the limit again.")
}

// limitReset tells how an attempt at the limit reset went.
func limitReset(a control.Alert, now time.Time, loc *time.Location) Message {
	m := Message{Title: i18n.T("%s: limit reset used", connection(a)), Body: i18n.T("Requests go on as usual.")}
	if a.Kind == control.AlertResetUnavailable {
		m.Title = i18n.T("%s: no limit reset", connection(a))
		switch a.Reason {
		case "already_used":
			m.Body = i18n.T("It was used already.")
		case "not_offered", "ineligible":
			m.Body = i18n.T("The provider does not offer it to this account now.")
		default:
			m.Body = i18n.T("It could not be asked for.")
		}
	}
	if a.Until != nil && a.Until.After(now) {
		m.Body += " " + i18n.T("The next one can be asked for %s.", when(now, *a.Until, loc))
	}
	return m
}

// quotaLow tells that a quota window is below the warning.
func quotaLow(a control.Alert, now time.Time, loc *time.Location) Message {
	left := 0
	if a.PercentLeft != nil {
		left = *a.PercentLeft
	}
	var body string
	kind, family, _ := strings.Cut(a.Window, ":")
	switch kind {
	case "session":
		body = i18n.T("Its five-hour window is nearly used up.")
	case "weekly":
		body = i18n.T("Its weekly window is nearly used up.")
	case "monthly":
		body = i18n.T("Its monthly window is nearly used up.")
	default:
		body = i18n.T("Its quota is nearly used up.")
	}
	if family != "" {
		body += " " + i18n.T("It is for %s models.", i18n.Ellipsis(i18n.Line(family), nameWidth))
	}
	if a.Until != nil && a.Until.After(now) {
		body += " " + i18n.T("It resets %s.", when(now, *a.Until, loc))
	}
	return Message{Title: i18n.T("%s: %d %% of the quota left", connection(a), left), Body: body}
}
