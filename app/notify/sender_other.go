//go:build !linux && !windows && !darwin

package notify

import "errors"

type noSender struct{}

// New returns a sender that cannot show anything on this system.
func New(_, _ string, _ func(page string)) Sender { return noSender{} }

// Send always fails here.
func (noSender) Send(Message) error { return errors.ErrUnsupported }

// Close does nothing.
func (noSender) Close() error { return nil }
