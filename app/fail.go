package app

import (
	"breakwater/app/i18n"
	"breakwater/app/notify"
)

// Reason is why the program cannot start, as far as the desktop tells it.
type Reason int

// The reasons that a notification names.
const (
	ReasonOther   Reason = iota // an error that only the terminal shows
	ReasonNewer                 // the data were written by a newer version
	ReasonDamaged               // the database is damaged
)

// Fail tells on the desktop that the program cannot start: it may have been
// started where nobody sees what it prints. The error itself is not shown, since
// it may hold the text of others.
func Fail(why Reason) error {
	if err := i18n.Use(i18n.Preferred()); err != nil {
		return err
	}
	sender := notify.New(name, id, func(string) {})
	defer func() { _ = sender.Close() }() // the message is out, or the error is told
	return sender.Send(notStarted(why))
}

func notStarted(why Reason) notify.Message {
	m := notify.Message{Key: "start", Title: i18n.T("Breakwater could not start"), Body: i18n.T("Start it in a terminal to see why.")}
	switch why {
	case ReasonNewer:
		m.Body = i18n.T("Its data were written by a newer version. Install that version again; nothing was changed.")
	case ReasonDamaged:
		m.Body = i18n.T("Its database is damaged and was left as it is. Start it in a terminal to see where.")
	case ReasonOther:
	}
	return m
}
