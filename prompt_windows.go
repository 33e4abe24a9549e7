package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// hideInput makes a console show nothing of what is typed, until show is
// called. An error tells that the file is no console.
func hideInput(f *os.File) (show func(), err error) {
	handle := windows.Handle(f.Fd())
	var before uint32
	if err := windows.GetConsoleMode(handle, &before); err != nil {
		return nil, err
	}
	hidden := before&^windows.ENABLE_ECHO_INPUT | windows.ENABLE_LINE_INPUT | windows.ENABLE_PROCESSED_INPUT
	if err := windows.SetConsoleMode(handle, hidden); err != nil {
		return nil, err
	}
	return func() { _ = windows.SetConsoleMode(handle, before) }, nil
}
