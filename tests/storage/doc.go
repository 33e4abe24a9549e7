// Package storage tests the real program, as an ordinary user, in data folders
// whose files cannot be written, are locked, or are deleted while it runs.
package storage
