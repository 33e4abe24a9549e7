// Package notify decides which alerts become desktop notifications and shows them.
package notify

// Message is one notification. Its text is fixed wording with names and
// figures; it never holds upstream text or a secret.
type Message struct {
	// Key names what the message is about: a later message with the same key
	// takes the place of the earlier one where the desktop can do that.
	Key   string
	Title string
	Body  string
	// Page is the window's page that a click opens; empty opens the window as
	// it was last.
	Page string
	// Action is the word on the button that opens the page; empty: none.
	Action string
}

// Sender shows messages on the desktop.
type Sender interface {
	// Send shows a message. An error means that the user did not see it.
	Send(Message) error
	// Close frees what the sender holds; messages already shown stay.
	Close() error
}
