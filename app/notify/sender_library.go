//go:build windows || darwin

package notify

import (
	"fmt"

	"github.com/gen2brain/beeep"

	"breakwater/assets"
)

// librarySender uses the system's own notifications. They do not replace each
// other; the system stacks them under the program's name.
type librarySender struct{}

// New returns the desktop's sender. app is the name that the user sees; the
// desktop entry and the clicks are for Linux only.
func New(app, _ string, _ func(page string)) Sender {
	beeep.AppName = app
	return librarySender{}
}

// Send shows m.
func (librarySender) Send(m Message) error {
	if err := beeep.Notify(plain(m.Title), plain(m.Body), assets.AppIcon(128)); err != nil {
		return fmt.Errorf("desktop notification: %w", err)
	}
	return nil
}

// Close does nothing.
func (librarySender) Close() error { return nil }
