package autostart

import (
	"errors"

	"golang.org/x/sys/windows/registry"
)

const runKey = `Software\Microsoft\Windows\CurrentVersion\Run`

// run keeps the entry as a value of the user's Run key.
type run struct{}

func system() place { return run{} }

func (run) text(e Entry) string { return runLine(e) }

func (run) read() (string, error) {
	k, err := registry.OpenKey(registry.CURRENT_USER, runKey, registry.QUERY_VALUE)
	if errors.Is(err, registry.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = k.Close() }()
	text, _, err := k.GetStringValue(id)
	if errors.Is(err, registry.ErrNotExist) {
		return "", nil
	}
	return text, err
}

func (run) write(text string) error {
	k, _, err := registry.CreateKey(registry.CURRENT_USER, runKey, registry.SET_VALUE)
	if err != nil {
		return err
	}
	defer func() { _ = k.Close() }()
	return k.SetStringValue(id, text)
}

func (run) remove() error {
	k, err := registry.OpenKey(registry.CURRENT_USER, runKey, registry.SET_VALUE)
	if errors.Is(err, registry.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = k.Close() }()
	if err := k.DeleteValue(id); !errors.Is(err, registry.ErrNotExist) {
		return err
	}
	return nil
}
