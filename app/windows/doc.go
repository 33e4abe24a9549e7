// Package windows is the desktop's window process: the Fyne pages over
// control.Facade.
package windows
