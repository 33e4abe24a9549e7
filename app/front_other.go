//go:build !windows

package app

// LetRaise has nothing to do where a program may bring its own window to front.
func LetRaise() {}
